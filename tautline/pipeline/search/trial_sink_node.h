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
#include "tautline/pipeline/file_parts.h"
#include "tautline/pipeline/search/filled_trials.h"
#include "tautline/pipeline/search/trial_sink.h"

namespace tautline::pipeline {

/// Series that were written to one file, or folder.
struct WrittenSeries {
  std::span<const engine::Stream> inputs;
  std::span<const std::uint64_t> samples;  ///< times of each
  std::span<FilledTrials> filled;          ///< of each
  DataSegments data_segments;              ///< of the input, from the file's first time on
  bool last = true;                        ///< false: the run goes on, and its counts are not final
};

struct TrialFiles {
  SeriesFormat format = SeriesFormat::npy;
  std::string output;
  bool overwrite = false;
  std::string name = {};    ///< TrialSinkConfig's; empty: the input's
  MakeTrialSink sink = {};  ///< instead of the files; none: the files
  /// The text of the record beside the series; none: no record is written.
  std::function<std::string(const WrittenSeries&)> describe = {};
  PartLimits parts = {};  ///< of files, of which there are several then: of one input
};

/// Where the record of series is: OUTPUT.json, or dedisperse.json in the folder OUTPUT.
std::string series_record_path(SeriesFormat format, const std::string& output);

/// Takes "trials", an input for each kind of sampling.
class TrialSinkNode final : public engine::Node {
 public:
  explicit TrialSinkNode(TrialFiles files)
      : files_(std::move(files)), parts_(files_.output, files_.parts) {}

  /// Opens the file, so that an existing one is refused before the run. Of several each is opened with its first time;
  /// they end at gaps, too.
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  /// Of an array; a folder's files are written by several threads at a time.
  std::optional<engine::Load> expected_load() const override;
  void begin_segment(std::size_t input, const engine::Block& first,
                     engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void publish() override;

  /// Of several, in folders, the folders.
  std::vector<std::string> files() const override;
  bool rotates() const override { return parts_.several(); }
  /// Times of each input, in the open file.
  const std::vector<std::uint64_t>& written() const { return written_; }
  /// What of them is filled.
  std::vector<FilledTrials>& filled() { return filled_; }

 private:
  void make_sink(const std::string& path);
  void begin_file(const engine::Block& block, std::size_t sample);
  void finish_file(bool last);
  DataSegments segments_with_data() const;
  void write(std::size_t input, const engine::Block& block, std::size_t first, std::size_t samples);

  TrialFiles files_;
  FileParts parts_;
  std::uint64_t most_samples_ = 0;  // of a file
  std::uint64_t rotations_ = 0;
  bool new_file_wanted_ = false;
  std::vector<std::string> complete_;  // of several files
  std::vector<engine::Stream> inputs_;
  // Of the last complete one of several files.
  std::vector<engine::Stream> last_described_;
  std::vector<std::uint64_t> last_written_;
  std::vector<FilledTrials> last_filled_;
  DataSegments last_segments_;
  // The open file.
  std::string path_;                       // of several: empty where the next one has another name
  std::vector<engine::Stream> described_;  // inputs_, from the file's first time on
  std::vector<std::uint64_t> written_;
  std::vector<FilledTrials> filled_;
  std::unique_ptr<TrialSink> sink_;
  std::unique_ptr<formats::AppendFile> record_;
};

}  // namespace tautline::pipeline
