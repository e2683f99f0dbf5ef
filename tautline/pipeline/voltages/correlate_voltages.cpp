#include "tautline/pipeline/voltages/correlate_voltages.h"

#include <fmt/format.h>

#include <algorithm>

#include "tautline/core/byte_text.h"
#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/formats/delays/track.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/device_memory.h"
#include "tautline/pipeline/graph_run.h"
#include "tautline/pipeline/graph_streams.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/empty_text.h"
#include "tautline/pipeline/voltages/engines.h"
#include "tautline/pipeline/voltages/host_beside.h"
#include "tautline/pipeline/voltages/measure_gains.h"
#include "tautline/pipeline/voltages/rethrow_of_stage.h"
#include "tautline/pipeline/voltages/tracking.h"
#include "tautline/pipeline/voltages/visibility_sink_node.h"
#include "tautline/pipeline/voltages/voltage_nodes.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"
#include "tautline/pipeline/voltages/x_engine_node.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

// Integrations are large: one is filled while one is read.
constexpr engine::EdgeOptions kPageWaits{.depth = 1};

stream::SequenceOptions sequence_options(const CorrelateConfig& config) {
  return {.reader = config.reader,
          .start_s = config.start_s,
          .duration_s = config.duration_s,
          .keep_constant = config.keep_constant};
}

FilterConfig filter_of(const CorrelateConfig& config) {
  FilterConfig filter = config.filter;
  filter.output = output_of(config.requantise);
  return filter;
}

// Builds the graph of one run, and summarises the run afterwards.
class Correlation {
 public:
  Correlation(const CorrelateConfig& config, const DeviceList& devices,
              const ProgressCallback& progress);
  CorrelateSummary run(const std::stop_token& stop);

 private:
  void add_engines();
  void add_outputs(const CorrelatorOutputs& correlated);
  void check_memory(const engine::Run& run) const;
  CorrelateSummary summary(const engine::Run& run) const;

  const CorrelateConfig& config_;
  const DeviceList& devices_;
  ProgressReporter reporter_;
  std::shared_ptr<const device::Device> host_;  // for the host's nodes
  engine::Graph graph_;
  engine::NodeId voltages_ = 0;
  // Owned by the graph or its run.
  VoltageSourceNode* source_ = nullptr;
  VoltageNodes nodes_;
  std::vector<const XEngineNode*> x_engines_;
  const engine::Node* reduction_ = nullptr;  // null: no reduction
  const VisibilitySinkNode* file_ = nullptr;

  bool filtered_ = true;
  std::size_t inputs_ = 0, channels_ = 0;
  std::vector<std::string> input_names_;
  ChannelRange kept_;  // the correlated channels
  SharedGains gains_;  // null: no rounding
};

Correlation::Correlation(const CorrelateConfig& config, const DeviceList& devices,
                         const ProgressCallback& progress)
    : config_(config), devices_(devices), reporter_(progress), host_(host_beside(devices.front())) {
  auto source = std::make_unique<VoltageSourceNode>(
      VoltageSourceConfig{.files = config.inputs,
                          .options = sequence_options(config),
                          .device = config.samples_on_device ? devices.front() : nullptr},
      config.piped);
  source_ = source.get();
  voltages_ = graph_.add("voltages", std::move(source));
  const stream::VoltageStream& sequence = source_->sequence();
  const core::VoltageDescription& description = sequence.description();
  inputs_ = description.inputs();
  channels_ = channels_of(description, config.filter);
  source_->set_block_samples(choose_block_samples(sequence, filter_of(config), config.memory_bytes,
                                                  devices.front()->compiles()));
  kept_ = kept_channels(config.reduction, channels_);
  filtered_ = is_filtered(description, config.filter);
}

void Correlation::add_engines() {
  const core::VoltageDescription& description = source_->sequence().description();
  const formats::ArrayLayout layout = array_for(config_.array_path, description);
  input_names_ = names_of_inputs(layout);
  const Tracking tracking =
      choose_tracking(config_.delays_path, config_.phase_centre, layout, description.start,
                      source_->sequence().end(), config_.earth);
  if (!tracking.warning.empty()) host_->shared().log(core::LogLevel::warning, tracking.warning);
  if (tracking.centre.tracked && core::is_known_start(description.start))
    if (const std::string below = formats::delays::below_horizon(
            layout, tracking.centre.name, {tracking.centre.ra_deg, tracking.centre.dec_deg},
            description.start, core::seconds_between(description.start, source_->sequence().end()),
            config_.earth);
        !below.empty())
      host_->shared().log(core::LogLevel::warning, below);
  gains_ =
      make_gains(config_, description, filter_of(config_), tracking.before_filter,
                 [this, live = source_->live_stream(),
                  samples = source_->block_samples()](const std::stop_token& stop) {
                   if (live)
                     return measure_gains(*live, samples, config_.keep_constant, filter_of(config_),
                                          host_, config_.memory_bytes, stop);
                   return measure_gains(config_.inputs, sequence_options(config_),
                                        filter_of(config_), host_, config_.memory_bytes, stop);
                 });
  const auto spectra = add_f_engines(graph_, "f", voltages_,
                                     {.devices = devices_,
                                      .filter = filter_of(config_),
                                      .gains = gains_,
                                      .tracking = tracking,
                                      .kept = kept_,
                                      .host = host_,
                                      .memory_bytes = config_.memory_bytes});
  const CorrelatorOutputs correlated =
      add_x_engines(graph_, {"x", "means", "reduction"}, spectra,
                    {.devices = devices_,
                     .integration_s = config_.integration_s,
                     .reduction = config_.reduction,
                     .all_products = !config_.report_path.empty(),
                     .means = {.host = host_,
                               .array = layout,
                               .phase_centre = tracking.centre,
                               .earth = config_.earth,
                               .history = config_.history,
                               .keep_edge = config_.keep_edge,
                               .rotation = tracking.before_filter ? nullptr : tracking.table,
                               .words = config_.words}});
  nodes_ = voltage_nodes(graph_, correlated.means);
  if (correlated.reduced != correlated.means)
    reduction_ = graph_.members()[correlated.reduced].node.get();
  for (const auto& [name, node] : nodes_before(graph_, correlated.means))
    if (const auto* x = dynamic_cast<const XEngineNode*>(node)) x_engines_.push_back(x);
  add_outputs(correlated);
}

