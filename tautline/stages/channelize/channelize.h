// The polyphase filter bank: antenna voltages to channels, turned and requantised on the way out.
//
//   y[s][k] = sum over p in [0, M) of exp(-2 pi i k p / M)
//             sum over t in [0, T) of h[(T - t) M - 1 - p] x[s D + t M + p]
//
// M = C for complex and 2C for real input, D = M for a critically sampled bank and M Q / P for one
// oversampled by P/Q (the phase exp(-2 pi i k s D / M) of the moving origin is taken out). Then the
// correction of docs/maths/delays.md, ascending order of sky frequency, and the output's form.
//   complex               channel k is term (k - floor(C/2)) mod C
//   complex, lower band   the same of the conjugated samples
//   real                  channel k is term k; the Nyquist term C is dropped
//   real, lower band      channel k is the conjugate of term C - k; term 0, which lies on the upper
//                         edge of the sky's band as the Nyquist term does otherwise, is dropped
// docs/maths/channelize.md derives this.
//
// | buffer   | axes                       | type                     | written     |
// | samples  | [input][time]              | ci8 ci16 complex<float>  | read        |
// |          |                            | int8 int16 float (real)  |             |
// | validity | [input][word]              | uint64 bits              | read        |
// | spectra  | [input][spectrum][channel] | complex<float>           | overwritten |
// | turned   | [channel][input][time]     | ci8, ci4, complex<float> | overwritten |
// | valid    | [input][word]              | uint64 bits by spectrum  | overwritten |
// | gains    | [channel][input]           | float, steps per unit    | read        |
// | clipped  | [input]                    | uint64, components       | accumulated |
//
// The last axis of every buffer is dense; the others may have any stride. Turned rows that start on
// cache lines, a number of bytes apart that is not a power of two, are written fastest.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/core/complex_int.h"
#include "tautline/core/sample_format.h"
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
  core::Window window;                    ///< Hann unless told
  double cutoff = 1.0;              ///< of the prototype, in channel widths; 1: -6 dB at the edge
  std::vector<float> coefficients;  ///< M T of them in sample order: used as given; empty: designed
  std::size_t oversample_numerator = 1;    ///< P of P/Q >= 1
  std::size_t oversample_denominator = 1;  ///< Q; M Q / P must be whole
  bool lower_sideband = false;             ///< conjugate the voltages first
  Output output = Output::corner_turned_ci8;
  std::size_t max_samples = 1 << 20;  ///< most samples of an input that one execute is given

  std::size_t frame_samples() const { return input.complex ? channels : 2 * channels; }  // M
  std::size_t hop_samples() const {                                                      // D
    return frame_samples() * oversample_denominator / oversample_numerator;
  }
};

/// One input's correction during one execute: whole samples are taken care of by the caller's
/// `delay_samples`; the rest is a phase that moves linearly with the spectrum and the channel:
///   y[s][k] *= exp(i (phase + s * phase_step + f_k (slope + s * slope_step)))
/// with f_k the channel's frequency relative to baseband zero in cycles per sample (signed).
struct PhaseModel {
  double phase_rad = 0;       ///< of the first spectrum of the call
  double phase_step_rad = 0;  ///< per spectrum (fringe rate)
  double slope_rad = 0;       ///< -2 pi d' with d' the residual delay in samples
  double slope_step_rad = 0;  ///< per spectrum (delay rate)
};

/// What one execute is given besides samples.
struct Input {
  const void* samples = nullptr;     ///< [input][time] of the config's format
  std::size_t row_stride_bytes = 0;  ///< between inputs
  std::size_t count = 0;             ///< samples per input in this call
  core::ValidityView validity;       ///< empty: all valid
  std::vector<PhaseModel> phases;    ///< one an input, or empty: none
};

/// Where results go; the views of outputs that the config does not ask for are empty.
struct OutputViews {
  core::View<std::complex<float>, 3> spectra;              ///< Output::spectra_float
  core::View<std::complex<float>, 3> corner_turned_float;  ///< Output::corner_turned_float
  core::View<core::ci8, 3> corner_turned_ci8;              ///< Output::corner_turned_ci8
  core::View<core::ci4, 3> corner_turned_ci4;              ///< Output::corner_turned_ci4
  core::View<std::uint64_t, 2> valid;                      ///< may be empty
  core::View<const float, 2> gains;                        ///< requantised outputs
  core::View<std::uint64_t, 1> clipped;                    ///< requantised outputs
};

/// One stream's history: the last samples that later spectra still need, for every input, with
/// their validity.
class State {
 public:
  virtual ~State() = default;
  /// Forgets the history, as after a gap: the next sample is the first one again.
  virtual void reset() = 0;
  /// Samples per input held back so far (all of them precede the next execute's first one).
  virtual std::size_t held_samples() const = 0;
  virtual std::vector<std::byte> save() const = 0;
  virtual void load(const std::vector<std::byte>& saved) = 0;
};

/// Immutable; may be shared by threads. All checking happens in make_plan.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual const Config& config() const = 0;
  /// "reference", or "portable", "avx2" or "avx512" (which serves VNNI and AMX machines as well)
  /// and how the transform is done: "avx512, fused radix 32x32" or "avx2, fftw".
  virtual std::string backend() const = 0;
  virtual device::MemoryUse bytes() const = 0;
  virtual std::unique_ptr<State> make_state(const device::Queue& queue) const = 0;

  /// Spectra that an execute of `count` samples will give from a state that holds `held`.
  virtual std::size_t spectra(std::size_t held, std::size_t count) const = 0;

  /// Consumes input.count samples of every input and writes every spectrum that they complete;
  /// returns how many. A spectrum is invalid, and zero, when any of its T M samples is invalid. Any
  /// split of a stream into calls gives the same bits. Never allocates.
  virtual std::size_t execute(device::Queue& queue, State& state, const Input& input,
                              const OutputViews& output) const = 0;
};

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device);

/// One-shot: the spectra of a whole stretch of samples on the best CPU path; returns how many.
std::size_t channelize(const Config& config, const Input& input, const OutputViews& output);

}  // namespace tautline::stages::channelize
