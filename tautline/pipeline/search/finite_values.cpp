#include "tautline/pipeline/search/finite_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "tautline/core/threads.h"

namespace tautline::pipeline {

namespace {

bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7f80'0000;  // of NaN and infinities
  std::uint32_t most = 0;
  for (const float value : values)
    most = std::max(most, std::bit_cast<std::uint32_t>(value) & kExponent);
  return most != kExponent;
}

}  // namespace

FiniteValues::FiniteValues(formats::FilterbankReader& reader, const SampleRange& range)
    : reader_(reader),
      range_(range),
      floats_(reader.description().delivered == formats::Delivered::f32 &&
              !reader.description().time_series) {}

// Values before the first spectrum that is given.
void FiniteValues::begin_with(std::span<const std::byte> spectrum, std::uint64_t position) {
  constexpr std::size_t kAtOnce = 64;
  const std::size_t channels = reader_.description().channels, bytes = spectrum.size();
  last_.assign(channels, NAN);
  std::memcpy(last_.data(), spectrum.data(), bytes);
  std::vector<std::byte> ahead(kAtOnce * bytes);
  const std::uint64_t end = std::min(range_.count, position + kLooked);
  for (std::uint64_t at = position; at < end && !all_finite(last_);) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kAtOnce, end - at));
    const std::size_t got = reader_.read_across(range_.first + at, wanted, ahead);
    if (got == 0) break;
    for (std::size_t t = 0; t < got; ++t)
      for (std::size_t c = 0; c < channels; ++c)
        if (!std::isfinite(last_[c]))
          std::memcpy(&last_[c], ahead.data() + t * bytes + c * sizeof(float), sizeof(float));
    at += got;
  }
  for (float& value : last_) value = std::isfinite(value) ? value : 0;
}

std::uint64_t FiniteValues::replace(std::span<std::byte> spectra, std::uint64_t position) {
  constexpr std::size_t kLeastBytes = std::size_t{256} << 10;  // of a thread
  const std::size_t bytes = reader_.description().sample_bytes();
  if (!floats_ || spectra.empty()) return 0;
  if (last_.empty()) begin_with(spectra.first(bytes), position);
  const std::size_t channels = last_.size(), count = spectra.size() / bytes;
  auto* values = reinterpret_cast<float*>(spectra.data());
  has_bad_.resize(count);
  core::in_pieces(count, spectra.size() / kLeastBytes,
                  [&](std::size_t, std::size_t begin, std::size_t end) {
                    for (std::size_t t = begin; t < end; ++t)
                      has_bad_[t] = all_finite({values + t * channels, channels}) ? 0 : 1;
                  });
  std::uint64_t replaced = 0;
  for (std::size_t t = 0; t < count; ++t) {
    if (has_bad_[t] == 0) continue;
    const float* before = t > 0 ? values + (t - 1) * channels : last_.data();
    for (std::size_t c = 0; c < channels; ++c) {
      float& value = values[t * channels + c];
      if (std::isfinite(value)) continue;
      value = before[c];
      ++replaced;
    }
  }
  std::copy_n(values + (count - 1) * channels, channels, last_.data());
  return replaced;
}

}  // namespace tautline::pipeline
