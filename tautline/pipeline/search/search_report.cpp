#include "tautline/pipeline/search/search_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>
#include <utility>

#include "tautline/core/byte_text.h"
#include "tautline/core/counted.h"
#include "tautline/core/dispersion.h"
#include "tautline/pipeline/search/coincident_beams.h"
#include "tautline/pipeline/search/cut_out.h"
#include "tautline/pipeline/search/drawn_files.h"
#include "tautline/pipeline/search/expected_rate.h"
#include "tautline/pipeline/search/filterbank_record.h"
#include "tautline/pipeline/search/gapless_reader.h"
#include "tautline/pipeline/search/given_trials.h"
#include "tautline/pipeline/search/kept_trials.h"
#include "tautline/pipeline/search/noise_of_widths.h"
#include "tautline/pipeline/search/read_trial.h"
#include "tautline/pipeline/search/search_noise.h"
#include "tautline/pipeline/search/times_without_data.h"

namespace tautline::pipeline {

namespace {

// The first of many passes and the last: those between them differ in the DMs of their trials alone.
std::string passes_text(const std::vector<PassPlan>& passes) {
  constexpr std::size_t kFirst = 3;
  std::string lines;
  for (std::size_t k = 0; k < passes.size(); ++k) {
    if (const std::size_t between = passes.size() - 1 - k; k == kFirst && between > 1) {
      lines += fmt::format("... and {} more passes like these\n", between);
      k += between;
    }
    lines += passes[k].text + "\n";
  }
  return lines;
}

}  // namespace

SearchReport::SearchReport(SearchConfig config, std::shared_ptr<const FilterbankInput> input,
                           std::shared_ptr<const SearchPlan> plan,
                           std::shared_ptr<const device::Device> device)
    : config_(std::move(config)),
      input_(std::move(input)),
      plan_(std::move(plan)),
      device_(std::move(device)) {
  if (!config_.cutout_folder.empty()) require_cutouts();
  if (config_.inject.every_s > 0) require_injections();
  earlier_cutouts_ = drawn_earlier(kCutoutFiles, config_.output, config_.cutout_folder);
  summarise_plan();
}

// The widest boxcar at the highest DM takes the most memory.
void SearchReport::require_cutouts() const {
  if (description().time_series)
    throw core::Error(core::ErrorKind::config, "cutout_folder",
                      "given for " + config_.inputs.front() + ", which is dedispersed already",
                      "a filterbank", "leave `cutout_folder` out");
  core::Candidate most;
  most.dm = plan_->trials().dms().back();
  most.width_samples = plan_->first_part().detect->widths().back();
  formats::candidates::SearchDescription search;
  search.dm_constant = config_.dm_constant;
  const CutoutChunk chunk = chunk_of(formats::candidates::as_your(most, search), description());
  const std::size_t bytes = cutout_bytes(chunk, description());
  if (bytes > config_.memory_bytes)
    throw core::Error(
        core::ErrorKind::memory, "cutout_folder",
        fmt::format("{} for one cut-out at DM {:.6g}", core::byte_text(bytes), most.dm),
        core::byte_text(config_.memory_bytes) + " at most (`memory_bytes`)",
        "raise `memory_bytes`, lower the highest DM or leave `cutout_folder` out");
}

void SearchReport::name_pictures() {
  names_pictures_ = true;
  earlier_pictures_ = drawn_earlier(kPictureFiles, config_.output, config_.picture_folder);
}

void SearchReport::require_injections() const {
  if (description().time_series || beams().size() > 1) return;  // refused by the node
  const InjectionBand band = injection_band(description(), config_.dm_constant);
  const auto [low, high] = std::pair(plan_->trials().dms().front(), plan_->trials().dms().back());
  require_injected_dms(config_.inject, low, high, band);
  require_injected_widths(config_.inject, config_.max_width_s, band);
  if (input_->live) return;
  std::vector<std::pair<double, double>> stretches_s;
  for (const Beam& beam : beams())
    for (const PlacedRange& data : beam.data_segments)
      stretches_s.emplace_back(
          static_cast<double>(data.grid_first) * band.sample_s,
          static_cast<double>(data.grid_first + data.range.count) * band.sample_s);
  require_injected_times(config_.inject, stretches_s, band);
}

void SearchReport::summarise_plan() {
  SearchSummary& s = summary_;
  s.samples = 0;
  s.data_segments = 0;
  for (const Beam& beam : beams()) {
    s.flagged_channels = std::max(s.flagged_channels, beam.left_out.flagged.size());
    s.ignored_channels = std::max(s.ignored_channels, beam.left_out.all.size());
    s.constant_channels = std::max(s.constant_channels, beam.left_out.constant.size());
    s.level_steps.insert(s.level_steps.end(), beam.level_steps.begin(), beam.level_steps.end());
    s.uncut_levels.insert(s.uncut_levels.end(), beam.uncut_levels.begin(), beam.uncut_levels.end());
    s.data_segments += beam.data_segments.size();
    s.samples += beam.times_read();
    s.gap_samples += beam.gap_samples();
  }
  s.stream_s = static_cast<double>(s.samples) / description().rate_hz.value();
  add_empty_of_series();
  const auto& passes = plan_->passes();
  s.trials = plan_->trials().trials();
  s.spacing_loss = plan_->chosen().spacing_loss;
  s.channels = description().time_series ? 1 : description().channels;
  s.ifs = description().ifs;
  s.summed_ifs = description().summed_ifs;
  s.passes = passes.size();
  s.f_ref_mhz = description().highest_mhz();
  const SearchPart& first = plan_->first_part();
  s.backend = first.dedisperse->backend();
  s.detect_backend = first.detect->backend();
  s.widths = first.detect->widths().size();
  s.widths_samples = first.detect->widths();
  s.width_loss = width_loss(s.widths_samples);
  s.dms = plan_->trials().dms();
  for (const PassPlan& pass : passes) {
    s.bytes = std::max(s.bytes, pass.bytes);
    for (const SearchPart& part : pass.parts) {
      s.methods.push_back(part.dedisperse->choice().text);
      s.loss = std::max(s.loss, part.dedisperse->choice().loss);
    }
  }
  s.whole_loss = 1 - (1 - s.spacing_loss) * (1 - s.width_loss) * (1 - s.loss);
}

void SearchReport::add_empty_of_series() {
  for (std::size_t b = 0; b < beams().size(); ++b)
    summary_.empty.add_told(b, beams()[b].empty, config_.keep_constant);
}

void SearchReport::input_ended() {
  const double expected = summary_.expected_s / summary_.stream_s;
  summary_.samples = samples();
  summary_.stream_s = static_cast<double>(samples()) / description().rate_hz.value();
  summary_.expected_s = expected * summary_.stream_s;
  if (plan_->is_too_wide(samples()))
    device_->shared().log(
        core::LogLevel::warning,
        fmt::format(
            "boxcars of up to {:.6g} s were asked for (`max_width_s`), and the lowest trial "
            "has {:.6g} s of data: no pulse that is wider can be found",
            config_.max_width_s, plan_->longest_series_s(samples())));
}

// All passes go as fast as the first, trial by trial.
void SearchReport::expect() {
  std::size_t trials = 0;
  const auto& parts = plan_->passes().front().parts;
  for (const SearchPart& part : parts) trials += part.detect->config().trials;
  summary_.expected_s = seconds_per_sample(parts, device_, samples()) *
                        static_cast<double>(samples()) * static_cast<double>(summary_.trials) /
                        static_cast<double>(trials);
}

std::string SearchReport::describe(const SearchRunNodes& nodes, const std::stop_token& stop) {
  summarise_run(nodes);
  {
    const std::scoped_lock alone(input_->drawing);
    measure_noise(nodes, stop);
    look_at_levels(nodes, stop);
    look_at_dispersion();
    look_at_stops();
    look_at_widths();
  }
  summary_.elapsed_s = input_->opened.elapsed_s();
  return record_text(nodes);
}

// The plan for people.
std::string SearchReport::plan_text() const {
  std::string lines = plan_->trials_text() + "\n";
  lines += passes_text(plan_->passes());
  const SearchPart& part = plan_->first_part();
  const double sample_s = part.detect->config().sample_time_s;
  const double measured_s =
      static_cast<double>(beams().front().range.count) / description().rate_hz.value();
  const double noise_s = static_cast<double>(part.detect->noise_samples()) * sample_s;
  const auto seconds = [&](std::size_t samples) {
    std::string digits = std::to_string(static_cast<double>(samples) * sample_s);
    return digits + " s";
  };
  lines += "search: " + core::counted(summary_.widths, "boxcar") + " of 1 to " +
           core::counted(part.detect->widths().back(), "sample") + " (" +
           seconds(part.detect->widths().back()) + "), baseline " +
           seconds(part.detect->baseline_samples()) + ", noise over " +
           (noise_s < measured_s ? seconds(part.detect->noise_samples())
                                 : fmt::format("all of the data ({:.6f} s)", measured_s)) +
           ", threshold " + std::to_string(config_.threshold).substr(0, 4) + "\n";
  if (description().trial_dms.empty())
    lines += describe_loss(plan_->chosen(), summary_.loss) +
             fmt::format(
                 "; of any width from {:.6g} to {:.6g} ms at most {:.2g} %, with {:.2g} % by the "
                 "spacing of boxcars\n",
                 1000 * plan_->chosen().pulse_width_s,
                 1000 * static_cast<double>(part.detect->widths().back()) * sample_s,
                 100 * summary_.whole_loss, 100 * summary_.width_loss);
  else
    lines += fmt::format(
        "loss: at most {:.2g} % of a pulse's S/N by the spacing of boxcars, beside what "
        "dedispersion lost\n",
        100 * summary_.width_loss);
  if (config_.inject.every_s > 0)
    lines += "injected pulses: " + to_text(config_.inject) +
             "; the list marks them, and they are no part of the sky\n";
  if (config_.iqrm) lines += iqrm_text(config_.iqrm_limits, description()) + "\n";
  lines += "memory: " + std::to_string(summary_.bytes >> 20) + " MiB";
  if (config_.beams)
    lines += fmt::format("; {}, marked above {}", core::counted(beams().size(), "beam"),
                         most_beams(config_.max_beams, beams().size()));
  if (summary_.passes > 1)
    lines += "; the input is read " + std::to_string(summary_.passes) +
             " times, since all trials at once take more than " + memory_bound(*device_).name;
  const double data_s = summary_.stream_s;
  if (summary_.data_segments > beams().size())
    lines += "; " + core::counted(summary_.data_segments, "segment") + " of data, " +
             core::counted(summary_.gap_samples + summary_.empty.samples, "sample") +
             " missing between them";
  if (summary_.ignored_channels > 0)
    lines += "; " + std::to_string(summary_.ignored_channels) + " of " +
             core::counted(description().channels, "channel") + " left out";
  if (input_->live)
    return lines + fmt::format("\nexpected: about {:.3g} x real time at most, as it comes",
                               data_s / summary_.expected_s);
  lines += "\nexpected: " +
           describe_expected("dedispersion and search", summary_.expected_s / data_s, data_s);
  if (draws() || !config_.cutout_folder.empty())
    lines += "; pictures and cut-outs take their own time after the search";
  return lines;
}

// Before pictures are read, which is no part of the search.
void SearchReport::summarise_run(const SearchRunNodes& nodes) {
  SearchSummary& s = summary_;
  s.masked = nodes.source->counters()["masked"];
  s.empty = nodes.source->empty();
  add_empty_of_series();
  if (nodes.inject != nullptr) {
    s.injections = nodes.sink->injections();
    s.clipped = nodes.inject->clipped();
  }
  if (nodes.iqrm != nullptr) s.iqrm = nodes.iqrm->found();
  const std::vector<SearchedData> searched = data_searched(*nodes.sink);
  s.data_segments = searched.size();
  summarise_searched(searched);
  const engine::Counters found = nodes.search->counters();
  s.detections = found.at("detections");
  s.not_finite = s.empty.not_finite + s.empty.single_not_finite + found.at("not_finite");
  s.bandpass = bandpass_of(nodes.search->moments().front(), description().zero_level);
  s.candidates = nodes.sink->candidates();
  s.searched = nodes.sink->searched();
  s.most_beams = most_beams(config_.max_beams, beams().size());
  for (const core::Candidate& c : s.candidates)
    s.in_many_beams += config_.beams && c.beams > s.most_beams ? 1 : 0;
  for (const Beam& beam : beams()) s.damage.add(beam.reader->damage());
}

void SearchReport::summarise_searched(const std::vector<SearchedData>& data) {
  if (description().time_series) return;
  SearchSummary& s = summary_;
  s.longest_delay_s = core::dispersion_delay_s(s.dms.back(), description().lowest_mhz(),
                                               description().highest_mhz(), config_.dm_constant);
  const double delay = s.longest_delay_s * description().rate_hz.value();
  double searched = 0;
  for (const SearchedData& one : data)
    searched += std::max(0.0, static_cast<double>(one.samples) - delay);
  s.searched_fraction = samples() > 0 ? searched / static_cast<double>(samples()) : 1;
}

// In order of beam and time, including segments too short for all trials.
std::vector<SearchedData> SearchReport::data_searched(const CandidateSinkNode& sink) const {
  std::vector<SearchedData> all = sink.data_searched();
  for (const FilterbankPart& part : plan_->parts())
    if (part.passes == 0)
      all.push_back({part.beam, part.placed.grid_first, part.placed.range.count, 0});
  std::sort(all.begin(), all.end(), [](const SearchedData& a, const SearchedData& b) {
    return std::tuple(a.beam, a.first_sample) < std::tuple(b.beam, b.first_sample);
  });
  return all;
}

const Beam& SearchReport::beam_of(const core::Candidate& candidate) const {
  return config_.beams ? beams()[candidate.beam] : beams().front();
}

const PlacedRange& SearchReport::data_segment_of(const core::Candidate& candidate) const {
  const auto& segments = beam_of(candidate).data_segments;
  for (const PlacedRange& data : segments)
    if (candidate.sample < data.grid_first + data.range.count) return data;
  return segments.back();
}

// Samples as the search saw them, before masks.
std::shared_ptr<formats::FilterbankReader> SearchReport::read_again(
    const Beam& beam, const SampleRange& range) const {
  if (config_.keep_constant) return beam.reader;
  return std::make_shared<CleanedReader>(*beam.reader, range, beam.left_out.all);
}

// Masked ones of the candidate's beam.
std::span<const MaskedWindow> SearchReport::windows_of(const core::Candidate& candidate) const {
  const std::size_t beam = config_.beams ? candidate.beam : 0;
  const auto found = std::ranges::equal_range(summary_.iqrm.list, beam, {}, &MaskedWindow::beam);
  return {found.begin(), found.end()};
}

// The channels that the trial is not made of.
std::vector<std::size_t> SearchReport::channels_beside(const Beam& beam,
                                                       const core::Candidate& candidate) const {
  const std::size_t trials = description().trial_dms.size();
  if (trials == 0) return beam.left_out.all;
  std::vector<std::size_t> others(trials);
  std::iota(others.begin(), others.end(), std::size_t{0});
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(candidate.dm_index));
  return others;
}

