// A VoltageSink as the end of a graph.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tautline/engine/node.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/voltages/voltage_sink.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

/// Takes "spectra" in the form that form_wanted() says. Beside the output it writes OUTPUT.json.
class VoltageSinkNode final : public engine::Node {
 public:
  /// `record`: what is written beside, asked for when every node has finished.
  VoltageSinkNode(const ChannelizeConfig& config, std::function<std::string(const Spectra&)> record)
      : config_(config), record_(std::move(record)) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  void start(engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void finish(engine::Outputs& outputs) override;
  void publish() override;
  engine::Counters counters() const override;

 private:
  ChannelizeConfig config_;
  std::function<std::string(const Spectra&)> record_;
  Spectra spectra_;
  SinkDescription description_;
  std::unique_ptr<VoltageSink> sink_;
  std::unique_ptr<formats::PartialFile> beside_;
  std::uint64_t came_ = 0, invalid_ = 0;
};

}  // namespace tautline::pipeline
