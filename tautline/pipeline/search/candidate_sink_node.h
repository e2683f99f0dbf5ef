// The sink of a search: writes the list of candidates and its record, and then its page and cut-outs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

#include "tautline/core/candidate.h"
#include "tautline/engine/node.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/formats/output_folder.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/search/cutout_folder.h"
#include "tautline/pipeline/search/injection.h"
#include "tautline/pipeline/search/search_node.h"

namespace tautline::pipeline {

struct CandidateFiles {
  std::string output;  ///< the list; its record is OUTPUT.json; empty: neither is written
  bool overwrite = false;
  std::string plot_folder = {};    ///< of candidates.html; empty: no page
  std::string cutout_folder = {};  ///< empty: no cut-outs
  std::size_t max_beams = 0;       ///< most_beams() of coincident_beams.h
};

/// A stretch of a beam without gaps, and how many trials had samples of it to search.
struct SearchedData {
  std::size_t beam = 0;
  std::uint64_t first_sample = 0, samples = 0;  ///< on the filterbank's grid
  std::size_t trials = 0;
};

/// Takes "pulses". Joins the pulses of the passes over a part, and ranks the pulses of all parts.
class CandidateSinkNode final : public engine::Node {
 public:
  /// Makes the files under temporary names. Throws Error(config) and Error(io) when one exists or cannot be made.
  explicit CandidateSinkNode(CandidateFiles files);

  /// Called when all candidates are known, on the run's thread of this node: the text of the record.
  std::function<std::string(const std::stop_token& stop)> describe;
  /// Called after that, on the thread that waits for the run, once the list and its record have their names: makes the
  /// page and the cut-outs. None: there are none.
  std::function<void(const std::stop_token& stop)> draw = {};

  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override;
  void begin_segment(std::size_t input, const engine::Block& first,
                     engine::Outputs& outputs) override;
  void process(std::size_t input, const engine::Block& block, engine::Outputs& outputs) override;
  void end_segment(std::size_t input, engine::Outputs& outputs) override;
  void finish(engine::Outputs& outputs) override;
  void publish() override;
  void conclude() override;

  /// Best first, once all are known; samples are on the filterbank's grid.
  const std::vector<core::Candidate>& candidates() const { return candidates_; }
  /// In order of beam and time.
  const std::vector<SearchedData>& data_searched() const { return data_searched_; }
  /// [beam]
  const std::vector<formats::candidates::SearchDescription>& searched() const { return searched_; }
  const PulseStream& stream() const { return stream_; }
  /// Of injected pulses, once all candidates are known; empty without an injection.
  const InjectionsFound& injections() const { return injections_; }
  /// For `draw`. Null without cut-outs.
  CutoutFolder* cutouts() { return cutouts_.get(); }
  bool has_page() const { return page_ != nullptr; }
  void write_page(const std::string& text);
  /// Device, inode, and time of change.
  using FileState = std::array<std::int64_t, 4>;
  /// The one that was written is replaced; that of a later run stays, also of one that has not written it yet.
  void replace_record(const std::string& text);
  /// "candidates", once all are known.
  engine::Counters counters() const override { return {{"candidates", candidates_.size()}}; }
  /// List, record and page.
  std::vector<std::string> files() const override;
  /// The ten brightest.
  std::string findings() const override;

 private:
  // The pulses that the passes over a segment of the data have found.
  struct SearchedSegment {
    SearchedData data;
    std::vector<RangePulses> found;      // [range of the DM plan]
    std::vector<std::uint64_t> lengths;  // [trial]
    std::vector<std::size_t> widest;     // [range of the DM plan]
    // Of the boxcars (trial, first, width) of live data of which some is filled, or not known: at the end the source
    // may have forgotten it.
    std::map<std::tuple<std::size_t, std::uint64_t, std::uint64_t>, std::optional<double>> filled;
  };
  void note_filled(const RangePulses& found, std::size_t range);
  void place_pulses(SearchedSegment& segment);
  void mark();
  void tell_injected();

  CandidateFiles files_;
  formats::candidates::Format format_;
  std::optional<formats::AppendFile> list_, record_;
  std::unique_ptr<formats::OutputFolder> plot_folder_;
  std::unique_ptr<formats::PartialFile> page_;  // in it
  std::unique_ptr<CutoutFolder> cutouts_;
  PulseStream stream_;
  bool beams_ = false;                                            // each file of the stream is one
  std::vector<formats::candidates::SearchDescription> searched_;  // [beam]
  std::vector<double> dms_;                                       // [trial]
  FilterbankStream::Turn turn_;
  std::map<std::uint64_t, SearchedSegment> segments_;  // of the current part, by first sample
  SearchedSegment* segment_ = nullptr;                 // of the blocks that come
  std::uint64_t segment_first_ = 0;                    // its key
  std::vector<SearchedData> data_searched_;
  std::vector<core::Candidate> candidates_;
  InjectionsFound injections_;
  std::optional<formats::AppendFile> truth_;
  std::optional<FileState> written_;  // of the record
  std::stop_token stop_;
};

}  // namespace tautline::pipeline
