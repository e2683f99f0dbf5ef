// Writes each stretch of a buffer to a file and its record (docs/design/buffer.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tautline/core/log.h"
#include "tautline/engine/node.h"
#include "tautline/pipeline/voltages/stretch.h"

namespace tautline::pipeline {

struct DumpConfig {
  std::string path;  ///< DumpFileOptions'; its files are numbered
  bool overwrite = false;
  std::string history;
  core::LogSink log = {};
};

/// Throws Error(config) where the name's ending is of no format, and where files exist.
void require_dumps_can_be_written(const DumpConfig& config);

/// Takes "stretches". A file that cannot be written is abandoned, and the run continues.
class DumpSinkNode final : public engine::Node {
 public:
  explicit DumpSinkNode(DumpConfig config);
  ~DumpSinkNode() override;

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  engine::Counters counters() const override;
  std::vector<std::string> files() const override { return files_; }

 private:
  class Dump;
  void take(const StretchPiece& piece, std::span<const std::byte> bytes);

  DumpConfig config_;
  Stretches of_;
  std::map<const Stretch*, std::unique_ptr<Dump>> dumps_;
  std::size_t begun_ = 0;  // files
  std::vector<std::string> files_;
  std::uint64_t samples_ = 0, failed_ = 0, empty_ = 0;
};

}  // namespace tautline::pipeline
