#include "tautline/pipeline/voltages/voltage_sink_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/pipeline/time_writing.h"
#include "tautline/pipeline/voltages/make_voltage_sink.h"

namespace tautline::pipeline {

namespace {

// The first sample from `first` on that is valid, or that is not; the end where there is none.
std::size_t next_sample(const core::ValidityMask& mask, std::size_t row, std::size_t first,
                        bool valid) {
  while (first < mask.samples()) {
    const std::uint64_t word = mask.row(row)[first / 64];
    if (const std::uint64_t rest = (valid ? word : ~word) >> (first % 64); rest != 0)
      return std::min(mask.samples(), first + static_cast<std::size_t>(std::countr_zero(rest)));
    first = (first / 64 + 1) * 64;
  }
  return mask.samples();
}

// Calls found(first, end) for each run of invalid samples of a row.
template <class Found>
void each_invalid_run(const core::ValidityMask& mask, std::size_t row, const Found& found) {
  for (std::size_t end = 0, first; (first = next_sample(mask, row, end, false)) < mask.samples();) {
    end = next_sample(mask, row, first, true);
    found(first, end);
  }
}

}  // namespace

std::vector<engine::Stream> VoltageSinkNode::open(std::span<const engine::Stream> inputs) {
  spectra_ = inputs[0].detail<Spectra>();
  if (spectra_.channels.count != spectra_.stream_channels)
    throw core::Error(core::ErrorKind::config, "inputs", "spectra of one of several devices",
                      "all spectra", "run on one device");
  config_.requantise = spectra_.requantised_bits == 8   ? Requantise::bits8
                       : spectra_.requantised_bits == 4 ? Requantise::bits4
                                                        : Requantise::off;
  channels_first_ = inputs[0].arrays.front().axes.front() == "channel";
  type_ = inputs[0].arrays.front().type;
  bytes_per_s_ = bytes_per_s(inputs[0]);
  if (!power() && !channels_first_)
    throw core::Error(core::ErrorKind::config, "input", inputs[0].kind,
                      "spectra [channel][input][time]");
  description_ = {.input = spectra_.voltages,
                  .format = spectra_.format,
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
  beside_ = std::make_unique<formats::PartialFile>(config_.output + ".json", config_.overwrite);
}

// The output begins with the first block, whose time a live stream does not know before.
void VoltageSinkNode::begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) {
  core::VoltageDescription& voltages = spectra_.voltages;
  const auto hop = static_cast<std::int64_t>(spectra_.hop_samples);
  const core::Instant start = core::advance(
      first.segment_start, static_cast<std::int64_t>(first.first) * hop, voltages.rate_hz);
  if (!sink_) {
    voltages.start = description_.input.start = start;
    sink_ = make_voltage_sink(config_, description_);
    return;
  }
  const std::int64_t samples = core::samples_between(voltages.start, start, voltages.rate_hz);
  const std::int64_t gap = (samples + hop / 2) / hop - static_cast<std::int64_t>(came_);
  const double gap_s = static_cast<double>(gap * hop) / voltages.rate_hz.value();
  behind_ = static_cast<std::uint64_t>(std::max<std::int64_t>(0, -gap));
  if (gap < 0 && config_.log)
    config_.log(core::LogLevel::warning,
                fmt::format("{}: a step back of {:.6g} s to {}: what follows is left out up to the "
                            "time at which the file ends",
                            config_.output, -gap_s, core::to_iso(start)));
  if (gap_s > config_.longest_gap_s)
    throw core::Error(core::ErrorKind::format, "inputs",
                      fmt::format("a gap of {:.6g} s before {}", gap_s, core::to_iso(start)),
                      fmt::format("at most {:.6g} s", config_.longest_gap_s),
                      "raise `longest_gap_s` (gaps are zeros in the file), or write each part in a "
                      "run of its own");
  if (gap > 0) fill(static_cast<std::uint64_t>(gap));
}

// One row of zeros serves all inputs, and all channels or times.
void VoltageSinkNode::fill(std::uint64_t spectra) {
  constexpr std::uint64_t kMost = 4096;  // at once
  const std::size_t inputs = spectra_.voltages.inputs(), channels = spectra_.stream_channels,
                    most = static_cast<std::size_t>(std::min(spectra, kMost));
  const std::vector<std::byte> zeros(std::max(channels, most) * core::bytes_of(type_));
  const core::ValidityMask none(inputs, most, false);
  invalid_.spans.add(core::InvalidSpan::kAllInputs, came_, spectra);
  invalid_.spectra += spectra * inputs;
  invalid_.gaps += spectra;
  came_ += spectra;
  while (spectra > 0) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(spectra, most));
    SpectraChunk chunk;
    chunk.spectra = count;
    chunk.samples = {zeros.data(),
                     type_,
                     power() ? std::array<std::size_t, 3>{inputs, count, channels}
                             : std::array<std::size_t, 3>{channels, inputs, count},
                     {0, 0, 1}};
    chunk.valid = none.view();
    sink_->write(chunk);
    spectra -= count;
  }
}

