#include "tautline/stages/dedisperse/plan/delays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "tautline/core/error.h"
#include "tautline/stages/dedisperse/plan/subband.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kMaxChannels = 65536;
constexpr std::size_t kMaxTrials = 1 << 20;
constexpr std::size_t kMaxBeams = 4096;
constexpr std::size_t kMaxSamples = std::size_t{1} << 30;
constexpr double kMaxDelay = 1 << 30;  // samples: offsets into rows are 32-bit
constexpr std::size_t kMaxDownsample = 4096;
constexpr double kMaxPulse = 1e6;         // seconds
constexpr double kLossOfSubbands = 0.01;  // of Method::subband, where nothing else is asked for

[[noreturn]] void refuse(const std::string& field, const std::string& value,
                         const std::string& limit, const std::string& advice = {}) {
  throw core::Error(core::ErrorKind::config, "dedisperse " + field, value, limit, advice);
}

void require_range(const std::string& field, std::size_t value, std::size_t low, std::size_t high) {
  if (value < low || value > high)
    refuse(field, std::to_string(value), std::to_string(low) + " to " + std::to_string(high));
}

void require_positive(const std::string& field, double value) {
  if (!(value > 0) || !std::isfinite(value))
    refuse(field, std::to_string(value), "a finite number above 0");
}

void require_config(const Config& c) {
  require_range("frequencies_mhz", c.frequencies_mhz.size(), 1, kMaxChannels);
  for (const double f : c.frequencies_mhz) require_positive("frequencies_mhz", f);
  require_positive("sample_time_s", c.sample_time_s);
  require_positive("dm_constant", c.dm_constant);
  require_range("dms", c.dms.size(), 1, kMaxTrials);
  for (const double dm : c.dms)
    if (!(dm >= 0) || !std::isfinite(dm)) refuse("dms", fmt::format("{}", dm), "0 or more, finite");
  constexpr int kBits[] = {1, 2, 4, 8, 16, 32};
  if (std::find(std::begin(kBits), std::end(kBits), c.bits) == std::end(kBits))
    refuse("bits", std::to_string(c.bits), "1, 2, 4, 8, 16 or 32");
  if (c.signed_samples && c.bits != 8 && c.bits != 16)
    refuse("signed_samples", "true", "8 or 16 bits where samples are signed");
  if (c.bits <= 16 && c.max_value >= 1u << c.bits)
    refuse("max_value", std::to_string(c.max_value),
           "at most " + std::to_string((1u << c.bits) - 1) + ", what the bits hold");
  if (c.bits <= 16 && c.zero_level >= 1u << c.bits)
    refuse("zero_level", std::to_string(c.zero_level),
           "at most " + std::to_string((1u << c.bits) - 1) + ", what the bits hold");
  require_range("beams", c.beams, 1, kMaxBeams);
  require_range("max_samples", c.max_samples, 1, kMaxSamples);
  require_range("downsample", c.downsample, 1, kMaxDownsample);
  if (!(c.max_loss >= 0 && c.max_loss <= 0.5))
    refuse("max_loss", std::to_string(c.max_loss), "0 to 0.5");
  if (!(c.pulse_width_s >= 0) || !(c.pulse_width_s <= kMaxPulse))
    refuse("pulse_width_s", fmt::format("{}", c.pulse_width_s), fmt::format("0 to {}", kMaxPulse));
  for (const std::size_t k : c.ignored_channels)
    if (k >= c.frequencies_mhz.size())
      refuse("ignored_channels", std::to_string(k),
             "below the " + std::to_string(c.frequencies_mhz.size()) + " channels");
}

}  // namespace

