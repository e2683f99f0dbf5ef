#include "tautline/pipeline/voltages/voltage_sink_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/core/next_bit.h"
#include "tautline/pipeline/time_writing.h"
#include "tautline/pipeline/voltages/make_voltage_sink.h"

namespace tautline::pipeline {

namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// Calls found(first, end) for each run of invalid samples of a row.
template <class Found>
void each_invalid_run(const core::ValidityMask& mask, std::size_t row, const Found& found) {
  const std::uint64_t* const bits = mask.row(row);
  const std::size_t samples = mask.samples();
  for (std::size_t end = 0, first; (first = core::next_bit(bits, end, samples, false)) < samples;) {
    end = core::next_bit(bits, first, samples, true);
    found(first, end);
  }
}

void add_counts(const InvalidSpectra& of, InvalidSpectra& to) {
  to.spectra += of.spectra;
  to.gaps += of.gaps;
  to.dropped += of.dropped;
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
  // Files are cut between samples of power.
  const std::uint64_t integrate = power() ? config_.integrate : 1;
  const std::size_t products = config_.stokes == Stokes::iquv ? 4 : 1;
  const std::size_t sample_bytes =
      spectra_.stream_channels *
      (power() ? products * sizeof(float) : spectra_.voltages.inputs() * core::bytes_of(type_));
  const std::uint64_t most = parts_.most_samples(
      core::make_rational(inputs[0].rate_hz.numerator,
                          inputs[0].rate_hz.denominator * static_cast<std::int64_t>(integrate)),
      sample_bytes);
  most_spectra_ = std::min(most, kNoLimit / integrate) * integrate;
  return {};
}

std::optional<engine::Load> VoltageSinkNode::expected_load() const {
  if (power()) return {};
  return time_writing(config_.output, bytes_per_s_);
}

void VoltageSinkNode::start(engine::Outputs&) {
  if (checkpoint_) {
    files_before_ = checkpoint_->files();
    parts_.go_on_after(files_before_);
    checkpoint_->save();
  }
  path_ = parts_.begin();
  beside_ = std::make_unique<formats::PartialFile>(path_ + ".json", config_.overwrite);
}

core::Instant VoltageSinkNode::time_at(const core::Instant& from, std::uint64_t spectra) const {
  return core::advance(from, static_cast<std::int64_t>(spectra * spectra_.hop_samples),
                       spectra_.voltages.rate_hz);
}

void VoltageSinkNode::begin_file(const core::Instant& start) {
  if (!beside_) {
    path_ = parts_.begin();
    beside_ = std::make_unique<formats::PartialFile>(path_ + ".json", config_.overwrite);
  }
  start_ = spectra_.voltages.start = description_.input.start = start;
  came_ = 0;
  invalid_ = {};
  ChannelizeConfig file = config_;
  file.output = path_;
  SinkDescription description = description_;
  // A run that goes on does not know how many are in the files before.
  const std::uint64_t done = checkpoint_ ? 0 : std::min(description.spectra, total_);
  if (description.spectra > 0)
    description.spectra = std::min(most_spectra_, description.spectra - done);
  sink_ = make_voltage_sink(file, description);
}

// The counts of the run's nodes are final only at its end: the last file's record has them, and those of files that
// were left out.
std::string VoltageSinkNode::record_of_last(const VoltageFacts* facts) const {
  const char* stokes = !power() ? "" : config_.stokes == Stokes::iquv ? "IQUV" : "I";
  InvalidSpectra invalid = last_invalid_;
  if (facts != nullptr) add_counts(left_out_, invalid);
  Spectra spectra = spectra_;
  spectra.voltages.start = last_start_;
  return spectra_record(facts, spectra, config_.history, last_came_, invalid, stokes);
}

void VoltageSinkNode::finish_file(const VoltageFacts* facts) {
  add_counts(invalid_, before_);
  if (sink_->written() == 0) {  // too little for a sample of power
    add_counts(invalid_, left_out_);
    sink_.reset();
    return;
  }
  last_start_ = start_;
  last_came_ = came_;
  last_invalid_ = std::move(invalid_);
  beside_->write(record_of_last(facts));
  formats::finish_after_record(*beside_, [this] { sink_->finish(); });
  files_.push_back(path_);
  written_before_ += sink_->written();
  sink_.reset();
  beside_.reset();
}

// Of `wanted` spectra from `start` on, those that the open file takes. Begins one where there is none, or it is full.
// `place`: of the first of them, none in a gap. A run never goes on with a file that begins in a gap: that is made
// again.
std::uint64_t VoltageSinkNode::room(std::uint64_t wanted, const core::Instant& start,
                                    const std::optional<StreamPlace>& place) {
  const std::uint64_t integrate = power() ? config_.integrate : 1;
  const bool whole = came_ % integrate == 0;
  if (sink_ && (came_ >= most_spectra_ || (new_file_wanted_ && whole))) finish_file(nullptr);
  if (!sink_) {
    new_file_wanted_ = false;
    if (checkpoint_ && place && !files_.empty())
      checkpoint_->finished(files_.back(), files_before_ + files_.size(), place);
    begin_file(start);
  }
  if (new_file_wanted_) wanted = std::min(wanted, integrate - came_ % integrate);
  return std::min(wanted, most_spectra_ - came_);
}

// The output begins with the first block, whose time a live stream does not know before.
void VoltageSinkNode::begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) {
  const core::VoltageDescription& voltages = spectra_.voltages;
  const auto hop = static_cast<std::int64_t>(spectra_.hop_samples);
  const core::Instant start = time_at(first.segment_start, first.first);
  if (total_ == 0) return;
  const std::int64_t samples = core::samples_between(start_, start, voltages.rate_hz);
  const std::int64_t gap = (samples + hop / 2) / hop - static_cast<std::int64_t>(came_);
  const double gap_s = static_cast<double>(gap * hop) / voltages.rate_hz.value();
  behind_ = static_cast<std::uint64_t>(std::max<std::int64_t>(0, -gap));
  if (gap < 0 && config_.log)
    config_.log(core::LogLevel::warning,
                fmt::format("{}: a step back of {:.6g} s to {}: what follows is left out up to the "
                            "time at which the file ends",
                            path_, -gap_s, core::to_iso(start)));
  if (gap_s > config_.longest_gap_s && parts_.several()) {
    if (sink_) finish_file(nullptr);
    return;
  }
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
  while (spectra > 0) {
    const auto count = static_cast<std::size_t>(
        room(std::min<std::uint64_t>(spectra, most), time_at(start_, came_), std::nullopt));
    SpectraChunk chunk;
    chunk.spectra = count;
    chunk.samples = {zeros.data(),
                     type_,
                     power() ? std::array<std::size_t, 3>{inputs, count, channels}
                             : std::array<std::size_t, 3>{channels, inputs, count},
                     {0, 0, 1}};
    chunk.valid = none.view();
    sink_->write(chunk);
    invalid_.spans.add(core::InvalidSpan::kAllInputs, came_, count);
    invalid_.spectra += count * inputs;
    invalid_.gaps += count;
    came_ += count;
    total_ += count;
    spectra -= count;
  }
}

