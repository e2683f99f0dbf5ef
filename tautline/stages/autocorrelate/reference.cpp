// The definition: keeps every sample, and sums in `read`:
//
//   d[j] = window of b at j w,  e[j] = window of a at j w - base,  sums = sum of d[j] e[j - k]
//
// over all windows that end by the last sample. `lead_in` is the part of the sum whose window of e
// starts before the first sample; counts and monitors are over the other pairs.
#include <array>
#include <cstring>

#include "tautline/core/error.h"
#include "tautline/stages/autocorrelate/checks.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"

namespace tautline::stages::autocorrelate {

namespace {

__extension__ using Wide = unsigned __int128;

class ReferenceState final : public State {
 public:
  explicit ReferenceState(std::size_t sensors) : sensors_(sensors) {}
  std::uint64_t samples() const override { return rows.size() / sensors_; }
  void reset() override {
    rows.clear();
    refused = false;
  }
  std::vector<std::byte> save() const override {
    std::vector<std::byte> bytes(rows.size() * sizeof(double));
    if (!bytes.empty()) std::memcpy(bytes.data(), rows.data(), bytes.size());
    return bytes;
  }
  void load(std::span<const std::byte> bytes) override {
    if (bytes.size() % (sensors_ * sizeof(double)) != 0)
      throw core::Error(core::ErrorKind::format, "autocorrelate state",
                        std::to_string(bytes.size()) + " bytes", "whole rows of samples");
    rows.resize(bytes.size() / sizeof(double));
    if (!bytes.empty()) std::memcpy(rows.data(), bytes.data(), bytes.size());
    refused = false;
  }

  std::vector<double> rows;  ///< [time][sensor]; a double holds every count
  bool refused = false;

 private:
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

class ReferencePlan final : public Plan {
 public:
  explicit ReferencePlan(Config config) : config_(std::move(config)) {}
  const Config& config() const override { return config_; }
  std::string backend() const override { return "reference"; }
  device::MemoryUse bytes() const override { return {}; }
  std::unique_ptr<State> make_state(const device::Queue&) const override {
    return std::make_unique<ReferenceState>(config_.sensors);
  }

  void execute(device::Queue&, State& state, const Samples<std::uint8_t>& samples) const override {
    take(state, samples);
  }
  void execute(device::Queue&, State& state, const Samples<std::uint16_t>& samples) const override {
    take(state, samples);
  }
  void execute(device::Queue&, State& state, const Samples<std::uint32_t>& samples) const override {
    take(state, samples);
  }
  void execute(device::Queue&, State& state, const Samples<float>& samples) const override {
    take(state, samples);
  }
  void read(device::Queue&, const State& state, const Sums<std::int64_t>& out) const override {
    sum_all(state, out);
  }
  void read(device::Queue&, const State& state, const Sums<double>& out) const override {
    sum_all(state, out);
  }

 private:
  template <class Count>
  void take(State& state, const Samples<Count>& samples) const {
    check_samples(config_, type_of<Count>(), samples.extents());
    auto& own = static_cast<ReferenceState&>(state);
    for (std::size_t t = 0; t < samples.extent(0); ++t)
      for (std::size_t s = 0; s < samples.extent(1); ++s) own.rows.push_back(samples(t, s));
    if (own.refused || could_overflow(own)) {
      own.refused = true;
      throw_overflow(own.samples());
    }
  }

  // Any sum is at most the largest window times the sum of the other series.
  bool could_overflow(const ReferenceState& state) const {
    if (config_.type == CountType::f32) return false;
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
  void sum_all(const State& state, const Sums<Value>& out) const {
    check_sums(config_, out);
    const auto& own = static_cast<const ReferenceState&>(state);
    const std::uint64_t samples = own.samples();
    for (std::size_t level = 0; level < config_.levels; ++level) {
      const LagRange range = lag_range(config_, level);
      for (std::size_t i = 0; i < range.steps; ++i) sum_pairs(own, range, i, samples, out);
    }
    for (std::size_t p = 0; p < config_.pair_count() && out.totals.data() != nullptr; ++p) {
      const auto [a, b] = series<Value>(own, p);
      out.totals(p, 0) = out.totals(p, 1) = Value{};
      for (std::uint64_t t = 0; t < samples; ++t) {
        out.totals(p, 0) += a.at(static_cast<std::int64_t>(t));
        out.totals(p, 1) += b.at(static_cast<std::int64_t>(t));
      }
    }
  }

  template <class Value>
  void sum_pairs(const ReferenceState& state, const LagRange& range, std::size_t i,
                 std::uint64_t samples, const Sums<Value>& out) const {
    const std::size_t lag = range.first_lag + i, k = range.first_steps + i;
    if (!out.counts.empty()) out.counts[lag] = static_cast<std::int64_t>(range.pairs(k, samples));
    for (std::size_t p = 0; p < config_.pair_count(); ++p) {
      const auto [a, b] = series<Value>(state, p);
      const LagSums<Value> sums = sum_lag(a, b, range, k, samples);
      if (out.sums.data() != nullptr) out.sums(p, lag) = sums.sum;
      if (out.lead_in.data() != nullptr) out.lead_in(p, lag) = sums.lead_in;
      if (out.monitor_direct.data() != nullptr) out.monitor_direct(p, lag) = sums.direct;
      if (out.monitor_delayed.data() != nullptr) out.monitor_delayed(p, lag) = sums.delayed;
    }
  }

  template <class Value>
  std::array<Series<Value>, 2> series(const ReferenceState& state, std::size_t p) const {
    const auto own = static_cast<std::uint32_t>(p);
    const Pair pair = config_.pairs.empty() ? Pair{own, own} : config_.pairs[p];
    return {Series<Value>{state, config_.sensors, pair.a, config_.coarsening},
            Series<Value>{state, config_.sensors, pair.b, config_.coarsening}};
  }

  Config config_;
};

}  // namespace

std::shared_ptr<const Plan> make_reference_plan(const Config& config) {
  return std::make_shared<ReferencePlan>(config);
}

}  // namespace tautline::stages::autocorrelate
