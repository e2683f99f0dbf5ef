#include "tautline/pipeline/search/search_filterbank.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/engine/run.h"
#include "tautline/pipeline/graph_run.h"
#include "tautline/pipeline/search/candidate_events_node.h"
#include "tautline/pipeline/search/candidate_sink_node.h"
#include "tautline/pipeline/search/empty_stretches.h"
#include "tautline/pipeline/search/filterbank_input.h"
#include "tautline/pipeline/search/filterbank_record.h"
#include "tautline/pipeline/search/piped_filterbank.h"
#include "tautline/pipeline/search/search_node.h"
#include "tautline/pipeline/search/search_plan.h"
#include "tautline/pipeline/search/search_report.h"

namespace tautline::pipeline {

namespace {

PipedFilterbank open_piped_search(const SearchConfig& config, const std::stop_token& stop) {
  for (const std::string* folder :
       {&config.plot_folder, &config.picture_folder, &config.cutout_folder})
    if (!folder->empty())
      throw core::Error(core::ErrorKind::config, "inputs", "a pipe, for pictures and cut-outs",
                        "a file, which can be read again", "write the stream to a file");
  return open_piped_filterbank(config, false, config.latency_s == 0 ? kPipedBlock : 0, stop);
}

// As long as it takes, as of a file.
SearchConfig as_planned(SearchConfig config) {
  if (config.piped && config.latency_s == 0) config.latency_s = -1;
  return config;
}

// The input of a search, its configuration, and its messages.
struct PlannedSearch {
  PlannedSearch(const SearchConfig& config, const std::shared_ptr<const device::Device>& device,
                const std::function<void(const std::string&)>& announce, std::stop_token stop)
      : piped(config.piped ? open_piped_search(config, stop) : PipedFilterbank{}),
        live(std::move(piped.source)),
        input(live ? piped.input : open_filterbanks(config, config.beams, false, *device)),
        source(live
                   ? nullptr
                   : make_filterbank_source(input, 0, config.samples_on_device ? device : nullptr)),
        plan(plan_of(as_planned(config), live ? live->stream() : source->stream(), device,
                     live ? live->source().block_samples() : 0)),
        report(config, input, plan, device) {
    const MemoryBound bound = memory_bound(*device);
    if (live && plan->passes().size() > 1)
      throw core::Error(
          core::ErrorKind::memory, bound.field,
          std::to_string(plan->passes().size()) + " passes over data that come once by a pipe",
          "one", bound.advice + ", try fewer DMs, or write them to a file");
    if (live) log_remarks(*input->beams.front().reader, *device);
    report.expect();
    if (announce) announce(report.plan_text());
  }
  static std::shared_ptr<const SearchPlan> plan_of(
      const SearchConfig& config, const FilterbankStream& stream,
      const std::shared_ptr<const device::Device>& device, std::size_t block_samples) {
    SearchConfig held = config;
    // So that the same latency gives the same of files.
    held.held_samples = stream.live ? stream.held_samples
                        : config.keep_constant
                            ? 0
                            : spectra_ahead(stream.description(), stream.left_out.front());
    return std::make_shared<const SearchPlan>(held, stream.description(), stream.parts,
                                              stream.left_out, device, block_samples);
  }

