// Counts or photons to correlation curves: of the whole run so far, repeatedly and at the end.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tautline/engine/graph.h"
#include "tautline/engine/node.h"
#include "tautline/pipeline/file_parts.h"
#include "tautline/pipeline/photons/autocorrelate_config.h"
#include "tautline/pipeline/photons/autocorrelate_summary.h"
#include "tautline/pipeline/photons/curve_state.h"

namespace tautline::pipeline {

/// The result of a run at one moment. The payload of streams of kind "curves", which have no arrays, is a
/// std::shared_ptr<CurveSnapshot>.
struct CurveSnapshot {
  core::CorrelationCurves curves;
  /// Of the last config.window_s, once the run is as long.
  std::optional<core::CorrelationCurves> window;
  AutocorrelateSummary summary;
  std::map<std::string, std::string> facts, window_facts;  ///< curve_facts()
  std::vector<std::byte> state;  ///< for config.save_state; empty: none is saved
  bool last = false;
  std::size_t part = 0;   ///< of curves that are cut: number of this part of the run, from 1
  bool complete = false;  ///< the part ended, and another one begins
};

/// The details of these streams.
struct CurvesDescription {
  static constexpr const char* kKind = "curves";
  std::size_t good_curves = 0;  ///< without masked ones
  bool only_zero_lag = false;
  bool window = false;  ///< snapshots have rolling curves
};

/// Cuts the curves of the node `curves` into those of parts of the run: each begins anew, as of a run of its own. Before
/// the run is made. Throws Error(config) where others read the node, or it keeps or resumes a state, or has rolling
/// curves.
void cut_curves(const engine::Graph& graph, const engine::Port& curves, const PartLimits& limits);
/// For other readers: throws Error(config) where the curves are cut.
void require_whole_curves(const engine::Graph& graph, const engine::Port& curves);

/// `resume`: a state to resume from, or null.
std::unique_ptr<engine::Node> make_curve_node(const AutocorrelateConfig& config,
                                              std::shared_ptr<const device::Device> device,
                                              std::unique_ptr<StateFile> resume);

}  // namespace tautline::pipeline