DelayPlan::DelayPlan(const Config& config) : config_(config) {
  require_config(config);
  const auto& f = config_.frequencies_mhz;
  const double highest = *std::max_element(f.begin(), f.end());
  reference_mhz_ = config_.reference_mhz == 0 ? highest : config_.reference_mhz;
  if (!(reference_mhz_ >= highest))
    refuse("reference_mhz", std::to_string(reference_mhz_),
           "the highest channel's " + std::to_string(highest) + " or more");

  std::vector<bool> ignored(channels(), false);
  for (const std::size_t k : config_.ignored_channels) ignored[k] = true;
  for (std::size_t k = 0; k < channels(); ++k)
    if (!ignored[k]) channel_at_.push_back(k);
  if (channel_at_.empty())
    refuse("ignored_channels", "all " + std::to_string(channels()), "at least one channel left");
  std::stable_sort(channel_at_.begin(), channel_at_.end(),
                   [&](std::size_t a, std::size_t b) { return f[a] > f[b]; });
  if (!float_sums()) {
    constexpr auto kMaxSum = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
    if (max_value() > 65535)
      refuse("downsample", std::to_string(config_.downsample),
             "sums of neighbouring samples below 65,536", "downsample less, or read fewer bits");
    if (max_value() * positions() > kMaxSum)
      refuse("frequencies_mhz", std::to_string(positions()) + " channels", "sums below 2^31",
             "downsample less");
  }

  const double largest_dm = *std::max_element(config_.dms.begin(), config_.dms.end());
  const double lowest = *std::min_element(f.begin(), f.end());
  const double largest =
      core::dispersion_delay_s(largest_dm, lowest, reference_mhz_, config_.dm_constant) /
      sample_time_s();
  if (!(largest < kMaxDelay))
    refuse("dms", fmt::format("{}", largest_dm), "delays below 2^30 samples",
           "lower the DM or downsample more");
  max_delay_ = static_cast<std::size_t>(std::llround(largest));

  position_of_.assign(channels(), positions());
  for (std::size_t p = 0; p < positions(); ++p) position_of_[channel_at_[p]] = p;
  exact_ = {trials(), positions(), std::vector<std::int32_t>(trials() * positions())};
  for (std::size_t i = 0; i < trials(); ++i)
    for (std::size_t p = 0; p < positions(); ++p)
      exact_.row(i)[p] = static_cast<std::int32_t>(std::llround(exact_delay(i, p)));

  order_.resize(trials());
  std::iota(order_.begin(), order_.end(), 0u);
  std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return config_.dms[a] < config_.dms[b];
  });
  if (allowed_loss() > 0) subbands_ = choose_subbands(*this);
}

std::shared_ptr<const DelayPlan> DelayPlan::without_zero_dm() const {
  auto plain = std::make_shared<DelayPlan>(*this);
  plain->config_.zero_dm = false;
  return plain;
}

double DelayPlan::allowed_loss() const {
  switch (config_.method) {
    case Method::automatic:
      return config_.max_loss;
    case Method::subband:
      return config_.max_loss > 0 ? config_.max_loss : kLossOfSubbands;
    default:
      return 0;
  }
}

std::vector<std::span<const std::uint32_t>> DelayPlan::blocks(std::size_t trials) const {
  const std::span<const std::uint32_t> order(order_);
  std::vector<std::span<const std::uint32_t>> blocks;
  for (std::size_t first = 0; first < order.size(); first += trials)
    blocks.push_back(order.subspan(first, std::min(trials, order.size() - first)));
  return blocks;
}

Choice DelayPlan::choice(Method sums, double adds, const std::string& details) const {
  Choice choice{has_subbands() ? Method::subband : sums, adds, plain_adds(), loss(), {}};
  choice.text =
      fmt::format("{}, {:.3f} of the plain adds, ", to_string(choice.method), adds / plain_adds());
  if (has_subbands()) choice.text += fmt::format("loss of S/N {:.2f} %, ", 100 * choice.loss);
  choice.text += details;
  return choice;
}

double DelayPlan::sample_time_s() const {
  return config_.sample_time_s * static_cast<double>(config_.downsample);
}

std::uint64_t DelayPlan::max_value() const {
  const std::uint64_t most = (std::uint64_t{1} << std::min(config_.bits, 16)) - 1;
  return (config_.max_value == 0 ? most : config_.max_value) * config_.downsample;
}

