// The polyphase filter bank: antenna voltages to channels, optionally corner-turned and
// requantised.
//
//   y[s][k] = sum over p in [0, M) of exp(-2 pi i k p / M)
//             sum over t in [0, T) of h[(T - t) M - 1 - p] x[s D + t M + p]
//
// M = C for complex and 2C for real input, D = M for a critically sampled bank and M Q / P for a
// bank oversampled by P/Q (the phase exp(-2 pi i k s D / M) of the moving origin is removed).
// Phases are then corrected (docs/maths/delays.md), channels put in ascending order of sky
// frequency, and values converted to the output's type.
//   complex               channel k is term (k - floor(C/2)) mod C
//   complex, lower band   the same, of the conjugated samples
//   real                  channel k is term k; the Nyquist term C is dropped
//   real, lower band      channel k is the conjugate of term C - k; term 0, on the upper edge of
//                         the sky's band, is dropped
// docs/maths/channelize.md derives this.
//
// | buffer        | axes                       | type                     | written     |
// | samples       | [input][time]              | ci8 ci16 complex<float>  | read        |
// |               |                            | int8 int16 float (real)  |             |
// | validity      | [input][word]              | uint64 bits              | read        |
// | output        | [input][spectrum][channel] | complex<float>, or       | overwritten |
// |               | [channel][input][time]     | ci8, ci4, complex<float> |             |
// | valid         | [input][word]              | uint64 bits by spectrum  | overwritten |
// | gains         | [channel][input]           | float, steps per unit    | read        |
// | clipped       | [input]                    | uint64, components       | accumulated |
//
// The last axis of every buffer is dense; the others may have any stride. Corner-turned rows are
// written fastest if they start on cache lines and their stride is not a power of two.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/complex_int.h"
#include "tautline/core/fields.h"
#include "tautline/core/sample_format.h"
#include "tautline/core/sample_view.h"
#include "tautline/core/validity.h"
#include "tautline/core/view.h"
#include "tautline/core/window.h"
#include "tautline/device/device.h"

namespace tautline::stages::channelize {

enum class Output {
  spectra_float,        ///< [input][spectrum][channel] complex<float>
  corner_turned_float,  ///< [channel][input][time] complex<float>
  corner_turned_ci8,    ///< [channel][input][time] ci8, requantised
  corner_turned_ci4     ///< [channel][input][time] ci4, requantised
};

struct Config {
  std::size_t inputs = 1;
  std::size_t channels = 128;             ///< C, 2 to 65,536; powers of two are fastest
  std::size_t taps = 8;                   ///< T, 1 or more
  core::SampleFormat input = core::kCi8;  ///< ci8 ci16 cf32 i8 i16 f32 (what unpack gives)
  core::Window window;                    ///< default: Hann
  double cutoff = 1.0;              ///< of the prototype, in channel widths; 1: -6 dB at the edge
  std::vector<float> coefficients;  ///< M T coefficients in sample order; empty: designed
  std::size_t oversample_numerator = 1;    ///< P of P/Q >= 1
  std::size_t oversample_denominator = 1;  ///< Q; M Q / P must be whole
  bool lower_sideband = false;             ///< conjugate the voltages first
  Output output = Output::corner_turned_ci8;
  std::size_t max_samples = 1 << 20;  ///< largest number of samples per input of one execute

  std::size_t frame_samples() const { return input.complex ? channels : 2 * channels; }  // M
  std::size_t hop_samples() const {                                                      // D
    return frame_samples() * oversample_denominator / oversample_numerator;
  }
  bool requantised() const {
    return output == Output::corner_turned_ci8 || output == Output::corner_turned_ci4;
  }
  core::SampleType output_type() const;
  /// A dense view of the output of `spectra` spectra.
  core::MutableSampleView<3> output_view(void* data, std::size_t spectra) const;
};
const core::Fields<Config>& fields(const Config&);

/// One input's phase correction during one execute(). The caller delays the input by whole samples;
/// the residual delay is a phase that is linear in the spectrum and in the channel:
///   y[s][k] *= exp(i (phase + s * phase_step + f_k (slope + s * slope_step)))
/// with f_k the channel's frequency relative to baseband zero in cycles per sample (signed).
struct PhaseModel {
  double phase_rad = 0;       ///< of the first spectrum of the call
  double phase_step_rad = 0;  ///< per spectrum (fringe rate)
  double slope_rad = 0;       ///< -2 pi d' with d' the residual delay in samples
  double slope_step_rad = 0;  ///< per spectrum (delay rate)
};

/// The input of one execute().
struct Input {
  const void* samples = nullptr;     ///< [input][time] of the config's format
  std::size_t row_stride_bytes = 0;  ///< between inputs
  std::size_t count = 0;             ///< samples per input in this call
  core::ValidityView validity;       ///< empty: all valid
  std::vector<PhaseModel> phases;    ///< one an input, or empty: none
};

/// Where results go.
struct OutputViews {
  core::MutableSampleView<3> samples;  ///< of Config::output_type(), in the axes of Config::output
  core::View<std::uint64_t, 2> valid;  ///< empty: not written
  core::View<const float, 2> gains;    ///< requantised outputs
  core::View<std::uint64_t, 1> clipped;  ///< requantised outputs
};

/// One stream's history: the last samples of every input that later spectra need, with their
/// validity.
class State {
 public:
  virtual ~State() = default;
  /// Clears the history, as after a gap: the next sample starts a stream.
  virtual void reset() = 0;
  /// Samples per input in the history; they precede the first sample of the next execute().
  virtual std::size_t held_samples() const = 0;
  virtual std::vector<std::byte> save() const = 0;
  /// Throws Error(format) when a state of another plan saved the bytes. Backends do not matter.
  virtual void load(std::span<const std::byte> saved) = 0;
};

struct Bank;  ///< a checked Config with what every backend derives from it

/// Immutable; may be shared by threads. make_plan checks the config.
class Plan {
 public:
  virtual ~Plan() = default;
  const Config& config() const;
  /// "reference", or "portable", "avx2" or "avx512" (also on VNNI and AMX machines) with the kind
  /// of transform: "avx512, fused radix 32x32" or "avx2, fftw".
  virtual std::string backend() const = 0;
  virtual device::MemoryUse bytes() const = 0;
  virtual std::unique_ptr<State> make_state(const device::Queue& queue) const = 0;

  /// Spectra that an execute() of `count` samples writes with `held` samples in the history.
  std::size_t spectra(std::size_t held, std::size_t count) const;

  /// Takes input.count samples of every input, writes every spectrum that they complete, and
  /// returns the number of spectra. A spectrum is invalid, and zero, if any of its T M samples is
  /// invalid. Every split of a stream into calls gives the same bits. Never allocates.
  std::size_t execute(device::Queue& queue, State& state, const Input& input,
                      const OutputViews& output) const;

 protected:
  explicit Plan(std::shared_ptr<const Bank> bank) : bank_(std::move(bank)) {}

  const std::shared_ptr<const Bank> bank_;

 private:
  // With checked arguments; writes `spectra` spectra, or none.
  virtual void run(device::Queue& queue, State& state, const Input& input,
                   const OutputViews& output, std::size_t spectra) const = 0;
};

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device);

/// Writes the spectra of a segment and returns their number when they are there.
/// Config::max_samples does not count.
std::size_t channelize(const Config& config, const Input& input, const OutputViews& output,
                       const device::Selection& device = {});

}  // namespace tautline::stages::channelize
