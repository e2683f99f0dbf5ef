// Candidates as they come: a line of JSON each, in a file that grows, or in several.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/pipeline/file_parts.h"
#include "tautline/pipeline/search/found_candidates.h"

namespace tautline::pipeline {

/// Takes "pulses". Each block's candidates are in the file, whole lines of it, when the block has been taken. The
/// file has its name from the start, and stays when the run fails, unless it is empty: what it says has been found.
/// Of several files each has the candidates of its blocks, which may be none.
class CandidateEventsNode final : public engine::Node {
 public:
  /// `field`: what errors call the path.
  CandidateEventsNode(const std::string& path, bool overwrite, const PartLimits& limits = {},
                      std::string field = "path")
      : parts_(path, limits), field_(std::move(field)), overwrite_(overwrite) {}
  ~CandidateEventsNode() override;

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  void start(engine::Outputs& outputs) override;
  void begin_segment(std::size_t input, const engine::Block& first,
                     engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void end_segment(std::size_t input, engine::Outputs& outputs) override;
  void publish() override { whole_ = true; }
  /// "candidates"; "written_bytes".
  engine::Counters counters() const override;
  std::vector<std::string> files() const override { return files_; }
  bool rotates() const override { return parts_.several(); }

 private:
  void begin_file();
  void drop_torn_line(const std::string& lines);
  void write(const std::vector<FoundCandidate>& found, std::uint64_t samples,
             engine::Outputs& outputs);

  FileParts parts_;
  std::string field_;
  bool overwrite_, whole_ = false;
  core::Rational rate_hz_;          // of blocks' samples
  std::vector<std::string> files_;  // the last one is open
  std::unique_ptr<FoundCandidates> found_;
  std::ofstream file_;
  std::uint64_t candidates_ = 0, written_bytes_ = 0;
  std::uint64_t file_bytes_ = 0;  // of the open file
};

}  // namespace tautline::pipeline
