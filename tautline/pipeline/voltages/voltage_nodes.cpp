#include "tautline/pipeline/voltages/voltage_nodes.h"

#include <fmt/format.h>

#include <utility>

#include "tautline/core/error.h"
#include "tautline/pipeline/graph_streams.h"

namespace tautline::pipeline {

namespace {

// Whether each F-engine has channels of its own; else all of them do the same work.
bool share_channels(const VoltageNodes& nodes) {
  return nodes.f_engines.front()->f_engine().range().first !=
         nodes.f_engines.back()->f_engine().range().first;
}

// The F-engines whose counts are added.
std::span<const FEngineNode* const> counted(const VoltageNodes& nodes, bool shared) {
  return std::span(nodes.f_engines).first(shared ? nodes.f_engines.size() : 1);
}

}  // namespace

VoltageNodes voltage_nodes(const engine::Graph& graph, const engine::Port& output) {
  VoltageNodes nodes;
  std::size_t sources = 0;
  for (const auto& [name, node] : nodes_before(graph, output)) {
    if (const auto* source = dynamic_cast<const VoltageSourceNode*>(node)) {
      nodes.source = source;
      ++sources;
    }
    if (const auto* f = dynamic_cast<const FEngineNode*>(node)) nodes.f_engines.push_back(f);
    if (const auto* means = dynamic_cast<const VisibilitiesNode*>(node)) nodes.visibilities = means;
  }
  if (sources != 1 || nodes.f_engines.empty())
    throw core::Error(core::ErrorKind::config, "inputs",
                      fmt::format("{} sources of voltages", sources),
                      "voltages of one source, by way of a filter bank");
  return nodes;
}

std::vector<std::uint64_t> clipped_by(const VoltageNodes& nodes) {
  std::vector<std::uint64_t> sums(nodes.f_engines.front()->f_engine().inputs());
  for (const FEngineNode* f : counted(nodes, share_channels(nodes)))
    for (std::size_t i = 0; i < f->clipped().size(); ++i) sums[i] += f->clipped()[i];
  return sums;
}

std::uint64_t components_of(const VoltageNodes& nodes) {
  std::uint64_t channels = 0;
  for (const FEngineNode* f : counted(nodes, share_channels(nodes)))
    channels += f->f_engine().channels();
  return 2 * nodes.f_engines.front()->counters().at("spectra") * channels;
}

VoltageFacts facts_of(const VoltageNodes& nodes) {
  const VoltageSourceNode& source = *nodes.source;
  VoltageFacts facts;
  facts.of_source = source.counters();
  facts.samples = facts.of_source.at("samples");
  facts.of_source.erase("samples");
  facts.clipped = {clipped_by(nodes), components_of(nodes)};
  for (const FEngineNode* f : counted(nodes, share_channels(nodes))) {
    const ClippedChannels one = f->clipped_channels();
    const std::size_t channels = facts.clipped_channels.channels + one.channels;
    std::vector<ClippedChannel> found = std::move(facts.clipped_channels.found);
    found.insert(found.end(), one.found.begin(), one.found.end());
    facts.clipped_channels = one;
    facts.clipped_channels.channels = channels;
    facts.clipped_channels.found = std::move(found);
  }
  facts.counts = facts.of_source;
  facts.counts["spectra"] = nodes.f_engines.front()->counters().at("spectra");
  facts.counts["clipped"] = 0;
  for (const std::uint64_t one : facts.clipped.components) facts.counts["clipped"] += one;
  // A sample that is not finite in any channel is counted once on every device.
  facts.counts["not_finite"] = nodes.f_engines.front()->counters().at("not_finite");
  facts.damage = source.sequence().damage();
  facts.empty = source.empty();
  facts.levels = source.levels();
  facts.level_steps = source.level_steps();
  facts.constant_channels = source.constant_channels();
  facts.unchanging_spectra = source.unchanging_spectra();
  facts.valid = nodes.f_engines.front()->valid_shares();
  for (const FEngineNode* other : nodes.f_engines) facts.valid.add_channels(other->valid_shares());
  if (const VisibilitiesNode* means = nodes.visibilities) {
    facts.counts["overflowed"] = means->counters().at("overflowed");
    facts.rounding = means->rounding_text();
    facts.partial = means->partial_text();
    facts.fringes = means->fringes_text();
  }
  return facts;
}

}  // namespace tautline::pipeline
