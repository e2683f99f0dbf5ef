#include "tautline/pipeline/voltages/node_types.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/input_stream.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/checkpoint.h"
#include "tautline/pipeline/graph_streams.h"
#include "tautline/pipeline/pace.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/buffer_type.h"
#include "tautline/pipeline/voltages/channelize_config.h"
#include "tautline/pipeline/voltages/correlate_config.h"
#include "tautline/pipeline/voltages/engines.h"
#include "tautline/pipeline/voltages/host_beside.h"
#include "tautline/pipeline/voltages/make_voltage_sink.h"
#include "tautline/pipeline/voltages/measure_gains.h"
#include "tautline/pipeline/voltages/packets_type.h"
#include "tautline/pipeline/voltages/power_node.h"
#include "tautline/pipeline/voltages/receivers_type.h"
#include "tautline/pipeline/voltages/record_sink_node.h"
#include "tautline/pipeline/voltages/trigger_sender_node.h"
#include "tautline/pipeline/voltages/visibility_sink_node.h"
#include "tautline/pipeline/voltages/voltage_nodes.h"
#include "tautline/pipeline/voltages/voltage_sink_node.h"
#include "tautline/stream/piped_input.h"
#include "tautline/stream/spead_visibilities.h"

namespace tautline::pipeline {

using core::Error;
using core::ErrorKind;

namespace {

constexpr auto self = [](auto& config) -> auto& {
  return config;
};

}  // namespace

// The fields of the commands' Configs that pipeline files can set.
struct VoltageFiles : CorrelateConfig {
  std::size_t block_samples = 0;  ///< 0: by bytes
  double rate = 0;                ///< times real time; 0: as fast as they are taken
};
const core::Fields<VoltageFiles>& fields(const VoltageFiles&) {
  using C = VoltageFiles;
  static const auto all = [] {
    core::Fields<C> list;
    list.add(
        {.name = "files", .help = "voltage files, consecutive or receivers", .separator = '\n'},
        &C::inputs, core::file_names());
    return list
        .include("", self,
                 some_of<C>(fields_of<CorrelateConfig>(),
                            {"start_s", "duration_s", "keep_constant", "reader."}))
        .add({.name = "block_samples",
              .help = "samples (times) in a block; 0: what suits the filter bank that reads them, "
                      "else about 16 MiB, for a GPU 64"},
             &C::block_samples)
        .add(rate_field(), &C::rate, core::between(0, 1e6));
  }();
  return all;
}

struct FilterBank : CorrelateConfig {};
const core::Fields<FilterBank>& fields(const FilterBank&) {
  static const auto all = some_of<FilterBank>(
      fields_of<CorrelateConfig>(),
      {"filter.", "requantise", "gains", "settle_s", "follow_gains", "delays_path", "array_path"});
  return all;
}

struct Correlator : CorrelateConfig {};
const core::Fields<Correlator>& fields(const Correlator&) {
  static const auto all = some_of<Correlator>(
      fields_of<CorrelateConfig>(),
      {"integration_s", "channel_range", "average_channels", "average_time", "autos_only",
       "keep_edge", "array_path", "delays_path", "phase_centre", "earth."});
  return all;
}

struct OutputFile {
  std::string path;
};
const core::Fields<OutputFile>& fields(const OutputFile&) {
  static const auto all = core::Fields<OutputFile>().add(
      {.name = "path", .help = "the file that is written"}, &OutputFile::path);
  return all;
}

struct VisibilityFile : OutputFile {
  PartLimits parts;
};
const core::Fields<VisibilityFile>& fields(const VisibilityFile&) {
  static const auto all = core::Fields<VisibilityFile>()
                              .include("", self, fields_of<OutputFile>())
                              .include("", &VisibilityFile::parts, fields_of<PartLimits>());
  return all;
}

// Visibilities to other programs.
struct VisibilityStream {
  std::string to, interface;
  std::size_t packet_bytes = 8192;
  double gbit_per_s = 1;
};
const core::Fields<VisibilityStream>& fields(const VisibilityStream&) {
  using C = VisibilityStream;
  static const auto all =
      core::Fields<C>()
          .add({.name = "to",
                .help = "address to send to, udp://HOST:PORT, also of a multicast group"},
               &C::to)
          .add(
              {.name = "interface",
               .help = "address of the network interface by which packets to a multicast group go"},
              &C::interface)
          .add({.name = "packet_bytes",
                .unit = "bytes",
                .help = "of a heap in one packet, at most; 1400 for networks without jumbo frames"},
               &C::packet_bytes, core::between(64, 65'000))
          .add({.name = "gbit_per_s",
                .unit = "Gb/s",
                .help = "packets follow each other no faster; 0: as fast as they go"},
               &C::gbit_per_s, core::at_least(0));
  return all;
}

struct SpectraFile : ChannelizeConfig {
  PartLimits parts;
};
const core::Fields<SpectraFile>& fields(const SpectraFile&) {
  using C = SpectraFile;
  static const auto all =
      core::Fields<C>()
          .add({.name = "path", .help = "the file that is written"}, &C::output)
          .add({.name = "longest_gap_s",
                .unit = "s",
                .help = "gaps up to this length are zeros in the file, which the record beside it "
                        "lists as invalid; a longer one is an error, or begins another file"},
               &C::longest_gap_s, core::between(0, 1e6))
          .include("", &C::parts, fields_of<PartLimits>())
          .include("", self, some_of<C>(fields_of<ChannelizeConfig>(), {"integrate", "stokes"}));
  return all;
}

namespace {

std::unique_ptr<engine::Node> make_power(const PowerConfig& config, const NodeContext& context) {
  return std::make_unique<PowerNode>(host_beside(context.devices.front()), config);
}

// A pipe is read live, as the only input.
std::shared_ptr<formats::ForwardBytes> pipe_of(const VoltageFiles& config,
                                               const NodeContext& context) {
  const auto pipe = std::ranges::find_if(config.inputs, formats::is_stream);
  if (pipe == config.inputs.end()) return nullptr;
  if (config.inputs.size() > 1)
    throw Error(ErrorKind::config, "files", *pipe + " and others", "a pipe alone, or files",
                "send all of it by one pipe");
  if (pace_of(config.rate, context) > 0)
    throw Error(ErrorKind::config, "files", *pipe + ", as if live", "files",
                "data of a pipe come when they are sent: give no rate");
  refuse_planned_pipe(context, "files", *pipe);
  return stream::open_pipe(*pipe, context.memory_bytes, context.stop);
}

std::unique_ptr<engine::Node> make_source(const VoltageFiles& config, const NodeContext& context) {
  const double pace = pace_of(config.rate, context);
  auto node = std::make_unique<VoltageSourceNode>(
      VoltageSourceConfig{.files = config.inputs,
                          .options = {.reader = config.reader,
                                      .start_s = config.start_s,
                                      .duration_s = config.duration_s,
                                      .keep_constant = config.keep_constant},
                          .rate = pace,
                          .log = context.log},
      pipe_of(config, context));
  std::size_t samples = source_block_samples(node->sequence(), context.memory_bytes,
                                             context.devices.front()->compiles());
  const bool live = node->sequence().live();
  if (pace > 0 || live)  // live data come in short pieces
    samples = paced_block_samples(
        samples, node->sequence().description().rate_hz.value() * (pace > 0 ? pace : 1),
        kLongestLive_s);
  const auto total =
      live ? UINT64_MAX : std::max<std::uint64_t>(1, node->sequence().total_samples());
  node->set_block_samples(config.block_samples > 0
                              ? config.block_samples
                              : static_cast<std::size_t>(std::min<std::uint64_t>(samples, total)),
                          config.block_samples > 0);
  return node;
}

// Nodes whose results would change if the stream began in its middle.
void require_resumable(const FilterBank& config, const NodeContext& context,
                       const RawVoltages& voltages, const SharedGains& gains) {
  const auto refuse = [](const char* field, const std::string& value, const char* expected,
                         const char* advice) {
    throw Error(ErrorKind::config, field, value, expected, advice);
  };
  const std::string given = "given in a run with a checkpoint";
  if (voltages.live)
    refuse("inputs", "voltages of a pipe", "files, in a run with a checkpoint", "");
  if (!config.delays_path.empty())
    refuse("delays_path", given, "a filter bank without it",
           "rotate the fringes behind the correlator: its `phase_centre`");
  if (config.filter.oversample_numerator != config.filter.oversample_denominator)
    refuse("oversample", given, "a filter bank that is sampled critically", "");
  if (gains && gains->schedule().changes())
    refuse(config.follow_gains ? "follow_gains" : "settle_s", given, "gains that stay", "");
  if (context.devices.size() > 1)
    refuse("device", std::to_string(context.devices.size()) + " devices",
           "one, in a run with a checkpoint", "");
}

// Each device has an output. Gains of files are measured now, on the host, so that they do not depend on the device.
std::vector<engine::Port> add_filter_bank(const FilterBank& config, engine::Graph& graph,
                                          const std::string& name,
                                          const std::vector<engine::Port>& inputs,
                                          const engine::EdgeOptions& edge,
                                          const NodeContext& context) {
  FEnginesConfig f{.devices = context.devices,
                   .filter = config.filter,
                   .memory_bytes = context.memory_bytes,
                   .log = context.log};
  f.filter.output = output_of(config.requantise);
  const engine::Stream stream = stream_at(graph, inputs.front());
  const auto& voltages = stream.detail<RawVoltages>();
  const core::VoltageDescription& description = voltages.description;
  f.tracking = choose_tracking(config.delays_path, {}, array_for(config.array_path, description),
                               description.start, voltages.end);
  if (context.log && !f.tracking.warning.empty())
    context.log(core::LogLevel::warning, name + ": " + f.tracking.warning);
  f.host = host_beside(context.devices.front());
  f.gains = make_gains(config, description, f.filter, f.tracking.before_filter,
                       [voltages, samples = stream.max_samples, filter = f.filter, host = f.host,
                        memory_bytes = context.memory_bytes](const std::stop_token& stop) {
                         return voltages.live ? measure_gains(*voltages.live, samples,
                                                              voltages.options.keep_constant,
                                                              filter, host, memory_bytes, stop)
                                              : measure_gains(voltages.files, voltages.options,
                                                              filter, host, memory_bytes, stop);
                       });
  if (context.checkpoint) {
    require_resumable(config, context, voltages, f.gains);
    f.from = context.checkpoint->next();
  }
  if (f.gains && !voltages.live) (void)f.gains->values();
  return add_f_engines(graph, name, inputs.front(), std::move(f), edge);
}

// The sums on the devices, their means on the host, and the reduction where one is configured. The last node has the
// name.
std::vector<engine::Port> add_correlator(const Correlator& config, engine::Graph& graph,
                                         const std::string& name,
                                         const std::vector<engine::Port>& inputs,
                                         const engine::EdgeOptions& edge,
                                         const NodeContext& context) {
  const engine::Stream stream = stream_at(graph, inputs.front());
  const auto& spectra = stream.detail<Spectra>();
  const core::VoltageDescription& voltages = spectra.voltages;
  XEnginesConfig x{.devices = context.devices,
                   .integration_s = config.integration_s,
                   .reduction = config.reduction};
  x.means.host = host_beside(context.devices.front());
  x.means.array = array_for(config.array_path, voltages);
  x.means.earth = config.earth;
  x.means.history = context.history;
  x.means.keep_edge = config.keep_edge;
  if (!config.phase_centre.empty() || !config.delays_path.empty()) {
    if (config.phase_centre.empty())
      throw core::Error(core::ErrorKind::config, "phase_centre", "not given",
                        "the name in `delays_path`",
                        "to delay the voltages instead, give `delays_path` to the filter bank");
    if (spectra.phase_centre.tracked)
      throw core::Error(core::ErrorKind::config, "phase_centre", config.phase_centre,
                        "spectra that are not tracked already",
                        "take `delays_path` from the filter bank, or this from the correlator");
    const Tracking tracking =
        choose_tracking(config.delays_path, config.phase_centre, x.means.array, voltages.start,
                        spectra.end, config.earth);
    x.means.phase_centre = tracking.centre;
    x.means.rotation = tracking.table;
  }
  const bool reduced = config.reduction.after_correlation();
  return {add_x_engines(graph, {name + ".sums", reduced ? name + ".means" : name, name}, inputs,
                        std::move(x), edge)
              .reduced};
}

AskVoltageFacts facts_before(const engine::Graph& graph, const engine::Port& output) {
  return [nodes = voltage_nodes(graph, output)] { return facts_of(nodes); };
}

// Whether files may be replaced. A run with a checkpoint has several; the one at which it was killed may exist although
// the checkpoint does not list it.
bool may_replace(const FileParts& parts, const NodeContext& context) {
  if (!context.checkpoint) return context.overwrite;
  if (!parts.several())
    throw Error(ErrorKind::config, "each_s", "not given",
                "several files, in a run with a checkpoint",
                "set it: what is whole stays, and the run goes on behind it");
  return context.overwrite || context.checkpoint->goes_on();
}

std::unique_ptr<engine::Node> make_visibility_file(const VisibilityFile& config,
                                                   const engine::Graph& graph,
                                                   const engine::Port& output,
                                                   const NodeContext& context) {
  formats::require_visibility_name("path", config.path);
  const FileParts parts(config.path, config.parts);
  const bool overwrite = may_replace(parts, context);
  parts.require_can_be_written("path", overwrite);
  return std::make_unique<VisibilitySinkNode>(
      VisibilitySinkConfig{.path = config.path,
                           .overwrite = overwrite,
                           .facts = facts_before(graph, output),
                           .live = voltage_nodes(graph, output).source->live(),
                           .parts = config.parts,
                           .checkpoint = context.checkpoint,
                           .log = context.log});
}

std::unique_ptr<engine::Node> make_visibility_page(const OutputFile& config,
                                                   const engine::Graph& graph,
                                                   const engine::Port& output,
                                                   const NodeContext& context) {
  formats::require_can_be_written("path", config.path, context.overwrite);
  return std::make_unique<VisibilitySinkNode>(
      VisibilitySinkConfig{.path = config.path,
                           .overwrite = context.overwrite,
                           .page = true,
                           .facts = facts_before(graph, output)});
}

std::unique_ptr<engine::Node> make_visibility_stream(const VisibilityStream& config,
                                                     const engine::Graph& graph,
                                                     const engine::Port& output,
                                                     const NodeContext&) {
  const stream::SpeadVisibilitiesConfig spead{.to = stream::parse_endpoint("to", config.to),
                                              .interface = config.interface,
                                              .packet_bytes = config.packet_bytes,
                                              .gbit_per_s = config.gbit_per_s};
  if (spead.to.transport != stream::Endpoint::Transport::udp)
    throw core::Error(core::ErrorKind::config, "to", config.to, "udp://HOST:PORT");
  return std::make_unique<VisibilitySinkNode>(
      VisibilitySinkConfig{.path = {},
                           .writer =
                               [spead](const formats::VisibilityDescription& description) {
                                 return stream::send_visibilities(spead, description);
                               },
                           .facts = facts_before(graph, output)});
}

std::unique_ptr<engine::Node> make_spectra_file(const SpectraFile& config,
                                                const engine::Graph& graph,
                                                const engine::Port& output,
                                                const NodeContext& context) {
  ChannelizeConfig file = config;
  require_voltage_sink_name("path", file.output);
  const FileParts parts(file.output, config.parts);
  file.overwrite = may_replace(parts, context);
  parts.require_can_be_written("path", file.overwrite);
  if (!parts.several())
    formats::require_can_be_written("path", file.output + ".json", context.overwrite);
  const engine::Stream stream = stream_at(graph, output);
  if (const SharedGains& gains = stream.detail<Spectra>().gains;
      gains && gains->schedule().changes())
    throw core::Error(core::ErrorKind::config, "inputs", "spectra whose gains change",
                      "spectra of gains that stay",
                      "take `settle_s` and `follow_gains` from the filter bank");
  use_short_blocks(graph, output);
  file.inputs = stream.detail<Spectra>().files;
  file.history = context.history;
  file.log = context.log;
  return std::make_unique<VoltageSinkNode>(file, facts_before(graph, output), config.parts,
                                           context.checkpoint);
}

}  // namespace

std::vector<NodeType> voltage_node_types() {
  return {
      node_type<VoltageFiles>("voltage_files", "antenna voltages from files of any format", 0,
                              make_source)
          .reading({"files"})
          .resuming(),
      receivers_node_type(),
      packets_node_type(),
      composite_type<FilterBank>("filter_bank",
                                 "voltages to spectra; spectra that come from files are handed on; "
                                 "of several devices each has an output",
                                 1, add_filter_bank)
          .reading({"delays_path", "array_path"})
          .resuming(),
      composite_type<Correlator>("correlator",
                                 "spectra to visibilities, a block for each integration",
                                 kAnyInputs, add_correlator)
          .reading({"delays_path", "array_path"})
          .drawn_live()
          .resuming(),
      node_type<PowerConfig>(
          "power",
          "spectra (not rounded ones) to a filterbank: the detected power of all "
          "antennas",
          1, make_power)
          .drawn_live(),
      sink_type<VisibilityFile>("visibility_file", "visibilities to .uvh5 or .ms", 1,
                                make_visibility_file)
          .writing({"path"})
          .resuming(),
      sink_type<OutputFile>("visibility_page",
                            "visibilities to an HTML page with fringes, spectra and data quality",
                            1, make_visibility_page)
          .writing({"path"}),
      sink_type<VisibilityStream>("visibility_stream",
                                  "visibilities over UDP, a heap of SPEAD 64-48 for each "
                                  "integration",
                                  1, make_visibility_stream),
      sink_type<SpectraFile>("spectra_file",
                             "spectra to .dada or .npy, their power to .fil (not rounded ones)", 1,
                             make_spectra_file)
          .writing({"path"})
          .resuming(),
      record_node_type(),
      buffer_node_type(),
      sink_type<TriggerSenderConfig>(
          "trigger_sender", "triggers over UDP, a datagram of JSON each", kAnyInputs,
          [](const TriggerSenderConfig& config, const engine::Graph&, const engine::Port&,
             const NodeContext&) { return std::make_unique<TriggerSenderNode>(config); })};
}

}  // namespace tautline::pipeline
