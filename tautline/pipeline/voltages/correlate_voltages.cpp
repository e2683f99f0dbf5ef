#include "tautline/pipeline/voltages/correlate_voltages.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <map>
#include <numeric>

#include "tautline/core/error.h"
#include "tautline/pipeline/device_memory.h"
#include "tautline/pipeline/graph_run.h"
#include "tautline/pipeline/report/report_builder.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/block_tail.h"
#include "tautline/pipeline/voltages/f_engine_node.h"
#include "tautline/pipeline/voltages/measure_gains.h"
#include "tautline/pipeline/voltages/reduction_node.h"
#include "tautline/pipeline/voltages/rethrow_of_stage.h"
#include "tautline/pipeline/voltages/tracking.h"
#include "tautline/pipeline/voltages/visibilities_node.h"
#include "tautline/pipeline/voltages/visibility_sink_node.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"
#include "tautline/pipeline/voltages/x_engine_node.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;
using DeviceList = std::vector<std::shared_ptr<const device::Device>>;

// How devices share a stream. Whatever they are sent, each one's link carries it beside the others'.
enum class Sharing {
  // A stream that is channelized already: each device is sent its channels and correlates them.
  channels,
  // Voltages: blocks in turn, each with the samples before it that its first spectra begin with. Every device
  // correlates all channels, and sums of integers are added on the host.
  blocks,
  // Voltages whose sums are floats, which added in another order would be others, or whose filter depends on
  // more than a spectrum's samples: every device has all of them and does all of the filter bank, and
  // correlates its channels.
  filtered_channels
};

// Integrations are large: one is filled while one is read.
constexpr engine::EdgeOptions kOneWaits{.depth = 1};

stream::SequenceOptions sequence_options(const CorrelateConfig& config) {
  return {.reader = config.reader, .start_s = config.start_s, .duration_s = config.duration_s};
}

FilterConfig filter_of(const CorrelateConfig& config) {
  FilterConfig filter = config.filter;
  filter.output = output_of(config.requantise);
  return filter;
}

// Builds the graph of one run, and says afterwards what it did.
class Correlation {
 public:
  Correlation(const CorrelateConfig& config, const DeviceList& devices,
              const ProgressCallback& progress);
  CorrelateSummary run(const std::stop_token& stop);

 private:
  Sharing choose_sharing() const;
  // What a device correlates; none: all that its F-engine gives.
  std::size_t fine_channels() const;
  ChannelRange coarse_channels() const;
  ChannelRange coarse_share(std::size_t device) const;
  ChannelRange share(std::size_t device) const;
  formats::ArrayLayout array() const;
  void add_engines(const Tracking& tracking, const formats::ArrayLayout& layout);
  void make_plans() const;
  void add_outputs();
  void check_memory(const engine::Run& run) const;
  CorrelateSummary summary(const engine::Run& run) const;
  std::map<std::string, std::uint64_t> facts() const;
  std::vector<std::uint64_t> clipped() const;
  std::uint64_t not_finite() const;
  void finish_report(report::ReportBuilder& report) const;

  const CorrelateConfig& config_;
  const DeviceList& devices_;
  ProgressReporter reporter_;
  std::shared_ptr<const device::Device> host_;  // for what is the host's to do
  engine::Graph graph_;
  engine::NodeId voltages_ = 0, means_ = 0;
  // The graph's, or its run's.
  VoltageSourceNode* source_ = nullptr;
  std::vector<FEngineNode*> f_engines_;
  std::vector<XEngineNode*> x_engines_;
  VisibilitiesNode* visibilities_ = nullptr;
  ReductionNode* reduction_ = nullptr;  // null: there is nothing to do
  VisibilitySinkNode* report_ = nullptr;

  bool channelized_ = false, filtered_ = true;
  std::size_t inputs_ = 0, channels_ = 0, block_samples_ = 0;
  ChannelRange kept_;  // that are correlated
  Sharing sharing_ = Sharing::channels;
  std::shared_ptr<std::vector<float>> gains_;  // null: nothing is rounded
};

