// What the reference and the CPU backend share. Not part of the stage's interface.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tautline/core/requantise.h"
#include "tautline/stages/corner_turn/corner_turn.h"
#include "tautline/stages/corner_turn/tunables.h"

namespace tautline::stages::corner_turn {

template <class Sample>
using Samples = core::View<Sample, 3>;

inline bool valid_spectrum(const core::ValidityView& validity, std::size_t input, std::size_t s) {
  return validity.data() == nullptr || (validity(input, s / 64) >> (s % 64) & 1) != 0;
}

/// Requantises one element and counts clipped components; floats are copied.
inline void quantise(std::complex<float> x, float gain, std::uint64_t& clipped, core::ci8& out) {
  const int limit = core::requantise_limit(8);
  out = {static_cast<std::int8_t>(core::requantise(x.real(), gain, limit, clipped)),
         static_cast<std::int8_t>(core::requantise(x.imag(), gain, limit, clipped))};
}
inline void quantise(std::complex<float> x, float gain, std::uint64_t& clipped, core::ci4& out) {
  const int limit = core::requantise_limit(4);
  const int re = core::requantise(x.real(), gain, limit, clipped);
  const int im = core::requantise(x.imag(), gain, limit, clipped);
  out = core::ci4::pack(re, im);
}
inline void quantise(std::complex<float> x, float, std::uint64_t&, std::complex<float>& out) {
  out = x;
}

/// Plain loops over some spectra and channels of one input; adds to `clipped`.
template <class Sample>
void transpose_plain(const Spectra& spectra, const core::ValidityView& validity, const Gains& gains,
                     const Samples<Sample>& samples, std::size_t input, std::size_t first_spectrum,
                     std::size_t last_spectrum, std::size_t first_channel, std::size_t last_channel,
                     std::uint64_t& clipped) {
  for (std::size_t s = first_spectrum; s < last_spectrum; ++s) {
    const bool valid = valid_spectrum(validity, input, s);
    for (std::size_t c = first_channel; c < last_channel; ++c) {
      Sample out{};
      const float gain = gains.data() == nullptr ? 1.0f : gains(c, input);
      if (valid) quantise(spectra(input, s, c), gain, clipped, out);
      samples(c, input, s) = out;
    }
  }
}

std::shared_ptr<const Plan> make_reference_plan(const Config& config);
std::shared_ptr<const Plan> make_cpu_plan(const Config& config, device::InstructionSet set,
                                          const Tunables& tunables);

/// Throw the errors that Plan::execute documents. `bits`: bits of a component of the samples.
void require_views(const Config& config, const Spectra& spectra, const core::ValidityView& validity,
                   int bits, const std::array<std::size_t, 3>& samples);
void require_gains(const Config& config, const Gains& gains, const Clipped& clipped);

/// A plan whose three execute() call one function template, run(), of Derived.
template <class Derived>
class PlanBase : public Plan {
 public:
  explicit PlanBase(const Config& config) : config_(config) {}
  const Config& config() const override { return config_; }

  void execute(device::Queue& queue, const Spectra& spectra, const core::ValidityView& validity,
               const Gains& gains, const Samples<core::ci8>& samples,
               const Clipped& clipped) const override {
    require_views(config_, spectra, validity, 8, samples.extents());
    require_gains(config_, gains, clipped);
    derived().run(queue, spectra, validity, gains, samples, clipped);
  }
  void execute(device::Queue& queue, const Spectra& spectra, const core::ValidityView& validity,
               const Gains& gains, const Samples<core::ci4>& samples,
               const Clipped& clipped) const override {
    require_views(config_, spectra, validity, 4, samples.extents());
    require_gains(config_, gains, clipped);
    derived().run(queue, spectra, validity, gains, samples, clipped);
  }
  void execute(device::Queue& queue, const Spectra& spectra, const core::ValidityView& validity,
               const Samples<std::complex<float>>& samples) const override {
    require_views(config_, spectra, validity, 32, samples.extents());
    derived().run(queue, spectra, validity, Gains(), samples, Clipped());
  }

 private:
  const Derived& derived() const { return static_cast<const Derived&>(*this); }
  Config config_;
};

}  // namespace tautline::stages::corner_turn
