#include "tautline/pipeline/file_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tautline/formats/numbered_name.h"
#include "tautline/formats/partial_file.h"

namespace tautline::pipeline {

core::FieldText<std::size_t> byte_limit() {
  core::FieldText<std::size_t> form = core::byte_size();
  form.allowed = "0, or " + form.allowed;
  form.read = [read = form.read](const std::string& text) {
    return text == "0" ? std::size_t{0} : read(text);
  };
  form.allows = [](const std::size_t&) { return true; };
  return form;
}

const core::Fields<PartLimits>& fields(const PartLimits&) {
  using C = PartLimits;
  static const auto all =
      core::Fields<C>()
          .add({.name = "each_s",
                .unit = "s",
                .help =
                    "data in a file at most: files are numbered, as night-0001.uvh5; 0: no limit"},
               &C::each_s, core::at_least(0))
          .add({.name = "each_bytes",
                .unit = "bytes",
                .help = "samples, or lines, in a file at most: files are numbered; 0: no limit"},
               &C::each_bytes, byte_limit());
  return all;
}

void FileParts::require_can_be_written(const std::string& field, bool overwrite) const {
  if (several())
    formats::require_numbered_can_be_written(field, path_, overwrite);
  else
    formats::require_can_be_written(field, path_, overwrite);
}

std::string FileParts::begin() {
  return several() ? formats::numbered_name(path_, ++number_) : path_;
}

std::uint64_t FileParts::most_samples(const core::Rational& rate_hz,
                                      std::size_t sample_bytes) const {
  constexpr auto kNone = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = kNone;
  if (limits_.each_s > 0)
    most = static_cast<std::uint64_t>(std::min(1e18, std::round(limits_.each_s * rate_hz.value())));
  if (limits_.each_bytes > 0)
    most = std::min<std::uint64_t>(most, limits_.each_bytes / sample_bytes);
  return std::max<std::uint64_t>(1, most);
}

bool FileParts::full(std::uint64_t samples, const core::Rational& rate_hz,
                     std::uint64_t bytes) const {
  const auto most =
      static_cast<std::uint64_t>(std::min(1e18, std::round(limits_.each_s * rate_hz.value())));
  return samples_ > 0 && ((limits_.each_s > 0 && samples_ + samples > most) ||
                          (limits_.each_bytes > 0 && bytes_ + bytes > limits_.each_bytes));
}

bool FileParts::end_if_full(std::uint64_t samples, const core::Rational& rate_hz,
                            std::uint64_t bytes) {
  const bool ends = full(samples, rate_hz, bytes);
  if (ends) samples_ = bytes_ = 0;
  return ends;
}

bool FileParts::over(std::uint64_t samples, const core::Rational& rate_hz, std::uint64_t bytes,
                     const engine::Outputs& outputs) {
  if (!several()) return false;
  const std::uint64_t rotations = outputs.rotations();
  const bool over = full(samples, rate_hz, bytes) || (samples_ > 0 && rotations != rotations_);
  rotations_ = rotations;
  if (over) samples_ = bytes_ = 0;
  samples_ += samples;
  bytes_ += bytes;
  return over;
}

}  // namespace tautline::pipeline
