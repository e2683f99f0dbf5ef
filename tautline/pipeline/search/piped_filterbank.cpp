#include "tautline/pipeline/search/piped_filterbank.h"

#include "tautline/stream/live_filterbank.h"

namespace tautline::pipeline {

bool filterbank_comes_in_order(std::span<const std::byte> first_bytes, const std::string&) {
  return stream::LiveFilterbank::takes(first_bytes);
}

PipedFilterbank open_piped_filterbank(const FilterbankRunConfig& config, bool fill_gaps,
                                      std::size_t block_samples, const std::stop_token& stop) {
  LiveFilterbankConfig live;
  live.duration_s = config.duration_s;
  live.ignored_channels = config.ignored_channels;
  live.fill_gaps = fill_gaps;
  live.keep_constant = config.keep_constant;
  live.leave_out_constant = !config.keep_constant;
  live.stop = stop;
  live.block_samples = block_samples;
  PipedFilterbank piped{
      std::make_unique<LiveFilterbankNode>(
          std::make_unique<stream::LiveFilterbank>(config.piped, config.reader), live),
      std::make_shared<FilterbankInput>()};
  piped.input->config = config;
  piped.input->live = true;
  const SampleRange all{0, kLiveSamples};
  piped.input->beams.push_back({.files = piped.source->source().stream().files,
                                .reader = piped.source->reader(),
                                .range = all,
                                .data_segments = {{all, 0}},
                                .empty = {},
                                .left_out = piped.source->left_out(),
                                .level_steps = {},
                                .uncut_levels = {}});
  return piped;
}

void end_piped(FilterbankInput& input, std::uint64_t samples) {
  Beam& beam = input.beams.front();
  beam.range.count = beam.data_segments.front().range.count = samples;
}

}  // namespace tautline::pipeline