// Where wide pulses are among the best: whether sums of their trial scatter as those of white noise do, which S/N of
// wide pulses take for granted.
void SearchReport::measure_noise(const SearchRunNodes& nodes, const std::stop_token& stop) {
  if (config_.noise != stages::detect::Noise::trial) return;
  if (config_.samples_on_device) return;  // the host looks at none
  if (config_.iqrm) return;               // samples read again lack its masks
  const core::Candidate* widest = widest_of_best(summary_.candidates);
  if (widest == nullptr) return;
  if (!input_->live) require_running(stop);  // a stop of a stream is its end
  const KeptTrials* kept = nodes.search->kept();
  summary_.noise_of_width =
      input_->live ? kept == nullptr ? std::nullopt
                                     : kept->noise_of(widest->dm, widest->width_samples,
                                                      description().whole_numbers, summary_.empty)
                   : noise_about(*widest, config_.zero_dm);
  if (!summary_.noise_of_width || !summary_.noise_of_width->is_much()) return;
  ZeroDmAgainstNoise zero_dm{
      !config_.zero_dm && !description().time_series, channels_stopped(summary_.empty), {}};
  if (zero_dm.possible && !input_->live)
    if (const auto noise = noise_about(*widest, true)) zero_dm.excess = noise->excess;
  device_->shared().log(
      core::LogLevel::warning,
      noise_warning(*summary_.noise_of_width, widest->dm, beam_of(*widest).rate_hz(), zero_dm));
}

