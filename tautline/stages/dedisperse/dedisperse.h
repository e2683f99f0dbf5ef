// Dedispersion: the channels of a band summed along the delays of many trial dispersion measures.
//
//   out[b][i][t] = sum over channels c that are not ignored of x[b][c][t + delay(i, c)]
//   delay(i, c)  = round(k DM_i (f_c^-2 - f_ref^-2) / (n sample_time))
//   x[b][c][t]   = sum over n = `downsample` neighbouring times of the input
//                  (with zero_dm each time less its mean over the channels that are not ignored)
//
// | buffer  | axes                  | type                               | unit    | written     |
// | spectra | [beam][time][channel] | 1, 2, 4, 8, 16 bits, or float      | input's | read        |
// | or rows | [beam][channel][time] | uint8 (1 to 8 bits), uint16, float | input's | read        |
// | trials  | [beam][trial][time]   | int32; float for float and zero_dm | input's | overwritten |
//
// Samples of less than a byte lie in it low bits first. Sums of integers are exact. Time t of a
// trial is the time at which a pulse passes f_ref, the centre of the highest channel unless told; a
// trial gives a sample when the plan's largest delay has arrived, so all trials are equally long.
// The last axis of every buffer is dense. docs/maths/dedisperse.md derives the methods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/dispersion.h"
#include "tautline/core/fields.h"
#include "tautline/core/sample_view.h"
#include "tautline/device/device.h"

namespace tautline::stages::dedisperse {

enum class Method {
  automatic,  ///< exact or shared, whichever is cheaper; subband only within the subband_loss asked for
  exact,      ///< every channel added for every trial
  shared,  ///< partial sums that several trials have in common added once: the same result
  subband  ///< trials share the delays inside sub-bands: S/N lost up to subband_loss, or 1 %
};

std::string to_string(Method method);

struct Config {
  std::vector<double> frequencies_mhz;             ///< centre of each channel, in any order
  double sample_time_s = 0;                        ///< of the input
  std::vector<double> dms;                         ///< trials, pc cm^-3, 0 or more, in any order
  double dm_constant = core::kDispersionConstant;  ///< k, s MHz^2 per pc cm^-3
  double reference_mhz = 0;                        ///< f_ref; 0: the highest channel's centre
  int bits = 8;                 ///< of an input sample: 1, 2, 4, 8, 16, 32 (float)
  bool signed_samples = false;  ///< 8 and 16 bits: two's complement
  std::size_t beams = 1;
  std::size_t max_samples = 16384;            ///< most times that one execute is given
  std::vector<std::size_t> ignored_channels;  ///< left out of every sum
  bool zero_dm = false;                       ///< subtract the mean over channels at each time
  bool measure_channels = false;              ///< keep State::moments()
  std::size_t downsample = 1;                 ///< n: neighbouring times added before dedispersion
  Method method = Method::automatic;
  double subband_loss = 0;   ///< of S/N that sub-bands may cost, 0 to 0.5; 0: none asked for
  double pulse_width_s = 0;  ///< narrowest pulse that subband_loss holds for; 0: any, of no width
                             ///< before dispersion
  /// Largest value of an integer sample, 0: what `bits` can hold. A smaller one (4-bit samples in
  /// bytes) lets 16-bit sums take more channels.
  std::uint32_t max_value = 0;
  std::uint32_t zero_level = 0;  ///< of an integer sample, what stands for 0: taken off the sums

  friend bool operator==(const Config&, const Config&) = default;
};
const core::Fields<Config>& fields(const Config&);

/// The method that the plan chose, and its cost.
struct MethodChoice {
  Method method = Method::exact;
  double adds = 0;        ///< for one time of all trials of one beam
  double plain_adds = 0;  ///< the same for Method::exact: trials x channels
  double loss = 0;   ///< worst loss of S/N among the trials, as docs/maths/dedisperse.md has it
  std::string text;  ///< for people: "shared, 0.13 of the plain adds, groups of 16, ..."
};

/// One execute's input: spectra or rows.
struct Input {
  enum class Layout { spectra, rows };
  Layout layout = Layout::spectra;
  const void* data = nullptr;
  std::size_t count = 0;              ///< times, at most Config::max_samples
  std::size_t stride_bytes = 0;       ///< between times (spectra) or channels (rows); 0: dense
  std::size_t beam_stride_bytes = 0;  ///< 0: dense
};

struct Result {
  std::size_t samples = 0;       ///< times written to every trial
  std::uint64_t not_finite = 0;  ///< float samples that were NaN or infinite; taken as zero
};

/// Sums over time of one channel's input (before zero_dm): exact up to 2^53.
struct Moments {
  double count = 0, sum = 0, sum_of_squares = 0;
};

/// One stream's overlap: the times that later results still need.
class State {
 public:
  virtual ~State() = default;
  /// Forgets the stream: the next sample is its first.
  virtual void reset() = 0;
  /// Times (of the trials, after downsampling) held back.
  virtual std::size_t held_samples() const = 0;
  /// [beam][channel] since the last reset; empty without measure_channels.
  virtual std::vector<Moments> moments() const = 0;
  virtual std::vector<std::byte> save() const = 0;
  /// Throws Error(format) unless a state of an equal Config on the same kind of device saved it; blocks
  /// and the method of summing may differ.
  virtual void load(std::span<const std::byte> saved) = 0;
};

/// Immutable; may be shared by threads. All checking happens in make_plan.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual const Config& config() const = 0;
  /// "reference", "portable", "avx2", "avx512" (which serves VNNI and AMX machines), "cuda",
  /// "opencl".
  virtual std::string backend() const = 0;
  virtual const MethodChoice& choice() const = 0;
  /// Of the plan's tables and one state.
  virtual device::MemoryUse bytes() const = 0;
  virtual std::unique_ptr<State> make_state(device::Queue& queue) const = 0;

  /// Whether trials are float (float input or zero_dm); else int32.
  virtual bool float_output() const = 0;
  core::SampleType output_type() const {
    return float_output() ? core::SampleType::f32 : core::SampleType::i32;
  }
  /// Whether execute takes input that is in the device's memory.
  virtual bool takes_device_memory() const { return false; }
  /// The largest delay, in times of the trials.
  virtual std::size_t max_delay() const = 0;
  /// [trial][channel], as summed (with Method::subband not the rounded exact ones).
  virtual std::int64_t delay(std::size_t trial, std::size_t channel) const = 0;
  /// Most times that one execute can write: room that the output's last axis must have.
  virtual std::size_t max_output_samples() const = 0;

  /// Consumes input.count times and writes every time of the trials that they complete. Any split
  /// of a stream into calls gives the same bits; over a whole stream of N times the trials have
  /// floor(N / downsample) - max_delay() samples (or none). Throws Error(config) when a view or the
  /// count contradicts the plan. Never allocates.
  virtual Result execute(device::Queue& queue, State& state, const Input& input,
                         const core::MutableSampleView<3>& trials) const = 0;
};

/// Throws Error(config) naming the field, the value and the limit, and Error(unsupported) when the
/// device forces what this stage has no code for.
std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device);

/// The whole of `input`, in the host's memory, by one plan on a device of its own, in blocks of at most
/// config.max_samples. `trials` has room for all times. Throws as make_plan, Plan::execute and
/// device::open.
Result dedisperse(const Config& config, const Input& input,
                  const core::MutableSampleView<3>& trials,
                  const device::Selection& selection = {});

}  // namespace tautline::stages::dedisperse
