// The corner turn: [input][spectrum][channel] to [channel][input][time], requantised or as floats.
//
//   out[c][i][s] = in[i][s][c], or requantise(in[i][s][c] * gain[c][i]) (core/requantise.h)
//
// | buffer  | axes                       | type                       | unit       | written     |
// | spectra | [input][spectrum][channel] | complex<float>             | volts      | read        |
// | gains   | [channel][input]           | float                      | steps/volt | read        |
// | samples | [channel][input][time]     | ci8, ci4 or complex<float> | steps      | overwritten |
// | clipped | [input]                    | uint64                     | components | accumulated |
//
// Invalid spectra become zero and are not counted as clipped. channelize has the same arithmetic fused into its last
// pass; this stage is for filter banks whose floats are needed first (examples/corner_turn/main.cpp).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tautline/core/fields.h"
#include "tautline/core/sample_view.h"
#include "tautline/core/validity.h"
#include "tautline/device/device.h"

namespace tautline::stages::corner_turn {

struct Config {
  std::size_t inputs = 1;
  std::size_t channels = 1;
  std::size_t max_spectra = 1024;  ///< largest number of spectra of one execute()
  /// Of the samples: ci8, ci4 or cf32 (without gains).
  core::SampleType output_type = core::SampleType::ci8;
};
const core::Fields<Config>& fields(const Config&);

using Spectra = core::View<const std::complex<float>, 3>;
using Gains = core::View<const float, 2>;
using Clipped = core::View<std::uint64_t, 1>;

/// Immutable; may be shared by threads. No state.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual const Config& config() const = 0;
  virtual std::string backend() const = 0;
  virtual device::MemoryUse bytes() const = 0;

  /// Writes spectra.extent(1) times at the start of each row of `samples`. An empty validity means
  /// all valid. Floats have no gains and are not clipped: both views may be empty. Throws
  /// Error(config) if extents are not the plan's, or the sample type is not output_type. Channels of
  /// `spectra` and times of `samples` may have strides, which is slower.
  virtual void execute(device::Queue& queue, const Spectra& spectra,
                       const core::ValidityView& validity, const Gains& gains,
                       const core::MutableSampleView<3>& samples, const Clipped& clipped) const = 0;
};

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device);

/// Transposes whole arrays in one call, with a plan of their extents and type.
void corner_turn(const Spectra& spectra, const core::ValidityView& validity, const Gains& gains,
                 const core::MutableSampleView<3>& samples, const Clipped& clipped,
                 const device::Selection& selection = {});

}  // namespace tautline::stages::corner_turn
