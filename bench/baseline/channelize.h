// The baseline implementation for bench/channelize.cpp: a plain filter loop, a library FFT, and a
// plain loop that rounds and corner-turns.
#pragma once

#include <cstddef>
#include <vector>

#include "tautline/core/complex_int.h"
#include "tautline/device/device.h"

namespace tautline::bench {

class PlainChannelizer {
 public:
  PlainChannelizer(std::size_t channels, std::size_t taps, const std::vector<double>& prototype,
                   const device::Device& device);

  /// samples [input][time] -> out [channel][input][spectrum], on the queue's threads.
  void run(device::Queue& queue, const core::ci8* samples, std::size_t inputs,
           std::size_t row_samples, std::size_t spectra, float gain, core::ci8* out);

 private:
  void filter(const core::ci8* frames, float* row) const;

  static constexpr std::size_t kBatch = 16;
  std::size_t channels_, taps_;
  std::vector<float> coefficients_;  // [tap][channel], in reading order
  std::shared_ptr<const device::FftPlan> fft_;
  std::vector<device::Buffer> scratch_;
};

}  // namespace tautline::bench
