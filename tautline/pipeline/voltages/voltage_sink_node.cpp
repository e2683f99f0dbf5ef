#include "tautline/pipeline/voltages/voltage_sink_node.h"

#include "tautline/core/error.h"

namespace tautline::pipeline {

std::vector<engine::Stream> VoltageSinkNode::open(std::span<const engine::Stream> inputs) {
  spectra_ = inputs[0].detail<Spectra>();
  const bool by_input = form_wanted(config_) == stages::channelize::Output::spectra_float;
  if ((inputs[0].arrays.front().axes.front() == "input") != by_input)
    throw core::Error(core::ErrorKind::config, "input", inputs[0].kind,
                      by_input ? "[input][time][channel]" : "[channel][input][time]",
                      "give the filter bank's `output` the form that the file takes");
  description_ = {.input = spectra_.voltages,
                  .channels = spectra_.stream_channels,
                  .hop_samples = spectra_.hop_samples,
                  .span_samples = spectra_.span_samples,
                  .spectra = inputs[0].total_samples};
  config_.requantise = spectra_.requantised_bits == 8   ? Requantise::bits8
                       : spectra_.requantised_bits == 4 ? Requantise::bits4
                                                        : Requantise::off;
  return {};
}

void VoltageSinkNode::start(engine::Outputs&) {
  sink_ = make_voltage_sink(config_, description_);
  beside_ = std::make_unique<formats::PartialFile>(config_.output + ".json", config_.overwrite);
}

void VoltageSinkNode::process(std::size_t, const engine::Block& block, engine::Outputs&) {
  SpectraChunk chunk;
  chunk.spectra = block.samples;
  chunk.first_spectrum = block.first;
  chunk.samples = block.view<3>();
  chunk.valid = block.valid.view();
  sink_->write(chunk);
  came_ += block.samples;
  invalid_ += block.valid.rows() * block.samples - block.valid.count();
}

// An output without a single time is a mistake, not a result.
void VoltageSinkNode::finish(engine::Outputs&) {
  if (sink_->written() > 0) return;
  throw core::Error(core::ErrorKind::format, config_.inputs.front() + ": spectra",
                    std::to_string(came_),
                    std::to_string(config_.integrate) + " at least, one power sample",
                    "give a longer stream, or a smaller `integrate`");
}

void VoltageSinkNode::publish() {
  sink_->finish();
  beside_->write(record_(spectra_));
  beside_->finish();
}

engine::Counters VoltageSinkNode::counters() const {
  return {{"written", sink_ ? sink_->written() : 0}, {"invalid_spectra", invalid_}};
}

}  // namespace tautline::pipeline
