// Correlation of count series over quasi-logarithmic lags: multi-tau.
//
// At level l the series of b (later) and a (earlier) are summed over windows of w = 2^l samples,
//
//   d_l[j] = sum of b over [j w, (j + 1) w),   e_l[j] = sum of a over [j w - base_l, (j + 1) w -
//   base_l), sums[lag] = sum over j of d_l[j] e_l[j - k],   lag = base_l + k w samples,
//
// with counts before the first sample zero. Only whole windows count.
//
// | ladder   | base_l          | k                                                  |
// | chain    | bins (2^l - 1)  | 0 .. bins - 1                                      |
// | standard | 0               | level 0: 0 .. bins; later ones: bins/2 + 1 .. bins |
//
// counts[lag] is the number of pairs whose windows both start at or after the first sample,
// and the monitors are the sums of each series over these pairs. A chain's sums also hold at most
// one product a lag with a window that reaches before the first sample; `lead_in` is that product,
// so that sums - lead_in goes with counts and monitors. See docs/maths/autocorrelate.md.
//
// | buffer          | axes            | type                         | unit     | written     |
// | samples         | [time][sensor]  | uint8, uint16, uint32, float | counts   | read        |
// | sums, lead_in   | [pair][lag]     | int64 (float input: double)  | counts^2 | overwritten |
// | monitor_direct  | [pair][lag]     | the same; of a, the earlier  | counts   | overwritten |
// | monitor_delayed | [pair][lag]     | the same; of b, the later    | counts   | overwritten |
// | totals          | [pair][2]       | the same; of a and b, whole run | counts | overwritten |
// | counts          | [lag]           | int64                        | pairs    | overwritten |
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/count_type.h"
#include "tautline/core/view.h"
#include "tautline/device/device.h"

namespace tautline::stages::autocorrelate {

/// Which lags: see above.
enum class Ladder { chain, standard };

/// How a level's samples become the next one's: the sum of two, or one of them (no triangular
/// bias, less signal).
enum class Coarsening { sum, first, second };

/// u8 and u16 are fast; u32 and f32 are correct.
using core::CountType;

/// The sensors whose series are a (earlier) and b (later).
struct Pair {
  std::uint32_t a = 0, b = 0;
  friend constexpr bool operator==(const Pair&, const Pair&) = default;
};

struct Config {
  std::size_t sensors = 1;  ///< in a row of input, 1 to 2^24
  Ladder ladder = Ladder::chain;
  std::size_t bins = 32;    ///< chain: lags a group, 1 to 1024; standard: m, even
  std::size_t levels = 10;  ///< groups or levels, 1 to 40
  Coarsening coarsening = Coarsening::sum;
  CountType type = CountType::u8;
  std::vector<Pair> pairs = {};     ///< empty: every sensor with itself
  std::size_t max_samples = 65536;  ///< most samples (times) that one execute is given

  std::size_t pair_count() const { return pairs.empty() ? sensors : pairs.size(); }
};

inline constexpr std::size_t kMaxSensors = std::size_t{1} << 24;
inline constexpr std::size_t kMaxBins = 1024;
inline constexpr std::size_t kMaxLevels = 40;

/// One lag of a ladder.
struct Lag {
  std::size_t level = 0;
  std::uint64_t steps = 0;    ///< k
  std::uint64_t samples = 0;  ///< the lag itself
  friend constexpr bool operator==(const Lag&, const Lag&) = default;
};

/// The lags of a ladder in the order of every output, which is increasing.
std::vector<Lag> lags_of(const Config& config);
/// Pairs of whole windows at a lag after `samples` samples: what `counts` holds.
std::int64_t pairs_at(const Config& config, const Lag& lag, std::uint64_t samples);

/// Where `read` writes; any view may be empty. Value is int64, or double for float input.
template <class Value>
struct Sums {
  core::View<Value, 2> sums, lead_in, monitor_direct, monitor_delayed;  ///< [pair][lag]
  core::View<Value, 2> totals;                                          ///< [pair][2]
  std::span<std::int64_t> counts;                                       ///< [lag]
};

template <class Count>
using Samples = core::View<const Count, 2>;

/// One stream: its history and sums. Its size does not grow with the run.
class State {
 public:
  virtual ~State() = default;
  /// Samples (times) given so far.
  virtual std::uint64_t samples() const = 0;
  /// Back to before the first sample.
  virtual void reset() = 0;
  /// Everything, for `load` of a state of an equal plan (same backend, config and tunables).
  virtual std::vector<std::byte> save() const = 0;
  /// Throws Error(format) when the bytes are not such a state's.
  virtual void load(std::span<const std::byte> bytes) = 0;
};

/// Immutable; may be shared by threads. All checking happens when it is made.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual const Config& config() const = 0;
  /// "reference", "portable", "avx2", "avx512", "vnni" or "amx": the code that will run; on GPUs
  /// "cuda" or "opencl", whether sums are made on matrix units ("mma") or not ("portable"), and where
  /// the tunables come from: "cuda mma (tuned)".
  virtual std::string backend() const = 0;
  /// Memory that a state takes, however long the run.
  virtual device::MemoryUse bytes() const = 0;
  virtual std::unique_ptr<State> make_state(const device::Queue& queue) const = 0;

  /// Samples may lie in the host's memory or the device's. Adds them to the state; any split of a
  /// stream gives the same bits. Throws Error(config) when a shape contradicts the config, the type
  /// is not the plan's, or a sum could reach 2^63 (the state then takes nothing more until
  /// `reset`).
  virtual void execute(device::Queue& queue, State& state,
                       const Samples<std::uint8_t>& samples) const = 0;
  virtual void execute(device::Queue& queue, State& state,
                       const Samples<std::uint16_t>& samples) const = 0;
  virtual void execute(device::Queue& queue, State& state,
                       const Samples<std::uint32_t>& samples) const = 0;
  virtual void execute(device::Queue& queue, State& state, const Samples<float>& samples) const = 0;

  /// The sums of everything given so far; the stream may go on after it.
  virtual void read(device::Queue& queue, const State& state,
                    const Sums<std::int64_t>& out) const = 0;
  virtual void read(device::Queue& queue, const State& state, const Sums<double>& out) const = 0;
};

/// Throws Error(config) naming the field, the value and the limit, and Error(unsupported) when the
/// device forces an instruction set that this stage has no code for.
std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device);

/// Multiply-adds that a sample of one pair costs in this ladder: 64 for a chain of 10 x 32.
double operations_per_sample(const Config& config);

}  // namespace tautline::stages::autocorrelate