void Correlation::add_outputs(const CorrelatorOutputs& correlated) {
  const AskVoltageFacts facts = [nodes = nodes_] { return facts_of(nodes); };
  // Published in this order: no page without its file, and a page that cannot be written leaves a file that is whole.
  auto file = std::make_unique<VisibilitySinkNode>(VisibilitySinkConfig{
      config_.output, config_.overwrite, false, config_.writer, facts, source_->live()});
  file_ = file.get();
  graph_.connect(correlated.reduced, graph_.add("visibilities", std::move(file)), kPageWaits);
  if (config_.report_path.empty()) return;
  auto page =
      std::make_unique<VisibilitySinkNode>(VisibilitySinkConfig{.path = config_.report_path,
                                                                .overwrite = config_.overwrite,
                                                                .page = true,
                                                                .facts = facts,
                                                                .words = config_.words});
  graph_.connect(correlated.means, graph_.add("report", std::move(page)), kPageWaits);
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
                fmt::format("{} KiB needed for {} and {}", host_bytes >> 10,
                            core::counted(inputs_, "input"), core::counted(channels_, "channel")),
                "at most " + core::byte_text(config_.memory_bytes),
                "raise `memory_bytes` or lower `channels`");
}

CorrelateSummary Correlation::run(const std::stop_token& stop) {
  const core::VoltageDescription& description = source_->sequence().description();
  add_engines();
  WatchedRun watched(std::move(graph_), run_options(reporter_, description.rate_hz), config_.watch,
                     {"means"});
  engine::Run& run = *watched;
  check_memory(run);
  formats::refuse_existing(config_.output, config_.overwrite);
  if (!config_.report_path.empty())
    formats::refuse_existing(config_.report_path, config_.overwrite);
  if (config_.opened) config_.opened(description);
  if (const std::string constant = constant_text(source_->constant_channels(), input_names_);
      !constant.empty())
    host_->shared().log(core::LogLevel::warning,
                        "never change, flagged (`keep_constant` keeps them): " + constant);
  if (source_->unchanging_spectra() > 0)
    host_->shared().log(core::LogLevel::warning, unchanging_text(source_->unchanging_spectra()));
  if (gains_ && !config_.piped) (void)gains_->values(stop);  // before other memory is allocated
  try {
    watched.go(stop);
  } catch (...) {
    if (file_->published())
      host_->shared().log(core::LogLevel::warning,
                          config_.output + " is complete, its page was not written");
    rethrow_of_stage(run.failed_node(), !filtered_);
  }
  return summary(run);
}

CorrelateSummary Correlation::summary(const engine::Run& run) const {
  const VoltageFacts facts = facts_of(nodes_);
  const Sums& sums = x_engines_.front()->sums();
  const core::VoltageDescription& voltages = sums.spectra.voltages;
  CorrelateSummary s;
  add_facts(facts, s);
  s.inputs = inputs_;
  const std::size_t group = config_.reduction.average_time;
  s.channels = kept_.count / config_.reduction.average_channels;
  s.integrations = reduction_ != nullptr ? reduction_->counters().at("integrations")
                                         : x_engines_.front()->counters().at("integrations");
  s.spectra_per_integration = sums.integration_spectra * group;
  s.integration_s = static_cast<double>(s.spectra_per_integration) *
                    static_cast<double>(sums.spectra.hop_samples) / voltages.rate_hz.value();
  s.elapsed_s = s.setup_s = reporter_.elapsed_s();
  double since_ready_s = s.elapsed_s;
  for (const XEngineNode* x : x_engines_)
    since_ready_s = std::min(since_ready_s, x->since_ready().elapsed_s());
  s.setup_s -= since_ready_s;
  s.stream_s = static_cast<double>(s.samples) / voltages.rate_hz.value();
  s.gap_samples = facts.counts.at("gap_samples");
  s.overflowed = facts.counts.at("overflowed");
  for (std::size_t d = 0; d < devices_.size(); ++d)
    s.devices.push_back({devices_[d]->name(), nodes_.f_engines[d]->counters().at("sent_bytes")});
  if (!config_.keep_edge)
    for (const std::size_t edge : sums.spectra.edge_channels)
      if (edge >= kept_.first && edge < kept_.first + kept_.count) s.edge_channels.push_back(edge);
  s.antenna_names = source_->sequence().description().antenna_names;
  s.input_names = input_names_;
  s.backend = sums.spectra.kernels;
  s.memory_bytes = run.bytes().host_bytes;
  s.profile = run.profile();
  return s;
}

}  // namespace

CorrelateSummary correlate_voltages(
    const CorrelateConfig& config,
    const std::vector<std::shared_ptr<const device::Device>>& devices,
    const ProgressCallback& progress, std::stop_token stop) {
  core::check(config);
  if (!config.writer) formats::require_visibility_name("output", config.output);
  return Correlation(config, devices, progress).run(stop);
}

}  // namespace tautline::pipeline
