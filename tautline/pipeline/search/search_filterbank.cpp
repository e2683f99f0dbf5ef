#include "tautline/pipeline/search/search_filterbank.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/pipeline/graph_run.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/search/candidate_page.h"
#include "tautline/pipeline/search/candidate_pictures.h"
#include "tautline/pipeline/search/candidate_sink_node.h"
#include "tautline/pipeline/search/expected_rate.h"
#include "tautline/pipeline/search/filterbank_record.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/pipeline/search/left_out_channels.h"
#include "tautline/pipeline/search/search_node.h"

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
    // Other endings, and files that exist, are refused before anything is read.
    auto sink = std::make_unique<CandidateSinkNode>(
        CandidateFiles{config_.output, config_.overwrite, config_.plot_folder,
                       config_.inputs.front(), config_.dm_constant});
    sink->describe = [this] { return describe(); };
    sink_ = sink.get();
    clean();
    plan();
    if (announce) announce(text());
    search(std::move(sink));
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
    if (device_->compiles()) request.device_bytes = device_->free_bytes();
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
      seconds += seconds_per_sample(*part.dedisperse, device_, range_.count) +
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
    if (!config_.plot_folder.empty())
      lines += "; `plot_folder` takes its own time after the search";
    return lines;
  }

  // What all data segments but the longest are searched for.
  PassRequest request_of(std::size_t part) const {
    PassRequest request = request_;
    request.samples = data_segments_[part].range.count;
    return request;
  }

  // Of a data segment that is too short for some trials: it has passes of its own.
  std::vector<PassPlan> short_passes(const PassRequest& request, const DmPlan& trials) const {
    if (trials.trials() == 0) return {};
    return plan_passes(request, trials, device_);
  }

  std::vector<PassPlan> passes_of(std::size_t part) const {
    const PassRequest request = request_of(part);
    if (request.samples == request_.samples) return passes_;
    const DmPlan trials = trials_that_fit(request, trials_);
    if (trials.trials() == trials_.trials()) return plan_again(request, passes_, device_);
    return short_passes(request, trials);
  }

  // Plans of short data segments are made twice, which takes less memory than keeping them.
  std::vector<FilterbankPart> parts() const {
    std::vector<FilterbankPart> parts;
    for (std::size_t k = 0; k < data_segments_.size(); ++k) {
      const PassRequest request = request_of(k);
      const DmPlan trials = trials_that_fit(request, trials_);
      const bool all = request.samples == request_.samples || trials.trials() == trials_.trials();
      parts.push_back(
          {data_segments_[k], all ? passes_.size() : short_passes(request, trials).size()});
    }
    return parts;
  }

  void search(std::unique_ptr<CandidateSinkNode> sink) {
    FilterbankSourceConfig read{parts(), passes_.front().block_samples};
    for (const PassPlan& pass : passes_)
      read.block_samples = std::min(read.block_samples, pass.block_samples);
    if (!config_.mask.empty()) read.mask = formats::presto::read_mask(config_.mask);
    auto source = std::make_unique<FilterbankSourceNode>(*reader_, std::move(read));
    SearchNodeConfig stage{trials_, config_.links, [this](std::size_t k) { return passes_of(k); }};
    for (const SearchPart& part : passes_.front().parts) {
      stage.reads_on_device = stage.reads_on_device || reads_on_device(*part.dedisperse);
      for (const auto& use : {part.dedisperse->bytes(), part.detect->bytes()}) {
        stage.bytes.host_bytes += use.host_bytes;
        stage.bytes.device_bytes += use.device_bytes;
      }
    }
    auto searching = std::make_unique<SearchNode>(std::move(stage), device_);
    source_ = source.get();
    search_ = searching.get();

    engine::Graph graph;
    const auto filterbank = graph.add("filterbank", std::move(source));
    const auto pulses = graph.add("search", std::move(searching));
    graph.connect(filterbank, pulses);
    graph.connect(pulses, graph.add("candidates", std::move(sink)));
    engine::RunOptions options;
    options.progress = [this](std::uint64_t samples, std::uint64_t total) {
      report(static_cast<double>(samples) / static_cast<double>(total));
    };
    engine::Run run(std::move(graph), std::move(options));
    run.go(stop_);
    summary_.paths = sink_->paths();
    summary_.profile = run.profile();
  }

  // `done` of all passes over all data segments.
  void report(double done) {
    done *= static_cast<double>(range_.count);
    progress_.report(static_cast<std::uint64_t>(done), range_.count,
                     done / description_.rate_hz.value());
  }

  // When all has been searched.
  CandidateTexts describe() {
    summarise_run();
    CandidateTexts texts;
    if (!config_.plot_folder.empty()) texts.page = page_text();
    summary_.elapsed_s = progress_.elapsed_s();
    texts.record = record_text();
    return texts;
  }

  // Before pictures are read, which is no part of the search.
  void summarise_run() {
    summary_.samples = range_.count;
    summary_.stream_s = static_cast<double>(range_.count) / description_.rate_hz.value();
    summary_.masked = source_->counters()["masked"];
    const engine::Counters found = search_->counters();
    summary_.detections = found.at("detections");
    summary_.not_finite = found.at("not_finite");
    summary_.bandpass = bandpass_of(search_->moments(), description_.zero_level);
    summary_.candidates = sink_->candidates();
    summary_.searched = sink_->searched();
    summary_.damage = reader_->damage();
  }

  const PlacedRange& data_segment_of(const core::Candidate& candidate) const {
    for (const PlacedRange& data : data_segments_)
      if (candidate.sample < data.grid_first + data.range.count) return data;
    return data_segments_.back();
  }

  // The page: pictures of the best candidates, read again from the input.
  std::string page_text() const {
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
    return report::compose_candidate_page(page);
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
                                         {"trials", sink_->trials_searched()[k]}});
    return object.dump(1) + "\n";
  }

  const SearchConfig& config_;
  std::shared_ptr<const device::Device> device_;
  std::stop_token stop_;
  std::unique_ptr<formats::FilterbankReader> reader_;
  FilterbankDescription description_;
  SampleRange range_;
  std::vector<PlacedRange> data_segments_;
  LeftOutChannels left_out_;
  DmPlan trials_;
  PassRequest request_;           // for the longest data segment
  std::vector<PassPlan> passes_;  // for it
  // Of the run, once it is made.
  const FilterbankSourceNode* source_ = nullptr;
  const SearchNode* search_ = nullptr;
  const CandidateSinkNode* sink_ = nullptr;
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
