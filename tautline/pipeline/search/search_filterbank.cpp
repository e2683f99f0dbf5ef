#include "tautline/pipeline/search/search_filterbank.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/formats/output_folder.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/search/candidate_page.h"
#include "tautline/pipeline/search/candidate_pictures.h"
#include "tautline/pipeline/search/expected_rate.h"
#include "tautline/pipeline/search/filterbank_blocks.h"
#include "tautline/pipeline/search/filterbank_record.h"
#include "tautline/pipeline/search/left_out_channels.h"
#include "tautline/pipeline/search/mask_intervals.h"
#include "tautline/pipeline/search/search_pass.h"

namespace tautline::pipeline {

namespace {

using formats::FilterbankDescription;
using stages::dedisperse::DmPlan;

// A run: what is searched, with what, and what was found.
class Search {
 public:
  Search(const SearchConfig& config, std::shared_ptr<const device::Device> device,
         const ProgressCallback& progress, std::stop_token stop)
      : config_(config),
        device_(std::move(device)),
        stop_(std::move(stop)),
        reader_(formats::open_filterbank(config.inputs, config.reader)),
        description_(reader_->description()),
        range_(choose_range(*reader_, config.start_s, config.duration_s)),
        data_segments_(split_at_gaps(*reader_, range_)),
        progress_(progress) {
    log_remarks(*reader_, *device_);
  }

  SearchSummary run(const std::function<void(const std::string&)>& announce) {
    // Other endings, and files that exist, are refused before the run.
    const auto format = formats::candidates::format_of(config_.output);
    formats::AppendFile list(config_.output, config_.overwrite);
    formats::AppendFile record(config_.output + ".json", config_.overwrite);
    if (!config_.plot_folder.empty()) {
      plot_folder_ = std::make_unique<formats::OutputFolder>("plot_folder", config_.plot_folder);
      plot_path_ = (std::filesystem::path(config_.plot_folder) / "candidates.html").string();
      page_ = std::make_unique<formats::PartialFile>(plot_path_, config_.overwrite);
    }
    clean();
    plan();
    if (announce) announce(text());
    for (const PlacedRange& data : data_segments_) search_segment(data);
    rank();
    if (page_) plot();
    summary_.searched = search_of();
    list.write(formats::candidates::to_text(format, summary_.candidates, summary_.searched));
    summary_.paths = {config_.output, record.path()};
    if (!plot_path_.empty()) summary_.paths.push_back(plot_path_);
    summary_.elapsed_s = progress_.elapsed_s();
    record.write(record_text());
    if (page_) page_->finish();
    list.finish();
    record.finish();
    return std::move(summary_);
  }

 private:
  void clean() {
    left_out_ = channels_to_leave_out(*reader_, range_, config_);
    summary_.flagged_channels = left_out_.flagged.size();
  }

  void plan() {
    DmChoice choice = config_.dms;
    if (description_.time_series) {
      // Any other trial would be the same samples under a wrong DM.
      if (choice.given())
        throw core::Error(core::ErrorKind::config, "dms.range",
                          "given for " + config_.inputs.front() + ", which is dedispersed already",
                          "trials for filterbanks only", "leave `dms.range` and `dms.list` out");
      choice.list = {dm_of_series()};
    }
    require_trials(choice);
    trials_ =
        make_dm_plan(choice, {description_.channel_mhz, description_.tsamp_s, config_.dm_constant});
    PassRequest& request = request_;
    request.dedisperse = stage_config(config_, description_, left_out_.all);
    request.detect.threshold = config_.threshold;
    request.detect.max_width_s = config_.max_width_s;
    request.detect.baseline_s = config_.baseline_s;
    request.detect.noise = config_.noise;
    request.detect.links = config_.links;
    // The longest segment of the data decides what can be searched at all.
    for (const PlacedRange& data : data_segments_)
      request.samples = std::max(request.samples, data.range.count);
    request.sample_bytes = description_.sample_bytes();
    request.memory_bytes = config_.memory_bytes;
    passes_ = plan_passes(request, trials_, device_);

    summary_.trials = trials_.trials();
    summary_.channels = description_.channels;
    summary_.ignored_channels = left_out_.all.size();
    summary_.passes = passes_.size();
    summary_.data_segments = data_segments_.size();
    summary_.gap_samples = data_segments_.back().grid_first + data_segments_.back().range.count -
                           data_segments_.front().grid_first - range_.count;
    summary_.f_ref_mhz = description_.highest_mhz();
    const SearchPart& first = passes_.front().parts.front();
    summary_.backend = first.dedisperse->backend();
    summary_.detect_backend = first.detect->backend();
    summary_.widths = first.detect->widths().size();
    for (const PassPlan& pass : passes_) {
      summary_.bytes = std::max(summary_.bytes, pass.bytes);
      for (const SearchPart& part : pass.parts) {
        summary_.methods.push_back(part.dedisperse->choice().text);
        summary_.loss = std::max(summary_.loss, part.dedisperse->choice().loss);
      }
    }
    expect();
  }