// In its trial, read again.
std::optional<WidthNoise> SearchReport::noise_about(const core::Candidate& candidate,
                                                    bool zero_dm) const {
  constexpr std::size_t kMostValues = std::size_t{1} << 27;  // times x channels: half a second
  const SearchPart& part = plan_->first_part();
  const Beam& beam = beam_of(candidate);
  const PlacedRange& data = data_segment_of(candidate);
  stages::dedisperse::Config trial =
      stage_config(config_, description(), channels_beside(beam, candidate));
  trial.dms = {description().trial_dms.empty() ? candidate.dm : 0};
  trial.zero_dm = zero_dm;
  const std::array widths{static_cast<std::size_t>(candidate.width_samples)};
  const std::size_t samples =
      std::min(kMostValues / description().channels, samples_for_noise(widths[0]));
  formats::presto::Mask mask;
  if (!config_.mask.empty()) mask = formats::presto::read_mask(config_.mask);
  const auto host = device_->compiles() ? device::open({}, {}) : device_;
  const std::uint64_t middle =
      candidate.sample - std::min<std::uint64_t>(candidate.sample, data.grid_first);
  const auto reader = read_again(beam, data.range);
  const TrialStretch stretch = read_trial(*reader, data, middle, samples, std::move(trial),
                                          config_.mask.empty() ? nullptr : &mask, host);
  // The filter takes away pulses, too, whose sweep is shorter than their width.
  if (zero_dm && !config_.zero_dm && stretch.max_delay < widths[0]) return {};
  const SampleRange needed{stretch.first_sample, stretch.series.size() + stretch.max_delay};
  auto without = empty_times(summary_.empty, config_.beams ? candidate.beam : 0, needed);
  if (!config_.mask.empty())
    for (const SampleRange& one :
         masked_times(mask, description(), channels_beside(beam, candidate), needed))
      without.push_back(one);
  const std::uint64_t complete = complete_samples(description(), data.range, candidate.dm_index);
  without.push_back({data.grid_first + complete, data.range.count - complete});
  const auto noise = noise_of_widths(pieces_of_data(stretch, std::move(without)),
                                     stretch.whole_numbers || description().whole_numbers,
                                     part.detect->baseline_samples(), widths);
  if (noise.empty()) return {};
  return noise.front();
}

