#include "tautline/pipeline/voltages/power_sums.h"

#include <algorithm>
#include <complex>

namespace tautline::pipeline {

namespace {

// The mean is exponential over about so many samples, so that it follows the level.
constexpr std::uint64_t kSamplesOfMean = 4096;

std::complex<double> value_of(const std::complex<float>& x) {
  return x;
}
std::complex<double> value_of(const core::cf16& x) {
  return {core::to_float(x.re), core::to_float(x.im)};
}
template <class T>
std::complex<double> value_of(const core::Complex<T>& x) {
  return {static_cast<double>(x.re), static_cast<double>(x.im)};
}

}  // namespace

// The validity of all polarisations of the antenna whose first row this is.
bool PowerSums::is_valid(const core::ValidityView& valid, std::size_t row,
                         std::size_t spectrum) const {
  if (valid.empty()) return true;
  for (std::size_t p = 0; p < polarisations_; ++p)
    if ((valid(row + p, spectrum / 64) >> (spectrum % 64) & 1) == 0) return false;
  return true;
}

// `input`: the first of its antenna.
template <class View>
void PowerSums::add_power(const View& spectra, std::size_t input, std::size_t spectrum,
                          std::size_t channel) {
  for (std::size_t p = 0; p < polarisations_; ++p) {
    const double sign = p == 1 ? -1 : 1;
    const double power = std::norm(value_of(spectra(input + p, spectrum, channel)));
    sums_[channel] += power;
    if (products_ == 4) sums_[channels_ + channel] += sign * power;
  }
  if (products_ != 4) return;
  const std::complex<double> cross = value_of(spectra(input, spectrum, channel)) *
                                     std::conj(value_of(spectra(input + 1, spectrum, channel)));
  sums_[2 * channels_ + channel] += 2 * cross.real();
  sums_[3 * channels_ + channel] -= 2 * cross.imag();
}

// Sums in the order of the memory; the sums of each channel are in the order of time either way.
template <class View>
void PowerSums::add_spectra(const View& spectra, const core::ValidityView& valid, std::size_t first,
                            std::size_t end) {
  const std::size_t inputs = antennas_ * polarisations_;
  const bool by_channel = !valid.empty() && valid.extent(0) > inputs;
  if (!by_channel && spectra.stride(2) == 1) {
    for (std::size_t s = first; s < end; ++s)
      for (std::size_t input = 0; input < inputs; input += polarisations_) {
        if (!is_valid(valid, input, s)) continue;
        ++valid_;
        for (std::size_t c = 0; c < channels_; ++c) add_power(spectra, input, s, c);
      }
    return;
  }
  for (std::size_t c = 0; c < channels_; ++c)
    for (std::size_t s = first; s < end; ++s)
      for (std::size_t input = 0; input < inputs; input += polarisations_) {
        if (!is_valid(valid, by_channel ? c * inputs + input : input, s)) continue;
        ++channel_valid_[c];
        add_power(spectra, input, s, c);
      }
}

std::size_t PowerSums::add(const SpectraChunk& chunk, std::size_t first) {
  const auto count = static_cast<std::size_t>(
      std::min<std::uint64_t>(chunk.spectra - first, integrate_ - filled_));
  core::with_type<std::complex<float>, core::ci8, core::ci16, core::cf16>(
      chunk.samples, "spectra",
      [&](const auto& spectra) { add_spectra(spectra, chunk.valid, first, first + count); });
  filled_ += count;
  return count;
}

std::size_t PowerSums::take(std::span<float> sample, WithoutData without,
                            std::vector<std::size_t>* empty_channels) {
  std::size_t empty = 0;
  for (std::size_t c = 0; c < channels_; ++c) {
    const std::uint64_t valid = valid_ + channel_valid_[c];
    const double scale = valid > 0 ? 1.0 / static_cast<double>(valid) : 0.0;
    if (valid > 0) {
      mean_samples_[c] = std::min(mean_samples_[c] + 1, kSamplesOfMean);
    } else {
      ++empty;
      if (empty_channels != nullptr) empty_channels->push_back(channels_ - 1 - c);
    }
    for (std::size_t product = 0; product < products_; ++product) {
      const std::size_t k = product * channels_ + c;
      const double power = sums_[k] * scale;
      if (valid > 0) means_[k] += (power - means_[k]) / static_cast<double>(mean_samples_[c]);
      const bool fill = valid == 0 && without == WithoutData::mean;
      sample[product * channels_ + channels_ - 1 - c] =
          static_cast<float>(fill ? means_[k] : power);
    }
  }
  reset();
  return empty;
}

void PowerSums::reset() {
  std::fill(sums_.begin(), sums_.end(), 0);
  std::fill(channel_valid_.begin(), channel_valid_.end(), 0);
  filled_ = valid_ = 0;
}

}  // namespace tautline::pipeline