  double dm_of_series() const {
    constexpr double kHighestDm = 1e6;
    const double dm = description_.dm_with(config_.dm_constant);
    if (!(dm >= 0) || dm > kHighestDm)
      throw core::Error(core::ErrorKind::format, config_.inputs.front() + ": dispersion measure",
                        std::to_string(dm), "0 to 1e6 pc cm^-3",
                        "correct the header of the series");
    return dm;
  }

  // All passes go as fast as the first, trial by trial.
  void expect() {
    double seconds = 0;
    std::size_t trials = 0;
    for (const SearchPart& part : passes_.front().parts) {
      const auto downsample = static_cast<double>(part.dedisperse->config().downsample);
      seconds += seconds_per_sample(*part.dedisperse, device_) +
                 seconds_per_sample(*part.detect, device_) / downsample;
      trials += part.detect->config().trials;
    }
    summary_.expected_s = seconds * static_cast<double>(range_.count) *
                          static_cast<double>(summary_.trials) / static_cast<double>(trials);
  }

  // The plan for people.
  std::string text() const {
    std::string lines;
    for (const PassPlan& pass : passes_) lines += pass.text + "\n";
    const SearchPart& part = passes_.front().parts.front();
    const double sample_s = part.detect->config().sample_time_s;
    const auto seconds = [&](std::size_t samples) {
      std::string digits = std::to_string(static_cast<double>(samples) * sample_s);
      return digits + " s";
    };
    lines += "search: " + std::to_string(summary_.widths) + " boxcars of 1 to " +
             std::to_string(part.detect->widths().back()) + " samples (" +
             seconds(part.detect->widths().back()) + "), baseline " +
             seconds(part.detect->baseline_samples()) + ", noise over " +
             seconds(part.detect->noise_samples()) + ", threshold " +
             std::to_string(config_.threshold).substr(0, 4) + "\n";
    lines += "memory: " + std::to_string(summary_.bytes >> 20) + " MiB";
    if (passes_.size() > 1)
      lines += "; the input is read " + std::to_string(passes_.size()) +
               " times, since all trials at once take more than `memory_bytes`";
    const double data_s = static_cast<double>(range_.count) / description_.rate_hz.value();
    if (data_segments_.size() > 1)
      lines += "; " + std::to_string(data_segments_.size()) + " segments of data, " +
               std::to_string(summary_.gap_samples) + " samples missing between them";
    if (!left_out_.all.empty())
      lines += "; " + std::to_string(left_out_.all.size()) + " of " +
               std::to_string(description_.channels) + " channels left out";
    lines += "\nexpected: " +
             describe_expected("dedispersion and search", summary_.expected_s / data_s, data_s);
    if (page_) lines += "; `plot_folder` takes its own time after the search";
    return lines;
  }

  // A data segment's own trials and passes: the plan's, where it is as long as it was made for.
  std::vector<PassPlan> passes_of(const PlacedRange& data) {
    if (data.range.count == request_.samples) return passes_;
    PassRequest request = request_;
    request.samples = data.range.count;
    const DmPlan trials = trials_that_fit(request, trials_);
    if (trials.trials() == trials_.trials()) return plan_again(request, passes_, device_);
    if (trials.trials() == 0) return {};
    return plan_passes(request, trials, device_);
  }

  void search_segment(const PlacedRange& data) {
    const std::vector<PassPlan> passes = passes_of(data);
    std::vector<SegmentPulses> found(trials_.segments.size());
    std::vector<std::uint64_t> lengths(trials_.trials(), 0);
    std::vector<std::size_t> widest(trials_.segments.size(), 1);
    std::size_t searched = 0;
    for (std::size_t k = 0; k < passes.size(); ++k) {
      run_pass(data, passes[k], {k, passes.size()}, found);
      for (const SearchPart& part : passes[k].parts) {
        const std::vector<std::uint64_t>& own = part.detect->config().lengths;
        std::copy(own.begin(), own.end(),
                  lengths.begin() + static_cast<std::ptrdiff_t>(part.first_trial));
        widest[part.segment] = part.detect->widths().back();
        searched += own.size();
      }
    }
    trials_searched_.push_back(searched);
    samples_done_ += data.range.count;
    summary_.samples = samples_done_;
    std::vector<PlacedPulse> placed;
    for (std::size_t s = 0; s < found.size(); ++s) {
      if (!found[s].joined)
        found[s].pulses = join_detections(found[s].pulses, lengths, config_.links, widest[s]);
      for (const auto& pulse : found[s].pulses)
        placed.push_back(place_pulse(pulse, s, 0, trials_.segments[s].downsample));
    }
    collect(merge_pulses(std::move(placed), config_.links), data.grid_first);
  }

