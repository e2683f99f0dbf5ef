#include "tautline/pipeline/voltages/voltage_sink_node.h"

#include "tautline/core/error.h"
#include "tautline/pipeline/time_writing.h"
#include "tautline/pipeline/voltages/make_voltage_sink.h"

namespace tautline::pipeline {

std::vector<engine::Stream> VoltageSinkNode::open(std::span<const engine::Stream> inputs) {
  spectra_ = inputs[0].detail<Spectra>();
  if (spectra_.channels.count != spectra_.stream_channels)
    throw core::Error(core::ErrorKind::config, "inputs", "spectra of one of several devices",
                      "all spectra", "run on one device");
  config_.requantise = spectra_.requantised_bits == 8   ? Requantise::bits8
                       : spectra_.requantised_bits == 4 ? Requantise::bits4
                                                        : Requantise::off;
  channels_first_ = inputs[0].arrays.front().axes.front() == "channel";
  bytes_per_s_ = bytes_per_s(inputs[0]);
  if (!power() && !channels_first_)
    throw core::Error(core::ErrorKind::config, "input", inputs[0].kind,
                      "spectra [channel][input][time]");
  description_ = {.input = spectra_.voltages,
                  .channels = spectra_.stream_channels,
                  .hop_samples = spectra_.hop_samples,
                  .span_samples = spectra_.span_samples,
                  .spectra = inputs[0].total_samples};
  return {};
}

std::optional<engine::Load> VoltageSinkNode::expected_load() const {
  if (power()) return {};
  return time_writing(config_.output, bytes_per_s_);
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
  if (power() && channels_first_) {
    const core::SampleView<3>& from = chunk.samples;
    chunk.samples = {from.data(),
                     from.type(),
                     {from.extent(1), from.extent(2), from.extent(0)},
                     {from.stride(1), from.stride(2), from.stride(0)}};
  }
  leave_out_constant(block);
  const core::ValidityMask& valid = valid_.rows() > 0 ? valid_ : block.valid;
  chunk.valid = valid.view();
  sink_->write(chunk);
  came_ += block.samples;
  // With masks by channel, a spectrum that is invalid in some channels counts by their fraction.
  const std::size_t inputs = spectra_.voltages.inputs();
  const std::size_t parts = std::max<std::size_t>(1, valid.rows() / inputs);
  invalid_ += (valid.rows() * block.samples - valid.count() + parts - 1) / parts;
}

// Spectra of files have the validity of their inputs alone.
void VoltageSinkNode::leave_out_constant(const engine::Block& block) {
  if (spectra_.constant_channels.empty()) return;
  const std::size_t inputs = spectra_.voltages.inputs();
  valid_ = core::ValidityMask(spectra_.stream_channels * inputs, block.samples);
  for (std::size_t row = 0; block.valid.rows() > 0 && row < valid_.rows(); ++row)
    core::copy_bits(block.valid.row(row % block.valid.rows()), 0, block.samples, valid_.row(row),
                    0);
  for (const stream::ConstantChannel& one : spectra_.constant_channels)
    valid_.set(one.channel * inputs + one.input, 0, block.samples, false);
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
  beside_->write(spectra_record(nodes_, spectra_, config_.history, invalid_));
  beside_->finish();
}

bool VoltageSinkNode::power() const {
  return form_wanted(config_) == stages::channelize::Output::spectra_float;
}

engine::Counters VoltageSinkNode::counters() const {
  return {{"written", sink_ ? sink_->written() : 0}, {"invalid_spectra", invalid_}};
}

}  // namespace tautline::pipeline
