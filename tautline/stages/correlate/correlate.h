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
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tautline/core/baseline.h"
#include "tautline/core/complex_int.h"
#include "tautline/core/fields.h"
#include "tautline/core/half.h"
#include "tautline/core/sample_format.h"
#include "tautline/core/sample_view.h"
#include "tautline/core/validity.h"
#include "tautline/core/view.h"
#include "tautline/device/device.h"

namespace tautline::core {
class ByteReader;
class ByteWriter;
}  // namespace tautline::core

namespace tautline::stages::correlate {

struct Config {
  std::size_t channels = 1;                ///< frequency channels, 1 or more
  std::size_t inputs = 1;                  ///< antennas times polarisations, 1 to 4,096
  std::size_t max_samples = 4096;          ///< largest number of samples (times) of one execute
  core::SampleFormat format = core::kCi8;  ///< ci4, ci8: exact; ci16, cf16, cf32: float path
  /// Lets execute() add to deferred sums and counts in the state, which some devices do faster,
  /// until flush() adds these to the caller's buffers. For several calls into the same buffers,
  /// as in an integration.
  bool defer_sums = false;

  /// Whether sums are integers.
  bool exact() const { return format == core::kCi4 || format == core::kCi8; }
  core::SampleType visibility_type() const {
    return exact() ? core::SampleType::ci64 : core::SampleType::cf64;
  }
};
const core::Fields<Config>& fields(const Config&);

inline constexpr std::size_t kMaxInputs = 4096;

template <class Sample>
using Samples = core::View<const Sample, 3>;
/// [channel][input][word]; the channel stride may be 0 (one mask for all). Empty: all valid.
using Validity = core::View<const std::uint64_t, 3>;
/// The type of sums of `Sample`.
template <class Sample>
using VisibilityOf =
    std::conditional_t<std::is_same_v<Sample, core::ci8> || std::is_same_v<Sample, core::ci4>,
                       core::ci64, std::complex<double>>;
using Counts = core::View<std::int64_t, 2>;

/// One stream's scratch memory. Sums stay in the caller's buffers between calls, except deferred
/// sums (Config::defer_sums), which stay here until they are flushed.
class State {
 public:
  /// `plan`: of core::seal_state.
  explicit State(std::string plan) : plan_(std::move(plan)) {}
  virtual ~State() = default;
  /// Forgets begin() and deferred sums.
  virtual void reset() { begins_ = false; }
  /// begin() and deferred sums, which are brought to the host first: waits for the queue. The
  /// buffers that the next call is given must have what they had when the state was saved.
  std::vector<std::byte> save() const;
  /// Throws Error(format) when a state of another plan saved the bytes.
  void load(std::span<const std::byte> saved);
  /// Starts an integration: the next execute() or flush() overwrites the visibilities and counts it
  /// is given instead of adding to them, which is cheaper than clearing them first. That call must
  /// be given the whole buffers.
  void begin() { begins_ = true; }
  /// For plans: whether begin() was called since the last take_begin().
  bool take_begin() { return std::exchange(begins_, false); }

 private:
  virtual void save_sums(core::ByteWriter& /*write*/) const {}
  virtual void load_sums(core::ByteReader& /*read*/) {}

  std::string plan_;
  bool begins_ = false;
};

/// Immutable; may be shared by threads. The config is checked when the plan is made.
class Plan {
 public:
  virtual ~Plan() = default;
  const Config& config() const { return config_; }
  /// Names the code that runs: "reference", "portable", "avx2", "avx512", "vnni", "amx", or a
  /// GPU's kernel and configuration.
  virtual std::string backend() const = 0;
  /// Memory of one state.
  virtual device::MemoryUse bytes() const = 0;
  virtual std::unique_ptr<State> make_state(const device::Queue& queue) const = 0;

  /// Adds the products of `samples` to `visibilities` and `counts`. Throws Error(config) when a
  /// type or a shape contradicts the config.
  void execute(device::Queue& queue, State& state, const core::SampleView<3>& samples,
               const Validity& validity, const core::MutableSampleView<2>& visibilities,
               const Counts& counts) const;

  /// Adds deferred sums and counts to the buffers, which must be the ones that every execute()
  /// since the last flush() was given. Does nothing without Config::defer_sums.
  void flush(device::Queue& queue, State& state, const core::MutableSampleView<2>& visibilities,
             const Counts& counts) const;

 protected:
  /// The config has been checked.
  explicit Plan(const Config& config) : config_(config) {}

 private:
  // With checked arguments and at least one sample.
  virtual void add(device::Queue& queue, State& state, const core::SampleView<3>& samples,
                   const Validity& validity, const core::MutableSampleView<2>& visibilities,
                   const Counts& counts) const = 0;
  virtual void add_deferred(device::Queue& queue, State& state,
                            const core::MutableSampleView<2>& visibilities,
                            const Counts& counts) const;

  Config config_;
};

/// Throws Error(config) naming the field, the value and the limit, and Error(unsupported) when the
/// device forces an instruction set that this stage has no code for with this format.
std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device);

/// Adds the sums over all of `samples`, which may be longer than one execute() could take, to
/// `visibilities` and `counts` and returns when they are there.
void correlate(const core::SampleView<3>& samples, const Validity& validity,
               const core::MutableSampleView<2>& visibilities, const Counts& counts,
               const device::Selection& device = {});

/// 8 operations a complex multiply-add over the useful products (the diagonal once).
double useful_operations(const Config& config, std::size_t samples);

}  // namespace tautline::stages::correlate
