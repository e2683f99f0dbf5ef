// Dedispersed series of a graph to files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/search/trial_sink.h"

namespace tautline::pipeline {

struct TrialFiles {
  SeriesFormat format = SeriesFormat::npy;
  std::string output;
  bool overwrite = false;
  std::string name = {};    ///< TrialSinkConfig's; empty: the input's
  MakeTrialSink sink = {};  ///< instead of the files; none: the files
  /// Given the streams and the times of each that were written, the text of the record beside the series; none: no
  /// record is written.
  std::function<std::string(std::span<const engine::Stream> inputs,
                            std::span<const std::uint64_t> written)>
      describe = {};
};

/// Where the record of series is: OUTPUT.json, or dedisperse.json in the folder OUTPUT.
std::string series_record_path(SeriesFormat format, const std::string& output);

/// Takes "trials", an input for each kind of sampling.
class TrialSinkNode final : public engine::Node {
 public:
  explicit TrialSinkNode(TrialFiles files) : files_(std::move(files)) {}

  /// Opens the files, so that existing ones are refused before the run.
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  /// Of an array; a folder's files are written by several threads at a time.
  std::optional<engine::Load> expected_load() const override;
  void begin_segment(std::size_t input, const engine::Block& first,
                     engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void finish(engine::Outputs& outputs) override;
  void publish() override;

  std::vector<std::string> files() const override { return sink_->paths(); }
  /// Times of each input.
  const std::vector<std::uint64_t>& written() const { return written_; }

 private:
  TrialFiles files_;
  std::unique_ptr<TrialSink> sink_;
  std::vector<std::uint64_t> written_;
  std::vector<engine::Stream> inputs_;
  std::unique_ptr<formats::AppendFile> record_;
};

}  // namespace tautline::pipeline
