#include "tautline/pipeline/voltages/engines.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/pipeline/graph_streams.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/reduction_node.h"
#include "tautline/pipeline/voltages/voltage_nodes.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"
#include "tautline/pipeline/voltages/x_engine_node.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

// Integrations are large: one is filled while one is read.
constexpr engine::EdgeOptions kOneWaits{.depth = 1};

// The channels of a channelized stream that the given channels are made of: those of a filter bank ascend in frequency
// whatever the stream's order is.
ChannelRange coarse_channels(const core::VoltageDescription& description,
                             const FilterConfig& filter, const ChannelRange& kept) {
  const std::size_t fine = channels_of(description, filter) / description.channels;
  const std::size_t first = kept.first / fine, end = (kept.first + kept.count + fine - 1) / fine;
  const bool mirrored = is_filtered(description, filter) && description.bandwidth_hz < 0;
  return {mirrored ? description.channels - end : first, end - first};
}

std::string part_name(const std::string& name, std::size_t part, std::size_t parts) {
  return parts > 1 ? fmt::format("{}.{}", name, part) : name;
}

// The channels in both ranges.
ChannelRange common(const ChannelRange& a, const ChannelRange& b) {
  const std::size_t first = std::max(a.first, b.first);
  const std::size_t end = std::min(a.first + a.count, b.first + b.count);
  return {first, end > first ? end - first : 0};
}

// The channels that the X-engine of each device correlates.
std::vector<ChannelRange> shares_of(const std::vector<engine::Stream>& spectra,
                                    const Reduction& reduction) {
  std::vector<ChannelRange> shares;
  const auto& first = spectra.front().detail<Spectra>();
  const ChannelRange kept = kept_channels(reduction, first.stream_channels);
  const bool all_have_all = spectra.back().detail<Spectra>().channels.first == first.channels.first;
  for (std::size_t d = 0; d < spectra.size(); ++d) {
    const auto& come = spectra[d].detail<Spectra>();
    const ChannelRange part = share_of(kept.count, d, spectra.size());
    shares.push_back(all_have_all ? ChannelRange{kept.first + part.first, part.count}
                                  : common(kept, come.channels));
    if (shares.back().count == 0)
      throw Error(ErrorKind::config, "channel_range",
                  fmt::format("{}:{}", kept.first, kept.first + kept.count - 1),
                  fmt::format("channels for each of the {} devices", spectra.size()),
                  "take fewer devices");
  }
  return shares;
}

// Times are days in doubles in files of visibilities: pyuvdata takes two that are closer for one.
void warn_of_short_integrations(const engine::Stream& spectra, const XEnginesConfig& config) {
  constexpr double kLeast_s = 40e-6;
  const auto& details = spectra.detail<Spectra>();
  const core::Rational& rate_hz = details.voltages.rate_hz;
  const auto samples = static_cast<double>(spectra_of_integration(config.integration_s, rate_hz,
                                                                  details.hop_samples) *
                                           config.reduction.average_time) *
                       static_cast<double>(details.hop_samples);
  const double integration_s = samples / rate_hz.value();
  if (integration_s < kLeast_s)
    config.means.host->shared().log(
        core::LogLevel::warning,
        fmt::format("integrations of {:.3g} us: pyuvdata cannot tell times apart that are closer "
                    "than {:.0f} us, for it keeps them as days in doubles; give a longer "
                    "`integration_s` or average several (`average_time`)",
                    integration_s * 1e6, kLeast_s * 1e6));
}

bool is_read(const engine::Graph& graph, const engine::Port& port) {
  return std::ranges::any_of(graph.edges(), [&](const engine::Edge& edge) {
    return edge.from.node == port.node && edge.from.port == port.port;
  });
}

// Returns FEngineNodeConfig's block_spectra.
std::size_t choose_blocks_of(const engine::Graph& graph, const engine::Port& voltages,
                             const FEnginesConfig& config) {
  auto* source = dynamic_cast<VoltageSourceNode*>(graph.members()[voltages.node].node.get());
  if (config.memory_bytes == 0 || source == nullptr || !source->takes_other_blocks()) return 0;
  const bool gpu =
      std::ranges::any_of(config.devices, [](const auto& device) { return device->compiles(); });
  const ShortBlocks blocks = choose_blocks(source->sequence(), config.filter, config.memory_bytes,
                                           gpu, config.tracking.before_filter);
  if (!is_read(graph, voltages)) {
    source->set_block_samples(blocks.samples);
    source->set_first_block_samples(blocks.first_samples);
  }
  return blocks.spectra;
}

}  // namespace

void use_short_blocks(const engine::Graph& graph, const engine::Port& port) {
  auto* f = dynamic_cast<FEngineNode*>(graph.members()[port.node].node.get());
  if (f != nullptr && !is_read(graph, port)) f->use_short_blocks();
}

