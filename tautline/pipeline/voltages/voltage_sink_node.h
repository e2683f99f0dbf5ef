// A VoltageSink as the end of a graph.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tautline/engine/node.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/checkpoint.h"
#include "tautline/pipeline/file_parts.h"
#include "tautline/pipeline/voltages/channelize_config.h"
#include "tautline/pipeline/voltages/voltage_facts.h"
#include "tautline/pipeline/voltages/voltage_sink.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

/// Takes "spectra" in the form that form_wanted() returns; for power also corner-turned floats. Writes OUTPUT.json
/// beside the output. A gap is filled with invalid spectra, zeros, so that the times behind it are right to half a
/// spectrum; a gap longer than `longest_gap_s` throws Error(format), or begins another file where there are several.
/// After a step back in time spectra are left out, and counted, up to the time at which the file ends.
class VoltageSinkNode final : public engine::Node {
 public:
  /// `facts`: of the nodes before this one, for the record. `checkpoint`: of a run that keeps one; files have no counts
  /// of the run then.
  VoltageSinkNode(const ChannelizeConfig& config, AskVoltageFacts facts,
                  const PartLimits& limits = {}, std::shared_ptr<Checkpoint> checkpoint = {})
      : config_(config),
        facts_(std::move(facts)),
        parts_(config.output, limits),
        checkpoint_(std::move(checkpoint)) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  /// None for power, whose integration comes first.
  std::optional<engine::Load> expected_load() const override;
  void start(engine::Outputs& outputs) override;
  void begin_segment(std::size_t input, const engine::Block& first,
                     engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void finish(engine::Outputs& outputs) override;
  void publish() override;
  engine::Counters counters() const override;
  std::vector<std::string> files() const override { return files_; }
  bool rotates() const override { return parts_.several(); }

 private:
  bool power() const;
  std::uint64_t written() const { return written_before_ + (sink_ ? sink_->written() : 0); }
  core::Instant time_at(const core::Instant& from, std::uint64_t spectra) const;
  void begin_file(const core::Instant& start);
  std::string record_of_last(const VoltageFacts* facts) const;
  void finish_file(const VoltageFacts* facts);
  std::uint64_t room(std::uint64_t wanted, const core::Instant& start,
                     const std::optional<StreamPlace>& place);
  void fill(std::uint64_t spectra);
  void drop(std::uint64_t spectra);
  void write(const engine::Block& block, std::size_t first, std::size_t spectra);
  core::ValidityMask without_constant(const core::ValidityMask& valid, std::size_t spectra) const;
  void note_invalid(const core::ValidityMask& valid, std::size_t spectra);

  ChannelizeConfig config_;
  AskVoltageFacts facts_;
  Spectra spectra_;
  core::SampleType type_{};
  bool channels_first_ = true;  // [channel][input][time]
  double bytes_per_s_ = 0;      // of its input
  SinkDescription description_;
  FileParts parts_;
  std::shared_ptr<Checkpoint> checkpoint_;  // null: the run keeps none
  std::size_t files_before_ = 0;            // of the runs that it goes on behind
  std::uint64_t most_spectra_ = 0;          // of a file: whole power samples
  std::uint64_t rotations_ = 0;
  bool new_file_wanted_ = false;    // from the next whole power sample on
  std::uint64_t total_ = 0;         // of all files
  std::uint64_t behind_ = 0;        // that come again after a step back in time
  std::vector<std::string> files_;  // complete ones
  std::uint64_t written_before_ = 0;
  InvalidSpectra before_;    // of the files before the open one, without spans
  InvalidSpectra left_out_;  // of those of them that had too little for a sample of power
  // Of the last complete file.
  core::Instant last_start_;
  std::uint64_t last_came_ = 0;
  InvalidSpectra last_invalid_;
  // The open file, or the last one.
  std::unique_ptr<VoltageSink> sink_;
  std::unique_ptr<formats::PartialFile> beside_;
  std::string path_;
  core::Instant start_;
  std::uint64_t came_ = 0;  // and those of gaps
  InvalidSpectra invalid_;
};

}  // namespace tautline::pipeline