std::string SearchReport::record_text(const SearchRunNodes& nodes) const {
  const SearchPart& part = plan_->first_part();
  nlohmann::ordered_json object =
      filterbank_record("tautline.search.record", config_, summary_, description(),
                        beams().front().left_out, *device_);
  object.update({{"search_kernels", summary_.detect_backend},
                 {"methods", summary_.methods},
                 {"candidates", summary_.candidates.size()},
                 {"detections", summary_.detections},
                 {"cutouts", drawn_ || config_.cutout_folder.empty()
                                 ? nlohmann::ordered_json(summary_.cutouts)
                                 : nlohmann::ordered_json()},
                 {"cutout_files", nullptr},
                 {"picture_files", nullptr},
                 {"dms", plan_->trials().dms()},
                 {"tsamp_s", description().tsamp_s},
                 {"threshold", config_.threshold},
                 {"widths_samples", part.detect->widths()},
                 {"baseline_s", static_cast<double>(part.detect->baseline_samples()) *
                                    part.detect->config().sample_time_s},
                 {"noise", config_.noise == stages::detect::Noise::trial ? "trial" : "width"},
                 {"noise_samples", part.detect->noise_samples()},
                 {"noise_of_width", noise_json(summary_)},
                 {"links",
                  {{"time_samples", config_.links.time_samples},
                   {"dm_trials", config_.links.dm_trials},
                   {"width_octaves", config_.links.width_octaves}}},
                 {"passes", summary_.passes}});
  if (!config_.cutout_folder.empty())
    object["cutout_files"] = drawn_files(config_.output, config_.cutout_folder, cutout_names());
  if (names_pictures_)
    object["picture_files"] = drawn_files(config_.output, config_.picture_folder, picture_names());
  if (nodes.inject != nullptr)
    object["injection"] = {{"pulses", to_text(nodes.inject->config())},
                           {"injected", summary_.injections.injected},
                           {"recalled", summary_.injections.recalled},
                           {"snr_ratio", summary_.injections.snr_ratio},
                           {"clipped", summary_.clipped}};
  std::vector<nlohmann::ordered_json> segments(beams().size(), nlohmann::ordered_json::array());
  for (const SearchedData& data : data_searched(*nodes.sink))
    segments[data.beam].push_back(
        {{"first_sample", data.first_sample}, {"samples", data.samples}, {"trials", data.trials}});
  if (config_.beams)
    add_beams(segments, *nodes.search, object);
  else
    object["data_segments"] = segments.front();
  return object.dump(1) + "\n";
}