  // `number` of `count` passes over a data segment.
  struct Turn {
    std::size_t number = 0, count = 1;
  };

  void run_pass(const PlacedRange& data, const PassPlan& plan, const Turn& turn,
                std::vector<SegmentPulses>& found) {
    const auto queue = device_->make_queue();
    SearchPass pass(plan, description_.sample_bytes(), device_, *queue);
    std::unique_ptr<MaskIntervals> mask;
    FilterbankBlocks::Edit edit;
    if (!config_.mask.empty()) {
      mask = std::make_unique<MaskIntervals>(formats::presto::read_mask(config_.mask), *reader_);
      edit = mask->edit(data.grid_first - data.range.first);
    }
    std::uint64_t done = 0;
    {
      FilterbankBlocks blocks(*reader_, data.range, plan.block_samples, stop_, edit, device_.get());
      while (const SpectraBlock* block = blocks.next()) {
        require_running(stop_);
        pass.push(block->bytes.data(), block->samples);
        done += block->samples;
        blocks.release();
        report(static_cast<double>(turn.number * data.range.count + done) /
               static_cast<double>(turn.count));
      }
    }
    if (turn.number == 0) add_moments(pass.moments(), moments_);
    pass.finish();
    for (std::size_t s = 0; s < pass.found().size(); ++s) {
      const SegmentPulses& own = pass.found()[s];
      found[s].pulses.insert(found[s].pulses.end(), own.pulses.begin(), own.pulses.end());
      found[s].joined = found[s].joined && own.joined;
    }
    summary_.detections += pass.detections();
    if (turn.number == 0) summary_.not_finite += pass.not_finite();
    if (turn.number == 0 && mask) summary_.masked += mask->masked();
  }

  // `samples` of the data segment at hand, as far as all its trials together have come.
  void report(double samples) {
    const double done = static_cast<double>(samples_done_) + samples;
    summary_.stream_s = done / description_.rate_hz.value();
    progress_.report(static_cast<std::uint64_t>(done), range_.count, summary_.stream_s);
  }

  void collect(const std::vector<stages::detect::Pulse>& pulses, std::uint64_t offset) {
    const std::vector<double> dms = trials_.dms();
    for (const auto& pulse : pulses) {
      core::Candidate candidate;
      candidate.dm = dms[pulse.trial];
      candidate.dm_index = pulse.trial;
      candidate.snr = pulse.snr;
      candidate.sample = offset + pulse.sample();
      candidate.time_s = static_cast<double>(candidate.sample) / description_.rate_hz.value();
      candidate.width_samples = pulse.width;
      candidate.members = pulse.members;
      candidate.first_sample = offset + pulse.begin;
      candidate.last_sample = offset + pulse.end - 1;
      candidate.beam = static_cast<std::size_t>(std::max(0, description_.beam));
      summary_.candidates.push_back(candidate);
    }
  }

  // Best first, over all segments of the data.
  void rank() {
    summary_.bandpass = bandpass_of(moments_, description_.zero_level);
    std::stable_sort(
        summary_.candidates.begin(), summary_.candidates.end(),
        [](const core::Candidate& a, const core::Candidate& b) { return a.snr > b.snr; });
    summary_.damage = reader_->damage();
  }

  const PlacedRange& data_segment_of(const core::Candidate& candidate) const {
    for (const PlacedRange& data : data_segments_)
      if (candidate.sample < data.grid_first + data.range.count) return data;
    return data_segments_.back();
  }

