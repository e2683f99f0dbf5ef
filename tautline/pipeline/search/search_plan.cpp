#include "tautline/pipeline/search/search_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tautline/core/byte_text.h"
#include "tautline/core/counted.h"
#include "tautline/core/dispersion.h"
#include "tautline/core/error.h"
#include "tautline/core/field_text.h"
#include "tautline/pipeline/search/iqrm_node.h"
#include "tautline/pipeline/search/search_latency.h"

namespace tautline::pipeline {

namespace {

std::string name_of_input(const SearchConfig& config) {
  return config.inputs.empty() ? "input" : config.inputs.front();
}

std::vector<double> dms_of_series(const SearchConfig& config,
                                  const formats::FilterbankDescription& series) {
  constexpr double kHighestDm = 1e6;
  std::vector<double> dms = series.dms_with(config.dm_constant);
  for (const double dm : dms)
    if (!(dm >= 0) || dm > kHighestDm)
      throw core::Error(core::ErrorKind::format, name_of_input(config) + ": dispersion measure",
                        core::text::write_number(dm), "0 to 1e6 pc cm^-3",
                        "correct the header of the series");
  return dms;
}

// The memory that is left for the search.
std::size_t memory_beside_iqrm(const SearchConfig& config,
                               const formats::FilterbankDescription& description) {
  if (!config.iqrm) return config.memory_bytes;
  const std::size_t window = iqrm_window_bytes(config.iqrm_limits, description);
  if (window > config.memory_bytes / 2)
    throw core::Error(core::ErrorKind::memory, "memory_bytes",
                      core::byte_size().write(config.memory_bytes),
                      "twice the " + core::byte_text(window) + " of a window of IQRM",
                      "raise `memory_bytes`, or make `iqrm_limits.every_s` shorter");
  return config.memory_bytes - window;
}

}  // namespace

SearchPlan::SearchPlan(const SearchConfig& config, formats::FilterbankDescription description,
                       std::vector<FilterbankPart> parts,
                       std::vector<std::vector<std::size_t>> left_out,
                       std::shared_ptr<const device::Device> device, std::size_t most_block_samples)
    : config_(config),
      description_(std::move(description)),
      parts_(std::move(parts)),
      left_out_(std::move(left_out)),
      device_(std::move(device)) {
  require_pulse_width();
  choose_trials(config);
  request_.dedisperse = stage_config(config, description_, left_out_.front());
  chosen_.allow_loss(request_.dedisperse);
  request_.detect.threshold = config.threshold;
  request_.detect.max_width_s = config.max_width_s;
  request_.detect.baseline_s = config.baseline_s;
  request_.detect.noise = config.noise;
  request_.detect.links = config.links;
  request_.given = given_trials(description_);
  // The longest part determines which trials can be searched at all.
  for (const FilterbankPart& part : parts_) {
    const std::uint64_t behind = behind_of(part), samples = part.placed.range.count;
    if (samples + behind > request_.samples + request_.given.behind)
      request_.samples = samples, request_.given.behind = behind;
  }
  if (request_.samples != kLiveSamples) require_width();
  request_.sample_bytes = description_.sample_bytes();
  request_.memory_bytes = memory_beside_iqrm(config, description_);
  request_.most_block_samples = most_block_samples;
  if (device_->compiles()) request_.device_bytes = device_->free_bytes();
  keep_latency();
  passes_ = plan_passes(request_, chosen_.plan, device_);
  if (most_latency_s_ > 0 && latency_s() > most_latency_s_)
    throw core::Error(core::ErrorKind::config, "latency_s",
                      core::text::write_number(most_latency_s_) + " s",
                      core::text::write_number(latency_s()) + " s or more, with blocks of " +
                          std::to_string(block_samples_) + " samples",
                      "give the source shorter ones (`block_samples`), or allow for more");
}

double SearchPlan::longest_series_s(std::uint64_t samples) const {
  const double data_s = static_cast<double>(samples) * description_.tsamp_s;
  return std::max(
      0.0, data_s - core::dispersion_delay_s(chosen_.plan.dms().front(), description_.lowest_mhz(),
                                             description_.highest_mhz(), config_.dm_constant));
}

// The default is for data of any length.
bool SearchPlan::is_too_wide(std::uint64_t samples) const {
  return config_.max_width_s != SearchConfig{}.max_width_s &&
         config_.max_width_s > longest_series_s(samples) * (1 + 1e-9);
}

void SearchPlan::require_width() const {
  if (!is_too_wide(request_.samples)) return;
  const double longest_s = longest_series_s(request_.samples);
  if (longest_s == 0) return;  // refused elsewhere
  const double digit = std::pow(10, std::floor(std::log10(std::max(longest_s, 1e-6))) - 3);
  throw core::Error(
      core::ErrorKind::config, "max_width_s", core::text::write_number(config_.max_width_s) + " s",
      fmt::format("at most the {:.6g} s of data that the lowest trial has", longest_s),
      fmt::format("give {:.4g} or less, or more data", std::floor(longest_s / digit) * digit));
}

// Pulses that are wider than all boxcars lose more than the plan says.
void SearchPlan::require_pulse_width() const {
  const double pulse_s = config_.dms.pulse_width_s,
               widest_s = std::max(config_.max_width_s, description_.tsamp_s);
  if (pulse_s <= widest_s * (1 + 1e-9)) return;
  throw core::Error(core::ErrorKind::config, "dms.pulse_width_s",
                    core::text::write_number(pulse_s) + " s",
                    "at most the " + core::text::write_number(widest_s) +
                        " s of the widest boxcar (`max_width_s`)",
                    "lower it, or raise `max_width_s`");
}

// Shorter noise, running mean and blocks, where a search must not wait for theirs.
void SearchPlan::keep_latency() {
  block_samples_ = request_.most_block_samples;
  const bool live = request_.samples == kLiveSamples;
  most_latency_s_ = config_.latency_s > 0            ? config_.latency_s
                    : live && config_.latency_s == 0 ? kLiveLatency
                                                     : 0;
  if (most_latency_s_ == 0) return;
  std::size_t coarsest = 1;
  for (const auto& range : chosen_.plan.ranges) coarsest = std::max(coarsest, range.downsample);
  const LatencyShares shares = share_latency(
      most_latency_s_, held_s(), static_cast<double>(block_samples_) * description_.tsamp_s,
      description_.tsamp_s * static_cast<double>(coarsest), config_);
  request_.detect.noise_s = shares.noise_s;
  request_.detect.baseline_s = shares.baseline_s;
  if (block_samples_ == 0)
    block_samples_ =
        std::max<std::size_t>(1, static_cast<std::size_t>(shares.block_s / description_.tsamp_s));
  request_.most_block_samples = block_samples_;
  // Series that are dedispersed already wait for nothing.
  if (!request_.given.any())
    chosen_.plan = split_by_delay(
        chosen_.plan, {description_.channel_mhz, description_.tsamp_s, config_.dm_constant},
        most_latency_s_);
}

double SearchPlan::latency_s() const {
  double samples = 0;
  for (const PassPlan& pass : passes_)
    for (const SearchPart& part : pass.parts)
      samples = std::max(samples, static_cast<double>((part.detect->latency_samples() + 1) *
                                                      part.dedisperse->config().downsample));
  samples += static_cast<double>(block_samples_ > 0 ? block_samples_ : block_samples());
  return samples * description_.tsamp_s + held_s();
}

// Memory of the nodes before the search.
double SearchPlan::held_s() const {
  return static_cast<double>(config_.held_samples) * description_.tsamp_s +
         (config_.iqrm ? config_.iqrm_limits.every_s : 0);
}

void SearchPlan::choose_trials(const SearchConfig& config) {
  choice_ = config.dms;
  if (description_.time_series) {
    // Any other trial would be the same samples under a wrong DM.
    if (choice_.given())
      throw core::Error(core::ErrorKind::config, "dms.range",
                        "given for " + name_of_input(config) + ", which is dedispersed already",
                        "trials for filterbanks only", "leave `dms.range` and `dms.list` out");
    choice_.list = dms_of_series(config, description_);
  }
  require_trials(choice_);
  const stages::dedisperse::Band band{description_.channel_mhz, description_.tsamp_s,
                                      config.dm_constant};
  std::uint64_t longest = 0;
  for (const FilterbankPart& part : parts_) longest = std::max(longest, part.placed.range.count);
  require_delays(choice_, band, static_cast<double>(longest) / description_.rate_hz.value());
  chosen_ = pipeline::choose_trials(config, choice_, band);
  trials_text_ = describe_trials(chosen_.plan, choice_);
  if (description_.trial_dms.size() > 1)
    trials_text_ = core::counted(chosen_.plan.trials(), "trial") + ", as they were dedispersed";
}

std::uint64_t SearchPlan::behind_of(const FilterbankPart& part) const {
  const SampleRange& range = part.placed.range;
  return request_.given.any() ? data_behind(description_, range.first + range.count) : 0;
}

PassRequest SearchPlan::request_of(std::size_t part) const {
  PassRequest request = request_;
  request.samples = parts_[part].placed.range.count;
  request.given.behind = behind_of(parts_[part]);
  request.dedisperse.ignored_channels = left_out_[parts_[part].beam];
  return request;
}

// Whether the passes over the longest part equal those over this one, except for its length.
bool SearchPlan::is_planned(const PassRequest& request,
                            const stages::dedisperse::DmPlan& trials) const {
  return request.dedisperse.ignored_channels == left_out_.front() &&
         trials.trials() == chosen_.plan.trials();
}

std::vector<PassPlan> SearchPlan::passes_of(std::size_t part) const {
  const PassRequest request = request_of(part);
  const stages::dedisperse::DmPlan trials = trials_that_fit(request, chosen_.plan);
  if (is_planned(request, trials))
    return request.samples == request_.samples && request.given.behind == request_.given.behind
               ? passes_
               : plan_again(request, passes_, device_);
  if (trials.trials() == 0) return {};
  return plan_passes(request, trials, device_);
}

std::vector<FilterbankPart> SearchPlan::parts() const {
  std::vector<FilterbankPart> parts = parts_;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const PassRequest request = request_of(k);
    const bool planned = is_planned(request, trials_that_fit(request, chosen_.plan));
    parts[k].passes = planned ? passes_.size() : passes_of(k).size();
  }
  return parts;
}

