// dedisperse as plain loops: the definition. Integers are summed in int64, floats in double.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tautline/stages/dedisperse/backends.h"

namespace tautline::stages::dedisperse {

namespace {

// The sample of channel c at time t of the call.
double sample_at(const Config& config, const Input& input, std::size_t beam, std::size_t t,
                 std::size_t c) {
  const auto* bytes =
      static_cast<const unsigned char*>(input.data) + beam * input.beam_stride_bytes;
  const bool spectra = input.layout == Input::Layout::spectra;
  bytes += (spectra ? t : c) * input.stride_bytes;
  const std::size_t k = spectra ? c : t;
  if (config.bits == 32) {
    float value;
    std::memcpy(&value, bytes + 4 * k, sizeof value);
    return value;
  }
  if (config.bits == 16) {
    std::uint16_t code;
    std::memcpy(&code, bytes + 2 * k, sizeof code);
    return config.signed_samples ? static_cast<double>(static_cast<std::int16_t>(code)) : code;
  }
  if (config.bits == 8 || !spectra)
    return config.signed_samples ? static_cast<double>(static_cast<std::int8_t>(bytes[k]))
                                 : bytes[k];
  const std::size_t bits = static_cast<std::size_t>(config.bits);
  return bytes[k * bits / 8] >> (k * bits % 8) & ((1u << bits) - 1);
}

// Everything since the stream's first time that a later sum needs, as numbers: rows of
// [beam][channel], the unfinished element too.
class ReferenceState final : public BaseState {
 public:
  explicit ReferenceState(const std::shared_ptr<const DelayPlan>& plan)
      : BaseState(plan, "reference", plan->config().beams * plan->channels(), sizeof(double)),
        rows(rows_),
        sums(plan->config().measure_channels ? rows_ : 0) {
    for (auto& row : rows) row.reserve(plan->max_delay() + plan->max_new_samples() + 1);
  }

  void reset() override {
    for (auto& row : rows) row.clear();
    std::fill(sums.begin(), sums.end(), Moments{});
    held = phase = 0;
  }
  std::vector<Moments> moments() const override { return sums; }

  std::vector<std::vector<double>> rows;
  std::vector<Moments> sums;

 private:
  std::vector<std::byte> kept() const override {
    std::vector<std::byte> bytes(rows_ * (held + 1) * sizeof(double));
    for (std::size_t r = 0; r < rows_ && !rows[r].empty(); ++r)
      std::memcpy(bytes.data() + r * (held + 1) * sizeof(double), rows[r].data(),
                  rows[r].size() * sizeof(double));
    return bytes;
  }
  void restore(const std::vector<std::byte>& kept, const std::vector<Moments>& moments) override {
    for (std::size_t r = 0; r < rows_; ++r) {
      rows[r].resize(held + 1);
      std::memcpy(rows[r].data(), kept.data() + r * (held + 1) * sizeof(double),
                  (held + 1) * sizeof(double));
      if (phase == 0) rows[r].pop_back();
    }
    sums = moments;
  }
};

class ReferencePlan final : public PlanOfDelays {
 public:
  explicit ReferencePlan(std::shared_ptr<const DelayPlan> plan) : PlanOfDelays(std::move(plan)) {
    choice_ = plan_->choice(Method::exact, plan_->plain_adds(), "plain loops");
  }

  std::string backend() const override { return "reference"; }
  device::MemoryUse bytes() const override {
    return {8 * config().beams * plan_->channels() *
                (plan_->max_delay() + plan_->max_new_samples() + 1),
            0};
  }
  std::unique_ptr<State> make_state(device::Queue&) const override {
    return std::make_unique<ReferenceState>(plan_);
  }

  Result execute(device::Queue&, State& state, const Input& given,
                 const core::MutableSampleView<3>& trials) const override {
    auto& own = dynamic_cast<ReferenceState&>(state);
    const Input input = with_strides(config(), given);
    const Step step = step_of(*plan_, own, given, trials);
    Result result;
    for (std::size_t b = 0; b < config().beams; ++b) result.not_finite += take(own, input, b);
    result.samples = step.samples;
    if (float_output())
      sum(own, trials.as<float>(), step.samples);
    else
      sum(own, trials.as<std::int32_t>(), step.samples);
    for (auto& row : own.rows)
      row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(step.samples));
    step.take(own);
    return result;
  }

 private:
  // One beam's times into its rows. Returns the values that were not finite.
  std::uint64_t take(ReferenceState& state, const Input& input, std::size_t beam) const {
    const std::size_t n = config().downsample;
    std::uint64_t bad = 0;
    for (std::size_t t = 0; t < input.count; ++t) {
      std::vector<double> x(plan_->channels());
      for (std::size_t c = 0; c < x.size(); ++c) {
        x[c] = sample_at(config(), input, beam, t, c);
        if (!std::isfinite(x[c])) ++bad, x[c] = 0;
        if (state.sums.empty()) continue;
        Moments& m = state.sums[beam * x.size() + c];
        ++m.count, m.sum += x[c], m.sum_of_squares += x[c] * x[c];
      }
      if (config().zero_dm) {
        double mean = 0;
        for (const std::size_t c : plan_->channel_at()) mean += x[c];
        mean /= static_cast<double>(plan_->positions());
        for (double& value : x) value -= mean;
      }
      for (std::size_t c = 0; c < x.size(); ++c) {
        auto& row = state.rows[beam * x.size() + c];
        if ((state.phase + t) % n == 0) row.push_back(0);
        row.back() += x[c];
      }
    }
    return bad;
  }

  // Integers in int64, floats in double.
  template <class T>
  void sum(const ReferenceState& state, const core::View<T, 3>& trials, std::size_t samples) const {
    using Sum = std::conditional_t<std::is_same_v<T, float>, double, std::int64_t>;
    const auto& channels = plan_->channel_at();
    const std::size_t zero = config().zero_level * config().downsample * channels.size();
    for (std::size_t b = 0; b < config().beams; ++b)
      for (std::size_t i = 0; i < plan_->trials(); ++i)
        for (std::size_t t = 0; t < samples; ++t) {
          Sum sum = float_output() ? 0 : -static_cast<Sum>(zero);
          for (std::size_t p = 0; p < channels.size(); ++p) {
            const auto& row = state.rows[b * plan_->channels() + channels[p]];
            sum += static_cast<Sum>(row[t + static_cast<std::size_t>(plan_->delays()(i, p))]);
          }
          trials(b, i, t) = static_cast<T>(sum);
        }
  }
};

}  // namespace

std::shared_ptr<const Plan> make_reference_plan(std::shared_ptr<const DelayPlan> plan) {
  return std::make_shared<ReferencePlan>(std::move(plan));
}

}  // namespace tautline::stages::dedisperse