  // The page: pictures of the best candidates, read again from the input.
  void plot() {
    report::CandidatePage page;
    page.title = "Pulses in " + std::filesystem::path(config_.inputs.front()).filename().string();
    page.first_s =
        static_cast<double>(data_segments_.front().grid_first) / description_.rate_hz.value();
    page.duration_s =
        static_cast<double>(range_.count + summary_.gap_samples) / description_.rate_hz.value();
    const std::vector<double> dms = trials_.dms();
    page.low_dm = dms.front();
    page.high_dm = dms.back();
    page.threshold = config_.threshold;
    page.candidates = summary_.candidates;
    page.sample_s = 1 / description_.rate_hz.value();
    PictureConfig pictures;
    pictures.dm_constant = config_.dm_constant;
    pictures.ignored_channels = left_out_.all;
    pictures.zero_dm = config_.zero_dm;
    formats::presto::Mask mask;
    if (!config_.mask.empty()) {
      mask = formats::presto::read_mask(config_.mask);
      pictures.mask = &mask;
    }
    const std::size_t drawn = std::min(config_.most_plots, page.candidates.size());
    for (std::size_t k = 0; k < drawn; ++k) {
      require_running(stop_);
      const PlacedRange& data = data_segment_of(page.candidates[k]);
      page.pictures.push_back(draw_candidate(*reader_, data.range, page.candidates[k],
                                             data.grid_first - data.range.first, pictures));
    }
    for (const std::string& input : config_.inputs) page.facts.emplace_back("input", input);
    page.facts.emplace_back("run", config_.history);
    page.facts.emplace_back("kernels", summary_.backend + "; search " + summary_.detect_backend);
    page.facts.emplace_back("trials", std::to_string(summary_.trials));
    page.facts.emplace_back("channels left out", std::to_string(left_out_.all.size()) + " of " +
                                                     std::to_string(description_.channels));
    page.facts.emplace_back("zero-DM filter", config_.zero_dm ? "yes" : "no");
    page.facts.emplace_back("samples in gaps", std::to_string(summary_.gap_samples));
    page.facts.emplace_back("detections before grouping", std::to_string(summary_.detections));
    page.facts.emplace_back("samples that were not finite", std::to_string(summary_.not_finite));
    page.facts.emplace_back("masked samples", std::to_string(summary_.masked));
    page_->write(std::string_view(report::compose_candidate_page(page)));
  }

  formats::candidates::Search search_of() const {
    return {description_.start, description_.rate_hz, description_.highest_mhz(),
            config_.dm_constant, config_.inputs.front()};
  }

  std::string record_text() const {
    const SearchPart& part = passes_.front().parts.front();
    nlohmann::ordered_json object = filterbank_record("tautline.search.record", config_, summary_,
                                                      description_, left_out_, *device_);
    object.update({{"search_kernels", summary_.detect_backend},
                   {"methods", summary_.methods},
                   {"candidates", summary_.candidates.size()},
                   {"detections", summary_.detections},
                   {"dms", trials_.dms()},
                   {"tsamp_s", description_.tsamp_s},
                   {"threshold", config_.threshold},
                   {"widths_samples", part.detect->widths()},
                   {"baseline_s", static_cast<double>(part.detect->baseline_samples()) *
                                      part.detect->config().sample_time_s},
                   {"noise", config_.noise == stages::detect::Noise::trial ? "trial" : "width"},
                   {"noise_samples", part.detect->noise_samples()},
                   {"links",
                    {{"time_samples", config_.links.time_samples},
                     {"dm_trials", config_.links.dm_trials},
                     {"width_octaves", config_.links.width_octaves}}},
                   {"passes", summary_.passes}});
    for (std::size_t k = 0; k < data_segments_.size(); ++k)
      object["data_segments"].push_back({{"first_sample", data_segments_[k].grid_first},
                                         {"samples", data_segments_[k].range.count},
                                         {"trials", trials_searched_[k]}});
    return object.dump(1) + "\n";
  }

  const SearchConfig& config_;
  std::shared_ptr<const device::Device> device_;
  std::stop_token stop_;
  std::unique_ptr<formats::FilterbankReader> reader_;
  FilterbankDescription description_;
  SampleRange range_;
  std::vector<PlacedRange> data_segments_;
  std::vector<std::size_t> trials_searched_;  // [data segment]
  LeftOutChannels left_out_;
  DmPlan trials_;
  PassRequest request_;                               // for the longest data segment
  std::vector<PassPlan> passes_;                      // for it
  std::uint64_t samples_done_ = 0;                    // of data segments that are over
  std::vector<stages::dedisperse::Moments> moments_;  // [channel] of those
  std::string plot_path_;
  std::unique_ptr<formats::OutputFolder> plot_folder_;
  std::unique_ptr<formats::PartialFile> page_;  // in it
  SearchSummary summary_;
  ProgressReporter progress_;
};

}  // namespace

SearchSummary search_filterbank(const SearchConfig& config,
                                std::shared_ptr<const device::Device> device,
                                const ProgressCallback& progress,
                                const std::function<void(const std::string&)>& announce,
                                std::stop_token stop) {
  core::check(config);
  return Search(config, std::move(device), progress, std::move(stop)).run(announce);
}

}  // namespace tautline::pipeline
