#include "bench/baseline/channelize.h"

#include <algorithm>
#include <complex>

namespace tautline::bench {

namespace {

// Clips, then rounds half to even by an addition that leaves no fraction bits, which avoids a call
// of the maths library for every value.
std::int8_t round_to_byte(float x) {
  constexpr float kNoFraction = 12582912.0f;
  return static_cast<std::int8_t>(std::min(std::max(x, -127.0f), 127.0f) + kNoFraction -
                                  kNoFraction);
}

}  // namespace

PlainChannelizer::PlainChannelizer(std::size_t channels, std::size_t taps,
                                   const std::vector<double>& prototype,
                                   const device::Device& device)
    : channels_(channels), taps_(taps), fft_(device.make_fft(channels, kBatch)) {
  for (std::size_t t = 0; t < taps; ++t)
    for (std::size_t p = 0; p < channels; ++p)
      coefficients_.push_back(static_cast<float>(prototype[(taps - t) * channels - 1 - p]));
}

void PlainChannelizer::filter(const core::ci8* frames, float* row) const {
  std::fill(row, row + 2 * channels_, 0.0f);
  for (std::size_t t = 0; t < taps_; ++t) {
    const core::ci8* x = frames + t * channels_;
    const float* h = coefficients_.data() + t * channels_;
    for (std::size_t p = 0; p < channels_; ++p) {
      row[2 * p] += h[p] * static_cast<float>(x[p].re);
      row[2 * p + 1] += h[p] * static_cast<float>(x[p].im);
    }
  }
}

void PlainChannelizer::run(device::Queue& queue, const core::ci8* samples, std::size_t inputs,
                           std::size_t row_samples, std::size_t spectra, float gain,
                           core::ci8* out) {
  while (scratch_.size() < queue.workers())
    scratch_.emplace_back(kBatch * channels_ * sizeof(std::complex<float>));
  const std::size_t batches = (spectra + kBatch - 1) / kBatch;
  queue.parallel_for(
      inputs * batches, 1, [&](std::size_t first, std::size_t last, std::size_t worker) {
        auto* rows = scratch_[worker].as<float>();
        for (std::size_t item = first; item < last; ++item) {
          const std::size_t input = item / batches, s0 = item % batches * kBatch;
          const std::size_t count = std::min(kBatch, spectra - s0);
          for (std::size_t s = 0; s < count; ++s)
            filter(samples + input * row_samples + (s0 + s) * channels_, rows + s * 2 * channels_);
          fft_->execute(reinterpret_cast<std::complex<float>*>(rows));
          for (std::size_t k = 0; k < channels_; ++k) {
            const std::size_t bin = (k + channels_ - channels_ / 2) % channels_;
            core::ci8* to = out + (k * inputs + input) * spectra + s0;
            for (std::size_t s = 0; s < count; ++s) {
              const float* value = rows + (s * channels_ + bin) * 2;
              to[s] = {round_to_byte(value[0] * gain), round_to_byte(value[1] * gain)};
            }
          }
        }
      });
}

}  // namespace tautline::bench
