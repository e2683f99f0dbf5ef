// The problems that stages are measured and tuned on: sizes by name.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tautline/pipeline/bench/problem.h"

namespace tautline::pipeline {

/// Those of a stage, from its entry in stage_table.h. Throws Error(config) for an unknown stage.
const std::vector<NamedProblem>& named_problems(const std::string& stage);

/// The names of a stage's problems, for help and messages; last the form of names that hold
/// numbers, "cCtT (c1024t8)".
std::vector<std::string> problem_names(const std::string& stage);

/// "n256", "channels=1024,taps=16" or "n256,bits=32": a name, sizes, or a name and sizes that
/// replace those of the name. `format=cf32` is another way to write bits=32 (ci4, ci8, ci16, cf32),
/// `format=cf16` to write bits=16,half=1; a stage's entry may have words of its own. Throws
/// Error(config) on an unknown stage or name and on any word that is not a size.
Problem parse_problem(const std::string& stage, const std::string& text);

/// A size and the values that it takes one after the other.
struct SweptSize {
  std::string key;
  std::vector<std::size_t> values;
};

/// "inputs=16:2048" (doubling), "inputs=64:1024:64" (in steps) or "taps=4/8/16/32". Throws
/// Error(config).
SweptSize parse_sweep(const std::string& text);

}  // namespace tautline::pipeline
