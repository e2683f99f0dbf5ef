// Records raw voltages, unchanged, to DADA files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/pipeline/file_parts.h"
#include "tautline/pipeline/node_type.h"
#include "tautline/pipeline/voltages/voltage_record.h"

namespace tautline::pipeline {

struct RecordConfig {
  std::string path;  ///< .dada
  PartLimits parts = {};
  bool overwrite = false;
  std::string history;
};

/// Takes "raw voltages". Numbered files end also at gaps; a single file throws Error(format) for a gap.
class RecordSinkNode final : public engine::Node {
 public:
  explicit RecordSinkNode(RecordConfig config)
      : config_(std::move(config)), parts_(config_.path, config_.parts) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  void begin_segment(std::size_t input, const engine::Block& first,
                     engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void finish(engine::Outputs& outputs) override;
  void publish() override;
  engine::Counters counters() const override { return {{"samples", samples_}}; }
  std::vector<std::string> files() const override { return files_; }
  bool rotates() const override { return parts_.several(); }

 private:
  void end_file();

  RecordConfig config_;
  FileParts parts_;
  core::VoltageDescription description_;
  std::uint64_t most_samples_ = 0;  // of a file
  std::uint64_t rotations_ = 0;
  std::optional<VoltageRecord> file_;
  std::vector<std::string> files_;
  std::uint64_t samples_ = 0;
};

/// The type of node "voltage_record" of pipeline files.
NodeType record_node_type();

}  // namespace tautline::pipeline
