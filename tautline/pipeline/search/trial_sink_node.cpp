#include "tautline/pipeline/search/trial_sink_node.h"

#include <filesystem>

#include "tautline/core/error.h"
#include "tautline/pipeline/search/dedisperse_node.h"
#include "tautline/pipeline/time_writing.h"

namespace tautline::pipeline {

std::string series_record_path(SeriesFormat format, const std::string& output) {
  if (format == SeriesFormat::npy || !std::filesystem::is_directory(output))
    return output + ".json";
  return (std::filesystem::path(output) / "dedisperse.json").string();
}

std::vector<engine::Stream> TrialSinkNode::open(std::span<const engine::Stream> inputs) {
  TrialSinkConfig config;
  config.format = files_.format;
  config.output = files_.output;
  config.overwrite = files_.overwrite;
  for (const engine::Stream& input : inputs) {
    const auto& trials = input.detail<TrialStream>();
    config.description = trials.description;
    config.name = files_.name.empty() ? trials.name : files_.name;
    config.dm_constant = trials.dm_constant;
    config.float_samples = input.arrays.front().type == core::SampleType::f32;
    config.ranges.push_back({trials.dms, trials.downsample, trials.samples});
    config.data_segments = trials.data_segments;
  }
  written_.assign(inputs.size(), 0);
  sink_ = files_.sink ? files_.sink(config) : make_trial_sink(config);
  inputs_.assign(inputs.begin(), inputs.end());
  if (files_.describe)
    record_ = std::make_unique<formats::AppendFile>(
        series_record_path(files_.format, files_.output), files_.overwrite);
  return {};
}

std::optional<engine::Load> TrialSinkNode::expected_load() const {
  if (files_.sink || files_.format != SeriesFormat::npy || inputs_.empty()) return {};
  return time_writing(files_.output, bytes_per_s(inputs_.front()));
}

void TrialSinkNode::begin_segment(std::size_t input, const engine::Block&, engine::Outputs&) {
  if (written_[input] > 0)
    throw core::Error(core::ErrorKind::config, "trials", "a gap", "series without gaps",
                      "fill gaps, or take one part of the data");
}

void TrialSinkNode::process(std::size_t input, const engine::Block& block, engine::Outputs&) {
  sink_->write(input, block.view<2>());
  written_[input] += block.samples;
}

void TrialSinkNode::finish(engine::Outputs&) {
  if (record_) record_->write(files_.describe(inputs_, written_));
}

void TrialSinkNode::publish() {
  sink_->finish();
  if (record_) record_->finish();
}

}  // namespace tautline::pipeline
