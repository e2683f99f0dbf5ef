// The nodes between a source of voltages and an output, and their counts for the output.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tautline/engine/graph.h"
#include "tautline/pipeline/report/report_builder.h"
#include "tautline/pipeline/voltages/f_engine_node.h"
#include "tautline/pipeline/voltages/invalid_spans.h"
#include "tautline/pipeline/voltages/visibilities_node.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"

namespace tautline::pipeline {

/// The nodes of one source; they live as long as the graph's run.
struct VoltageNodes {
  const VoltageSourceNode* source = nullptr;
  std::vector<const FEngineNode*> f_engines;       ///< one a device
  const VisibilitiesNode* visibilities = nullptr;  ///< null: the output is not of visibilities
};
/// The nodes before an output of `graph`. Throws Error(config) where its samples come from no source or several.
VoltageNodes voltage_nodes(const engine::Graph& graph, const engine::Port& output);

/// Counts of a source by name, without "samples".
std::map<std::string, std::uint64_t> facts_of(const VoltageSourceNode& source);
/// Counts by name, once the run has ended: those of the source, "spectra", "clipped", "not_finite", and of visibilities
/// "overflowed".
std::map<std::string, std::uint64_t> facts_of(const VoltageNodes& nodes);
/// Components clipped, [input].
std::vector<std::uint64_t> clipped_by(const VoltageNodes& nodes);

/// Counts and damage, for the page of a run that has ended.
void finish_page(const VoltageNodes& nodes, report::ReportBuilder& page);

/// The invalid spectra of a file, which are zeros there.
struct InvalidSpectra {
  InvalidSpans spans;         ///< of inputs, in spectra
  std::uint64_t spectra = 0;  ///< times x inputs
  std::uint64_t gaps = 0;     ///< times, of the spans, that the stream does not have
  std::uint64_t dropped = 0;  ///< times that came after later ones
  std::uint64_t values = 0;   ///< of single channels, where others of the input are valid
};
/// OUTPUT.json beside a file of spectra: history, device, kernels, counts, frequencies and gains. `times`: spectra of
/// the file, with gaps; `stokes`: the parameters of power; empty: voltages.
std::string spectra_record(const VoltageNodes& nodes, const Spectra& spectra,
                           const std::string& history, std::uint64_t times,
                           const InvalidSpectra& invalid, const std::string& stokes);

}  // namespace tautline::pipeline
