#include "tautline/pipeline/voltages/gains.h"

#include <algorithm>
#include <cmath>

namespace tautline::pipeline {

PowerMeter::PowerMeter(std::size_t inputs, std::size_t channels)
    : inputs_(inputs),
      channels_(channels),
      power_(inputs * channels, 0),
      spectra_(inputs, 0),
      held_(inputs, 0) {}

void PowerMeter::hold() {
  for (std::size_t i = 0; i < inputs_; ++i) held_[i] = spectra_[i] > 0;
}

bool PowerMeter::every_input() const {
  return std::find(spectra_.begin(), spectra_.end(), 0u) == spectra_.end();
}

void PowerMeter::add(device::Queue& queue, const core::View<const std::complex<float>, 3>& spectra,
                     const core::ValidityView& validity, std::size_t count) {
  queue.parallel_for(inputs_, 1, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t i = first; i < last; ++i) {
      if (held_[i] != 0) continue;
      double* power = power_.data() + i * channels_;
      for (std::size_t s = 0; s < count; ++s) {
        if (!validity.empty() && (validity(i, s / 64) >> (s % 64) & 1) == 0) continue;
        ++spectra_[i];
        const std::complex<float>* row = spectra.row(i, s);
        for (std::size_t c = 0; c < channels_; ++c) {
          const double re = row[c].real(), im = row[c].imag();
          power[c] += re * re + im * im;
        }
      }
    }
  });
}

std::vector<float> PowerMeter::gains(double target) const {
  std::vector<float> gains(channels_ * inputs_, 1.0f);
  for (std::size_t i = 0; i < inputs_; ++i) {
    if (spectra_[i] == 0) continue;
    for (std::size_t c = 0; c < channels_; ++c) {
      const double mean = power_[i * channels_ + c] / static_cast<double>(spectra_[i]);
      const auto gain = static_cast<float>(target / std::sqrt(mean / 2));
      if (std::isnormal(gain)) gains[c * inputs_ + i] = gain;
    }
  }
  return gains;
}

}  // namespace tautline::pipeline
