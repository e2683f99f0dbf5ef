// What the reference and the CPU backend share. Not part of the stage's interface.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tautline/core/requantise.h"
#include "tautline/stages/corner_turn/corner_turn.h"
#include "tautline/stages/corner_turn/tunables.h"

namespace tautline::stages::corner_turn {

template <class Sample>
inline constexpr bool kFloats = std::is_same_v<Sample, std::complex<float>>;

inline bool valid_spectrum(const core::ValidityView& validity, std::size_t input, std::size_t s) {
  return validity.data() == nullptr || (validity(input, s / 64) >> (s % 64) & 1) != 0;
}

/// Requantises one element and counts clipped components; floats are copied.
template <class Sample>
Sample quantise(std::complex<float> x, float gain, std::uint64_t& clipped) {
  if constexpr (kFloats<Sample>) {
    return x;
  } else {
    constexpr int limit = core::requantise_limit(std::is_same_v<Sample, core::ci8> ? 8 : 4);
    const int re = core::requantise(x.real(), gain, limit, clipped);
    const int im = core::requantise(x.imag(), gain, limit, clipped);
    if constexpr (std::is_same_v<Sample, core::ci4>)
      return core::ci4::pack(re, im);
    else
      return {static_cast<std::int8_t>(re), static_cast<std::int8_t>(im)};
  }
}

/// Plain loops over some spectra and channels of one input; adds to `clipped`.
template <class Sample>
void transpose_plain(const Spectra& spectra, const core::ValidityView& validity, const Gains& gains,
                     const core::View<Sample, 3>& samples, std::size_t input,
                     std::size_t first_spectrum, std::size_t last_spectrum,
                     std::size_t first_channel, std::size_t last_channel, std::uint64_t& clipped) {
  for (std::size_t s = first_spectrum; s < last_spectrum; ++s) {
    const bool valid = valid_spectrum(validity, input, s);
    for (std::size_t c = first_channel; c < last_channel; ++c) {
      const float gain = kFloats<Sample> ? 1.0f : gains(c, input);
      samples(c, input, s) =
          valid ? quantise<Sample>(spectra(input, s, c), gain, clipped) : Sample{};
    }
  }
}

std::shared_ptr<const Plan> make_reference_plan(const Config& config);
std::shared_ptr<const Plan> make_cpu_plan(const Config& config, device::InstructionSet set,
                                          const Tunables& tunables);

/// Throws the errors that Plan::execute documents.
void require_views(const Config& config, const Spectra& spectra, const core::ValidityView& validity,
                   const Gains& gains, const core::MutableSampleView<3>& samples,
                   const Clipped& clipped);

/// Calls body(View<Sample, 3>) with the samples as ci8, ci4 or complex<float>.
template <class Body>
void with_samples(const core::MutableSampleView<3>& samples, const Body& body) {
  core::with_type<core::ci8, core::ci4, std::complex<float>>(samples, "corner_turn samples", body);
}

}  // namespace tautline::stages::corner_turn
