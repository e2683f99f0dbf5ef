#include "tautline/pipeline/search/candidate_sink_node.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/pipeline/search/coincident_beams.h"
#include "tautline/pipeline/search/filterbank_input.h"
#include "tautline/pipeline/search/found_candidates.h"
#include "tautline/pipeline/search/merge_pulses.h"

namespace tautline::pipeline {

namespace {

// Tells one file from another of the same name.
std::optional<CandidateSinkNode::FileState> state_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return CandidateSinkNode::FileState{static_cast<std::int64_t>(status.st_dev),
                                      static_cast<std::int64_t>(status.st_ino),
                                      static_cast<std::int64_t>(status.st_mtim.tv_sec),
                                      static_cast<std::int64_t>(status.st_mtim.tv_nsec)};
}

}  // namespace

CandidateSinkNode::CandidateSinkNode(CandidateFiles files)
    : files_(std::move(files)),
      format_(files_.output.empty() ? formats::candidates::Format::csv
                                    : formats::candidates::format_of(files_.output)) {
  if (!files_.output.empty()) {
    list_.emplace(files_.output, files_.overwrite);
    list_->lock();
    record_.emplace(files_.output + ".json", files_.overwrite);
    record_->lock();
  }
  if (!files_.cutout_folder.empty())
    cutouts_ =
        std::make_unique<CutoutFolder>(files_.cutout_folder, files_.output, files_.overwrite);
  if (files_.plot_folder.empty()) return;
  plot_folder_ = std::make_unique<formats::OutputFolder>("plot_folder", files_.plot_folder);
  page_ = std::make_unique<formats::PartialFile>(
      (std::filesystem::path(files_.plot_folder) / "candidates.html").string(), files_.overwrite);
}

std::vector<engine::Stream> CandidateSinkNode::open(std::span<const engine::Stream> inputs) {
  stream_ = inputs.front().detail<PulseStream>();
  const FilterbankStream& filterbank = stream_.filterbank;
  const FilterbankInput* files = filterbank.input.get();
  beams_ = files != nullptr && files->each_is_beam;
  if (beams_) formats::candidates::beams_to_text(format_, {}, {}, 0);  // refuses a format
  searched_ = searches_of(stream_);
  if (filterbank.injected && format_ != formats::candidates::Format::csv)
    throw core::Error(core::ErrorKind::config, "output", files_.output,
                      "a .csv, which says what was injected", "name a .csv, or leave `inject` out");
  if (filterbank.injected && !files_.output.empty())
    formats::require_can_be_written("output", injection_truth_path(files_.output),
                                    files_.overwrite);
  dms_ = stream_.trials.dms();
  return {};
}

void CandidateSinkNode::begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) {
  turn_ = stream_.filterbank.turn_of(first.segment);
  const FilterbankPart& part = stream_.filterbank.parts[turn_.part];
  segment_first_ = first.first;
  segment_ = &segments_[segment_first_];
  if (turn_.pass > 0) return;
  segment_->data = {part.beam, grid_sample_of(stream_.filterbank, first), 0, 0};
  segment_->found.resize(stream_.trials.ranges.size());
  segment_->lengths.assign(dms_.size(), 0);
  segment_->widest.assign(segment_->found.size(), 1);
}

void CandidateSinkNode::process(std::size_t, const engine::Block& block, engine::Outputs&) {
  const auto& found = block.payload_of<FoundPulses>();
  if (turn_.pass == 0) segment_->data.samples += block.samples;
  for (std::size_t s = 0; s < found.ranges.size(); ++s) {
    const RangePulses& more = found.ranges[s];
    if (stream_.filterbank.live) note_filled(more, s);
    RangePulses& all = segment_->found[s];
    all.pulses.insert(all.pulses.end(), more.pulses.begin(), more.pulses.end());
    all.joined = all.joined && more.joined;
  }
  for (const SearchedTrials& trials : found.searched) {
    std::copy(trials.lengths.begin(), trials.lengths.end(),
              segment_->lengths.begin() + static_cast<std::ptrdiff_t>(trials.first_trial));
    segment_->widest[trials.range] = trials.widest;
    segment_->data.trials += trials.trials;
  }
}

void CandidateSinkNode::note_filled(const RangePulses& found, std::size_t range) {
  for (const stages::detect::Pulse& one : found.pulses) {
    const stages::detect::Pulse pulse =
        place_pulse(one, range, 0, stream_.trials.ranges[range].downsample).pulse;
    const auto filled =
        candidate_of(pulse, segment_->data.first_sample, segment_->data.beam, stream_, dms_).filled;
    if (filled != 0.0) segment_->filled[{pulse.trial, pulse.first, pulse.width}] = filled;
  }
}

