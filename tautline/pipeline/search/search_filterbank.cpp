#include "tautline/pipeline/search/search_filterbank.h"

#include <utility>

#include "tautline/engine/run.h"
#include "tautline/pipeline/search/candidate_sink_node.h"
#include "tautline/pipeline/search/filterbank_input.h"
#include "tautline/pipeline/search/search_node.h"
#include "tautline/pipeline/search/search_plan.h"
#include "tautline/pipeline/search/search_report.h"

namespace tautline::pipeline {

SearchSummary search_filterbank(const SearchConfig& config,
                                std::shared_ptr<const device::Device> device,
                                const ProgressCallback& progress,
                                const std::function<void(const std::string&)>& announce,
                                std::stop_token stop) {
  core::check(config);
  // Other endings, and files that exist, are refused before anything is read.
  if (config.beams)
    formats::candidates::beams_to_text(formats::candidates::format_of(config.output), {}, {}, 0);
  auto sink = std::make_unique<CandidateSinkNode>(
      CandidateFiles{config.output, config.overwrite, config.plot_folder, config.max_beams});
  const auto input = open_filterbanks(config, config.beams, false, *device);
  auto source = make_filterbank_source(input, 0);
  const FilterbankStream& stream = source->stream();
  const auto plan = std::make_shared<const SearchPlan>(config, stream.description(), stream.parts,
                                                       stream.left_out, device);
  source->read_for(plan->parts(), plan->block_samples());
  SearchReport report(config, input, plan, device);
  report.expect();
  if (announce) announce(report.plan_text());

  auto searching = std::make_unique<SearchNode>(node_config(plan), device);
  const SearchRunNodes nodes{source.get(), searching.get(), sink.get()};
  sink->describe = [&](const std::stop_token& stopped) { return report.describe(nodes, stopped); };
  engine::Graph graph;
  const auto filterbank = graph.add("filterbank", std::move(source));
  const auto pulses = graph.add("search", std::move(searching));
  graph.connect(filterbank, pulses);
  graph.connect(pulses, graph.add("candidates", std::move(sink)));
  // Each pass over the input is a part of the way.
  ProgressReporter reporter(progress);
  engine::RunOptions options;
  options.progress = [&](std::uint64_t samples, std::uint64_t total) {
    const double done = static_cast<double>(samples) / static_cast<double>(total) *
                        static_cast<double>(input->samples());
    reporter.report(static_cast<std::uint64_t>(done), input->samples(),
                    done / input->description().rate_hz.value());
  };
  engine::Run run(std::move(graph), std::move(options));
  run.go(stop);
  SearchSummary& summary = report.summary();
  summary.paths = nodes.sink->paths();
  summary.profile = run.profile();
  return std::move(summary);
}

}  // namespace tautline::pipeline
