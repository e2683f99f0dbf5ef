// dedisperse as plain loops: the definition. Integers are summed in int64, floats in double.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/dedisperse/backends.h"
#include "tautline/stages/dedisperse/saved_state.h"

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
// [beam][channel], each beginning at time `first` of the trials.
class ReferenceState final : public State {
 public:
  explicit ReferenceState(const DelayPlan& plan)
      : rows(plan.config().beams * plan.channels()),
        moments_(plan.config().measure_channels ? rows.size() : 0) {
    for (auto& row : rows) row.reserve(plan.max_delay() + plan.max_new_samples() + 1);
  }

  void reset() override {
    for (auto& row : rows) row.clear();
    std::fill(moments_.begin(), moments_.end(), Moments{});
    times = 0;
  }
  std::size_t held_samples() const override { return complete(); }
  std::vector<Moments> moments() const override { return moments_; }

  std::vector<std::byte> save() const override {
    SavedState saved;
    saved.put(static_cast<std::uint64_t>(times));
    for (const auto& row : rows) saved.put_all(row);
    saved.put_all(moments_);
    return saved.bytes();
  }
  void load(const std::vector<std::byte>& bytes) override {
    SavedState saved(bytes);
    times = static_cast<std::size_t>(saved.get<std::uint64_t>());
    for (auto& row : rows) saved.get_all(row);
    saved.get_all(moments_);
    saved.require_end();
  }

  /// Whole times in every row.
  std::size_t complete() const { return rows[0].size() - (times > 0 ? 1 : 0); }
  Moments* moments_of(std::size_t row) { return moments_.empty() ? nullptr : &moments_[row]; }

  std::vector<std::vector<double>> rows;
  std::size_t times = 0;  ///< of the input in each row's last, unfinished element

 private:
  std::vector<Moments> moments_;
};

class ReferencePlan final : public Plan {
 public:
  explicit ReferencePlan(std::shared_ptr<const DelayPlan> plan)
      : plan_(std::move(plan)),
        choice_(plan_->choice(Method::exact, plan_->plain_adds(), "plain loops")) {}

  const Config& config() const override { return plan_->config(); }
  std::string backend() const override { return "reference"; }
  const Choice& choice() const override { return choice_; }
  device::MemoryUse bytes() const override {
    return {8 * config().beams * plan_->channels() *
                (plan_->max_delay() + plan_->max_new_samples() + 1),
            0};
  }
  std::unique_ptr<State> make_state(device::Queue&) const override {
    return std::make_unique<ReferenceState>(*plan_);
  }
  bool float_output() const override { return plan_->float_sums(); }
  std::size_t max_delay() const override { return plan_->max_delay(); }
  std::int64_t delay(std::size_t trial, std::size_t channel) const override {
    return plan_->delay(trial, channel);
  }
  std::size_t max_output_samples() const override { return plan_->max_new_samples(); }

  Result execute(device::Queue&, State& state, const Input& given,
                 const OutputViews& output) const override {
    auto& own = dynamic_cast<ReferenceState&>(state);
    const Input input = with_strides(*plan_, given);
    const std::size_t complete = own.complete() + (own.times + input.count) / config().downsample;
    const std::size_t samples = complete > max_delay() ? complete - max_delay() : 0;
    require_call(*plan_, given, output, samples);

    Result result;
    for (std::size_t b = 0; b < config().beams; ++b) result.not_finite += take(own, input, b);
    own.times = (own.times + input.count) % config().downsample;
    result.samples = samples;
    sum(own, output, samples);
    for (auto& row : own.rows)
      row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(samples));
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
        if (Moments* m = state.moments_of(beam * x.size() + c))
          ++m->count, m->sum += x[c], m->sum_of_squares += x[c] * x[c];
      }
      if (config().zero_dm) {
        double mean = 0;
        for (const std::size_t c : plan_->channel_at()) mean += x[c];
        mean /= static_cast<double>(plan_->positions());
        for (double& value : x) value -= mean;
      }
      for (std::size_t c = 0; c < x.size(); ++c) {
        auto& row = state.rows[beam * x.size() + c];
        if ((state.times + t) % n == 0) row.push_back(0);
        row.back() += x[c];
      }
    }
    return bad;
  }

  void sum(const ReferenceState& state, const OutputViews& output, std::size_t samples) const {
    const auto& channels = plan_->channel_at();
    const auto zero =
        static_cast<std::int64_t>(config().zero_level * config().downsample * channels.size());
    for (std::size_t b = 0; b < config().beams; ++b)
      for (std::size_t i = 0; i < plan_->trials(); ++i)
        for (std::size_t t = 0; t < samples; ++t) {
          std::int64_t integer = -zero;
          double real = 0;
          for (std::size_t p = 0; p < channels.size(); ++p) {
            const auto& row = state.rows[b * plan_->channels() + channels[p]];
            const double x = row[t + static_cast<std::size_t>(plan_->delays()(i, p))];
            integer += float_output() ? 0 : static_cast<std::int64_t>(x);
            real += x;
          }
          if (float_output()) {
            output.floats(b, i, t) = static_cast<float>(real);
          } else {
            output.integers(b, i, t) = static_cast<std::int32_t>(integer);
          }
        }
  }

  std::shared_ptr<const DelayPlan> plan_;
  Choice choice_;
};

}  // namespace

std::shared_ptr<const Plan> make_reference_plan(std::shared_ptr<const DelayPlan> plan) {
  return std::make_shared<ReferencePlan>(std::move(plan));
}

}  // namespace tautline::stages::dedisperse
