#include "tautline/pipeline/search/trial_sink_node.h"

#include "tautline/core/error.h"
#include "tautline/pipeline/search/dedisperse_node.h"

namespace tautline::pipeline {

std::vector<engine::Stream> TrialSinkNode::open(std::span<const engine::Stream> inputs) {
  TrialSinkConfig config;
  config.format = files_.format;
  config.output = files_.output;
  config.overwrite = files_.overwrite;
  config.name = files_.name;
  for (const engine::Stream& input : inputs) {
    const auto& trials = input.detail<TrialStream>();
    config.description = trials.description;
    config.dm_constant = trials.dm_constant;
    config.float_samples = input.arrays.front().type == core::SampleType::f32;
    config.segments.push_back({trials.dms, trials.downsample, trials.samples});
    config.data_segments = trials.data_segments;
  }
  written_.assign(inputs.size(), 0);
  sink_ = make_trial_sink(config);
  return {};
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

}  // namespace tautline::pipeline
