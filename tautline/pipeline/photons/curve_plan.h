// How a stream of counts or photons is correlated, and the memory that it takes.
#pragma once

#include <cstddef>
#include <memory>

#include "tautline/engine/block.h"
#include "tautline/pipeline/photons/count_input.h"
#include "tautline/pipeline/photons/curve_state.h"
#include "tautline/pipeline/photons/curve_stream.h"

namespace tautline::pipeline {

/// Blocks of counts that a run has at least.
inline constexpr std::size_t kCountBlocks = 3;

/// Times that a source reads into a block, of as many as there are.
std::size_t count_block_samples(const AutocorrelateConfig& config, const CountInput& input,
                                const device::Device& device);

/// Throws Error(config) for settings of the curves that contradict each other.
void check_curve_settings(const AutocorrelateConfig& config);

struct CurvePlan {
  CurveStreamConfig stream;
  std::shared_ptr<const stages::autocorrelate::Plan>
      plan;  ///< a TagPlan where photons come one by one
};

/// Of a stream of kind "counts" or "photons". `state`: what the run goes on from, or null. Throws Error(config), and
/// Error(memory) when more than config.memory_bytes is needed.
CurvePlan plan_curves(const AutocorrelateConfig& config, const engine::Stream& input,
                      const StateFile* state, const std::shared_ptr<const device::Device>& device);

}  // namespace tautline::pipeline