std::size_t SearchPlan::block_samples() const {
  std::size_t samples = passes_.front().block_samples;
  for (const PassPlan& pass : passes_) samples = std::min(samples, pass.block_samples);
  return samples;
}

// Of a pulse of w samples a boxcar of b has b / sqrt(b w) where b < w, and w / sqrt(b w) where b > w.
double width_loss(std::span<const std::size_t> widths) {
  double worst = 1;
  for (std::size_t k = 0; k + 1 < widths.size(); ++k)
    for (std::size_t w = widths[k] + 1; w < widths[k + 1]; ++w) {
      const auto pulse = static_cast<double>(w);
      worst = std::min(worst, std::max(std::sqrt(static_cast<double>(widths[k]) / pulse),
                                       std::sqrt(pulse / static_cast<double>(widths[k + 1]))));
    }
  return 1 - worst;
}

SearchNodeConfig node_config(std::shared_ptr<const SearchPlan> plan) {
  SearchNodeConfig config{plan->trials(), plan->links(),
                          [plan](std::size_t part) { return plan->passes_of(part); }};
  for (const SearchPart& part : plan->passes().front().parts) {
    config.reads_on_device = config.reads_on_device || reads_on_device(*part.dedisperse);
    for (const auto& use : {part.dedisperse->bytes(), part.detect->bytes()}) {
      config.bytes.host_bytes += use.host_bytes;
      config.bytes.device_bytes += use.device_bytes;
    }
  }
  config.dm_constant = plan->first_part().dedisperse->config().dm_constant;
  config.plan = plan;
  config.kernels =
      plan->first_part().dedisperse->backend() + "; search " + plan->first_part().detect->backend();
  if (plan->most_latency_s() > 0) {
    std::size_t longest = 0;
    for (const SearchPart& part : plan->passes().back().parts)
      longest =
          std::max(longest, part.dedisperse->max_delay() * part.dedisperse->config().downsample);
    config.kernels += fmt::format(
        "; candidates at most {:.3g} s behind the longest delay of their range of DMs, of {} "
        "up to {:.3g} s",
        plan->latency_s(), plan->trials().ranges.size(),
        static_cast<double>(longest) * plan->sample_s());
  }
  return config;
}

}  // namespace tautline::pipeline
