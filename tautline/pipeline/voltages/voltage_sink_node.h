// A VoltageSink as the end of a graph.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tautline/engine/node.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/voltages/channelize_config.h"
#include "tautline/pipeline/voltages/voltage_facts.h"
#include "tautline/pipeline/voltages/voltage_sink.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

/// Takes "spectra" in the form that form_wanted() returns; for power also corner-turned floats. Writes OUTPUT.json
/// beside the output. A gap is filled with invalid spectra, zeros, so that the times behind it are right to half a
/// spectrum; a gap longer than `longest_gap_s` throws Error(format). After a step back in time spectra are left out, and
/// counted, up to the time at which the file ends.
class VoltageSinkNode final : public engine::Node {
 public:
  /// `facts`: of the nodes before this one, for the record.
  VoltageSinkNode(const ChannelizeConfig& config, AskVoltageFacts facts)
      : config_(config), facts_(std::move(facts)) {}

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

 private:
  bool power() const;
  void fill(std::uint64_t spectra);
  void drop(std::uint64_t spectra);
  void leave_out_constant(const engine::Block& block);
  void note_invalid(const engine::Block& block);

  ChannelizeConfig config_;
  AskVoltageFacts facts_;
  Spectra spectra_;
  core::SampleType type_{};
  bool channels_first_ = true;  // [channel][input][time]
  double bytes_per_s_ = 0;      // of its input
  SinkDescription description_;
  std::unique_ptr<VoltageSink> sink_;
  std::unique_ptr<formats::PartialFile> beside_;
  core::ValidityMask valid_;  // of a block, where channels never change
  std::uint64_t came_ = 0;    // and those of gaps
  std::uint64_t behind_ = 0;  // that come again after a step back in time
  InvalidSpectra invalid_;
};

}  // namespace tautline::pipeline
