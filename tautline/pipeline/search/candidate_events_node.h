// Candidates as they come: a line of JSON each, in a file that grows.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "tautline/engine/node.h"
#include "tautline/pipeline/search/found_candidates.h"

namespace tautline::pipeline {

/// Takes "pulses". Each block's candidates are in the file, whole lines of it, when the block has been taken. The file has
/// its name from the start, and stays when the run fails: what it says has been found.
class CandidateEventsNode final : public engine::Node {
 public:
  CandidateEventsNode(std::string path, bool overwrite)
      : path_(std::move(path)), overwrite_(overwrite) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  void start(engine::Outputs& outputs) override;
  void begin_segment(std::size_t input, const engine::Block& first,
                     engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void end_segment(std::size_t input, engine::Outputs& outputs) override;
  /// "candidates"; "written_bytes".
  engine::Counters counters() const override;
  std::vector<std::string> files() const override { return {path_}; }

 private:
  void write(const std::vector<FoundCandidate>& found);

  std::string path_;
  bool overwrite_;
  std::unique_ptr<FoundCandidates> found_;
  std::ofstream file_;
  std::uint64_t candidates_ = 0, written_bytes_ = 0;
};

}  // namespace tautline::pipeline
