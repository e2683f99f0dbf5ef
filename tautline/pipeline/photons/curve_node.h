// Counts or photons to correlation curves: the whole run so far, again and again and at the end.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/curve_state.h"
#include "tautline/pipeline/photons/curve_stream.h"

namespace tautline::pipeline {

/// What a run has come to by one moment. The payload of streams of kind "curves", which have no arrays, is a
/// std::shared_ptr<CurveSnapshot>.
struct CurveSnapshot {
  core::CorrelationCurves curves;
  AutocorrelateSummary summary;
  std::vector<std::byte> state;  ///< of config.save_state; empty: none is saved
  bool last = false;
};

/// `plan`: of stream.stage, a TagPlan where photons come one by one. `resume`: a state to go on from, or null.
std::unique_ptr<engine::Node> make_curve_node(
    const AutocorrelateConfig& config, const CurveStreamConfig& stream,
    std::shared_ptr<const stages::autocorrelate::Plan> plan,
    std::shared_ptr<const device::Device> device, std::unique_ptr<StateFile> resume);

}  // namespace tautline::pipeline
