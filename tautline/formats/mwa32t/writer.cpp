#include "tautline/formats/mwa32t/writer.h"

#include "tautline/core/error.h"

namespace tautline::formats::mwa32t {

namespace {

unsigned clip(int value, int limit, std::uint64_t& clipped) {
  if (value >= -limit - 1 && value <= limit) return static_cast<unsigned>(value);
  ++clipped;
  return static_cast<unsigned>(value < 0 ? -limit : limit);
}

Mode require_known(Mode mode) {
  if (mode != Mode::detect) return mode;
  throw core::Error(core::ErrorKind::config, "mode", "detect", "two_byte or one_byte",
                    "choose a mode to write");
}

}  // namespace

Writer::Writer(const std::string& path, Mode mode, std::uint16_t first_counter, bool overwrite)
    : file_(path, overwrite), mode_(require_known(mode)), counter_(first_counter) {}

void Writer::write(std::span<const core::ci8> samples) {
  if (samples.size() % kInputsPerReceiver != 0)
    throw core::Error(core::ErrorKind::config, "samples", std::to_string(samples.size()),
                      "a multiple of 16", "write whole sample times");
  const int limit = sample_limit(mode_);
  buffer_.clear();
  const auto put = [&](unsigned value) { buffer_.push_back(static_cast<std::byte>(value & 255)); };
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (s % kInputsPerReceiver == 0) {
      put(counter_);
      put(counter_ >> 8u);
      ++counter_;
    }
    const unsigned re = clip(samples[s].re, limit, clipped_);
    const unsigned im = clip(samples[s].im, limit, clipped_);
    if (mode_ == Mode::one_byte) {
      put((re & 15) | (im & 15) << 4);
    } else {
      put(re & 31);
      put(im & 31);
    }
  }
  file_.write(buffer_);
}

}  // namespace tautline::formats::mwa32t