std::vector<engine::Port> add_f_engines(engine::Graph& graph, const std::string& name,
                                        const engine::Port& voltages, FEnginesConfig config,
                                        const engine::EdgeOptions& edge) {
  const engine::Stream stream = stream_at(graph, voltages);
  const auto& raw = stream.detail<RawVoltages>();
  formats::require_complex_bands(raw.options.reader, raw.description);
  const std::size_t block_spectra = choose_blocks_of(graph, voltages, config);
  if (config.kept.count == 0) config.kept = {0, channels_of(raw.description, config.filter)};
  const bool channelized = raw.description.channelized();
  const ChannelRange coarse =
      channelized ? coarse_channels(raw.description, config.filter, config.kept) : config.kept;
  const std::size_t devices = config.devices.size();
  if (devices > coarse.count)
    throw Error(ErrorKind::config, "device", fmt::format("{} devices", devices),
                fmt::format("at most one for each of the {} channels", coarse.count));
  std::vector<engine::Port> outputs;
  for (std::size_t d = 0; d < devices; ++d) {
    FEngineNodeConfig f{.device = config.devices[d],
                        .filter = config.filter,
                        .gains = config.gains,
                        .host = config.host,
                        .from = config.from,
                        .block_spectra = block_spectra,
                        .log = d == 0 ? config.log : nullptr};
    if (config.tracking.before_filter) {
      f.delays = config.tracking.table;
      f.phase_centre = config.tracking.centre;
    }
    const ChannelRange part = share_of(coarse.count, d, devices);
    if (channelized) f.channels = {coarse.first + part.first, part.count};
    const engine::NodeId node =
        graph.add(part_name(name, d, devices), std::make_unique<FEngineNode>(std::move(f)));
    graph.connect(voltages, node, edge);
    outputs.emplace_back(node);
  }
  return outputs;
}

CorrelatorOutputs add_x_engines(engine::Graph& graph, const XEngineNames& names,
                                const std::vector<engine::Port>& spectra, XEnginesConfig config,
                                const engine::EdgeOptions& edge) {
  const std::size_t parts = spectra.size();
  if (config.devices.size() < parts)
    throw Error(ErrorKind::config, "inputs", fmt::format("{} of spectra", parts),
                fmt::format("one for each of the {} devices", config.devices.size()));
  VoltageNodes nodes;
  for (const engine::Port& port : spectra)
    if (auto* f = dynamic_cast<FEngineNode*>(graph.members()[port.node].node.get())) {
      f->set_integration(config.integration_s);
      nodes.f_engines.push_back(f);
    }
  if (!nodes.f_engines.empty())
    config.means.clipped = [nodes] {
      return ClippedSamples{clipped_by(nodes), components_of(nodes)};
    };
  std::vector<std::future<engine::Stream>> opening;
  for (const engine::Port& port : spectra)
    opening.push_back(std::async(parts > 1 ? std::launch::async : std::launch::deferred,
                                 [&graph, port] { return stream_at(graph, port); }));
  std::vector<engine::Stream> streams;
  for (auto& one : opening) streams.push_back(one.get());
  const std::vector<ChannelRange> shares = shares_of(streams, config.reduction);
  warn_of_short_integrations(streams.front(), config);

  const auto host = config.means.host;
  const bool autos_only =
      config.reduction.autos_only && !config.all_products && config.means.rotation == nullptr;
  const formats::ArrayLayout array = config.means.array;
  config.means.inputs = parts;
  config.means.reduction = config.reduction;
  const engine::NodeId means =
      graph.add(names.means, std::make_unique<VisibilitiesNode>(std::move(config.means)));
  std::vector<std::future<void>> planning;
  for (std::size_t d = 0; d < parts; ++d) {
    auto x = std::make_unique<XEngineNode>(
        XEngineNodeConfig{config.devices[d], config.integration_s, shares[d], autos_only, array});
    if (parts > 1)
      planning.push_back(std::async(std::launch::async, [node = x.get(), stream = &streams[d]] {
        node->open({stream, 1});
      }));
    const engine::NodeId node = graph.add(part_name(names.sums, d, parts), std::move(x));
    graph.connect(spectra[d], node, edge);
    graph.connect(node, {means, d}, kOneWaits);
  }
  for (std::future<void>& one : planning) one.get();
  if (!config.reduction.after_correlation()) return {means, means};
  const engine::NodeId reduced =
      graph.add(names.reduction, std::make_unique<ReductionNode>(host, config.reduction));
  graph.connect(means, reduced, kOneWaits);
  return {means, reduced};
}

}  // namespace tautline::pipeline
