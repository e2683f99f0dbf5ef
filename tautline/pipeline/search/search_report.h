// The reports of a search: the plan as text, the summary, the record, the page and cut-outs.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/pipeline/search/candidate_sink_node.h"
#include "tautline/pipeline/search/filterbank_input.h"
#include "tautline/pipeline/search/inject_node.h"
#include "tautline/pipeline/search/iqrm_node.h"
#include "tautline/pipeline/search/search_plan.h"
#include "tautline/pipeline/search/search_summary.h"

namespace tautline::pipeline {

/// The nodes of a graph whose counts a report contains.
struct SearchRunNodes {
  const FilterbankSourceNode* source = nullptr;
  const SearchNode* search = nullptr;
  const CandidateSinkNode* sink = nullptr;
  const IqrmNode* iqrm = nullptr;      ///< where there is one
  const InjectNode* inject = nullptr;  ///< where there is one
};

class SearchReport {
 public:
  /// Throws Error(config) and Error(memory) where the configured cut-outs cannot be made.
  SearchReport(SearchConfig config, std::shared_ptr<const FilterbankInput> input,
               std::shared_ptr<const SearchPlan> plan,
               std::shared_ptr<const device::Device> device);

  /// Measures how long the run will take: SearchSummary::expected_s.
  void expect();
  std::string plan_text() const;
  /// Of live input, whose length is known now.
  void input_ended();
  /// After the whole search: the text of the record. Until draw() has ended, it says of no cut-outs how many.
  std::string describe(const SearchRunNodes& nodes, const std::stop_token& stop);
  /// After that: the pictures, page and cut-outs of `sink`, read from the input, which no other node reads then; and
  /// the record again. Throws Error(io, "interrupted") after a stop; what was whole then is kept.
  void draw(const SearchRunNodes& nodes, CandidateSinkNode& sink, const SearchDrawing& calls,
            const std::stop_token& stop);
  /// Somebody draws SearchSummary::pictures into `picture_folder`.
  void name_pictures();
  SearchSummary& summary() { return summary_; }

 private:
  void require_cutouts() const;
  void require_injections() const;
  void summarise_plan();
  void add_empty_of_series();
  void summarise_run(const SearchRunNodes& nodes);
  void summarise_searched(const std::vector<SearchedData>& data);
  std::vector<SearchedData> data_searched(const CandidateSinkNode& sink) const;
  const Beam& beam_of(const core::Candidate& candidate) const;
  const PlacedRange& data_segment_of(const core::Candidate& candidate) const;
  std::shared_ptr<formats::FilterbankReader> read_again(const Beam& beam,
                                                        const SampleRange& range) const;
  std::span<const MaskedWindow> windows_of(const core::Candidate& candidate) const;
  std::vector<std::size_t> channels_beside(const Beam& beam,
                                           const core::Candidate& candidate) const;
  void measure_noise(const SearchRunNodes& nodes, const std::stop_token& stop);
  void look_at_levels(const SearchRunNodes& nodes, const std::stop_token& stop);
  void look_at_dispersion() const;
  void look_at_stops();
  void look_at_widths();
  std::optional<WidthNoise> noise_about(const core::Candidate& candidate, bool zero_dm) const;
  std::size_t wanted_pictures() const;
  std::size_t wanted_cutouts() const;
  void write_cutouts(CutoutFolder& folder, const std::function<void()>& tell,
                     const std::stop_token& stop);
  std::vector<std::string> picture_names() const;
  std::vector<std::string> cutout_names() const;
  std::string list_text(formats::candidates::Format format) const;
  bool draws() const;
  void draw_best(const SearchDrawing& calls, const std::function<void()>& tell,
                 const std::stop_token& stop);
  std::string page_text() const;
  std::string record_text(const SearchRunNodes& nodes) const;
  void add_beams(const std::vector<nlohmann::ordered_json>& segments, const SearchNode& search,
                 nlohmann::ordered_json& object) const;
  const std::vector<Beam>& beams() const { return input_->beams; }
  const formats::FilterbankDescription& description() const { return input_->description(); }
  std::uint64_t samples() const { return input_->samples(); }

  SearchConfig config_;
  std::shared_ptr<const FilterbankInput> input_;
  std::shared_ptr<const SearchPlan> plan_;
  std::shared_ptr<const device::Device> device_;
  SearchSummary summary_;
  bool drawn_ = false, names_pictures_ = false;
  // Of an earlier search to the same list.
  std::set<std::string> earlier_cutouts_, earlier_pictures_;
};

}  // namespace tautline::pipeline
