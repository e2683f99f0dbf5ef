#include "tautline/formats/mwa32t/writer.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "tautline/core/error.h"

namespace tautline::formats::mwa32t {

namespace {

core::Error write_error(const std::string& path, const std::string& what) {
  return {core::ErrorKind::io, path + ": " + what, std::system_category().message(errno), "",
          "check the folder, its permissions and the space left"};
}

unsigned clip(int value, int limit, std::uint64_t& clipped) {
  if (value >= -limit - 1 && value <= limit) return static_cast<unsigned>(value);
  ++clipped;
  return static_cast<unsigned>(value < 0 ? -limit : limit);
}

}  // namespace

Writer::Writer(std::string path, Mode mode, std::uint16_t first_counter, bool overwrite)
    : path_(std::move(path)), partial_(path_ + ".partial"), mode_(mode), counter_(first_counter) {
  if (mode == Mode::detect)
    throw core::Error(core::ErrorKind::config, "mode", "detect", "two_byte or one_byte",
                      "choose a mode to write");
  if (!overwrite && std::filesystem::exists(path_))
    throw core::Error(core::ErrorKind::io, path_ + ": output", "exists already", "a new name",
                      "remove it or allow overwriting");
  file_.open(partial_, std::ios::binary | std::ios::trunc);
  if (!file_) throw write_error(partial_, "cannot be created");
}

Writer::~Writer() {
  if (finished_) return;
  file_.close();
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

void Writer::write(std::span<const core::ci8> samples) {
  if (samples.size() % kInputsPerReceiver != 0)
    throw core::Error(core::ErrorKind::config, "samples", std::to_string(samples.size()),
                      "a multiple of 16", "write whole sample times");
  const int limit = sample_limit(mode_);
  buffer_.clear();
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (s % kInputsPerReceiver == 0) {
      buffer_.push_back(static_cast<char>(counter_ & 255));
      buffer_.push_back(static_cast<char>(counter_ >> 8));
      ++counter_;
    }
    const unsigned re = clip(samples[s].re, limit, clipped_);
    const unsigned im = clip(samples[s].im, limit, clipped_);
    if (mode_ == Mode::one_byte) {
      buffer_.push_back(static_cast<char>((re & 15) | (im & 15) << 4));
    } else {
      buffer_.push_back(static_cast<char>(re & 31));
      buffer_.push_back(static_cast<char>(im & 31));
    }
  }
  file_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  if (!file_) throw write_error(partial_, "cannot be written");
}

void Writer::finish() {
  file_.close();
  if (!file_) throw write_error(partial_, "cannot be written");
  std::error_code failure;
  std::filesystem::rename(partial_, path_, failure);
  if (failure)
    throw core::Error(core::ErrorKind::io, partial_ + ": cannot be renamed to " + path_,
                      failure.message(), "", "check the folder and its permissions");
  finished_ = true;
}

}  // namespace tautline::formats::mwa32t
