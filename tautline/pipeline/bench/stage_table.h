// The table of the stages that `bench` measures and `tune` tunes, an entry each. Both commands, their help and their
// tests are made from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tautline/jit/tunable.h"
#include "tautline/pipeline/bench/measure_limits.h"
#include "tautline/pipeline/bench/measurement.h"
#include "tautline/pipeline/bench/problem.h"
#include "tautline/pipeline/bench/stage_run.h"

namespace tautline::pipeline {

struct StageEntry {
  std::string name = {};
  /// Every size and its default: enough to fill a GPU.
  Problem sizes = {};
  /// Sizes that are smaller on a CPU: its work in a tenth of a second.
  Problem on_host = {};
  std::vector<NamedProblem> problems = {};
  StageRun (*set_up)(const Problem&, const DevicePointer&) = nullptr;
  /// Instead of `set_up`, for work fed from the host's memory: several devices share the work.
  Measurement (*measure_fed)(const Problem&, const std::vector<DevicePointer>&, const Limits&,
                             double budget_s) = nullptr;
  /// Instead of `set_up`, for whole runs, from a file to results.
  Measurement (*measure_whole)(const Problem&, const std::vector<DevicePointer>&, const Limits&,
                               double budget_s) = nullptr;
  /// Null: nothing to tune.
  jit::Tunable (*tune)(const Problem&, const DevicePointer&) = nullptr;
  /// Sizes with other defaults for tuning, sizes of tuning alone, and sizes of measurements alone.
  Problem when_tuned = {};
  std::vector<std::string> only_measured = {};
  /// Sizes that a word of --problem stands for ("type=u16"); none: not a word of the stage.
  Problem (*words)(std::string_view) = nullptr;
  /// The help's text for words that are names: "cCtT (c1024t8)".
  std::string names_help = {};

  Problem sizes_on(const device::Device& device) const;
  Problem sizes_when_tuned() const;
};

/// In order of the pipeline.
const std::vector<StageEntry>& stage_table();

/// Throws Error(config) with the names of all.
const StageEntry& find_stage(const std::string& name);

}  // namespace tautline::pipeline
