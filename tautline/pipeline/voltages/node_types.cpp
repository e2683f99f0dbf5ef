#include "tautline/pipeline/voltages/node_types.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "tautline/pipeline/range_fields.h"
#include "tautline/pipeline/voltages/f_engine_node.h"
#include "tautline/pipeline/voltages/reduction_node.h"
#include "tautline/pipeline/voltages/spectra_record.h"
#include "tautline/pipeline/voltages/tracking.h"
#include "tautline/pipeline/voltages/visibilities_node.h"
#include "tautline/pipeline/voltages/visibility_sink_node.h"
#include "tautline/pipeline/voltages/voltage_sink_node.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"
#include "tautline/pipeline/voltages/x_engine_node.h"

namespace tautline::pipeline {

struct VoltageFiles {
  std::vector<std::string> files;
  double start_s = 0, duration_s = -1;
  formats::ReaderOptions reader;
  std::size_t block_samples = 0;  ///< 0: by bytes
};
const core::Fields<VoltageFiles>& fields(const VoltageFiles&) {
  using C = VoltageFiles;
  static const auto all = [] {
    core::Fields<C> list;
    list.add(
        {.name = "files", .help = "voltage files, consecutive or receivers", .separator = '\n'},
        &C::files, core::file_names());
    return add_range_fields(list)
        .include("", &C::reader, fields(formats::ReaderOptions{}))
        .add({.name = "block_samples",
              .help = "samples (times) in a block; 0: about 16 MiB, for a GPU 64"},
             &C::block_samples);
  }();
  return all;
}

struct FilterBank {
  FilterConfig filter;
  Requantise requantise = Requantise::bits8;
  std::string delays_path, array_path;
};
const core::Fields<FilterBank>& fields(const FilterBank&) {
  using C = FilterBank;
  static const auto all =
      core::Fields<C>()
          .include("", &C::filter, fields(FilterConfig{}))
          .add({.name = "requantise", .help = "bits that spectra are rounded to"}, &C::requantise,
               requantise_names())
          .add({.name = "delays_path",
                .help = "delays.toml: delay the voltages, and so track its phase centre"},
               &C::delays_path)
          .add({.name = "array_path", .help = "array.toml: the antennas that `delays_path` names"},
               &C::array_path);
  return all;
}

struct Correlator {
  double integration_s = 1.0;
  Reduction reduction;
  std::string array_path;
};
const core::Fields<Correlator>& fields(const Correlator&) {
  using C = Correlator;
  static const auto all =
      core::Fields<C>()
          .add({.name = "integration_s",
                .unit = "s",
                .help = "length of an integration, rounded to whole spectra"},
               &C::integration_s, core::above(0))
          .include("", &C::reduction, fields(Reduction{}))
          .add({.name = "array_path", .help = "array.toml: antenna positions"}, &C::array_path);
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

namespace {

// What a file says that the run met, summed over its nodes.
std::map<std::string, std::uint64_t> facts_of(const NodeContext& context) {
  static const std::set<std::string> kNames{"spectra",     "clipped",       "not_finite",
                                            "overflowed",  "lost_samples",  "dropped_samples",
                                            "gap_samples", "trailing_bytes"};
  std::map<std::string, std::uint64_t> facts;
  for (const auto& [name, count] : (*context.counters)()) {
    const std::string counter = name.substr(name.rfind('.') + 1);
    if (kNames.contains(counter)) facts[counter] += count;
  }
  return facts;
}

std::unique_ptr<engine::Node> make_source(const VoltageFiles& config, const NodeContext& context) {
  auto node = std::make_unique<VoltageSourceNode>(VoltageSourceConfig{
      config.files,
      {.reader = config.reader, .start_s = config.start_s, .duration_s = config.duration_s}});
  constexpr std::size_t kProbe = 4096;
  const bool gpu = context.devices.front()->compiles();
  const std::size_t most =
      std::min(context.memory_bytes / 16, (gpu ? std::size_t{64} : std::size_t{16}) << 20);
  const std::size_t each = std::max<std::size_t>(1, node->sequence().block_bytes(kProbe) / kProbe);
  const std::size_t samples =
      most / each > kProbe ? most / each / kProbe * kProbe : std::max<std::size_t>(1, most / each);
  const auto total = std::max<std::uint64_t>(1, node->sequence().total_samples());
  node->set_block_samples(config.block_samples > 0
                              ? config.block_samples
                              : static_cast<std::size_t>(std::min<std::uint64_t>(samples, total)));
  return node;
}

formats::ArrayLayout array_of(const std::string& path, const RawVoltages& voltages) {
  const core::VoltageDescription& description = voltages.description;
  auto array = path.empty()
                   ? formats::unknown_array(description.antennas, description.polarisations)
                   : formats::read_array_layout(path);
  formats::assume_polarisations(array, description.polarisations);
  formats::require_inputs(array, description.inputs());
  return array;
}

std::unique_ptr<engine::Node> make_filter_bank(const FilterBank& config,
                                               const NodeContext& context) {
  FEngineNodeConfig f{.device = context.devices.front(), .filter = config.filter};
  f.filter.output = output_of(config.requantise);
  f.gains_memory_bytes = context.memory_bytes;
  if (!config.delays_path.empty())
    f.track = [config](const RawVoltages& voltages) {
      return choose_tracking(config.delays_path, {}, array_of(config.array_path, voltages),
                             voltages.description.start, voltages.end);
    };
  return std::make_unique<FEngineNode>(std::move(f));
}

// The sums on the device, their means on the host, and where it is asked for, these reduced. The last one has the name.
std::vector<engine::Port> add_correlator(const Correlator& config, engine::Graph& graph,
                                         const std::string& name,
                                         const std::vector<engine::Port>& inputs,
                                         const engine::EdgeOptions& edge,
                                         const NodeContext& context) {
  const auto& device = context.devices.front();
  VisibilitiesNodeConfig means{.host = device->compiles() ? device::open({}) : device,
                               .history = context.history};
  if (!config.array_path.empty()) means.array = formats::read_array_layout(config.array_path);
  const auto sums = graph.add(name + ".sums", std::make_unique<XEngineNode>(XEngineNodeConfig{
                                                  .device = device,
                                                  .integration_s = config.integration_s,
                                                  .reduction = config.reduction,
                                                  .array = means.array}));
  const bool reduced = config.reduction.after_correlation();
  const auto host = means.host;
  const auto node = graph.add(reduced ? name + ".means" : name,
                              std::make_unique<VisibilitiesNode>(std::move(means)));
  graph.connect(inputs.front(), sums, edge);
  graph.connect(sums, node, {.depth = 1});
  if (!reduced) return {node};
  const auto last = graph.add(name, std::make_unique<ReductionNode>(host, config.reduction));
  graph.connect(node, last, {.depth = 1});
  return {last};
}

std::unique_ptr<engine::Node> make_visibility_file(const OutputFile& config,
                                                   const NodeContext& context) {
  return std::make_unique<VisibilitySinkNode>(VisibilitySinkConfig{
      .path = config.path, .overwrite = context.overwrite, .at_end = [context](auto& writer) {
        for (const auto& [name, count] : facts_of(context))
          writer.add_extra(name, std::to_string(count));
      }});
}

std::unique_ptr<engine::Node> make_spectra_file(const OutputFile& config,
                                                const NodeContext& context) {
  ChannelizeConfig file;
  file.inputs = {config.path};
  file.output = config.path;
  file.overwrite = context.overwrite;
  file.history = context.history;
  return std::make_unique<VoltageSinkNode>(file, [context](const Spectra& spectra) {
    nlohmann::ordered_json record{{"schema", "tautline.channelize.record"},
                                  {"version", 1},
                                  {"history", context.history},
                                  {"device", spectra.device},
                                  {"kernels", spectra.kernels},
                                  {"inputs", spectra.files}};
    for (const auto& [name, count] : facts_of(context)) record[name] = count;
    add_channels(record, spectra);
    return record.dump(1) + "\n";
  });
}

}  // namespace

std::vector<NodeType> voltage_node_types() {
  return {
      node_type<VoltageFiles>("voltage_files", "antenna voltages from files of any format", 0,
                              make_source),
      node_type<FilterBank>("filter_bank",
                            "voltages to spectra; spectra that come from files are handed on", 1,
                            make_filter_bank),
      composite_type<Correlator>(
          "correlator", "spectra to visibilities, a block for each integration", 1, add_correlator),
      node_type<OutputFile>("visibility_file", "visibilities to .uvh5 or .ms", 1,
                            make_visibility_file),
      node_type<OutputFile>("spectra_file", "spectra to .dada or .npy", 1, make_spectra_file)};
}

}  // namespace tautline::pipeline
