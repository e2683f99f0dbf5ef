#include "tautline/pipeline/voltages/channelize_voltages.h"

#include <nlohmann/json.hpp>

#include "tautline/core/error.h"
#include "tautline/pipeline/device_memory.h"
#include "tautline/pipeline/graph_run.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/f_engine_node.h"
#include "tautline/pipeline/voltages/measure_gains.h"
#include "tautline/pipeline/voltages/rethrow_of_stage.h"
#include "tautline/pipeline/voltages/spectra_record.h"
#include "tautline/pipeline/voltages/voltage_sink_node.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

// What the output's own format has no room for, beside it as OUTPUT.json.
std::string record(const ChannelizeConfig& config, const device::Device& device,
                   const ChannelizeSummary& s, const Spectra& spectra) {
  nlohmann::ordered_json object{{"schema", "tautline.channelize.record"},
                                {"version", 1},
                                {"history", config.history},
                                {"device", device.name()},
                                {"kernels", s.backend},
                                {"inputs", config.inputs},
                                {"samples", s.samples},
                                {"spectra", s.spectra},
                                {"invalid_spectra", s.invalid_spectra},
                                {"lost_samples", s.damage.lost_samples},
                                {"dropped_samples", s.damage.dropped_samples},
                                {"clipped", s.clipped},
                                {"not_finite", s.not_finite}};
  add_channels(object, spectra);
  return object.dump(1) + "\n";
}

void check_memory(std::size_t needed, std::size_t limit) {
  if (needed <= limit) return;
  throw Error(ErrorKind::memory, "memory", std::to_string(needed >> 10) + " KiB needed",
              "at most " + std::to_string(limit >> 10) + " KiB",
              "raise `memory_bytes` or lower `channels`");
}

}  // namespace

ChannelizeSummary channelize_voltages(const ChannelizeConfig& config,
                                      std::shared_ptr<const device::Device> device,
                                      const ProgressCallback& progress, std::stop_token stop) {
  core::check(config);
  ProgressReporter reporter(progress);
  const stream::SequenceOptions options{config.reader, config.start_s, config.duration_s};
  auto source = std::make_unique<VoltageSourceNode>(
      VoltageSourceConfig{config.inputs, options, /*unbroken=*/true});
  const stream::VoltageSequence& sequence = source->sequence();
  const core::VoltageDescription description = sequence.description();
  FilterConfig filter = config.filter;
  if (!is_filtered(description, filter))
    throw Error(ErrorKind::unsupported, config.inputs.front(),
                std::to_string(description.channels) + " channels already",
                "voltages that are not channelized", "give `fine` channels inside each of them");
  if (config.opened) config.opened(description);
  filter.output = form_wanted(config);
  source->set_block_samples(
      choose_block_samples(sequence, filter, config.memory_bytes, device->compiles()));
  const bool rounded = filter.output == stages::channelize::Output::corner_turned_ci8 ||
                       filter.output == stages::channelize::Output::corner_turned_ci4;
  const auto gains = std::make_shared<std::vector<float>>();

  ChannelizeSummary s;
  const VoltageSourceNode& voltages = *source;
  auto f_engine = std::make_unique<FEngineNode>(
      FEngineNodeConfig{.device = device, .filter = filter, .gains = gains});
  const FEngineNode& f = *f_engine;
  const VoltageSinkNode* file = nullptr;
  const auto summarise = [&] {
    const engine::Counters counters = f.counters(), written = file->counters();
    s.inputs = f.f_engine().inputs();
    s.channels = f.f_engine().channels();
    s.spectra = counters.at("spectra");
    s.clipped = counters.at("clipped");
    s.not_finite = counters.at("not_finite");
    s.samples = voltages.counters().at("samples");
    s.damage = voltages.sequence().damage();
    s.backend = f.f_engine().backend();
    s.written = written.at("written");
    s.invalid_spectra = written.at("invalid_spectra");
  };
  auto sink = std::make_unique<VoltageSinkNode>(config, [&](const Spectra& spectra) {
    summarise();
    return record(config, *device, s, spectra);
  });
  file = sink.get();
  engine::Graph graph;
  const engine::NodeId source_id = graph.add("voltages", std::move(source));
  const engine::NodeId f_id = graph.add("f", std::move(f_engine));
  graph.connect(source_id, f_id);
  graph.connect(f_id, graph.add("spectra", std::move(sink)), {.depth = 1});
  engine::Run run(std::move(graph), run_options(reporter, description.rate_hz));
  check_memory(run.bytes().host_bytes, config.memory_bytes);
  const StageMemory stages[] = {{"unpack and channelize", run.bytes().device_bytes}};
  require_device_memory(*device, stages, description.inputs(), channels_of(description, filter));
  if (rounded) {
    // Always on the host, so that they do not depend on the device.
    const auto host = device->compiles() ? device::open({}) : device;
    *gains = measure_gains(config.inputs, options, filter, host, *host->make_queue(),
                           config.memory_bytes, stop);
  }
  try {
    run.go(stop);
  } catch (...) {
    rethrow_of_stage(run.failed_node(), false);
  }
  s.elapsed_s = reporter.elapsed_s();
  s.stream_s = static_cast<double>(s.samples) / description.rate_hz.value();
  s.profile = run.profile();
  return s;
}

}  // namespace tautline::pipeline