bool DelayPlan::whole_zero_dm() const {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
  return config_.zero_dm && config_.bits != 32 && max_value() <= kMost / positions() / positions();
}

std::int64_t DelayPlan::offset() const {
  const std::int64_t half = config_.signed_samples ? std::int64_t{1} << (config_.bits - 1) : 0;
  return static_cast<std::int64_t>(positions() * config_.downsample) *
         (half + static_cast<std::int64_t>(config_.zero_level));
}

double DelayPlan::exact_delay(std::size_t trial, std::size_t position) const {
  return core::dispersion_delay_s(config_.dms[trial],
                                  config_.frequencies_mhz[channel_at_[position]], reference_mhz_,
                                  config_.dm_constant) /
         sample_time_s();
}

std::int64_t DelayPlan::delay(std::size_t trial, std::size_t channel) const {
  const std::size_t position = position_of_.at(channel);
  if (position < positions()) return delays()(trial, position);
  return core::dispersion_delay_samples(config_.dms.at(trial), config_.frequencies_mhz[channel],
                                        reference_mhz_, sample_time_s(), config_.dm_constant);
}

std::size_t DelayPlan::max_new_samples() const {
  // A time left over from the calls before may complete one more.
  return (config_.max_samples + config_.downsample - 1) / config_.downsample;
}

Input with_strides(const DelayPlan& plan, const Input& input) {
  Input dense = input;
  const Config& config = plan.config();
  const std::size_t bits = static_cast<std::size_t>(config.bits);
  const bool spectra = input.layout == Input::Layout::spectra;
  if (dense.stride_bytes == 0)
    dense.stride_bytes = spectra ? (plan.channels() * bits + 7) / 8
                                 : input.count * std::max<std::size_t>(1, bits / 8);
  if (dense.beam_stride_bytes == 0)
    dense.beam_stride_bytes = dense.stride_bytes * (spectra ? input.count : plan.channels());
  return dense;
}

namespace {

template <class T>
void require_view(const DelayPlan& plan, const core::View<T, 3>& view, std::size_t samples,
                  const std::string& name) {
  const auto require = [&](const std::string& axis, std::size_t value, std::size_t needed,
                           bool exactly) {
    if (exactly ? value != needed : value < needed)
      refuse(name + "'s " + axis, std::to_string(value),
             std::to_string(needed) + (exactly ? "" : " or more"));
  };
  if (view.data() == nullptr && samples == 0) return;
  require("beams", view.extent(0), plan.config().beams, true);
  require("trials", view.extent(1), plan.trials(), true);
  require("times", view.extent(2), samples, false);
  if (view.extent(2) > 1 && view.stride(2) != 1)
    refuse(name + "'s time stride", std::to_string(view.stride(2)), "1: dense");
}

}  // namespace

void require_call(const DelayPlan& plan, const Input& input, const OutputViews& output,
                  std::size_t samples) {
  const Config& config = plan.config();
  if (input.count > config.max_samples)
    refuse("input's count", std::to_string(input.count),
           "at most max_samples, " + std::to_string(config.max_samples));
  if (input.count > 0 && input.data == nullptr) refuse("input's data", "null", "an address");
  const Input dense = with_strides(plan, Input{input.layout, input.data, input.count, 0, 0});
  if (input.stride_bytes != 0 && input.stride_bytes < dense.stride_bytes)
    refuse("input's stride_bytes", std::to_string(input.stride_bytes),
           std::to_string(dense.stride_bytes) + " or more");
  const std::size_t element = input.layout == Input::Layout::rows || config.bits > 8
                                  ? static_cast<std::size_t>(std::max(8, config.bits)) / 8
                                  : 1;
  if (input.stride_bytes % element != 0 || input.beam_stride_bytes % element != 0)
    refuse("input's stride_bytes", std::to_string(input.stride_bytes), "whole samples");
  if (plan.float_sums()) {
    require_view(plan, output.floats, samples, "floats");
  } else {
    require_view(plan, output.integers, samples, "integers");
  }
}

}  // namespace tautline::stages::dedisperse
