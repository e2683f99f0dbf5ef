// Cross-correlation of every pair of inputs: the X-engine.
//
//   V[c][b(i, j)] += sum over t of x[c][i][t] * conj(x[c][j][t]),  i >= j,  b = i(i+1)/2 + j
//   n[c][b(i, j)] += number of t at which inputs i and j are both valid
//
// Sums run over samples that are valid in both inputs. Integer input is summed exactly, whatever
// its values (-128 included); see docs/maths/correlate.md.
//
// | buffer       | axes                     | type            | unit         | written     |
// | samples      | [channel][input][time]   | ci8, ci4, ci16, | input steps  | read        |
// |              |                          | cf16, cf32      |              |             |
// | validity     | [channel][input][word]   | uint64 bits     | 1 = valid    | read        |
// | visibilities | [channel][baseline]      | ci64 (ci4, ci8) | steps^2      | accumulated |
// |              |                          | complex<double> |              |             |
// |              |                          | (the others)    |              |             |
// | counts       | [channel][baseline]      | int64           | samples      | accumulated |
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tautline/core/baseline.h"
#include "tautline/core/complex_int.h"
#include "tautline/core/half.h"
#include "tautline/core/sample_format.h"
#include "tautline/core/validity.h"
#include "tautline/core/view.h"
#include "tautline/device/device.h"

namespace tautline::stages::correlate {

struct Config {
  std::size_t channels = 1;                ///< frequency channels, 1 or more
  std::size_t inputs = 1;                  ///< antennas times polarisations, 1 to 4,096
  std::size_t max_samples = 4096;          ///< most samples (times) that one execute is given
  core::SampleFormat format = core::kCi8;  ///< ci4, ci8: exact; ci16, cf16, cf32: float path
  /// Calls may keep sums and counts in the state until flush(), where a device adds to them
  /// faster: for several calls into the same buffers, as those of an integration.
  bool defer_sums = false;
};

inline constexpr std::size_t kMaxInputs = 4096;

template <class Sample>
using Samples = core::View<const Sample, 3>;
/// [channel][input][word]; the channel stride may be 0 (one mask for all). Empty: all valid.
using Validity = core::View<const std::uint64_t, 3>;
using IntegerVisibilities = core::View<core::ci64, 2>;
using FloatVisibilities = core::View<std::complex<double>, 2>;
using Counts = core::View<std::int64_t, 2>;

/// One stream's scratch memory. Between calls it holds nothing unless the config has defer_sums:
/// sums live in the caller's buffers.
class State {
 public:
  virtual ~State() = default;
  /// Another integration begins: what the visibilities and counts that come next hold does not
  /// matter, and is replaced where it would have been added to, by flush() if nothing came before
  /// it. Cheaper than zeros to add to. Every buffer must come whole until then.
  void begin() { begins_ = true; }
  /// Of the plan: whether begin() was called since it last asked.
  bool take_begin() { return std::exchange(begins_, false); }

 private:
  bool begins_ = false;
};

/// Immutable; may be shared by threads. All checking happens here.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual const Config& config() const = 0;
  /// "reference", "portable", "avx2", "avx512", "vnni" or "amx": the code that will run.
  virtual std::string backend() const = 0;
  /// Memory that a state takes.
  virtual device::MemoryUse bytes() const = 0;
  virtual std::unique_ptr<State> make_state(const device::Queue& queue) const = 0;

  /// Adds the products of `samples` to `visibilities` and `counts`. Throws Error(config) when a
  /// shape contradicts the config or the sample type is not the plan's.
  virtual void execute(device::Queue& queue, State& state, const Samples<core::ci8>& samples,
                       const Validity& validity, const IntegerVisibilities& visibilities,
                       const Counts& counts) const = 0;
  virtual void execute(device::Queue& queue, State& state, const Samples<core::ci4>& samples,
                       const Validity& validity, const IntegerVisibilities& visibilities,
                       const Counts& counts) const = 0;
  virtual void execute(device::Queue& queue, State& state, const Samples<core::ci16>& samples,
                       const Validity& validity, const FloatVisibilities& visibilities,
                       const Counts& counts) const = 0;
  virtual void execute(device::Queue& queue, State& state, const Samples<core::cf16>& samples,
                       const Validity& validity, const FloatVisibilities& visibilities,
                       const Counts& counts) const = 0;
  virtual void execute(device::Queue& queue, State& state,
                       const Samples<std::complex<float>>& samples, const Validity& validity,
                       const FloatVisibilities& visibilities, const Counts& counts) const = 0;

  /// Adds what execute kept in the state; nothing without defer_sums. The buffers are those that
  /// every execute since the last release was given.
  virtual void flush(device::Queue& queue, State& state, const IntegerVisibilities& visibilities,
                     const Counts& counts) const;
  virtual void flush(device::Queue& queue, State& state, const FloatVisibilities& visibilities,
                     const Counts& counts) const;
};

/// Throws Error(config) naming the field, the value and the limit, and Error(unsupported) when the
/// device forces an instruction set that this stage has no code for with this format.
std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device);

/// One-shot: the sums over all of `samples` on the best CPU path.
void correlate(const Samples<core::ci8>& samples, const IntegerVisibilities& visibilities,
               const Counts& counts);

/// 8 operations a complex multiply-add over the useful products (the diagonal once).
double useful_operations(const Config& config, std::size_t samples);

}  // namespace tautline::stages::correlate