// Of a block that reaches beyond the file's end all is left out, and its end is a gap.
void VoltageSinkNode::drop(std::uint64_t spectra) {
  invalid_.dropped += spectra;
  if (spectra > behind_) fill(spectra - behind_);
  behind_ -= std::min(behind_, spectra);
}

// Blocks are split where a file is full, so that files do not depend on the block size.
void VoltageSinkNode::process(std::size_t, const engine::Block& block, engine::Outputs& outputs) {
  const std::uint64_t rotations = outputs.rotations();
  new_file_wanted_ =
      parts_.several() && total_ > 0 && (new_file_wanted_ || rotations != rotations_);
  rotations_ = rotations;
  if (behind_ > 0) return drop(block.samples);
  for (std::size_t done = 0; done < block.samples;) {
    const std::uint64_t first = block.first + done;
    const auto count = static_cast<std::size_t>(
        room(block.samples - done, time_at(block.segment_start, first),
             StreamPlace{block.segment_start, first * spectra_.hop_samples}));
    write(block, done, count);
    done += count;
  }
}

void VoltageSinkNode::write(const engine::Block& block, std::size_t first, std::size_t spectra) {
  const std::size_t time_axis = channels_first_ ? 2 : 1;
  SpectraChunk chunk;
  chunk.spectra = spectra;
  chunk.first_spectrum = block.first + first;
  chunk.samples = block.view<3>().slice(time_axis, first, spectra);
  if (power() && channels_first_) {
    const core::SampleView<3>& from = chunk.samples;
    chunk.samples = {from.data(),
                     from.type(),
                     {from.extent(1), from.extent(2), from.extent(0)},
                     {from.stride(1), from.stride(2), from.stride(0)}};
  }
  core::ValidityMask part;
  if (spectra < block.samples && block.valid.rows() > 0) {
    part = core::ValidityMask(block.valid.rows(), spectra);
    for (std::size_t row = 0; row < part.rows(); ++row)
      core::copy_bits(block.valid.row(row), first, spectra, part.row(row), 0);
  }
  const core::ValidityMask& of_block = part.rows() > 0 ? part : block.valid;
  const core::ValidityMask reduced = without_constant(of_block, spectra);
  const core::ValidityMask& valid = reduced.rows() > 0 ? reduced : of_block;
  chunk.valid = valid.view();
  sink_->write(chunk);
  note_invalid(of_block, spectra);
  came_ += spectra;
  total_ += spectra;
  // With masks by channel, a spectrum that is invalid in some channels counts by their fraction.
  const std::size_t inputs = spectra_.voltages.inputs();
  const std::size_t parts = std::max<std::size_t>(1, valid.rows() / inputs);
  invalid_.spectra += (valid.rows() * spectra - valid.count() + parts - 1) / parts;
}