Correlation::Correlation(const CorrelateConfig& config, const DeviceList& devices,
                         const ProgressCallback& progress)
    : config_(config),
      devices_(devices),
      reporter_(progress),
      host_(devices.front()->compiles() ? device::open({}) : devices.front()) {
  auto source = std::make_unique<VoltageSourceNode>(
      VoltageSourceConfig{config.inputs, sequence_options(config)});
  source_ = source.get();
  voltages_ = graph_.add("voltages", std::move(source));
  const stream::VoltageSequence& sequence = source_->sequence();
  const core::VoltageDescription& description = sequence.description();
  channelized_ = description.channelized();
  inputs_ = description.inputs();
  channels_ = channels_of(description, config.filter);
  // Of a channelized stream each device has a part of a block, else whole ones.
  const bool gpu = devices.front()->compiles();
  block_samples_ = choose_block_samples(sequence, filter_of(config), config.memory_bytes, gpu,
                                        channelized_ ? 1 : devices.size());
  source_->set_block_samples(block_samples_);
  kept_ = kept_channels(config.reduction, channels_);
  const std::size_t shared = channelized_ ? coarse_channels().count : kept_.count;
  if (devices.size() > shared)
    throw Error(ErrorKind::config, "device", fmt::format("{} devices", devices.size()),
                fmt::format("at most one for each of the {} channels", shared));
  sharing_ = choose_sharing();
  filtered_ = is_filtered(description, config.filter);
  if (filtered_ && config.requantise != Requantise::off)
    gains_ = std::make_shared<std::vector<float>>();
}

Sharing Correlation::choose_sharing() const {
  if (channelized_) return Sharing::channels;
  const FilterConfig& filter = config_.filter;
  const bool exact = config_.requantise != Requantise::off;
  const bool delayed = !config_.delays_path.empty() && config_.phase_centre.empty();
  const bool by_samples_alone = filter.oversample_numerator == filter.oversample_denominator;
  return devices_.size() > 1 && exact && !delayed && by_samples_alone &&
                 ends_with_last_samples(source_->sequence().layout(block_samples_))
             ? Sharing::blocks
             : Sharing::filtered_channels;
}

// Those made of one channel of a channelized stream.
std::size_t Correlation::fine_channels() const {
  return channels_ / source_->sequence().description().channels;
}

// Of a channelized stream, that the kept ones are made of.
ChannelRange Correlation::coarse_channels() const {
  const std::size_t fine = fine_channels(), first = kept_.first / fine;
  return {first, (kept_.first + kept_.count + fine - 1) / fine - first};
}

ChannelRange Correlation::coarse_share(std::size_t device) const {
  const ChannelRange all = coarse_channels();
  const ChannelRange part = share_of(all.count, device, devices_.size());
  return {all.first + part.first, part.count};
}

ChannelRange Correlation::share(std::size_t device) const {
  if (sharing_ == Sharing::blocks) return kept_;
  if (sharing_ == Sharing::channels) {
    const ChannelRange coarse = coarse_share(device);
    const std::size_t first = std::max(kept_.first, coarse.first * fine_channels());
    const std::size_t end =
        std::min(kept_.first + kept_.count, (coarse.first + coarse.count) * fine_channels());
    return {first, end - first};
  }
  const ChannelRange part = share_of(kept_.count, device, devices_.size());
  return {kept_.first + part.first, part.count};
}

formats::ArrayLayout Correlation::array() const {
  const core::VoltageDescription& description = source_->sequence().description();
  formats::ArrayLayout array =
      config_.array_path.empty()
          ? formats::unknown_array(description.antennas, description.polarisations)
          : formats::read_array_layout(config_.array_path);
  formats::assume_polarisations(array, description.polarisations);
  formats::require_inputs(array, inputs_);
  return array;
}

void Correlation::add_engines(const Tracking& tracking, const formats::ArrayLayout& layout) {
  const bool rotated = tracking.table != nullptr && !tracking.before_filter;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const std::string part = devices_.size() > 1 ? fmt::format(".{}", d) : "";
    FEngineNodeConfig f{.device = devices_[d], .filter = filter_of(config_), .gains = gains_};
    if (tracking.before_filter) f.delays = tracking.table;
    if (sharing_ == Sharing::channels) f.channels = coarse_share(d);
    if (sharing_ == Sharing::blocks) f.turns = devices_.size(), f.turn = d;
    auto f_engine = std::make_unique<FEngineNode>(std::move(f));
    XEngineNodeConfig x{devices_[d], config_.integration_s, share(d)};
    // The page shows all products, and fringes are rotated in all.
    x.reduction.autos_only =
        config_.reduction.autos_only && config_.report_path.empty() && !rotated;
    x.array = layout;
    auto x_engine = std::make_unique<XEngineNode>(std::move(x));
    f_engines_.push_back(f_engine.get());
    x_engines_.push_back(x_engine.get());
    const engine::NodeId f_id = graph_.add("f" + part, std::move(f_engine));
    const engine::NodeId x_id = graph_.add("x" + part, std::move(x_engine));
    graph_.connect(voltages_, f_id);
    graph_.connect(f_id, x_id);
    graph_.connect(x_id, {means_, d}, kOneWaits);
  }
}