void CandidateSinkNode::end_segment(std::size_t, engine::Outputs&) {
  if (turn_.pass + 1 < stream_.filterbank.parts[turn_.part].passes) return;
  place_pulses(*segment_);
  data_searched_.push_back(segment_->data);
  segments_.erase(segment_first_);
}

// There may be millions: no list of them stays in memory longer than needed.
void CandidateSinkNode::place_pulses(SearchedSegment& segment) {
  std::vector<PlacedPulse> placed;
  for (std::size_t s = 0; s < segment.found.size(); ++s) {
    RangePulses& found = segment.found[s];
    if (!found.joined)
      found.pulses =
          join_detections(found.pulses, segment.lengths, stream_.links, segment.widest[s]);
    placed.reserve(placed.size() + found.pulses.size());
    for (const auto& pulse : found.pulses)
      placed.push_back(place_pulse(pulse, s, 0, stream_.trials.ranges[s].downsample));
    found.pulses = std::vector<stages::detect::Pulse>();
  }
  const auto merged = merge_pulses(std::move(placed), stream_.links);
  if (candidates_.empty()) candidates_.reserve(merged.size());
  for (const auto& pulse : merged) {
    candidates_.push_back(
        candidate_of(pulse, segment.data.first_sample, segment.data.beam, stream_, dms_));
    if (!stream_.filterbank.live) continue;
    const auto known = segment.filled.find({pulse.trial, pulse.first, pulse.width});
    candidates_.back().filled = known == segment.filled.end() ? 0 : known->second;
  }
}

// Counts the beams that have each candidate at once.
void CandidateSinkNode::mark() {
  const auto& beams = stream_.filterbank.beams;
  const formats::FilterbankDescription& first = beams.front();
  const double rate_hz = first.rate_hz.value();
  Coincidence coincidence;
  coincidence.link_samples = stream_.links.time_samples;
  for (const auto& beam : beams)
    coincidence.beam_starts.push_back(
        core::samples_between(first.start, beam.start, first.rate_hz));
  const double low = first.lowest_mhz(), high = first.highest_mhz();
  coincidence.delay_samples_per_dm =
      stream_.dm_constant * (1 / (low * low) - 1 / (high * high)) * rate_hz;
  count_beams(candidates_, coincidence);
}

// Which candidates are of pulses that were put in, and the truth that `compare` reads.
void CandidateSinkNode::tell_injected() {
  const std::vector<InjectedPulse> pulses = stream_.filterbank.injected->all();
  const formats::FilterbankDescription& description = stream_.filterbank.description();
  injections_ =
      mark_injected(candidates_, pulses, injection_band(description, stream_.dm_constant));
  if (files_.output.empty()) return;
  truth_.emplace(injection_truth_path(files_.output), files_.overwrite);
  truth_->write(injection_truth(pulses, description, stream_.dm_constant));
}

void CandidateSinkNode::finish(engine::Outputs& outputs) {
  std::stable_sort(
      candidates_.begin(), candidates_.end(),
      [](const core::Candidate& a, const core::Candidate& b) { return a.snr > b.snr; });
  if (beams_) mark();
  if (stream_.filterbank.injected) tell_injected();
  if (list_) {
    const auto write = [this](std::string_view text) { list_->write(text); };
    if (beams_)
      formats::candidates::write_beams_text(
          format_, candidates_, searched_,
          most_beams(files_.max_beams, stream_.filterbank.beams.size()), write);
    else
      formats::candidates::write_text(format_, candidates_, searched_.front(), write);
  }
  stop_ = outputs.stop();
  const std::string record = describe(stop_);
  if (record_) record_->write(record);
}

void CandidateSinkNode::publish() {
  if (list_) list_->finish();
  if (record_) {
    record_->finish();
    written_ = state_of(record_->path());
  }
  if (truth_) truth_->finish();
}

// Whoever ends it keeps the list.
void CandidateSinkNode::conclude() {
  if (draw) draw(stop_);
}

void CandidateSinkNode::write_page(const std::string& text) {
  page_->write(std::string_view(text));
  page_->finish();
}

void CandidateSinkNode::replace_record(const std::string& text) {
  // Another run may have replaced list and record meanwhile, or be about to.
  if (!record_ || !written_ || state_of(record_->path()) != written_) return;
  if (formats::is_being_written(list_->path()) || formats::is_being_written(record_->path()))
    return;
  formats::PartialFile again(record_->path(), true);
  again.write(std::string_view(text));
  again.finish();
}

std::string CandidateSinkNode::findings() const {
  constexpr std::size_t kShown = 10;
  return formats::candidates::table(candidates_, kShown);
}

std::vector<std::string> CandidateSinkNode::files() const {
  std::vector<std::string> paths;
  if (list_) paths = {files_.output, record_->path()};
  if (truth_) paths.push_back(truth_->path());
  if (page_) paths.push_back(page_->path());
  return paths;
}

}  // namespace tautline::pipeline
