#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
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

// "images=N" of an ImageDescription that ImageJ wrote; 0: none.
std::uint64_t images_of(TIFF* file) {
  constexpr std::string_view kBegin = "ImageJ=", kImages = "\nimages=";
  const char* text = nullptr;
  if (TIFFGetField(file, TIFFTAG_IMAGEDESCRIPTION, &text) == 0 || text == nullptr) return 0;
  const std::string_view description(text);
  const std::size_t at = description.find(kImages);
  std::uint64_t images = 0;
  if (description.starts_with(kBegin) && at != std::string_view::npos)
    std::from_chars(description.data() + at + kImages.size(),
                    description.data() + description.size(), images);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
  return images < kMost ? images : 0;
}

// The byte at which the frame's pixels begin where the file has them as they are, one strip behind the other.
std::optional<std::uint64_t> plain_pixels_of(TIFF* file) {
  std::uint16_t compression = COMPRESSION_NONE, order = FILLORDER_MSB2LSB;
  TIFFGetFieldDefaulted(file, TIFFTAG_COMPRESSION, &compression);
  TIFFGetFieldDefaulted(file, TIFFTAG_FILLORDER, &order);
  const std::uint64_t* offsets = nullptr;
  if (compression != COMPRESSION_NONE || order != FILLORDER_MSB2LSB ||
      TIFFGetField(file, TIFFTAG_STRIPOFFSETS, &offsets) == 0 || offsets == nullptr)
    return std::nullopt;
  for (std::uint32_t k = 1; k < TIFFNumberOfStrips(file); ++k)
    if (offsets[k] != offsets[0] + k * static_cast<std::uint64_t>(TIFFStripSize64(file)))
      return std::nullopt;
  return offsets[0];
}

class StackReader : public CountReader {
 public:
  explicit StackReader(const std::string& path) : path_(path), bytes_(path) {
    TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_message, &message_);
    TIFFOpenOptionsSetWarningHandlerExtR(options, keep_message, &warning_);
    file_.reset(TIFFOpenExt(path.c_str(), "rm", options));
    TIFFOpenOptionsFree(options);
    if (!file_) throw format_error(path, "TIFF", message_, "a whole header", "the file is damaged");
    frame_ = frame();
    check();
    message_.clear();
    frames_ = TIFFNumberOfDirectories(file_.get());
    const bool broken = !message_.empty();
    description_.format = "TIFF";
    description_.sensors = static_cast<std::size_t>(frame_.rows) * frame_.columns;
    description_.rows = frame_.rows;
    description_.columns = frame_.columns;
    find_frames(broken);
    go_to(0);
  }

  std::uint64_t total_samples() const override { return frames_; }
  void seek(std::uint64_t first_sample) override { go_to(first_sample); }

  std::size_t read(std::span<std::byte> counts) override {
    const std::size_t bytes = description_.sensors * core::bytes_of(description_.type);
    std::size_t done = 0;
    for (; !ended_ && next_ < frames_ && (done + 1) * bytes <= counts.size(); ++done) {
      const auto pixels = counts.subspan(done * bytes, bytes);
      if (pixels_)
        read_pixels(pixels);
      else if (!read_frame(pixels))
        break;
      ++next_;
      if (!pixels_ && next_ < frames_ && !read_directory(next_)) end("its directory");
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

  // ImageJ writes the pixels of all frames behind the first directory, and the other directories behind them or not at
  // all. `broken`: the chain of directories ends before its end.
  void find_frames(bool broken) {
    const std::uint64_t found = frames_, images = images_of(file_.get());
    if (images > found && (found == 1 || broken)) {
      const std::uint64_t frame_bytes = description_.sensors * core::bytes_of(description_.type);
      const auto first = plain_pixels_of(file_.get());
      const std::uint64_t inside = first && *first < bytes_.size() ? bytes_.size() - *first : 0;
      const std::uint64_t whole = std::min(images, inside / frame_bytes);
      const std::uint64_t directory = TIFFCurrentDirOffset(file_.get());
      if (whole > found && (directory < *first || directory >= *first + whole * frame_bytes)) {
        pixels_ = first;
        frames_ = whole;
        if (whole < images) damage_.trailing_bytes = inside % frame_bytes;
      }
      if (frames_ < images) {
        damage_.lost_samples += (images - frames_) * description_.sensors;
        damage_.note(path_ + ": ImageDescription: images=" + std::to_string(images) +
                     ", but the file has " + std::to_string(frames_) +
                     (frames_ == 1 ? " frame" : " frames") +
                     ": it is cut short, or frames were taken out of it");
      }
    } else if (broken) {
      damage_.note(path_ + ": frame " + std::to_string(found) + ": its directory cannot be read (" +
                   message_ + "): the file is cut short or damaged; the frames before it count");
    }
  }

  // libtiff finds a frame by its number from the first one on: its place is noted here.
  void go_to(std::uint64_t frame) {
    next_ = std::min(frame, frames_);
    if (pixels_) return;
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
    check_values(counts);
    return true;
  }

  // Of frames without directories.
  void read_pixels(std::span<std::byte> counts) {
    bytes_.read_whole(*pixels_ + next_ * counts.size(), counts);
    if (TIFFIsByteSwapped(file_.get()) != 0)
      for (std::size_t at = 0, size = frame_.bits / 8u; at < counts.size(); at += size)
        std::ranges::reverse(counts.subspan(at, size));
    check_values(counts);
  }

  void check_values(std::span<const std::byte> counts) const {
    if (frame_.format == SAMPLEFORMAT_INT) check_signs(counts);
    if (frame_.format == SAMPLEFORMAT_IEEEFP) check_floats(counts);
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
  InputFile bytes_;
  std::unique_ptr<TIFF, Close> file_;
  Frame frame_;
  std::uint64_t frames_ = 0, next_ = 0;
  std::vector<std::uint64_t> places_;  // bytes of the first directories, in order
  std::optional<std::uint64_t>
      pixels_;  // the first byte of frames that follow one another, without directories
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<CountReader> open(const std::string& path) {
  return std::make_unique<StackReader>(path);
}

#else

std::unique_ptr<CountReader> open(const std::string& path) {
  throw core::Error(core::ErrorKind::unsupported, path, "TIFF", "a build with libtiff",
                    "install libtiff-dev and build with -DTAUTLINE_TIFF=ON, or save as .npy");
}

#endif

}  // namespace tautline::formats::tiff