  PipedFilterbank piped;
  std::unique_ptr<LiveFilterbankNode> live;  // of a pipe, or
  std::shared_ptr<FilterbankInput> input;
  std::unique_ptr<FilterbankSourceNode> source;  // of files
  std::shared_ptr<const SearchPlan> plan;
  SearchReport report;
};

// An optional node between two others: the input of the next one.
engine::Port add_after(engine::Graph& graph, engine::Port from, const char* name,
                       std::unique_ptr<engine::Node> between) {
  if (!between) return from;
  const auto node = graph.add(name, std::move(between));
  graph.connect(from, node);
  return node;
}

}  // namespace

nlohmann::ordered_json noise_json(const SearchSummary& summary) {
  if (!summary.noise_of_width) return nullptr;
  return {{"width_samples", summary.noise_of_width->width},
          {"excess", summary.noise_of_width->excess}};
}

SearchSummary plan_search(const SearchConfig& config, std::shared_ptr<const device::Device> device,
                          const std::function<void(const std::string&)>& announce) {
  core::check(config);
  return std::move(PlannedSearch(config, device, announce, {}).report.summary());
}

SearchSummary search_filterbank(const SearchConfig& config,
                                std::shared_ptr<const device::Device> device,
                                const ProgressCallback& progress,
                                const std::function<void(const std::string&)>& announce,
                                std::stop_token stop, const SearchDrawing& drawing) {
  core::check(config);
  // Other endings, and files that exist, are refused before anything is read.
  if (config.beams && !config.output.empty())
    formats::candidates::beams_to_text(formats::candidates::format_of(config.output), {}, {}, 0);
  auto sink = std::make_unique<CandidateSinkNode>(CandidateFiles{
      config.output, config.overwrite, config.plot_folder, config.cutout_folder, config.max_beams});
  PlannedSearch planned(config, device, announce, stop);
  if (drawing.picture && !config.picture_folder.empty()) planned.report.name_pictures();
  const bool live = planned.live != nullptr;
  if (!live) planned.source->read_for(planned.plan->parts(), planned.plan->block_samples());
  const FilterbankSourceNode* read_by = live ? &planned.live->source() : planned.source.get();

  auto searching = std::make_unique<SearchNode>(node_config(planned.plan), device);
  auto masking = config.iqrm ? std::make_unique<IqrmNode>(config.iqrm_limits) : nullptr;
  auto injecting = config.inject.every_s > 0
                       ? std::make_unique<InjectNode>(config.inject, config.dm_constant)
                       : nullptr;
  const SearchRunNodes nodes{read_by, searching.get(), sink.get(), masking.get(), injecting.get()};
  sink->describe = [&](const std::stop_token& stopped) {
    if (live) {
      end_piped(*planned.input, read_by->counters()["samples"]);
      planned.report.input_ended();
    }
    return planned.report.describe(nodes, stopped);
  };
  sink->draw = [&, files = sink.get()](const std::stop_token& stopped) {
    planned.report.draw(nodes, *files, drawing, stopped);
  };
  engine::Graph graph;
  const auto filterbank = live ? graph.add("filterbank", std::move(planned.live))
                               : graph.add("filterbank", std::move(planned.source));
  const auto pulses = graph.add("search", std::move(searching));
  engine::Port from = add_after(graph, filterbank, "injected", std::move(injecting));
  from = add_after(graph, from, "iqrm", std::move(masking));
  graph.connect(from, pulses);
  graph.connect(pulses, graph.add("candidates", std::move(sink)));
  if (!config.events.empty())
    graph.connect(
        pulses, graph.add("events", std::make_unique<CandidateEventsNode>(
                                        config.events, config.overwrite, PartLimits{}, "events")));
  // Each pass over the input is a part of the way.
  ProgressReporter reporter(progress);
  engine::RunOptions options;
  options.progress = [&](std::uint64_t samples, std::uint64_t total) {
    if (live)
      return reporter.report(
          samples, 0, static_cast<double>(samples) / planned.input->description().rate_hz.value());
    const double done = static_cast<double>(samples) / static_cast<double>(total) *
                        static_cast<double>(planned.input->samples());
    reporter.report(static_cast<std::uint64_t>(done), planned.input->samples(),
                    done / planned.input->description().rate_hz.value());
  };
  WatchedRun run(std::move(graph), std::move(options), config.watch, {"filterbank", "search"});
  run.go(stop);
  SearchSummary& summary = planned.report.summary();
  summary.paths = nodes.sink->files();
  summary.profile = run->profile();
  return std::move(summary);
}

}  // namespace tautline::pipeline
