// What a search makes of its best candidates once its list has its name: pictures, the page and cut-outs.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/search/candidate_page.h"
#include "tautline/pipeline/search/candidate_pictures.h"
#include "tautline/pipeline/search/cut_out.h"
#include "tautline/pipeline/search/data_warnings.h"
#include "tautline/pipeline/search/drawn_files.h"
#include "tautline/pipeline/search/search_report.h"

namespace tautline::pipeline {

namespace {

formats::candidates::YourCandidate of_your(const core::Candidate& candidate,
                                           const SearchSummary& summary) {
  return formats::candidates::as_your(candidate, summary.search_of(candidate));
}

// Those of an earlier list that belong to no candidate of this one.
void remove_earlier(const std::string& folder, const std::set<std::string>& earlier,
                    const std::vector<std::string>& names) {
  std::set<std::string> old = earlier;
  for (const std::string& name : names) old.erase(name);
  for (const std::string& name : old) {
    std::error_code ignored;
    std::filesystem::remove(std::filesystem::path(folder) / name, ignored);
  }
}

}  // namespace

std::vector<std::string> SearchReport::picture_names() const {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < wanted_pictures(); ++k) names.push_back(picture_name(k + 1));
  return names;
}

std::vector<std::string> SearchReport::cutout_names() const {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < wanted_cutouts(); ++k) {
    const core::Candidate& candidate = summary_.candidates[k];
    names.push_back(CutoutFolder::name_of(of_your(candidate, summary_),
                                          beam_of(candidate).description(),
                                          config_.beams ? &candidate.beam : nullptr));
  }
  return names;
}

std::size_t SearchReport::wanted_pictures() const {
  return draws() ? std::min(config_.most_plots, summary_.candidates.size()) : 0;
}

std::size_t SearchReport::wanted_cutouts() const {
  return config_.cutout_folder.empty() ? 0
                                       : std::min(config_.most_cutouts, summary_.candidates.size());
}

void SearchReport::draw(const SearchRunNodes& nodes, CandidateSinkNode& sink,
                        const SearchDrawing& calls, const std::stop_token& stop) {
  if (!draws() && sink.cutouts() == nullptr) return;
  const std::scoped_lock alone(input_->drawing);
  const std::size_t pictures = wanted_pictures(), cutouts = wanted_cutouts();
  const auto tell = [&] {
    if (calls.progress)
      calls.progress(summary_.pictures.size() + summary_.cutouts, pictures + cutouts);
  };
  remove_earlier(config_.cutout_folder, earlier_cutouts_, cutout_names());
  remove_earlier(config_.picture_folder, earlier_pictures_, picture_names());
  tell();
  draw_best(calls, tell, stop);
  if (sink.has_page() && summary_.pictures.size() == pictures) sink.write_page(page_text());
  if (sink.cutouts() != nullptr) write_cutouts(*sink.cutouts(), tell, stop);
  drawn_ = true;
  summary_.elapsed_s = input_->opened.elapsed_s();
  sink.replace_record(record_text(nodes));
  if (summary_.pictures.size() + summary_.cutouts < pictures + cutouts)
    throw core::Error(core::ErrorKind::io, "run", "interrupted", "",
                      fmt::format("the list of candidates was kept, {} of {} and {} of {}",
                                  summary_.pictures.size(), core::counted(pictures, "picture"),
                                  summary_.cutouts, core::counted(cutouts, "cut-out")));
}

// Several at a time, as many as threads and memory allow, the best first. Each is made on one thread.
void SearchReport::write_cutouts(CutoutFolder& folder, const std::function<void()>& tell,
                                 const std::stop_token& stop) {
  const std::size_t count = wanted_cutouts();
  if (count == 0) return;
  std::size_t largest_bytes = 1;
  for (std::size_t k = 0; k < count; ++k) {
    const core::Candidate& candidate = summary_.candidates[k];
    const formats::FilterbankDescription& beam = beam_of(candidate).description();
    largest_bytes =
        std::max(largest_bytes, cutout_bytes(chunk_of(of_your(candidate, summary_), beam), beam));
  }
  const auto host = (device_->compiles() ? device::open({}, {}) : device_)->make_queue();
  const std::size_t at_once = std::clamp<std::size_t>(config_.memory_bytes / largest_bytes, 1,
                                                      std::min(count, host->workers()));
  std::mutex reading, telling;
  std::atomic<std::size_t> next = 0;
  const auto make = [&](const core::Candidate& candidate) {
    const PlacedRange& data = data_segment_of(candidate);
    const Beam& beam = beam_of(candidate);
    auto cutout = cut_out(*beam.reader, of_your(candidate, summary_), candidate.sample,
                          data.grid_first - data.range.first, beam.left_out.all, reading);
    cutout.files = beam.files;
    folder.write(cutout, beam.description(), config_.beams ? &candidate.beam : nullptr);
    const std::scoped_lock alone(telling);
    ++summary_.cutouts;
    tell();
  };
  host->parallel_for(at_once, 1, [&](std::size_t, std::size_t, std::size_t) {
    for (std::size_t k = next++; k < count && !stop.stop_requested(); k = next++)
      make(summary_.candidates[k]);
  });
}

std::string SearchReport::list_text(formats::candidates::Format format) const {
  const SearchSummary& s = summary_;
  return config_.beams
             ? formats::candidates::beams_to_text(format, s.candidates, s.searched, s.most_beams)
             : formats::candidates::to_text(format, s.candidates, s.searched.front());
}

bool SearchReport::draws() const {
  return !config_.plot_folder.empty() || !config_.picture_folder.empty();
}