// Plans of several devices are made side by side; the run finds them when it opens the nodes.
void Correlation::make_plans() const {
  if (devices_.size() == 1) return;
  const std::vector<engine::Stream> voltages = source_->open({});
  std::vector<std::future<void>> made;
  for (std::size_t d = 0; d < devices_.size(); ++d)
    made.push_back(std::async(std::launch::async, [this, &voltages, d] {
      x_engines_[d]->open(f_engines_[d]->open(voltages));
    }));
  for (std::future<void>& one : made) one.get();
}

void Correlation::add_outputs() {
  // The page first: it can be taken back when the file cannot be written, and then is.
  if (!config_.report_path.empty()) {
    auto page = std::make_unique<VisibilitySinkNode>(VisibilitySinkConfig{
        config_.report_path, config_.overwrite, true,
        [this](auto& writer) { finish_report(dynamic_cast<report::ReportBuilder&>(writer)); }});
    report_ = page.get();
    graph_.connect(means_, graph_.add("report", std::move(page)), kOneWaits);
  }
  auto file = std::make_unique<VisibilitySinkNode>(
      VisibilitySinkConfig{config_.output, config_.overwrite, false, [this](auto& writer) {
                             for (const auto& [name, count] : facts())
                               writer.add_extra(name, std::to_string(count));
                           }});
  engine::NodeId written = means_;
  if (config_.reduction.after_correlation()) {
    auto reduction = std::make_unique<ReductionNode>(host_, config_.reduction);
    reduction_ = reduction.get();
    written = graph_.add("reduction", std::move(reduction));
    graph_.connect(means_, written, kOneWaits);
  }
  graph_.connect(written, graph_.add("visibilities", std::move(file)), kOneWaits);
}

void Correlation::check_memory(const engine::Run& run) const {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    std::vector<StageMemory> stages;
    for (const engine::PlannedNode& node : run.plan())
      if (!node.outputs.empty() && node.outputs.front().device == devices_[d])
        stages.push_back({node.outputs.front().kind == "sums" ? "correlate"
                          : filtered_                         ? "unpack and channelize"
                                                              : "unpack",
                          node.bytes.device_bytes + node.block_bytes});
    require_device_memory(*devices_[d], stages, inputs_, channels_);
  }
  const std::size_t host_bytes = run.bytes().host_bytes;
  if (host_bytes > config_.memory_bytes)
    throw Error(ErrorKind::memory, "memory",
                fmt::format("{} KiB needed for {} inputs and {} channels", host_bytes >> 10,
                            inputs_, channels_),
                fmt::format("at most {} KiB", config_.memory_bytes >> 10),
                "raise `memory_bytes` or lower `channels`");
}

CorrelateSummary Correlation::run(const std::stop_token& stop) {
  const stream::VoltageSequence& sequence = source_->sequence();
  const core::VoltageDescription& description = sequence.description();
  if (config_.opened) config_.opened(description);
  const formats::ArrayLayout layout = array();
  const Tracking tracking = choose_tracking(config_.delays_path, config_.phase_centre, layout,
                                            description.start, sequence.end(), config_.earth);
  auto means = std::make_unique<VisibilitiesNode>(
      VisibilitiesNodeConfig{.host = host_,
                             .inputs = devices_.size(),
                             .array = layout,
                             .phase_centre = tracking.centre,
                             .earth = config_.earth,
                             .history = config_.history,
                             .rotation = tracking.before_filter ? nullptr : tracking.table});
  visibilities_ = means.get();
  means_ = graph_.add("means", std::move(means));
  add_engines(tracking, layout);
  make_plans();
  add_outputs();
  engine::Run run(std::move(graph_), run_options(reporter_, description.rate_hz));
  check_memory(run);
  if (gains_)
    *gains_ = measure_gains(config_.inputs, sequence_options(config_), filter_of(config_), host_,
                            *host_->make_queue(), config_.memory_bytes, stop);
  try {
    run.go(stop);
  } catch (...) {
    if (report_ != nullptr && report_->published())  // no page without its visibilities
      std::filesystem::remove(config_.report_path);
    rethrow_of_stage(run.failed_node(), !filtered_);
  }
  return summary(run);
}