// Differences between beams are reported for each.
void SearchReport::add_beams(const std::vector<nlohmann::ordered_json>& segments,
                             const SearchNode& search, nlohmann::ordered_json& object) const {
  for (const char* name :
       {"start", "start_mjd", "ignored_channels", "flagged_channels", "bandpass"})
    object.erase(name);
  object["most_beams"] = summary_.most_beams;
  object["in_many_beams"] = summary_.in_many_beams;
  std::vector<std::size_t> candidates(beams().size(), 0);
  for (const core::Candidate& c : summary_.candidates) ++candidates[c.beam];
  for (std::size_t b = 0; b < beams().size(); ++b) {
    const Beam& beam = beams()[b];
    nlohmann::ordered_json one{{"file", beam.files.front()},
                               {"start", core::to_iso(beam.description().start)},
                               {"start_mjd", core::modified_julian_date(beam.description().start)},
                               {"samples", beam.samples()},
                               {"candidates", candidates[b]},
                               {"ignored_channels", beam.left_out.all},
                               {"flagged_channels", beam.left_out.flagged},
                               {"data_segments", segments[b]}};
    if (config_.bandpass) {
      const Bandpass bandpass = bandpass_of(search.moments()[b], description().zero_level);
      one["bandpass"] = {{"mean", bandpass.mean},
                         {"standard_deviation", bandpass.standard_deviation}};
    }
    object["beams"].push_back(std::move(one));
  }
}

}  // namespace tautline::pipeline
