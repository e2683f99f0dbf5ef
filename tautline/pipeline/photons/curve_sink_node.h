// The sink of correlation curves: writes the run's output and its state, repeatedly or once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/pipeline/file_parts.h"
#include "tautline/pipeline/photons/curve_node.h"

namespace tautline::pipeline {

struct CurveSinkConfig {
  std::string output, save_state;  ///< empty: none
  PartLimits parts = {};           ///< of files: the curves of each part are one
  bool overwrite = false;
  std::string history;
  core::LogSink log;  ///< warnings, and messages during a run
};

/// Writes the output and the state. Each file is complete at any time: it is written beside its name and renamed. In a
/// live run a failed writing is logged, and the next one is tried; the last one of a file must not fail.
class CurveSink final : public engine::Node {
 public:
  explicit CurveSink(CurveSinkConfig config)
      : config_(std::move(config)), parts_(config_.output, config_.parts) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  /// The last snapshot.
  void publish() override;
  std::vector<std::string> files() const override;

  /// The summary of a run that has ended.
  CurveSnapshot& last() { return *last_; }

 private:
  void write_on_the_way(const CurveSnapshot& now);
  void write(const CurveSnapshot& now);
  void say_warnings(const CurveSnapshot& now) const;
  void say(core::LogLevel level, const std::string& text) const {
    if (config_.log) config_.log(level, text);
  }

  CurveSinkConfig config_;
  FileParts parts_;
  std::string path_;  // of the part at hand
  std::size_t part_ = 0;
  std::vector<std::string> files_;  // of several, complete ones
  std::uint64_t writes_ = 0;
  bool output_written_ = false, window_written_ = false, state_written_ = false;
  std::shared_ptr<CurveSnapshot> last_;
};

}  // namespace tautline::pipeline
