#include "tautline/pipeline/search/dedisperse_filterbank.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/dispersion.h"
#include "tautline/core/error.h"
#include "tautline/core/field_text.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/presto/dat.h"
#include "tautline/pipeline/graph_run.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/search/dedisperse_node.h"
#include "tautline/pipeline/search/expected_rate.h"
#include "tautline/pipeline/search/filterbank_input.h"
#include "tautline/pipeline/search/filterbank_record.h"
#include "tautline/pipeline/search/iqrm_node.h"
#include "tautline/pipeline/search/piped_filterbank.h"
#include "tautline/pipeline/search/times_without_data.h"
#include "tautline/pipeline/search/trial_sink_node.h"

namespace tautline::pipeline {

namespace {

using stages::dedisperse::DmPlan;
using stages::dedisperse::Plan;

constexpr std::size_t kLeastTrialBlock = 1024, kMostTrialBlock = 65536;
// So few trials are summed on the host as fast as memory gives spectra: their blocks of input stay in the caches.
constexpr std::size_t kFewTrials = 16, kNearBlockBytes = std::size_t{8} << 20;

// Blocks that hold trials, beside the one that the plans' own bytes count.
std::size_t more_trial_blocks(const device::Device& device) {
  return kTrialBlocks - 1 + (device.compiles() ? kTrialBlocksOnDevice : 0);
}

// Of all plans.
std::size_t trial_block_bytes(const std::vector<std::shared_ptr<const Plan>>& plans) {
  std::size_t bytes = 0;
  for (const auto& plan : plans)
    bytes += 4 * plan->config().dms.size() * plan->max_output_samples();
  return bytes;
}

// Between the outermost channels, of the highest DM.
std::size_t longest_delay(const formats::FilterbankDescription& description, const DmPlan& plan,
                          double dm_constant) {
  const auto& mhz = description.channel_mhz;
  double highest_dm = 0;
  for (const double dm : plan.dms()) highest_dm = std::max(highest_dm, dm);
  return static_cast<std::size_t>(
      core::dispersion_delay_samples(highest_dm, *std::min_element(mhz.begin(), mhz.end()),
                                     description.highest_mhz(), description.tsamp_s, dm_constant));
}

// Blocks about as long as memory allows: raw blocks, rows that hold the overlap, and trials. `enough`: no longer ones
// are wanted.
std::size_t first_guess(const formats::FilterbankDescription& description, const DmPlan& plan,
                        std::size_t trial_blocks, std::size_t memory_bytes, std::uint64_t samples,
                        std::size_t enough) {
  std::size_t trial_bytes = 0;
  for (const auto& range : plan.ranges) trial_bytes += 4 * range.dms.size() / range.downsample;
  const std::size_t each =
      (FilterbankSourceNode::kBlocks + 2 * plan.ranges.size()) * description.sample_bytes() +
      trial_blocks * trial_bytes;
  std::size_t block = kMostTrialBlock;
  while (block > kLeastTrialBlock &&
         (block / 2 >= samples || block / 2 >= enough || block * each > memory_bytes * 3 / 4))
    block /= 2;
  return block;
}

// A run: its input, its sums and its output.
class Dedispersion {
 public:
  Dedispersion(const DedisperseConfig& config, std::shared_ptr<const device::Device> device,
               const ProgressCallback& progress, std::stop_token stop)
      : progress_(progress),
        config_(config),
        device_(std::move(device)),
        stop_(std::move(stop)),
        piped_(config.piped ? open_piped_filterbank(config, true, kPipedBlock, stop_)
                            : PipedFilterbank{}),
        live_(piped_.source != nullptr),
        input_(live_ ? piped_.input : open_filterbanks(config, false, true, *device_)) {}

  DedisperseSummary run(const std::function<void(const std::string&)>& announce);

