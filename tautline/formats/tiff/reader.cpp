#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/tiff/tiff.h"
#ifdef TAUTLINE_TIFF
#include <tiffio.h>

#include <cstdarg>
#include <cstdio>
#endif

namespace tautline::formats::tiff {

bool recognise(std::span<const std::byte> first_bytes) {
  if (first_bytes.size() < 4) return false;
  const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()), 4);
  for (const char* magic : {"II*\0", "MM\0*", "II+\0", "MM\0+"})
    if (text == std::string_view(magic, 4)) return true;
  return false;
}

#ifdef TAUTLINE_TIFF

namespace {

constexpr std::uint64_t kMostPixels = 1'000'000;

// Keeps the messages of libtiff about one file, instead of printing them. Before a frame's first row libtiff names row
// -1, as an unsigned number.
int keep_message(TIFF*, void* to, const char*, const char* form, va_list values) {
  char text[300];
  std::vsnprintf(text, sizeof text, form, values);
  std::string& message = *static_cast<std::string*>(to);
  message = text;
  constexpr std::string_view kNoRow = " at scanline 4294967295";
  if (const std::size_t at = message.find(kNoRow); at != std::string::npos)
    message.erase(at, kNoRow.size());
  return 1;
}

struct Close {
  void operator()(TIFF* file) const { TIFFClose(file); }
};

struct Frame {
  std::uint32_t columns = 0, rows = 0;
  std::uint16_t bits = 1, samples = 1, format = SAMPLEFORMAT_UINT;
  bool tiled = false;
  friend bool operator==(const Frame&, const Frame&) = default;
};

std::string text_of(const Frame& f) {
  const char* kind = f.format == SAMPLEFORMAT_IEEEFP ? "float"
                     : f.format == SAMPLEFORMAT_INT  ? "signed"
                                                     : "unsigned";
  return std::to_string(f.columns) + " x " + std::to_string(f.rows) + " pixels of " +
         std::to_string(f.samples) + " x " + std::to_string(f.bits) + " bits " + kind +
         (f.tiled ? " in tiles" : "");
}

class StackReader : public CountReader {
 public:
  explicit StackReader(const std::string& path) : path_(path) {
    TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_message, &message_);
    TIFFOpenOptionsSetWarningHandlerExtR(options, keep_message, &warning_);
    file_.reset(TIFFOpenExt(path.c_str(), "rm", options));
    TIFFOpenOptionsFree(options);
    if (!file_) throw format_error(path, "TIFF", message_, "a whole header", "the file is damaged");
    frame_ = frame();
    check();
    frames_ = TIFFNumberOfDirectories(file_.get());
    description_.format = "TIFF";
    description_.sensors = static_cast<std::size_t>(frame_.rows) * frame_.columns;
    description_.rows = frame_.rows;
    description_.columns = frame_.columns;
    go_to(0);
  }

  std::uint64_t total_samples() const override { return frames_; }
  void seek(std::uint64_t first_sample) override { go_to(first_sample); }

  std::size_t read(std::span<std::byte> counts) override {
    const std::size_t bytes = description_.sensors * core::bytes_of(description_.type);
    std::size_t done = 0;
    for (; !ended_ && next_ < frames_ && (done + 1) * bytes <= counts.size(); ++done) {
      if (!read_frame(counts.subspan(done * bytes, bytes))) break;
      ++next_;
      if (next_ < frames_ && !read_directory(next_)) end("its directory");
    }
    return done;
  }

