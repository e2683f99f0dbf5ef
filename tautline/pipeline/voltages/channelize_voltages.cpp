#include "tautline/pipeline/voltages/channelize_voltages.h"

#include "tautline/core/byte_text.h"
#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/device_memory.h"
#include "tautline/pipeline/graph_run.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/empty_text.h"
#include "tautline/pipeline/voltages/engines.h"
#include "tautline/pipeline/voltages/host_beside.h"
#include "tautline/pipeline/voltages/make_voltage_sink.h"
#include "tautline/pipeline/voltages/measure_gains.h"
#include "tautline/pipeline/voltages/rethrow_of_stage.h"
#include "tautline/pipeline/voltages/voltage_nodes.h"
#include "tautline/pipeline/voltages/voltage_sink_node.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

void check_memory(std::size_t needed, std::size_t limit) {
  if (needed <= limit) return;
  throw Error(ErrorKind::memory, "memory", std::to_string(needed >> 10) + " KiB needed",
              "at most " + core::byte_text(limit), "raise `memory_bytes` or lower `channels`");
}

// Without times.
ChannelizeSummary summary_of(const VoltageNodes& nodes, const VoltageSinkNode& file,
                             const core::VoltageDescription& description) {
  const FEngine& f = nodes.f_engines.front()->f_engine();
  ChannelizeSummary s;
  add_facts(facts_of(nodes), s);
  s.inputs = f.inputs();
  s.channels = f.channels();
  s.antenna_names = description.antenna_names;
  s.input_names = names_of_inputs(description);
  s.backend = f.backend();
  s.written = file.counters().at("written");
  s.invalid_spectra = file.counters().at("invalid_spectra");
  s.stream_s = static_cast<double>(s.samples) / description.rate_hz.value();
  return s;
}

}  // namespace

ChannelizeSummary channelize_voltages(const ChannelizeConfig& config,
                                      std::shared_ptr<const device::Device> device,
                                      const ProgressCallback& progress, std::stop_token stop) {
  core::check(config);
  require_voltage_sink_name("output", config.output);
  ProgressReporter reporter(progress);
  const stream::SequenceOptions options{config.reader, config.start_s, config.duration_s,
                                        config.keep_constant};
  auto source = std::make_unique<VoltageSourceNode>(
      VoltageSourceConfig{config.inputs, options, /*unbroken=*/true}, config.piped);
  const stream::VoltageStream& sequence = source->sequence();
  const core::VoltageDescription description = sequence.description();
  FilterConfig filter = config.filter;
  if (!is_filtered(description, filter))
    throw Error(ErrorKind::unsupported, config.inputs.front(),
                std::to_string(description.channels) + " channels already",
                "voltages that are not channelized", "give `fine` channels inside each of them");
  filter.output = form_wanted(config);
  source->set_block_samples(
      choose_block_samples(sequence, filter, config.memory_bytes, device->compiles()));
  const bool rounded = filter.output == stages::channelize::Output::corner_turned_ci8 ||
                       filter.output == stages::channelize::Output::corner_turned_ci4;
  // Gains are always measured on the host, so that they do not depend on the device.
  const auto live = source->live_stream();
  const auto gains = std::make_shared<Gains>(
      [&, samples = source->block_samples()](const std::stop_token& stopped) {
        const auto host = host_beside(device);
        if (live)
          return measure_gains(*live, samples, config.keep_constant, filter, host,
                               config.memory_bytes, stopped);
        return measure_gains(config.inputs, options, filter, host, config.memory_bytes, stopped);
      });
  engine::Graph graph;
  const engine::NodeId source_id = graph.add("voltages", std::move(source));
  const engine::Port f_id = add_f_engines(graph, "f", source_id,
                                          {.devices = {device},
                                           .filter = filter,
                                           .gains = rounded ? gains : nullptr,
                                           .memory_bytes = config.memory_bytes})
                                .front();
  use_short_blocks(graph, f_id);
  const VoltageNodes nodes = voltage_nodes(graph, f_id);
  auto sink = std::make_unique<VoltageSinkNode>(config, [nodes] { return facts_of(nodes); });
  const VoltageSinkNode& file = *sink;
  graph.connect(f_id, graph.add("spectra", std::move(sink)));
  WatchedRun watched(std::move(graph), run_options(reporter, description.rate_hz), config.watch,
                     {});
  engine::Run& run = *watched;
  check_memory(run.bytes().host_bytes, config.memory_bytes);
  const StageMemory stages[] = {{"unpack and channelize", run.bytes().device_bytes}};
  require_device_memory(*device, stages, description.inputs(), channels_of(description, filter));
  formats::refuse_existing(config.output, config.overwrite);
  if (config.opened) config.opened(description);
  if (rounded && !live) (void)gains->values(stop);
  try {
    watched.go(stop);
  } catch (...) {
    rethrow_of_stage(run.failed_node(), false);
  }
  ChannelizeSummary s = summary_of(nodes, file, description);
  s.elapsed_s = reporter.elapsed_s();
  s.profile = run.profile();
  return s;
}

}  // namespace tautline::pipeline