 private:
  void describe();
  void plan();
  std::vector<std::shared_ptr<const Plan>> plans_within_memory(
      stages::dedisperse::Config stage) const;
  std::size_t bytes_of(const std::vector<std::shared_ptr<const Plan>>& plans) const;
  [[noreturn]] void refuse_memory(std::size_t needed) const;
  std::string expect();
  void sum_all(const std::string& expected,
               const std::function<void(const std::string&)>& announce);
  void summarise_run();
  std::string record() const;

  ProgressReporter progress_;
  const DedisperseConfig& config_;
  std::shared_ptr<const device::Device> device_;
  std::stop_token stop_;
  const Beam& beam() const { return input_->beams.front(); }
  const SampleRange& range() const { return beam().range; }

  PipedFilterbank piped_;
  bool live_ = false;
  std::shared_ptr<FilterbankInput> input_;
  formats::FilterbankDescription description_;  // of the range
  double rate_hz_ = 0;
  ChosenTrials chosen_;
  std::vector<std::shared_ptr<const Plan>> plans_;  // [range]
  std::vector<std::uint64_t> written_;              // [range]
  std::vector<nlohmann::ordered_json> filled_;      // [range] FilledTrials'
  DataSegments data_segments_;                      // without what was filled
  DedisperseSummary summary_;
};

DedisperseSummary Dedispersion::run(const std::function<void(const std::string&)>& announce) {
  describe();
  plan();
  sum_all(expect(), announce);
  return std::move(summary_);
}

void Dedispersion::describe() {
  if (live_) log_remarks(*beam().reader, *device_);
  description_ = beam().description();
  rate_hz_ = description_.rate_hz.value();
  description_.start = core::advance(description_.start, static_cast<std::int64_t>(range().first),
                                     description_.rate_hz);
  description_.tstart_mjd = core::modified_julian_date(description_.start);
}

void Dedispersion::plan() {
  if (description_.time_series)
    throw core::Error(core::ErrorKind::config, config_.inputs.front(), "is dedispersed already",
                      "filterbanks", "tautline search reads such a series as it is");
  require_trials(config_.dms);
  stages::dedisperse::Config stage = stage_config(config_, description_, beam().left_out.all);
  const stages::dedisperse::Band band{description_.channel_mhz, description_.tsamp_s,
                                      config_.dm_constant};
  require_delays(config_.dms, band, static_cast<double>(range().count) / rate_hz_);
  chosen_ = choose_trials(config_, config_.dms, band);
  chosen_.allow_loss(stage);
  summary_.spacing_loss = chosen_.spacing_loss;
  // The overlap is moved now and then, the less often the longer the blocks.
  const std::size_t enough =
      live_ ? kPipedBlock
      : device_->compiles() || chosen_.plan.trials() > kFewTrials
          ? kMostTrialBlock
          : std::max(kNearBlockBytes / description_.sample_bytes(),
                     longest_delay(description_, chosen_.plan, config_.dm_constant));
  stage.max_samples = first_guess(description_, chosen_.plan, 1 + more_trial_blocks(*device_),
                                  config_.memory_bytes, range().count, enough);
  plans_ = plans_within_memory(std::move(stage));
  require_samples(plans_, range().count, rate_hz_);
  for (const auto& made : plans_) summary_.loss = std::max(summary_.loss, made->choice().loss);
  summary_.block_samples = plans_.front()->config().max_samples;
  if (live_) piped_.source->shorten_blocks(summary_.block_samples);
}

std::vector<std::shared_ptr<const Plan>> Dedispersion::plans_within_memory(
    stages::dedisperse::Config stage) const {
  for (;;) {
    auto plans = make_plans(stage, chosen_.plan, device_, 0);
    if (bytes_of(plans) <= config_.memory_bytes) return plans;
    if (stage.max_samples <= kLeastTrialBlock) refuse_memory(bytes_of(plans));
    stage.max_samples = std::max(kLeastTrialBlock, stage.max_samples / 2);
  }
}

// Of plans, states and blocks.
std::size_t Dedispersion::bytes_of(const std::vector<std::shared_ptr<const Plan>>& plans) const {
  const std::size_t masking =
      config_.iqrm ? iqrm_window_bytes(config_.iqrm_limits, description_) : 0;
  const std::size_t looking = live_ ? piped_.source->bytes().host_bytes : 0;
  return masking + looking + needed_bytes(plans) +
         more_trial_blocks(*device_) * trial_block_bytes(plans) +
         FilterbankSourceNode::kBlocks * plans.front()->config().max_samples *
             description_.sample_bytes();
}

// With the numbers of the shortest blocks.
void Dedispersion::refuse_memory(std::size_t needed) const {
  throw core::Error(
      core::ErrorKind::memory, "memory_bytes", core::byte_size().write(config_.memory_bytes),
      "at least " + enough_bytes(needed) + " for " + core::counted(chosen_.plan.trials(), "trial"),
      "raise `memory_bytes`, lower the highest DM, or try fewer DMs at once");
}

// The expected duration of the run, also as text.
std::string Dedispersion::expect() {
  summary_.bytes = bytes_of(plans_);
  double seconds = 0;
  for (const auto& made : plans_) seconds += seconds_per_sample(*made, device_, range().count);
  summary_.expected_s = seconds * static_cast<double>(range().count);
  const std::string masking =
      config_.iqrm ? iqrm_text(config_.iqrm_limits, description_) + "\n" : "";
  return describe_trials(chosen_.plan, config_.dms) + "\n" + describe_loss(chosen_, summary_.loss) +
         "\n" + masking + stages::dedisperse::describe(plans_) + "\nexpected: " +
         describe_expected("dedispersion", seconds * rate_hz_,
                           live_ ? 1 : static_cast<double>(range().count) / rate_hz_);
}

void Dedispersion::sum_all(const std::string& expected,
                           const std::function<void(const std::string&)>& announce) {
  auto source = live_ ? nullptr : make_filterbank_source(input_, summary_.block_samples);
  const FilterbankSourceNode& read_by = live_ ? piped_.source->source() : *source;
  auto summing = std::make_unique<DedisperseNode>(plans_, device_);
  auto sink = std::make_unique<TrialSinkNode>(TrialFiles{
      config_.format, config_.output, config_.overwrite, series_name(config_), config_.sink});
  auto masking = config_.iqrm ? std::make_unique<IqrmNode>(config_.iqrm_limits) : nullptr;
  const IqrmNode* masked_by = masking.get();
  const DedisperseNode& summed_by = *summing;
  TrialSinkNode& written_by = *sink;

  engine::Graph graph;
  const auto filterbank = live_ ? graph.add("filterbank", std::move(piped_.source))
                                : graph.add("filterbank", std::move(source));
  const auto trials = graph.add("dedisperse", std::move(summing));
  const auto series = graph.add("series", std::move(sink));
  if (masking) {
    const auto masked = graph.add("iqrm", std::move(masking));
    graph.connect(filterbank, masked);
    graph.connect(masked, trials);
  } else {
    graph.connect(filterbank, trials);
  }
  for (std::size_t k = 0; k < plans_.size(); ++k)
    graph.connect({trials, k}, {series, k}, {.depth = kTrialBlocks - 1});
  WatchedRun run(std::move(graph), run_options(progress_, description_.rate_hz), config_.watch,
                 {"filterbank"});
  std::optional<formats::AppendFile> beside;
  if (!config_.sink)
    beside.emplace(series_record_path(config_.format, config_.output), config_.overwrite);
  if (announce) announce(expected);  // now that all outputs can be written
  run.go(stop_);

  DedisperseSummary& s = summary_;
  s.elapsed_s = progress_.elapsed_s();
  s.samples = read_by.counters()["samples"];
  s.stream_s = static_cast<double>(s.samples) / rate_hz_;
  if (live_) {
    s.expected_s *= static_cast<double>(s.samples) / static_cast<double>(range().count);
    end_piped(*input_, s.samples);
    input_->filled = {{0, s.samples}};
  }
  s.masked = read_by.counters()["masked"];
  s.empty = read_by.empty();
  if (masked_by != nullptr) s.iqrm = masked_by->found();
  s.not_finite =
      s.empty.not_finite + s.empty.single_not_finite + summed_by.counters()["not_finite"];
  s.bandpass = bandpass_of(summed_by.moments(), description_.zero_level);
  s.paths = written_by.files();
  written_ = written_by.written();
  data_segments_ = without_gaps(input_->filled, read_by.stream().filled.front()->gaps(),
                                live_ ? 0 : read_by.stream().parts.front().placed.grid_first);
  if (config_.format == SeriesFormat::dat && data_segments_.size() > formats::presto::kMostPairs)
    device_->shared().log(
        core::LogLevel::warning,
        fmt::format("the data have {} breaks, of which PRESTO reads {} of an .inf: the longest are "
                    "told, and the others are data to whatever reads the series",
                    data_segments_.size() - 1, formats::presto::kMostPairs - 1));
  for (FilledTrials& one : written_by.filled()) filled_.push_back(one.record());
  s.profile = run->profile();
  summarise_run();
  if (!beside) return;
  beside->write(record());
  beside->finish();
}

void Dedispersion::summarise_run() {
  DedisperseSummary& s = summary_;
  s.trials = chosen_.plan.trials();
  s.channels = description_.channels;
  s.ifs = description_.ifs;
  s.summed_ifs = description_.summed_ifs;
  s.ignored_channels = beam().left_out.all.size();
  s.flagged_channels = beam().left_out.flagged.size();
  s.constant_channels = beam().left_out.constant.size();
  s.level_steps = beam().level_steps;
  s.uncut_levels = beam().uncut_levels;
  s.gap_samples = range().count;
  for (const auto& [first, end] : input_->filled) s.gap_samples -= end - first;
  s.written = written_.front();
  s.f_ref_mhz = description_.highest_mhz();
  s.backend = plans_.front()->backend();
  for (const auto& made : plans_) s.methods.push_back(made->choice().text);
  s.damage = beam().reader->damage();
}

std::string Dedispersion::record() const {
  const auto& ranges = chosen_.plan.ranges;
  nlohmann::ordered_json object = filterbank_record("tautline.dedisperse.record", config_, summary_,
                                                    description_, beam().left_out, *device_);
  object["dms"] = chosen_.plan.dms();
  object["tsamp_s"] = description_.tsamp_s * static_cast<double>(ranges[0].downsample);
  for (std::size_t k = 0; k < ranges.size(); ++k)
    object["segments"].push_back({{"first_trial", ranges[k].first_trial},
                                  {"trials", ranges[k].dms.size()},
                                  {"downsample", ranges[k].downsample},
                                  {"samples", written_[k]},
                                  {"delays_samples", longest_delays(*plans_[k])},
                                  {"method", summary_.methods[k]},
                                  {"filled", filled_[k]}});
  for (const auto& [first, end] : data_segments_)
    object["data_segments"].push_back({{"first_sample", first}, {"samples", end - first}});
  return object.dump(1) + "\n";
}

}  // namespace

std::string series_name(const FilterbankRunConfig& config) {
  const std::string& input = config.inputs.front();
  return input == "-" ? "standard-input" : std::filesystem::path(input).stem().string();
}

DedisperseSummary dedisperse_filterbank(const DedisperseConfig& config,
                                        std::shared_ptr<const device::Device> device,
                                        const ProgressCallback& progress,
                                        const std::function<void(const std::string&)>& announce,
                                        std::stop_token stop) {
  core::check(config);
  return Dedispersion(config, std::move(device), progress, std::move(stop)).run(announce);
}

}  // namespace tautline::pipeline
