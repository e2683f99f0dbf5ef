// The definition: keeps every sample, and sums in `read`:
//
//   d[j] = window of b at j w,  e[j] = window of a at j w - base,  sums = sum of d[j] e[j - k]
//
// over all windows that end by the last sample. `lead_in` is the part of the sum whose window of e
// starts before the first sample; counts and monitors are over the other pairs.
#include <algorithm>
#include <utility>

#include "tautline/stages/autocorrelate/backends.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"

namespace tautline::stages::autocorrelate {

namespace {

__extension__ using Wide = unsigned __int128;

class ReferenceState final : public BaseState {
 public:
  explicit ReferenceState(const Config& config)
      : BaseState(config, "reference"), sensors_(config.sensors) {}

  std::vector<double> rows;  ///< [time][sensor]; a double holds every count

 private:
  void clear() override { rows.clear(); }
  void save_content(core::ByteWriter& writer) const override { writer(rows); }
  void load_content(core::ByteReader& reader) override {
    reader(rows);
    if (rows.size() != taken * sensors_) reader.refuse();
  }

  std::size_t sensors_;
};

// One sensor's series, zero before the first sample.
template <class Value>
struct Series {
  const ReferenceState& state;
  std::size_t sensors, sensor;
  Coarsening coarsening;

  Value at(std::int64_t t) const {
    return t < 0 ? Value{}
                 : static_cast<Value>(state.rows[static_cast<std::size_t>(t) * sensors + sensor]);
  }
  // The window of `width` samples from t on. All backends add floats in this order.
  Value window(std::int64_t t, std::int64_t width) const {
    if (width == 1) return at(t);
    if (coarsening == Coarsening::first) return at(t);
    if (coarsening == Coarsening::second) return at(t + width - 1);
    return window(t, width / 2) + window(t + width / 2, width / 2);
  }
};

// Sums of one pair at one lag.
template <class Value>
struct LagSums {
  Value sum{}, lead_in{}, direct{}, delayed{};
};

template <class Value>
LagSums<Value> sum_lag(const Series<Value>& a, const Series<Value>& b, const LagRange& range,
                       std::size_t k, std::uint64_t samples) {
  LagSums<Value> out;
  const auto w = static_cast<std::int64_t>(range.window);
  const auto lag = static_cast<std::int64_t>(range.base + k * range.window);
  for (std::int64_t n = 0; n + w <= static_cast<std::int64_t>(samples); n += w) {
    const Value earlier = a.window(n - lag, w);
    const Value later = b.window(n, w);
    out.sum += later * earlier;
    if (n - lag < 0) {
      out.lead_in += later * earlier;
    } else {
      out.direct += earlier;
      out.delayed += later;
    }
  }
  return out;
}

class ReferencePlan final : public BasePlan<> {
 public:
  explicit ReferencePlan(Config config) : config_(std::move(config)) {}
  const Config& config() const override { return config_; }
  std::string backend() const override { return "reference"; }
  device::MemoryUse bytes() const override { return {}; }
  std::unique_ptr<State> make_state(const device::Queue&) const override {
    return std::make_unique<ReferenceState>(config_);
  }

 private:
  void take(device::Queue&, BaseState& state, const core::SampleView<2>& samples) const override {
    auto& own = static_cast<ReferenceState&>(state);
    core::with_type<std::uint8_t, std::uint16_t, std::uint32_t, float, double>(
        samples, "samples", [&](const auto& counts) {
          for (std::size_t t = 0; t < counts.extent(0); ++t)
            for (std::size_t s = 0; s < counts.extent(1); ++s) own.rows.push_back(counts(t, s));
        });
    own.taken += samples.extent(0);
    own.refused = could_overflow(own);
  }
  void write(device::Queue&, const BaseState& state, const Sums& out) const override {
    with_sums(config_.sums_type(), out,
              [&](const auto& sums) { sum_all(static_cast<const ReferenceState&>(state), sums); });
  }

  // Any sum is at most the largest window times the sum of the other series.
  bool could_overflow(const ReferenceState& state) const {
    if (config_.floats()) return false;
    Wide largest = 0;
    std::vector<Wide> totals(config_.sensors);
    for (std::size_t i = 0; i < state.rows.size(); ++i) {
      const auto value = static_cast<std::uint64_t>(state.rows[i]);
      largest = std::max<Wide>(largest, value);
      totals[i % config_.sensors] += value;
    }
    Wide most = 0;
    for (const Wide total : totals) most = std::max(most, total);
    const Wide window =
        config_.coarsening == Coarsening::sum ? Wide{1} << (config_.levels - 1) : Wide{1};
    const Wide limit = Wide{1} << 63;
    return most >= limit || std::min(largest * window, most) * most >= limit;
  }

  template <class Value>
  void sum_all(const ReferenceState& state, const TypedSums<Value>& out) const {
    for (std::size_t p = 0; p < config_.pair_count(); ++p) {
      const Pair pair = config_.pair(p);
      const Series<Value> a{state, config_.sensors, pair.a, config_.coarsening};
      const Series<Value> b{state, config_.sensors, pair.b, config_.coarsening};
      for (std::size_t level = 0; level < config_.levels; ++level) {
        const LagRange range = lag_range(config_, level);
        for (std::size_t i = 0; i < range.steps; ++i) {
          const LagSums<Value> s = sum_lag(a, b, range, range.first_steps + i, state.taken);
          out.put(p, range.first_lag + i, s.sum, s.lead_in, s.direct, s.delayed);
        }
      }
      Value total_a{}, total_b{};
      for (std::int64_t t = 0; t < static_cast<std::int64_t>(state.taken); ++t) {
        total_a += a.at(t);
        total_b += b.at(t);
      }
      out.put_totals(p, total_a, total_b);
    }
  }

  Config config_;
};

}  // namespace

std::shared_ptr<const Plan> make_reference_plan(const Config& config) {
  return std::make_shared<ReferencePlan>(config);
}

}  // namespace tautline::stages::autocorrelate