// Pictures of the best candidates, read again from the input.
void SearchReport::draw_best(const SearchDrawing& calls, const std::function<void()>& tell,
                             const std::stop_token& stop) {
  PictureConfig pictures;
  pictures.dm_constant = config_.dm_constant;
  pictures.zero_dm = config_.zero_dm;
  formats::presto::Mask mask;
  if (!config_.mask.empty()) {
    mask = formats::presto::read_mask(config_.mask);
    pictures.mask = &mask;
  }
  const std::size_t wanted = wanted_pictures();
  for (std::size_t k = 0; k < wanted && !stop.stop_requested(); ++k) {
    const core::Candidate& candidate = summary_.candidates[k];
    const PlacedRange& data = data_segment_of(candidate);
    const Beam& beam = beam_of(candidate);
    pictures.ignored_channels = beam.left_out.all;
    pictures.windows = windows_of(candidate);
    const auto reader = read_again(beam, data.range);
    summary_.pictures.push_back(draw_candidate(*reader, data.range, candidate,
                                               data.grid_first - data.range.first, pictures));
    if (calls.picture) calls.picture(summary_);
    tell();
  }
}

std::string SearchReport::page_text() const {
  report::CandidatePage page;
  const std::string name = std::filesystem::path(config_.inputs.front()).filename().string();
  page.title =
      config_.beams ? "Pulses in " + core::counted(beams().size(), "beam") : "Pulses in " + name;
  page.beams = config_.beams ? config_.inputs : std::vector<std::string>{};
  page.most_beams = summary_.most_beams;
  double first_s = 1e300, end_s = 0;
  for (const Beam& beam : beams()) {
    std::uint64_t first = beam.data_segments.front().grid_first;
    std::uint64_t end =
        beam.data_segments.back().grid_first + beam.data_segments.back().range.count;
    for (const SampleRange& one : beam.empty) {
      first = std::min(first, one.first);
      end = std::max(end, one.first + one.count);
    }
    first_s = std::min(first_s, static_cast<double>(first) / beam.rate_hz());
    end_s = std::max(end_s, static_cast<double>(end) / beam.rate_hz());
  }
  page.first_s = first_s;
  page.duration_s = end_s - first_s;
  const std::vector<double> dms = plan_->trials().dms();
  page.low_dm = dms.front();
  page.high_dm = dms.back();
  page.threshold = config_.threshold;
  page.candidates = summary_.candidates;
  page.csv = list_text(formats::candidates::Format::csv);
  page.your_csv = list_text(formats::candidates::Format::your);
  page.history = config_.history;
  page.sample_s = 1 / description().rate_hz.value();
  constexpr std::size_t kDrawn = 1000;
  for (std::size_t k = 0; k < std::min(kDrawn, summary_.empty.list.size()); ++k)
    page.empty.emplace_back(
        static_cast<double>(summary_.empty.list[k].first_sample) * page.sample_s,
        static_cast<double>(summary_.empty.list[k].samples) * page.sample_s);
  for (const LevelStep& step : summary_.level_steps)  // a line each
    page.empty.emplace_back(static_cast<double>(step.sample) * page.sample_s, 0);
  page.pictures = summary_.pictures;
  page.warnings = data_warnings(summary_);
  if (!summary_.changing_level.empty()) page.warnings.push_back(summary_.changing_level);
  page.warnings.insert(page.warnings.end(), summary_.stopped_bands.begin(),
                       summary_.stopped_bands.end());
  if (!summary_.widest_boxcars.empty()) page.warnings.push_back(summary_.widest_boxcars);
  for (const std::string& input : config_.inputs) page.facts.emplace_back("input", input);
  page.facts.emplace_back("run", config_.history);
  page.facts.emplace_back("kernels", summary_.backend + "; search " + summary_.detect_backend);
  page.facts.emplace_back("trials", std::to_string(summary_.trials));
  page.facts.emplace_back("channels left out", std::to_string(summary_.ignored_channels) + " of " +
                                                   std::to_string(description().channels));
  page.facts.emplace_back("zero-DM filter", config_.zero_dm ? "yes" : "no");
  page.facts.emplace_back("samples in gaps", std::to_string(summary_.gap_samples));
  page.facts.emplace_back("steps of level", std::to_string(summary_.level_steps.size()));
  page.facts.emplace_back("samples without data", std::to_string(summary_.empty.samples));
  for (const std::string& kept : kept_texts(summary_)) page.facts.emplace_back("kept", kept);
  page.facts.emplace_back("values of channels that stopped", std::to_string(summary_.empty.values));
  page.facts.emplace_back("detections before grouping", std::to_string(summary_.detections));
  page.facts.emplace_back("samples that were not finite", std::to_string(summary_.not_finite));
  if (config_.inject.every_s > 0)
    page.facts.emplace_back(
        "injected pulses", fmt::format("{}, {} recalled; marked in the list",
                                       summary_.injections.injected, summary_.injections.recalled));
  if (summary_.noise_of_width)
    page.facts.emplace_back(fmt::format("noise of {} samples together, white noise being 1",
                                        summary_.noise_of_width->width),
                            fmt::format("{:.3g}", summary_.noise_of_width->excess));
  page.facts.emplace_back("masked samples", std::to_string(summary_.masked));
  if (config_.iqrm) {
    page.facts.emplace_back("values masked by IQRM", std::to_string(summary_.iqrm.masked));
    page.masked_shares = summary_.iqrm.shares();
    page.channel_mhz = description().channel_mhz;
  }
  return report::compose_candidate_page(page);
}

}  // namespace tautline::pipeline