// Lists the times at which no channel of an input is valid. Channels that never change are not among them: readers of
// the file find these for themselves.
void VoltageSinkNode::note_invalid(const core::ValidityMask& valid, std::size_t samples) {
  const std::size_t inputs = spectra_.voltages.inputs();
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

// Spectra of files have the validity of their inputs alone. Empty: no channel is constant.
core::ValidityMask VoltageSinkNode::without_constant(const core::ValidityMask& valid,
                                                     std::size_t spectra) const {
  if (spectra_.constant_channels.empty()) return {};
  const std::size_t inputs = spectra_.voltages.inputs();
  core::ValidityMask reduced(spectra_.stream_channels * inputs, spectra);
  for (std::size_t row = 0; valid.rows() > 0 && row < reduced.rows(); ++row)
    core::copy_bits(valid.row(row % valid.rows()), 0, spectra, reduced.row(row), 0);
  for (const stream::ConstantChannel& one : spectra_.constant_channels)
    reduced.set(one.channel * inputs + one.input, 0, spectra, false);
  return reduced;
}

// An output without a single time is a mistake, not a result.
void VoltageSinkNode::finish(engine::Outputs&) {
  if (written() > 0 || files_before_ > 0) return;
  throw core::Error(core::ErrorKind::format, config_.inputs.front() + ": spectra",
                    std::to_string(total_),
                    std::to_string(config_.integrate) + " at least, one power sample",
                    "give a longer stream, or a smaller `integrate`");
}

// Where nothing follows the last complete file, its record is written again. With a checkpoint, records are those of
// their files alone: a run that goes on counts its own part, and may have nothing left for a file.
void VoltageSinkNode::publish() {
  if (checkpoint_) {
    if (sink_) finish_file(nullptr);
    checkpoint_->finished(path_, files_before_ + files_.size(), std::nullopt);
    return;
  }
  if (!sink_ && files_.empty()) return;
  const VoltageFacts facts = facts_();
  const std::size_t complete = files_.size();
  if (sink_) finish_file(&facts);
  if (files_.size() > complete || files_.empty()) return;
  formats::PartialFile record(files_.back() + ".json", true);
  record.write(record_of_last(&facts));
  record.finish();
}

bool VoltageSinkNode::power() const {
  return form_wanted(config_) == stages::channelize::Output::spectra_float;
}

engine::Counters VoltageSinkNode::counters() const {
  const InvalidSpectra* const open = sink_ ? &invalid_ : nullptr;
  return {{"written", written()},
          {"invalid_spectra", before_.spectra + (open ? open->spectra : 0)},
          {"gap_spectra", before_.gaps + (open ? open->gaps : 0)},
          {"dropped_spectra", before_.dropped + (open ? open->dropped : 0)}};
}

}  // namespace tautline::pipeline
