#include "tautline/pipeline/voltages/voltage_nodes.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tautline/core/error.h"
#include "tautline/pipeline/graph_streams.h"
#include "tautline/pipeline/voltages/empty_text.h"
#include "tautline/pipeline/voltages/spectra_record.h"
#include "tautline/pipeline/voltages/step_text.h"
#include "tautline/pipeline/voltages/voltage_run.h"

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

std::map<std::string, std::uint64_t> facts_of(const VoltageSourceNode& source) {
  engine::Counters counters = source.counters();
  counters.erase("samples");
  return counters;
}

std::map<std::string, std::uint64_t> facts_of(const VoltageNodes& nodes) {
  auto counters = facts_of(*nodes.source);
  counters["spectra"] = nodes.f_engines.front()->counters().at("spectra");
  counters["clipped"] = 0;
  for (const std::uint64_t one : clipped_by(nodes)) counters["clipped"] += one;
  // A sample that is not finite in any channel is counted once on every device.
  counters["not_finite"] = nodes.f_engines.front()->counters().at("not_finite");
  if (nodes.visibilities != nullptr)
    counters["overflowed"] = nodes.visibilities->counters().at("overflowed");
  return counters;
}

std::string overflow_message(std::uint64_t overflowed) {
  return fmt::format(
      "{} visibilities overflowed: finite samples, but no float holds their products; flagged. "
      "Scale the samples down",
      overflowed);
}

void finish_page(const VoltageNodes& nodes, report::ReportBuilder& page) {
  const auto facts = facts_of(nodes);
  for (const auto& [name, count] : facts) page.add_extra(name, std::to_string(count));
  page.set_clipped(clipped_by(nodes), components_of(nodes));
  for (const std::string& message : nodes.source->sequence().damage().messages)
    page.add_warning(message);
  const std::vector<std::string> names = names_of_inputs(page.digest().description().array);
  const std::string empty = empty_text(nodes.source->empty(), nodes.source->samples(), names);
  if (!empty.empty()) page.add_warning("samples that never change, taken for lost: " + empty);
  const std::string steps = level_steps_text(nodes.source->level_steps(), names);
  const std::string constant = constant_text(nodes.source->constant_channels(), names);
  if (!constant.empty()) page.add_warning("never change, flagged: " + constant);
  if (const std::uint64_t spectra = nodes.source->unchanging_spectra(); spectra > 0)
    page.add_warning(unchanging_text(spectra));
  if (!steps.empty()) page.add_warning("steps of level where files join: " + steps);
  if (const std::string& rounding = nodes.visibilities->rounding_text(); !rounding.empty())
    page.add_warning(rounding);
  if (const std::string partial = nodes.visibilities->partial_text(); !partial.empty())
    page.add_warning(partial);
  if (facts.at("overflowed") > 0) page.add_warning(overflow_message(facts.at("overflowed")));
}

std::string spectra_record(const VoltageNodes& nodes, const Spectra& spectra,
                           const std::string& history, std::uint64_t times,
                           const InvalidSpectra& invalid, const std::string& stokes) {
  nlohmann::ordered_json record{{"schema", "tautline.channelize.record"},
                                {"version", 1},
                                {"history", history},
                                {"device", spectra.device},
                                {"kernels", spectra.kernels},
                                {"inputs", spectra.files},
                                {"samples", nodes.source->counters().at("samples")}};
  const auto facts = facts_of(nodes);
  const stream::EmptyVoltages empty = nodes.source->empty();
  record["spectra"] = times;
  record["invalid_spectra"] = invalid.spectra;
  record["gap_spectra"] = invalid.gaps;
  record["dropped_spectra"] = invalid.dropped;
  for (const char* name : {"lost_samples", "dropped_samples", "empty_samples", "empty_values",
                           "clipped", "not_finite"})
    record[name] = facts.at(name);
  record["empty_stretches"] = empty_stretches(empty);
  record["empty_inputs"] = empty_inputs(empty);
  record["empty_channels"] = empty_channels(empty);
  record["level_steps"] = level_steps(nodes.source->level_steps());
  add_channels(record, spectra);
  if (!stokes.empty()) record["stokes"] = stokes;
  invalid.spans.write_to(record);
  if (invalid.values > 0) record["invalid_values"] = invalid.values;
  return record.dump(1) + "\n";
}

}  // namespace tautline::pipeline
