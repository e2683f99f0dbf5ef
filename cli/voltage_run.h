// The summary of a run over antenna voltages: what correlate and channelize both say.
#pragma once

#include <string>

#include "cli/command.h"
#include "tautline/pipeline/voltages/voltage_run.h"

namespace tautline::cli {

/// The parts of a summary that belong to one command, and their places.
struct OwnSummary {
  std::string made;                          ///< "3 integrations of 0.1 s"
  nlohmann::ordered_json fields;             ///< after the channels
  nlohmann::ordered_json fields_of_kernels;  ///< after the counts of samples
  std::string in_gaps;                       ///< of samples; empty: the run has none
  std::string results;  ///< "2 visibilities overflowed", after what was clipped
};

/// With --json an object of `schema`, else lines of text; and warnings of inputs that hold nothing.
void summarise(const Global& global, const std::string& schema, const std::string& output,
               const pipeline::VoltageRunSummary& summary, const OwnSummary& own);

/// Warns of damage, and of a run without a valid spectrum, and returns the exit status.
int voltage_status(const pipeline::VoltageRunSummary& summary, bool strict);

}  // namespace tautline::cli