// Of a block that reaches beyond the file's end all is left out, and its end is a gap.
void VoltageSinkNode::drop(std::uint64_t spectra) {
  invalid_.dropped += spectra;
  if (spectra > behind_) fill(spectra - behind_);
  behind_ -= std::min(behind_, spectra);
}

void VoltageSinkNode::process(std::size_t, const engine::Block& block, engine::Outputs&) {
  if (behind_ > 0) return drop(block.samples);
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
  note_invalid(block);
  came_ += block.samples;
  // With masks by channel, a spectrum that is invalid in some channels counts by their fraction.
  const std::size_t inputs = spectra_.voltages.inputs();
  const std::size_t parts = std::max<std::size_t>(1, valid.rows() / inputs);
  invalid_.spectra += (valid.rows() * block.samples - valid.count() + parts - 1) / parts;
}

// Lists the times at which no channel of an input is valid. Channels that never change are not among them: readers of
// the file find these for themselves.
void VoltageSinkNode::note_invalid(const engine::Block& block) {
  const core::ValidityMask& valid = block.valid;
  const std::size_t inputs = spectra_.voltages.inputs(), samples = block.samples;
  const std::size_t missing = valid.rows() * samples - valid.count();
  if (missing == 0) return;
  core::ValidityMask some(inputs, samples, false), any(1, samples, false);
  for (std::size_t row = 0; row < valid.rows(); ++row)
    for (std::size_t w = 0; w < core::validity_words(samples); ++w) {
      some.row(row % inputs)[w] |= valid.row(row)[w];
      any.row(0)[w] |= valid.row(row)[w];
    }
  invalid_.values += missing - valid.rows() / inputs * (inputs * samples - some.count());
  const auto add = [&](std::size_t input, std::size_t first, std::size_t end) {
    invalid_.spans.add(input, came_ + first, end - first);
  };
  each_invalid_run(any, 0, [&](std::size_t first, std::size_t end) {
    add(core::InvalidSpan::kAllInputs, first, end);
  });
  for (std::size_t i = 0; i < inputs; ++i)
    each_invalid_run(some, i, [&](std::size_t first, std::size_t end) {
      if (core::count_valid(any.row(0), first, end - first) > 0) add(i, first, end);
    });
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
  if (sink_ && sink_->written() > 0) return;
  throw core::Error(core::ErrorKind::format, config_.inputs.front() + ": spectra",
                    std::to_string(came_),
                    std::to_string(config_.integrate) + " at least, one power sample",
                    "give a longer stream, or a smaller `integrate`");
}

void VoltageSinkNode::publish() {
  sink_->finish();
  const char* stokes = !power() ? "" : config_.stokes == Stokes::iquv ? "IQUV" : "I";
  beside_->write(spectra_record(facts_(), spectra_, config_.history, came_, invalid_, stokes));
  beside_->finish();
}

bool VoltageSinkNode::power() const {
  return form_wanted(config_) == stages::channelize::Output::spectra_float;
}

engine::Counters VoltageSinkNode::counters() const {
  return {{"written", sink_ ? sink_->written() : 0},
          {"invalid_spectra", invalid_.spectra},
          {"gap_spectra", invalid_.gaps},
          {"dropped_spectra", invalid_.dropped}};
}

}  // namespace tautline::pipeline
