// Counts or photons to correlation curves: of the whole run so far, repeatedly and at the end.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tautline/engine/node.h"
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
};

/// The details of these streams.
struct CurvesDescription {
  static constexpr const char* kKind = "curves";
  std::size_t good_curves = 0;  ///< without masked ones
  bool only_zero_lag = false;
  bool window = false;  ///< snapshots have rolling curves
};

/// `resume`: a state to resume from, or null.
std::unique_ptr<engine::Node> make_curve_node(const AutocorrelateConfig& config,
                                              std::shared_ptr<const device::Device> device,
                                              std::unique_ptr<StateFile> resume);

}  // namespace tautline::pipeline