 private:
  Frame frame() const {
    Frame f;
    TIFF* t = file_.get();
    TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &f.columns);
    TIFFGetField(t, TIFFTAG_IMAGELENGTH, &f.rows);
    TIFFGetFieldDefaulted(t, TIFFTAG_BITSPERSAMPLE, &f.bits);
    TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLESPERPIXEL, &f.samples);
    TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLEFORMAT, &f.format);
    f.tiled = TIFFIsTiled(t) != 0;
    return f;
  }

  void check() {
    const bool integer = frame_.format == SAMPLEFORMAT_UINT || frame_.format == SAMPLEFORMAT_INT;
    const bool floats = frame_.format == SAMPLEFORMAT_IEEEFP && frame_.bits == 32;
    const bool whole = integer && (frame_.bits == 8 || frame_.bits == 16 || frame_.bits == 32);
    if (frame_.samples != 1 || frame_.tiled || !(floats || whole))
      throw format_error(path_, "frame 0", text_of(frame_),
                         "one sample a pixel, of 8, 16 or 32 bits or 32-bit float, in strips",
                         "save the stack again as a plain grey one");
    const std::uint64_t pixels = std::uint64_t{frame_.columns} * frame_.rows;
    if (pixels == 0 || pixels > kMostPixels)
      throw format_error(path_, "frame 0", text_of(frame_), "1 to 1,000,000 pixels");
    description_.type = floats              ? core::SampleType::f32
                        : frame_.bits == 8  ? core::SampleType::u8
                        : frame_.bits == 16 ? core::SampleType::u16
                                            : core::SampleType::u32;
  }

  // libtiff finds a frame by its number from the first one on: its place is noted here.
  void go_to(std::uint64_t frame) {
    next_ = std::min(frame, frames_);
    if (places_.empty()) places_.push_back(TIFFCurrentDirOffset(file_.get()));
    std::uint64_t at = std::min<std::uint64_t>(next_, places_.size() - 1);
    if (next_ == frames_) return;
    if (TIFFCurrentDirOffset(file_.get()) != places_[at] &&
        TIFFSetSubDirectory(file_.get(), places_[at]) == 0)
      return end("its directory");
    while (at < next_)
      if (!read_directory(++at)) return end("its directory");
  }

  // The directory after the current one, of frame number `frame`.
  bool read_directory(std::uint64_t frame) {
    if (TIFFReadDirectory(file_.get()) == 0) return false;
    if (frame == places_.size()) places_.push_back(TIFFCurrentDirOffset(file_.get()));
    return true;
  }

  // Frames after one that cannot be read cannot be found.
  void end(const std::string& what) {
    ended_ = true;
    damage_.lost_samples += (frames_ - next_) * description_.sensors;
    damage_.note(path_ + ": frame " + std::to_string(next_) + ": " + what + " cannot be read (" +
                 message_ + "), expected " + std::to_string(frames_) +
                 " frames; those before it count");
  }

  bool read_frame(std::span<std::byte> counts) {
    if (const Frame found = frame(); found != frame_)
      throw format_error(path_, "frame " + std::to_string(next_), text_of(found),
                         text_of(frame_) + ", as frame 0 has", "split the file");
    TIFF* t = file_.get();
    std::size_t at = 0;
    const std::uint32_t strips = TIFFNumberOfStrips(t);
    for (std::uint32_t strip = 0; strip < strips && at < counts.size(); ++strip) {
      const tmsize_t got = TIFFReadEncodedStrip(t, strip, counts.data() + at,
                                                static_cast<tmsize_t>(counts.size() - at));
      if (got <= 0) break;
      at += static_cast<std::size_t>(got);
    }
    if (at < counts.size()) {
      end("its pixels");
      return false;
    }
    if (frame_.format == SAMPLEFORMAT_INT) check_signs(counts);
    if (frame_.format == SAMPLEFORMAT_IEEEFP) check_floats(counts);
    return true;
  }

  // The bytes of a signed count that is not negative are those of the unsigned one.
  void check_signs(std::span<const std::byte> counts) const {
    const std::size_t bytes = frame_.bits / 8u;
    for (std::size_t k = 0; k < counts.size() / bytes; ++k)
      if ((counts[(k + 1) * bytes - 1] & std::byte{0x80}) != std::byte{0})
        throw format_error(path_, "frame " + std::to_string(next_) + ", pixel " + std::to_string(k),
                           "below zero", "counts of 0 or more", "subtract no background");
  }

  void check_floats(std::span<const std::byte> counts) const {
    const std::size_t bad = first_bad_float(counts);
    if (bad == description_.sensors) return;
    float value;
    std::memcpy(&value, counts.data() + bad * sizeof value, sizeof value);
    throw format_error(path_,
                       "count at time " + std::to_string(next_) + ", sensor " + std::to_string(bad),
                       std::to_string(value), "a count of 0 or more", "correct the stack");
  }

  std::string path_, message_, warning_;
  std::unique_ptr<TIFF, Close> file_;
  Frame frame_;
  std::uint64_t frames_ = 0, next_ = 0;
  std::vector<std::uint64_t> places_;  // bytes of the first directories, in order
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<CountReader> open(const std::string& path) {
  const InputFile exists(path);  // its own words where there is none
  return std::make_unique<StackReader>(path);
}

#else

std::unique_ptr<CountReader> open(const std::string& path) {
  throw core::Error(core::ErrorKind::unsupported, path, "TIFF", "a build with libtiff",
                    "install libtiff-dev and build with -DTAUTLINE_TIFF=ON, or save as .npy");
}

#endif

}  // namespace tautline::formats::tiff
