#include "tautline/pipeline/search_filterbank.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/append_file.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/pipeline/block_reader.h"
#include "tautline/pipeline/candidate_pictures.h"
#include "tautline/pipeline/channel_flags.h"
#include "tautline/pipeline/filterbank_blocks.h"
#include "tautline/pipeline/mask_intervals.h"
#include "tautline/pipeline/report/candidate_page.h"
#include "tautline/pipeline/report/html_page.h"
#include "tautline/pipeline/search_pass.h"

namespace tautline::pipeline {

namespace {

using Clock = std::chrono::steady_clock;
using formats::FilterbankDescription;
using stages::dedisperse::DmPlan;

void sort_unique(std::vector<std::size_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// A run: what is searched, with what, and what was found.
class Search {
 public:
  Search(const SearchConfig& config, std::shared_ptr<const device::Device> device,
         std::stop_token stop)
      : config_(config),
        device_(std::move(device)),
        stop_(std::move(stop)),
        reader_(formats::open_filterbank(config.inputs, config.reader)),
        description_(reader_->description()),
        range_(choose_range(*reader_, config.start_s, config.duration_s)) {}

  SearchSummary run(const ProgressCallback& progress,
                    const std::function<void(const std::string&)>& announce) {
    const auto started = Clock::now();
    // Other endings, and files that exist, are refused before the run.
    const auto format = formats::candidates::format_of(config_.output);
    formats::AppendFile list(config_.output, config_.overwrite);
    formats::AppendFile record(config_.output + ".json", config_.overwrite);
    if (!config_.plot_folder.empty()) {
      std::filesystem::create_directories(config_.plot_folder);
      plot_path_ = (std::filesystem::path(config_.plot_folder) / "candidates.html").string();
      const formats::PartialPath refused_if_there(plot_path_, config_.overwrite);
    }
    clean();
    plan();
    if (announce) announce(text());
    for (std::size_t pass = 0; pass < passes_.size(); ++pass) run_pass(pass, started, progress);
    collect();
    if (!config_.plot_folder.empty()) plot();
    list.write(formats::candidates::to_text(format, summary_.candidates, search_of()));
    summary_.paths = {config_.output, record.path()};
    if (!plot_path_.empty()) summary_.paths.push_back(plot_path_);
    summary_.elapsed_s = std::chrono::duration<double>(Clock::now() - started).count();
    record.write(record_text());
    list.finish();
    record.finish();
    return std::move(summary_);
  }

 private:
  // Which channels are left out, and why.
  void clean() {
    ignored_ = config_.ignored_channels;
    if (!config_.mask.empty()) {
      const MaskIntervals mask(formats::presto::read_mask(config_.mask), *reader_);
      ignored_.insert(ignored_.end(), mask.ignored_channels().begin(),
                      mask.ignored_channels().end());
    }
    if (config_.flag_channels) {
      const ChannelFlagLimits limits;
      const ChannelFlags flags =
          flag_channels(measure_channels(*reader_, range_, limits), ignored_, limits);
      flagged_ = flags.bad;
      summary_.flagged_channels = flagged_.size();
      ignored_.insert(ignored_.end(), flagged_.begin(), flagged_.end());
    }
    sort_unique(ignored_);
    if (ignored_.size() >= description_.channels && description_.channels > 0)
      throw core::Error(core::ErrorKind::config, "--ignorechan",
                        "all " + std::to_string(description_.channels) + " channels are left out",
                        "one that is searched at least",
                        "leave out fewer of --ignorechan, --mask and --flag-channels");
  }

  void plan() {
    DmChoice choice = config_.dms;
    if (choice.list.empty() && choice.step == 0 && choice.tolerance == 0) {
      if (!description_.time_series)
        throw core::Error(core::ErrorKind::config, "--dms", "not given",
                          "one of --dms and --dm-list");
      choice.list = {description_.refdm.value_or(0)};
    }
    trials_ =
        make_dm_plan(choice, {description_.channel_mhz, description_.tsamp_s, config_.dm_constant});
    PassRequest request;
    request.dedisperse = stage_config(description_);
    request.dedisperse.dm_constant = config_.dm_constant;
    request.dedisperse.method = config_.method;
    request.dedisperse.max_loss = config_.max_loss;
    request.dedisperse.zero_dm = config_.zero_dm;
    request.dedisperse.ignored_channels = ignored_;
    request.detect.threshold = config_.threshold;
    request.detect.max_width_s = config_.max_width_s;
    request.detect.baseline_s = config_.baseline_s;
    request.detect.noise = config_.noise;
    request.detect.links = config_.links;
    request.samples = range_.count;
    request.sample_bytes = description_.sample_bytes();
    request.memory_bytes = config_.memory_bytes;
    passes_ = plan_passes(request, trials_, device_);

    summary_.trials = trials_.trials();
    summary_.channels = description_.channels;
    summary_.ignored_channels = ignored_.size();
    summary_.passes = passes_.size();
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
               " times, since all trials at once take more than --memory";
    if (!ignored_.empty())
      lines += "; " + std::to_string(ignored_.size()) + " of " +
               std::to_string(description_.channels) + " channels left out";
    return lines;
  }

  void run_pass(std::size_t number, Clock::time_point started, const ProgressCallback& progress) {
    const PassPlan& plan = passes_[number];
    const auto queue = device_->make_queue();
    SearchPass pass(plan, parts_done_, description_.sample_bytes(), device_, *queue);
    std::unique_ptr<MaskIntervals> mask;
    FilterbankBlocks::Edit edit;
    if (!config_.mask.empty()) {
      mask = std::make_unique<MaskIntervals>(formats::presto::read_mask(config_.mask), *reader_);
      edit = [&mask](std::span<std::byte> bytes, std::uint64_t first, std::size_t samples) {
        mask->apply(bytes, first, samples);
      };
    }
    std::uint64_t done = 0;
    {
      FilterbankBlocks blocks(*reader_, range_, plan.block_samples, stop_, edit, device_.get());
      while (const SpectraBlock* block = blocks.next()) {
        require_running(stop_);
        pass.push(block->bytes.data(), block->samples);
        done += block->samples;
        blocks.release();
        report(number, done, started, progress);
      }
    }
    pass.finish();
    found_.insert(found_.end(), pass.pulses().begin(), pass.pulses().end());
    parts_done_ += plan.parts.size();
    summary_.samples = done;
    summary_.detections += pass.detections();
    if (number == 0) summary_.not_finite = pass.not_finite();
    if (number == 0 && mask) summary_.masked = mask->masked();
  }

  void report(std::size_t pass, std::uint64_t done, Clock::time_point started,
              const ProgressCallback& progress) {
    const std::uint64_t total = range_.count * passes_.size();
    const std::uint64_t all = range_.count * pass + done;
    const double elapsed = std::chrono::duration<double>(Clock::now() - started).count();
    // Of the stream, as far as all trials together have come.
    summary_.stream_s = static_cast<double>(all) / static_cast<double>(passes_.size()) /
                        description_.rate_hz.value();
    if (progress)
      progress({all, total, elapsed, summary_.stream_s,
                elapsed * static_cast<double>(total - all) / static_cast<double>(all)});
  }

  // Samples of the input's grid, on which gaps take time too.
  std::uint64_t grid_first() const {
    for (const formats::Stretch& stretch : reader_->stretches())
      if (range_.first < stretch.first_sample + stretch.samples)
        return stretch.grid_sample + (range_.first - stretch.first_sample);
    return range_.first;
  }

  void collect() {
    const std::vector<double> dms = trials_.dms();
    const std::uint64_t offset = grid_first();
    for (const auto& pulse : merge_pulses(std::move(found_), config_.links)) {
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
    summary_.damage = reader_->damage();
  }

  // The page: pictures of the best candidates, read again from the input.
  void plot() {
    report::CandidatePage page;
    page.title = "Pulses in " + std::filesystem::path(config_.inputs.front()).filename().string();
    page.first_s = static_cast<double>(grid_first()) / description_.rate_hz.value();
    page.duration_s = static_cast<double>(range_.count) / description_.rate_hz.value();
    const std::vector<double> dms = trials_.dms();
    page.low_dm = dms.front();
    page.high_dm = dms.back();
    page.threshold = config_.threshold;
    page.candidates = summary_.candidates;
    page.sample_s = 1 / description_.rate_hz.value();
    PictureConfig pictures;
    pictures.dm_constant = config_.dm_constant;
    pictures.ignored_channels = ignored_;
    const std::size_t drawn = std::min(config_.most_plots, page.candidates.size());
    for (std::size_t k = 0; k < drawn; ++k) {
      require_running(stop_);
      page.pictures.push_back(draw_candidate(*reader_, range_, page.candidates[k],
                                             grid_first() - range_.first, pictures));
    }
    for (const std::string& input : config_.inputs) page.facts.emplace_back("input", input);
    page.facts.emplace_back("run", config_.history);
    page.facts.emplace_back("kernels", summary_.backend + "; search " + summary_.detect_backend);
    page.facts.emplace_back("trials", std::to_string(summary_.trials));
    page.facts.emplace_back("channels left out", std::to_string(ignored_.size()) + " of " +
                                                     std::to_string(description_.channels));
    page.facts.emplace_back("detections before grouping", std::to_string(summary_.detections));
    page.facts.emplace_back("samples that were not finite", std::to_string(summary_.not_finite));
    page.facts.emplace_back("masked samples", std::to_string(summary_.masked));
    report::write_page(plot_path_, report::compose_candidate_page(page), config_.overwrite);
  }

  formats::candidates::Search search_of() const {
    return {description_.start, description_.rate_hz, description_.highest_mhz(),
            config_.dm_constant, config_.inputs.front()};
  }

  std::string record_text() const {
    const SearchPart& part = passes_.front().parts.front();
    nlohmann::ordered_json object{
        {"schema", "tautline.search.record"},
        {"version", 1},
        {"history", config_.history},
        {"device", device_->name()},
        {"kernels", summary_.backend},
        {"search_kernels", summary_.detect_backend},
        {"methods", summary_.methods},
        {"loss_of_snr", summary_.loss},
        {"inputs", config_.inputs},
        {"candidates", summary_.candidates.size()},
        {"detections", summary_.detections},
        {"dms", trials_.dms()},
        {"f_ref_mhz", summary_.f_ref_mhz},
        {"dm_constant", config_.dm_constant},
        {"tsamp_s", description_.tsamp_s},
        {"start", core::to_iso(description_.start)},
        {"start_mjd", core::modified_julian_date(description_.start)},
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
        {"ignored_channels", ignored_},
        {"flagged_channels", flagged_},
        {"zero_dm", config_.zero_dm},
        {"mask", config_.mask},
        {"passes", summary_.passes},
        {"samples", summary_.samples},
        {"masked_samples", summary_.masked},
        {"not_finite", summary_.not_finite},
        {"lost_samples", summary_.damage.lost_samples},
        {"dropped_samples", summary_.damage.dropped_samples},
        {"trailing_bytes", summary_.damage.trailing_bytes},
        {"elapsed_s", summary_.elapsed_s}};
    return object.dump(1) + "\n";
  }

  const SearchConfig& config_;
  std::shared_ptr<const device::Device> device_;
  std::stop_token stop_;
  std::unique_ptr<formats::FilterbankReader> reader_;
  FilterbankDescription description_;
  SampleRange range_;
  std::vector<std::size_t> ignored_, flagged_;
  DmPlan trials_;
  std::vector<PassPlan> passes_;
  std::size_t parts_done_ = 0;
  std::string plot_path_;
  std::vector<PlacedPulse> found_;
  SearchSummary summary_;
};

}  // namespace

SearchSummary search_filterbank(const SearchConfig& config,
                                std::shared_ptr<const device::Device> device,
                                const ProgressCallback& progress,
                                const std::function<void(const std::string&)>& announce,
                                std::stop_token stop) {
  return Search(config, std::move(device), std::move(stop)).run(progress, announce);
}

}  // namespace tautline::pipeline
