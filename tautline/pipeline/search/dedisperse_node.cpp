#include "tautline/pipeline/search/dedisperse_node.h"

#include <algorithm>
#include <filesystem>

#include "tautline/core/error.h"
#include "tautline/pipeline/search/expected_rate.h"
#include "tautline/pipeline/search/filterbank_record.h"
#include "tautline/pipeline/search/filterbank_source_node.h"

namespace tautline::pipeline {

std::vector<std::uint64_t> longest_delays(const stages::dedisperse::Plan& plan) {
  const stages::dedisperse::Config& config = plan.config();
  std::vector<bool> ignored(config.frequencies_mhz.size(), false);
  for (const std::size_t c : config.ignored_channels) ignored[c] = true;
  std::vector<std::uint64_t> delays;
  for (std::size_t trial = 0; trial < config.dms.size(); ++trial) {
    std::int64_t longest = 0;
    for (std::size_t c = 0; c < ignored.size(); ++c)
      if (!ignored[c]) longest = std::max(longest, plan.delay(trial, c));
    delays.push_back(static_cast<std::uint64_t>(longest));
  }
  return delays;
}

DedisperseNode::DedisperseNode(std::vector<std::shared_ptr<const stages::dedisperse::Plan>> plans,
                               std::shared_ptr<const device::Device> device)
    : device_(std::move(device)) {
  for (auto& plan : plans) outputs_.push_back({std::move(plan), nullptr});
}

std::string DedisperseNode::kernels() const {
  return outputs_.front().plan->backend();
}

engine::Needs DedisperseNode::needs(std::size_t, const engine::Stream&) const {
  return {.device = reads_on_device(*outputs_.front().plan) ? device_ : nullptr};
}

std::vector<engine::Stream> DedisperseNode::open(std::span<const engine::Stream> inputs) {
  const engine::Stream& input = inputs.front();
  const auto& filterbank = input.detail<FilterbankStream>();
  TrialStream trials{filterbank.description(), {}, 1, 0, 0, filterbank.data_segments};
  if (!filterbank.files.empty())
    trials.name = std::filesystem::path(filterbank.files.front()).stem().string();
  trials.left_out = filterbank.left_out.front();
  trials.filterbank = std::make_shared<const FilterbankStream>(filterbank);
  trials.description.start = input.start;
  trials.description.tstart_mjd = core::modified_julian_date(input.start);
  samples_ = filterbank.parts.front().placed.range.count;
  rate_hz_ = input.rate_hz;
  std::vector<engine::Stream> streams;
  for (const Output& output : outputs_) {
    const stages::dedisperse::Config& config = output.plan->config();
    trials.dms = config.dms;
    trials.downsample = config.downsample;
    trials.dm_constant = config.dm_constant;
    trials.method = output.plan->choice().text;
    trials.delays = longest_delays(*output.plan);
    trials.plan = output.plan;
    if (!filterbank.live)
      trials.samples = filterbank.parts.front().placed.range.count / config.downsample -
                       output.plan->max_delay();
    const std::size_t room = output.plan->max_output_samples();
    streams.push_back(
        {.kind = "trials",
         .arrays =
             {{"trials", output.plan->output_type(), {"trial", "time"}, {config.dms.size(), room}}},
         .rate_hz = core::make_rational(
             input.rate_hz.numerator,
             input.rate_hz.denominator * static_cast<std::int64_t>(config.downsample)),
         .start = input.start,
         .total_samples = trials.samples,
         .max_samples = room,
         .device = device_,
         .details = trials});
  }
  return streams;
}

device::MemoryUse DedisperseNode::bytes() const {
  device::MemoryUse sum;
  for (const Output& output : outputs_) {
    const device::MemoryUse one = output.plan->bytes();
    sum.host_bytes += one.host_bytes;
    sum.device_bytes += one.device_bytes;
  }
  return sum;
}

std::optional<engine::Load> DedisperseNode::expected_load() const {
  double seconds = 0;
  for (const Output& output : outputs_)
    seconds += seconds_per_sample(*output.plan, device_, samples_);
  return engine::Load{seconds * rate_hz_.value(), device_->name()};
}

void DedisperseNode::start(engine::Outputs& outputs) {
  for (Output& output : outputs_) output.state = output.plan->make_state(outputs.queue(device_));
}

// Behind a gap of a part, a source's samples count from the part's start.
void DedisperseNode::begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) {
  segment_start_ =
      core::advance(first.segment_start, static_cast<std::int64_t>(first.first), rate_hz_);
  for (Output& output : outputs_) {
    output.state->reset();
    output.given = 0;
  }
}

void DedisperseNode::process(std::size_t, const engine::Block& block, engine::Outputs& outputs) {
  stages::dedisperse::Input input;
  input.data = block.arrays.front().data;
  input.count = block.samples;
  came_ += block.samples;
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    Output& output = outputs_[k];
    if (output.block == nullptr) output.block = &outputs.begin(k);
    engine::Block& out = *output.block;
    const engine::Array& array = out.arrays.front();
    const core::MutableSampleView<3> trials(array.data, array.type,
                                            {1, array.extents[0], array.extents[1]});
    const auto result = output.plan->execute(outputs.queue(device_), *output.state, input, trials);
    if (k == 0) not_finite_ += result.not_finite;
    if (result.samples == 0) continue;  // the overlap is not full yet
    out.segment = block.segment;
    out.segment_start = segment_start_;
    out.first = output.given;
    out.samples = result.samples;
    out.set_extent(0, 1, result.samples);
    output.given += result.samples;
    output.block = nullptr;
    outputs.commit(k);
  }
}

void DedisperseNode::end_segment(std::size_t, engine::Outputs&) {
  add_moments(outputs_.front().state->moments(), moments_);
}

// Of files it was refused before the run.
void DedisperseNode::finish(engine::Outputs&) {
  if (came_ == 0) throw core::Error(core::ErrorKind::config, "input", "no samples", "at least one");
  for (const Output& output : outputs_) require_samples({output.plan}, came_, rate_hz_.value());
}

engine::Counters DedisperseNode::counters() const {
  return {{"not_finite", not_finite_}};
}

}  // namespace tautline::pipeline
