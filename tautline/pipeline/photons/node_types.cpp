#include "tautline/pipeline/photons/node_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/input_stream.h"
#include "tautline/formats/numbered_name.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/graph_streams.h"
#include "tautline/pipeline/pace.h"
#include "tautline/pipeline/photons/autocorrelate_fields.h"
#include "tautline/pipeline/photons/count_source_node.h"
#include "tautline/pipeline/photons/curve_output.h"
#include "tautline/pipeline/photons/curve_plan.h"
#include "tautline/pipeline/photons/curve_sink_node.h"
#include "tautline/pipeline/photons/fit_sink_node.h"

namespace tautline::pipeline {

struct CountFile {
  AutocorrelateConfig counts;
  std::size_t block_samples = 0;  ///< 0: by bytes
  double rate = 0;                ///< times real time; 0: as fast as they are taken
};
const core::Fields<CountFile>& fields(const CountFile&) {
  using C = CountFile;
  const auto path = [](auto& c) -> auto& {
    return c.counts.input;
  };
  const auto raw = [](auto& c) -> auto& {
    return c.counts.raw;
  };
  const auto sensors = [](auto& c) -> auto& {
    return c.counts.sensors;
  };
  static const auto all =
      core::Fields<C>()
          .add(
              {.name = "path",
               .help = "counts (NPY, raw, TIFF stacks) or photon time tags (PTU, PT3, SPC, "
                       "Photon-HDF5); a named pipe or - (standard input): raw, NPY, PTU, PT3; or "
                       "udp://HOST:PORT, of this machine or of a multicast group, to which packets "
                       "are sent"},
              path, core::plain_text<std::string>())
          .add(
              {.name = "layout", .help = "of packets: a preset's name or a TOML file"},
              [](auto& c) -> auto& { return c.counts.layout; }, core::plain_text<std::string>())
          .add(
              {.name = "first_count",
               .help = "of packets: count of the one that the run begins with; none: the first "
                       "that comes"},
              [](auto& c) -> auto& { return c.counts.first_count; },
              core::maybe(core::plain_text<std::uint64_t>()))
          .add(
              {.name = "window_samples",
               .help = "of packets: how far they may lie behind the latest one before they are "
                       "late; 0: 50 ms"},
              [](auto& c) -> auto& { return c.counts.window_samples; },
              core::plain_text<std::size_t>())
          .add(
              {.name = "wait_s",
               .unit = "s",
               .help = "of packets: how long the first ones are waited for; negative: until the "
                       "run is stopped"},
              [](auto& c) -> auto& { return c.counts.wait_s; }, core::plain_text<double>())
          .add(
              {.name = "silence_s",
               .unit = "s",
               .help = "of packets: ends when none has come for so long; negative: never"},
              [](auto& c) -> auto& { return c.counts.silence_s; }, core::plain_text<double>())
          .add(
              {.name = "longest_gap_s",
               .unit = "s",
               .help = "of packets: a count that jumps ahead by more ends the stream; shorter gaps "
                       "are lost samples"},
              [](auto& c) -> auto& { return c.counts.longest_gap_s; },
              core::plain_text<double>(core::between(0, 1e6)))
          .add(
              {.name = "interface",
               .help = "of packets: address of the network interface by which multicast groups "
                       "come"},
              [](auto& c) -> auto& { return c.counts.interface; }, core::plain_text<std::string>())
          .include("", &C::counts, input_fields())
          .include("", raw, raw_fields())
          .include("", sensors, fields(SensorConfig{}))
          .add({.name = "block_samples",
                .help = "samples (times) in a block; 0: about 16 MiB, for a GPU 64"},
               &C::block_samples)
          .add(rate_field(), &C::rate, core::between(0, 1e6));
  return all;
}

struct Autocorrelator {
  AutocorrelateConfig curves;
};
const core::Fields<Autocorrelator>& fields(const Autocorrelator&) {
  using C = Autocorrelator;
  static const auto all =
      core::Fields<C>()
          .include("", &C::curves, curve_fields())
          .include("", &C::curves,
                   some_of<AutocorrelateConfig>(fields(AutocorrelateConfig{}),
                                                {"every_s", "window_s", "save_state", "resume"}));
  return all;
}

struct CurveFile {
  std::string path;
  PartLimits parts;
};
const core::Fields<CurveFile>& fields(const CurveFile&) {
  static const auto all =
      core::Fields<CurveFile>()
          .add({.name = "path", .help = "G.csv, G.table.csv, G.zip or G.h5", .option = "output"},
               &CurveFile::path)
          .include("", &CurveFile::parts, fields_of<PartLimits>());
  return all;
}

struct FitFile : FitConfig {};
const core::Fields<FitFile>& fields(const FitFile&) {
  using C = FitFile;
  const auto self = [](auto& config) -> auto& {
    return config;
  };
  static const auto all =
      core::Fields<C>()
          .add({.name = "path", .help = "F.csv: one line for each curve", .option = "output"},
               &C::output)
          .add({.name = "page", .help = "F.html: curves, residuals and maps", .option = "report"},
               &C::report)
          .include("", self, fields(FitConfig{}));
  return all;
}

namespace {

std::unique_ptr<engine::Node> make_count_file(CountFile config, const NodeContext& context) {
  const std::string& path = config.counts.input;
  if (path.empty())
    throw core::Error(core::ErrorKind::config, "path", "not given", "a file or a pipe");
  const double pace = pace_of(config.rate, context);
  if (pace > 0 && (formats::is_stream(path) || path.starts_with("udp:")))
    throw core::Error(core::ErrorKind::config, "path", path + ", as if live", "files",
                      "data of a pipe, and packets, come when they are sent: give no rate");
  config.counts.memory_bytes = context.memory_bytes;
  config.counts.log = context.log;
  const device::Device& device = *context.devices.front();
  CountInput input = open_count_input(config.counts, device, context.stop, context.only_planned);
  input.log = context.log;
  std::size_t block_samples = config.block_samples > 0
                                  ? config.block_samples
                                  : count_block_samples(config.counts, input, device);
  constexpr double kLongest_s = 0.1;
  if (pace > 0 && config.block_samples == 0)
    block_samples = paced_block_samples(block_samples, pace / input.bin_s, kLongest_s);
  auto node = make_count_source(std::move(input), block_samples);
  node->set_pace(pace);
  return node;
}

// Some devices' states depend on the length of the pushed blocks.
void read_as_before(const StateFile& state, const engine::Graph& graph, const engine::Port& from) {
  auto* counts = dynamic_cast<CountSourceNode*>(graph.members()[from.node].node.get());
  if (counts == nullptr) return;
  const bool shared = std::any_of(graph.edges().begin(), graph.edges().end(),
                                  [&](const auto& one) { return one.from.node == from.node; });
  const std::size_t before = state.block_samples();
  const engine::Stream stream = stream_at(graph, from);
  if (!shared)
    counts->set_block_samples(before);
  else if (stream.detail<CountStream>().block_samples != before)
    throw core::Error(core::ErrorKind::config, "resume",
                      fmt::format("a state of blocks of {} samples", before),
                      "the blocks that others read",
                      fmt::format("set block_samples of the counts to {}", before));
}

// The curves, and beside them the state.
std::vector<engine::Port> add_autocorrelator(Autocorrelator config, engine::Graph& graph,
                                             const std::string& name,
                                             const std::vector<engine::Port>& inputs,
                                             const engine::EdgeOptions& edge,
                                             const NodeContext& context) {
  AutocorrelateConfig& curves = config.curves;
  curves.memory_bytes = context.memory_bytes;
  check_curve_settings(curves);
  std::unique_ptr<StateFile> state;
  if (!curves.resume.empty()) {
    state = std::make_unique<StateFile>(curves.resume, curves.memory_bytes);
    read_as_before(*state, graph, inputs.front());
  }
  std::optional<engine::NodeId> saved;
  if (!curves.save_state.empty()) {
    formats::PartialPath(curves.save_state,
                         context.overwrite);  // refused before the work
    saved = graph.add(name + ".state",
                      std::make_unique<CurveSink>(CurveSinkConfig{.output = {},
                                                                  .save_state = curves.save_state,
                                                                  .parts = {},
                                                                  .overwrite = context.overwrite,
                                                                  .history = {},
                                                                  .log = {}}));
  }
  const engine::NodeId node =
      graph.add(name, make_curve_node(curves, context.devices.front(), std::move(state)));
  graph.connect(inputs.front(), node, edge);
  if (saved) graph.connect(node, *saved, {.depth = 1});
  return {node};
}

std::unique_ptr<engine::Node> make_curve_file(const CurveFile& config, const engine::Graph& graph,
                                              const engine::Port& output,
                                              const NodeContext& context) {
  const FileParts parts(config.path, config.parts);
  parts.require_can_be_written("path", context.overwrite);
  check_curve_output(parts.several() ? formats::numbered_name(config.path, 1) : config.path,
                     context.overwrite);
  require_whole_curves(graph, output);
  if (parts.several()) cut_curves(graph, output, config.parts);
  return std::make_unique<CurveSink>(CurveSinkConfig{.output = config.path,
                                                     .save_state = {},
                                                     .parts = config.parts,
                                                     .overwrite = context.overwrite,
                                                     .history = context.history,
                                                     .log = context.log});
}

std::unique_ptr<engine::Node> make_fit_file(const FitFile& config, const engine::Graph& graph,
                                            const engine::Port& output,
                                            const NodeContext& context) {
  if (config.output.empty())
    throw core::Error(core::ErrorKind::config, "path", "not given", "the file that is written");
  formats::require_can_be_written("path", config.output, context.overwrite);
  if (!config.report.empty())
    formats::require_can_be_written("page", config.report, context.overwrite);
  require_whole_curves(graph, output);
  FitConfig fit = config;
  fit.input = graph.members()[output.node].name;
  fit.overwrite = context.overwrite;
  fit.history = context.history;
  fit.threads = context.threads;
  assume_kappa(fit);
  return std::make_unique<FitSink>(std::move(fit), context.log);
}

}  // namespace

std::vector<NodeType> photon_node_types() {
  return {node_type<CountFile>(
              "count_file", "counts of photons, or their time tags, from a file, a pipe or packets",
              0, make_count_file)
              .reading({"path", "mask_path", "layout"}),
          composite_type<Autocorrelator>(
              "autocorrelator", "counts or time tags to correlation curves", 1, add_autocorrelator)
              .reading({"resume"})
              .writing({"save_state"})
              .drawn_live(),
          sink_type<CurveFile>("curve_file", "correlation curves to .csv, .zip or .h5", 1,
                               make_curve_file)
              .writing({"path"}),
          sink_type<FitFile>("fit_file", "diffusion fits of correlation curves, a table and a page",
                             1, make_fit_file)
              .writing({"path", "page"})};
}

}  // namespace tautline::pipeline
