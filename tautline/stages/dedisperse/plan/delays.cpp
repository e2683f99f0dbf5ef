#include "tautline/stages/dedisperse/plan/delays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "tautline/core/error.h"
#include "tautline/core/field_text.h"
#include "tautline/stages/dedisperse/plan/subband.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr double kMaxDelay = 1 << 30;     // samples: offsets into rows are 32-bit
constexpr double kLossOfSubbands = 0.01;  // of Method::subband, where nothing else is asked for

[[noreturn]] void refuse(const std::string& field, const std::string& value,
                         const std::string& limit, const std::string& advice = {}) {
  throw core::Error(core::ErrorKind::config, "dedisperse " + field, value, limit, advice);
}

template <class T>
void require(bool allowed, const std::string& field, const T& value, const std::string& limit) {
  if (!allowed) refuse(field, fmt::format("{}", value), limit);
}
void require_range(const std::string& field, std::size_t value, std::size_t high) {
  require(value >= 1 && value <= high, field, value, fmt::format("1 to {}", high));
}

void require_config(const Config& c) {
  core::check(c, "dedisperse");
  require_range("frequencies_mhz", c.frequencies_mhz.size(), 65536);
  require_range("dms", c.dms.size(), 1 << 20);
  require(!c.signed_samples || c.bits == 8 || c.bits == 16, "signed_samples", true,
          "8 or 16 bits where samples are signed");
  const std::uint64_t most = (std::uint64_t{1} << c.bits) - 1;
  const std::string held = fmt::format("at most {}, what the bits hold", most);
  require(c.max_value <= most, "max_value", c.max_value, held);
  require(c.zero_level <= most, "zero_level", c.zero_level, held);
  for (const std::size_t k : c.ignored_channels)
    require(k < c.frequencies_mhz.size(), "ignored_channels", k,
            fmt::format("below the {} channels", c.frequencies_mhz.size()));
}

}  // namespace

DelayPlan::DelayPlan(const Config& config) : config_(config) {
  require_config(config);
  const auto& f = config_.frequencies_mhz;
  const double highest = *std::max_element(f.begin(), f.end());
  reference_mhz_ = config_.reference_mhz == 0 ? highest : config_.reference_mhz;
  if (!(reference_mhz_ >= highest))
    refuse("reference_mhz", core::text::write_number(reference_mhz_),
           "the highest channel's " + core::text::write_number(highest) + " or more");

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
      return config_.subband_loss;
    case Method::subband:
      return config_.subband_loss > 0 ? config_.subband_loss : kLossOfSubbands;
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

MethodChoice DelayPlan::choice(Method sums, double adds, const std::string& details) const {
  MethodChoice choice{has_subbands() ? Method::subband : sums, adds, plain_adds(), loss(), {}};
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

Input with_strides(const Config& config, const Input& input) {
  Input dense = input;
  const std::size_t channels = config.frequencies_mhz.size();
  const std::size_t bits = static_cast<std::size_t>(config.bits);
  const bool spectra = input.layout == Input::Layout::spectra;
  if (dense.stride_bytes == 0)
    dense.stride_bytes =
        spectra ? (channels * bits + 7) / 8 : input.count * std::max<std::size_t>(1, bits / 8);
  if (dense.beam_stride_bytes == 0)
    dense.beam_stride_bytes = dense.stride_bytes * (spectra ? input.count : channels);
  return dense;
}

}  // namespace tautline::stages::dedisperse
