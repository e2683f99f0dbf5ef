// Correlation of count series over quasi-logarithmic lags: multi-tau.
//
// At level l the direct series d (sensor b, the later one) and the delayed series e (sensor a, the
// earlier one) are sums over windows of w = 2^l samples,
//
//   d_l[j] = sum of b over [j w, (j + 1) w)
//   e_l[j] = sum of a over [j w - base_l, (j + 1) w - base_l)
//   sums[lag] = sum over j of d_l[j] e_l[j - k],   lag = base_l + k w samples,
//
// with counts before the first sample zero. Only complete windows are summed.
//
// | lag scheme | base_l          | k                                                    |
// | chain      | bins (2^l - 1)  | 0 .. bins - 1                                        |
// | standard   | 0               | level 0: 0 .. bins; later levels: bins/2 + 1 .. bins |
//
// counts[lag] is the number of pairs whose windows both start at or after the first sample, and the
// monitors are the sums of each series over these pairs. In a chain, sums[lag] may also hold one
// product with a window that starts before the first sample. `lead_in` is that product, so that
// sums - lead_in is the sum over the pairs of counts and monitors. See docs/maths/autocorrelate.md.
//
// | buffer          | axes            | type                         | unit     | written     |
// | samples         | [time][sensor]  | uint8, uint16, uint32, float | counts   | read        |
// |                 |                 | (the host: double)           |          |             |
// | sums, lead_in   | [pair][lag]     | int64 (float input: double)  | counts^2 | overwritten |
// | monitor_direct  | [pair][lag]     | the same; of a, the earlier  | counts   | overwritten |
// | monitor_delayed | [pair][lag]     | the same; of b, the later    | counts   | overwritten |
// | totals          | [pair][2]       | the same; of a and b, whole run | counts | overwritten |
// | counts          | [lag]           | int64                        | pairs    | overwritten |
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/fields.h"
#include "tautline/core/sample_view.h"
#include "tautline/device/device.h"

namespace tautline::stages::autocorrelate {

/// The lags that are computed: see the table above.
enum class LagScheme { chain, standard };

/// How two samples of a level become one sample of the next level: their sum, or one of the two
/// (without the bias of triangular averaging, and with less signal).
enum class Coarsening { sum, first, second };

using core::SampleType;

/// The sensors whose series are a (earlier) and b (later).
struct Pair {
  std::uint32_t a = 0, b = 0;
  friend constexpr bool operator==(const Pair&, const Pair&) = default;
};

struct Config {
  std::size_t sensors = 1;  ///< in a row of input, 1 to 2^24
  LagScheme lag_scheme = LagScheme::chain;
  std::size_t bins = 32;    ///< chain: lags a group, 1 to 1024; standard: m, even
  std::size_t levels = 10;  ///< groups or levels, 1 to 40
  Coarsening coarsening = Coarsening::sum;
  SampleType type = SampleType::u8;  ///< u8, u16: fast; u32, f32, f64: slower
  std::vector<Pair> pairs = {};      ///< empty: every sensor with itself
  std::size_t max_samples = 65536;   ///< most samples (times) that one execute is given

  std::size_t pair_count() const { return pairs.empty() ? sensors : pairs.size(); }
  Pair pair(std::size_t index) const {
    const auto own = static_cast<std::uint32_t>(index);
    return pairs.empty() ? Pair{own, own} : pairs[index];
  }
  /// Of sums, monitors and totals.
  bool floats() const { return type == SampleType::f32 || type == SampleType::f64; }
  SampleType sums_type() const { return floats() ? SampleType::f64 : SampleType::i64; }
};
const core::Fields<Config>& fields(const Config&);

inline constexpr std::size_t kMaxSensors = std::size_t{1} << 24;
inline constexpr std::size_t kMaxBins = 1024;
inline constexpr std::size_t kMaxLevels = 40;

/// One lag of a lag scheme.
struct Lag {
  std::size_t level = 0;
  std::uint64_t steps = 0;    ///< k
  std::uint64_t samples = 0;  ///< the lag itself
  friend constexpr bool operator==(const Lag&, const Lag&) = default;
};

/// The lags of the config in increasing order, which is the order of every output.
std::vector<Lag> lags_of(const Config& config);
/// The value of `counts` at a lag after `samples` samples: pairs of complete windows.
std::int64_t pairs_at(const Config& config, const Lag& lag, std::uint64_t samples);

/// The outputs of `read`. An empty view is not written. The type is i64, or f64 for float input.
struct Sums {
  core::MutableSampleView<2> sums, lead_in, monitor_direct, monitor_delayed;  ///< [pair][lag]
  core::MutableSampleView<2> totals;                                          ///< [pair][2]
  std::span<std::int64_t> counts;                                             ///< [lag]
};

/// One stream: its history and sums. Its size is constant over the run.
class State {
 public:
  virtual ~State() = default;
  /// Samples (times) executed so far.
  virtual std::uint64_t samples() const = 0;
  /// Back to before the first sample.
  virtual void reset() = 0;
  /// The whole state, for `load` into a state of an equal plan (same backend, config, tunables).
  virtual std::vector<std::byte> save() const = 0;
  /// Throws Error(format) when the bytes are of another plan's state, or too few or too many; the
  /// state is then as after `reset`, or unchanged.
  virtual void load(std::span<const std::byte> bytes) = 0;
};

/// Immutable; may be shared by threads. All checking happens when the plan is made.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual const Config& config() const = 0;
  /// The code that will run: "reference", "portable", "avx2", "avx512" or "vnni" (also on AMX machines); on GPUs
  /// "cuda" or "opencl", then "mma" (matrix units) or "portable", then the origin of the tunables:
  /// "cuda mma (tuned)".
  virtual std::string backend() const = 0;
  /// Memory of one state.
  virtual device::MemoryUse bytes() const = 0;
  virtual std::unique_ptr<State> make_state(const device::Queue& queue) const = 0;

  /// Adds samples, in the host's memory or the device's, to the state. Any split of a stream into
  /// calls gives the same bits. Throws Error(config) when a shape contradicts the config, when the
  /// type is not the plan's, and when a sum could reach 2^63 (further calls then throw until
  /// `reset`).
  virtual void execute(device::Queue& queue, State& state,
                       const core::SampleView<2>& samples) const = 0;
  /// Writes the sums over all samples so far. The stream may continue afterwards.
  virtual void read(device::Queue& queue, const State& state, const Sums& out) const = 0;
};

/// Throws Error(config) naming the field, the value and the limit, and Error(unsupported) when the
/// device forces an instruction set for which this stage has no code.
std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device);

/// The sums of `samples`, of any length, on one device: a plan and a state of its own, fed
/// config.max_samples at a time or fewer. Floats that are counts (whole numbers, 0 to 65,535) are summed as counts on the
/// host: the sums are exact, and rounded once. `progress`(samples so far) is called after every piece, again from few
/// on where floats turn out to be no counts; what it throws ends the call. The reference sums after its last piece.
void autocorrelate(const Config& config, const core::SampleView<2>& samples, const Sums& sums,
                   const device::Selection& selection = {},
                   const std::function<void(std::size_t)>& progress = {});

/// Multiply-adds for one sample of one pair: 64 for a chain of 10 x 32.
double operations_per_sample(const Config& config);

}  // namespace tautline::stages::autocorrelate