std::map<std::string, std::uint64_t> Correlation::facts() const {
  engine::Counters counters = source_->counters();
  counters.erase("samples");
  const std::vector<std::uint64_t> by_input = clipped();
  counters["clipped"] = std::accumulate(by_input.begin(), by_input.end(), std::uint64_t{0});
  counters["not_finite"] = not_finite();
  counters["spectra"] = f_engines_.front()->counters().at("spectra");
  counters["overflowed"] = visibilities_->counters().at("overflowed");
  return counters;
}

// Each device looks at all channels of its blocks.
std::uint64_t Correlation::not_finite() const {
  std::uint64_t sum = 0;
  for (std::size_t d = 0; d < (sharing_ == Sharing::blocks ? f_engines_.size() : 1); ++d)
    sum += f_engines_[d]->counters().at("not_finite");
  return sum;
}

// Each device counts what it filters, which is the same on all where each filters everything.
std::vector<std::uint64_t> Correlation::clipped() const {
  std::vector<std::uint64_t> sums(inputs_);
  const bool all_filter_all = sharing_ == Sharing::filtered_channels;
  for (std::size_t d = 0; d < (all_filter_all ? 1 : f_engines_.size()); ++d)
    for (std::size_t i = 0; i < inputs_; ++i) sums[i] += f_engines_[d]->clipped()[i];
  return sums;
}

void Correlation::finish_report(report::ReportBuilder& report) const {
  const auto counters = facts();
  for (const auto& [name, count] : counters) report.add_extra(name, std::to_string(count));
  const std::size_t filtered =
      sharing_ == Sharing::channels ? coarse_channels().count * fine_channels() : channels_;
  report.set_clipped(clipped(), 2 * counters.at("spectra") * filtered);
  for (const std::string& message : source_->sequence().damage().messages)
    report.add_warning(message);
  CorrelateSummary result;
  result.overflowed = counters.at("overflowed");
  if (result.overflowed > 0) report.add_warning(overflow_message(result));
}

CorrelateSummary Correlation::summary(const engine::Run& run) const {
  const auto counters = facts();
  const Sums& sums = x_engines_.front()->sums();
  const core::VoltageDescription& voltages = sums.spectra.voltages;
  CorrelateSummary s;
  s.inputs = inputs_;
  const std::size_t group = config_.reduction.average_time;
  s.channels = kept_.count / config_.reduction.average_channels;
  s.integrations = reduction_ != nullptr ? reduction_->counters().at("integrations")
                                         : x_engines_.front()->counters().at("integrations");
  s.spectra = counters.at("spectra");
  s.samples = source_->counters().at("samples");
  s.spectra_per_integration = sums.integration_spectra * group;
  s.integration_s = static_cast<double>(s.spectra_per_integration) *
                    static_cast<double>(sums.spectra.hop_samples) / voltages.rate_hz.value();
  s.elapsed_s = s.setup_s = reporter_.elapsed_s();
  double since_ready_s = s.elapsed_s;
  for (const XEngineNode* x : x_engines_)
    since_ready_s = std::min(since_ready_s, x->since_ready().elapsed_s());
  s.setup_s -= since_ready_s;
  s.stream_s = static_cast<double>(s.samples) / voltages.rate_hz.value();
  s.gap_samples = counters.at("gap_samples");
  s.clipped = counters.at("clipped");
  s.not_finite = counters.at("not_finite");
  s.overflowed = counters.at("overflowed");
  for (std::size_t d = 0; d < devices_.size(); ++d)
    s.devices.push_back({devices_[d]->name(), f_engines_[d]->counters().at("sent_bytes")});
  s.damage = source_->sequence().damage();
  s.backend = sums.spectra.kernels;
  s.memory_bytes = run.bytes().host_bytes;
  s.profile = run.profile();
  return s;
}

}  // namespace

stages::channelize::Output output_of(Requantise requantise) {
  using stages::channelize::Output;
  if (requantise == Requantise::bits8) return Output::corner_turned_ci8;
  return requantise == Requantise::bits4 ? Output::corner_turned_ci4 : Output::corner_turned_float;
}

std::string overflow_message(const CorrelateSummary& summary) {
  return fmt::format(
      "{} visibilities overflowed: finite samples, but no float holds their products; flagged. "
      "Scale the samples down",
      summary.overflowed);
}

CorrelateSummary correlate_voltages(
    const CorrelateConfig& config,
    const std::vector<std::shared_ptr<const device::Device>>& devices,
    const ProgressCallback& progress, std::stop_token stop) {
  core::check(config);
  return Correlation(config, devices, progress).run(stop);
}

}  // namespace tautline::pipeline
