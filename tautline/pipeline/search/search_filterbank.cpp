#include "tautline/pipeline/search/search_filterbank.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "tautline/engine/run.h"
#include "tautline/pipeline/graph_run.h"
#include "tautline/pipeline/search/candidate_sink_node.h"
#include "tautline/pipeline/search/filterbank_input.h"
#include "tautline/pipeline/search/search_node.h"
#include "tautline/pipeline/search/search_plan.h"
#include "tautline/pipeline/search/search_report.h"

namespace tautline::pipeline {

namespace {

// What a search reads, how, and what it says of that.
struct PlannedSearch {
  PlannedSearch(const SearchConfig& config, const std::shared_ptr<const device::Device>& device,
                const std::function<void(const std::string&)>& announce)
      : input(open_filterbanks(config, config.beams, false, *device)),
        source(make_filterbank_source(input, 0)),
        plan(std::make_shared<const SearchPlan>(config, source->stream().description(),
                                                source->stream().parts, source->stream().left_out,
                                                device)),
        report(config, input, plan, device) {
    report.expect();
    if (announce) announce(report.plan_text());
  }

  std::shared_ptr<const FilterbankInput> input;
  std::unique_ptr<FilterbankSourceNode> source;
  std::shared_ptr<const SearchPlan> plan;
  SearchReport report;
};

// A node that there may be between two others: what the next one reads.
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
  return std::move(PlannedSearch(config, device, announce).report.summary());
}

SearchSummary search_filterbank(const SearchConfig& config,
                                std::shared_ptr<const device::Device> device,
                                const ProgressCallback& progress,
                                const std::function<void(const std::string&)>& announce,
                                std::stop_token stop) {
  core::check(config);
  // Other endings, and files that exist, are refused before anything is read.
  if (config.beams && !config.output.empty())
    formats::candidates::beams_to_text(formats::candidates::format_of(config.output), {}, {}, 0);
  auto sink = std::make_unique<CandidateSinkNode>(CandidateFiles{
      config.output, config.overwrite, config.plot_folder, config.cutout_folder, config.max_beams});
  PlannedSearch planned(config, device, announce);
  planned.source->read_for(planned.plan->parts(), planned.plan->block_samples());

  auto searching = std::make_unique<SearchNode>(node_config(planned.plan), device);
  auto masking = config.iqrm ? std::make_unique<IqrmNode>(config.iqrm_limits) : nullptr;
  auto injecting = config.inject.every_s > 0
                       ? std::make_unique<InjectNode>(config.inject, config.dm_constant)
                       : nullptr;
  const SearchRunNodes nodes{planned.source.get(), searching.get(), sink.get(), masking.get(),
                             injecting.get()};
  sink->describe = [&](const std::stop_token& stopped) {
    return planned.report.describe(nodes, stopped);
  };
  engine::Graph graph;
  const auto filterbank = graph.add("filterbank", std::move(planned.source));
  const auto pulses = graph.add("search", std::move(searching));
  engine::Port from = add_after(graph, filterbank, "injected", std::move(injecting));
  from = add_after(graph, from, "iqrm", std::move(masking));
  graph.connect(from, pulses);
  graph.connect(pulses, graph.add("candidates", std::move(sink)));
  // Each pass over the input is a part of the way.
  ProgressReporter reporter(progress);
  engine::RunOptions options;
  options.progress = [&](std::uint64_t samples, std::uint64_t total) {
    const double done = static_cast<double>(samples) / static_cast<double>(total) *
                        static_cast<double>(planned.input->samples());
    reporter.report(static_cast<std::uint64_t>(done), planned.input->samples(),
                    done / planned.input->description().rate_hz.value());
  };
  WatchedRun run(std::move(graph), std::move(options), config.watch, {"filterbank", "search"});
  run.go(stop);
  SearchSummary& summary = planned.report.summary();
  summary.paths = nodes.sink->paths();
  summary.profile = run->profile();
  return std::move(summary);
}

}  // namespace tautline::pipeline
