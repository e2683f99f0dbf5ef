#include "tautline/pipeline/voltages/power_sums.h"

#include <algorithm>
#include <complex>

namespace tautline::pipeline {

namespace {

bool is_valid(const SpectraChunk& chunk, std::size_t input, std::size_t spectrum) {
  return chunk.valid.empty() || (chunk.valid(input, spectrum / 64) >> (spectrum % 64) & 1) != 0;
}

}  // namespace

void PowerSums::add_antenna(const SpectraChunk& chunk, std::size_t antenna, std::size_t spectrum) {
  const std::size_t first = antenna * polarisations_;
  const auto spectra = chunk.samples.as<const std::complex<float>>();
  for (std::size_t p = 0; p < polarisations_; ++p)
    if (!is_valid(chunk, first + p, spectrum)) return;
  ++valid_;
  for (std::size_t p = 0; p < polarisations_; ++p) {
    const double sign = p == 1 ? -1 : 1;
    for (std::size_t c = 0; c < channels_; ++c) {
      const double power = std::norm(std::complex<double>(spectra(first + p, spectrum, c)));
      sums_[c] += power;
      if (products_ == 4) sums_[channels_ + c] += sign * power;
    }
  }
  if (products_ != 4) return;
  for (std::size_t c = 0; c < channels_; ++c) {
    const std::complex<double> cross =
        std::complex<double>(spectra(first, spectrum, c)) *
        std::conj(std::complex<double>(spectra(first + 1, spectrum, c)));
    sums_[2 * channels_ + c] += 2 * cross.real();
    sums_[3 * channels_ + c] -= 2 * cross.imag();
  }
}

bool PowerSums::add(const SpectraChunk& chunk, std::size_t spectrum) {
  for (std::size_t antenna = 0; antenna < antennas_; ++antenna)
    add_antenna(chunk, antenna, spectrum);
  return ++filled_ == integrate_;
}

void PowerSums::take(std::span<float> sample) {
  const double scale = valid_ > 0 ? 1.0 / static_cast<double>(valid_) : 0.0;
  for (std::size_t product = 0; product < products_; ++product)
    for (std::size_t c = 0; c < channels_; ++c)
      sample[product * channels_ + channels_ - 1 - c] =
          static_cast<float>(sums_[product * channels_ + c] * scale);
  reset();
}

void PowerSums::reset() {
  std::fill(sums_.begin(), sums_.end(), 0);
  filled_ = valid_ = 0;
}

}  // namespace tautline::pipeline
