// How a stream of counts or photons is correlated, and its memory.
#pragma once

#include <cstddef>
#include <memory>

#include "tautline/engine/block.h"
#include "tautline/pipeline/photons/count_input.h"
#include "tautline/pipeline/photons/curve_state.h"
#include "tautline/pipeline/photons/curve_stream.h"

namespace tautline::pipeline {

/// Least number of a run's blocks of counts.
inline constexpr std::size_t kCountBlocks = 3;

/// Times that a source reads into a block, if there are as many.
std::size_t count_block_samples(const AutocorrelateConfig& config, const CountInput& input,
                                const device::Device& device);

/// Throws Error(config) for settings of the curves that contradict each other.
void check_curve_settings(const AutocorrelateConfig& config);

struct CurvePlan {
  CurveStreamConfig stream;
  /// A TagPlan where photons are correlated one by one.
  std::shared_ptr<const stages::autocorrelate::Plan> plan;
};

/// The plan for a stream of kind "counts" or "photons". `state`: the state that the run resumes from, or null. Throws
/// Error(config), and Error(memory) when more than config.memory_bytes is needed.
CurvePlan plan_curves(const AutocorrelateConfig& config, const engine::Stream& input,
                      const StateFile* state, const std::shared_ptr<const device::Device>& device);

}  // namespace tautline::pipeline
