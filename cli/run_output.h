// The output of runs: their plan, progress and summary.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/command.h"
#include "tautline/engine/profile.h"
#include "tautline/pipeline/progress.h"

namespace tautline::cli {

/// Redraws `line` as a run goes on; "1.5 s of data" or "1.5 s made" is done.
pipeline::ProgressCallback drawn_on(ProgressLine& line, const std::string& done = "of data");

/// Prints a run's plan on standard error, unless --quiet.
std::function<void(const std::string&)> print_plan(const Global& global);

/// Seconds of data in a second; 0 where no time passed.
double real_time_factor(double stream_s, double elapsed_s);
/// "  10.000 s of data in 2.000 s: 5.00 x real time"
std::string speed_line(double stream_s, double elapsed_s);

/// Warns where a file's data, `samples` long, ended before --duration did. `wanted_s` is negative for all.
void note_short_input(double wanted_s, double got_s, std::uint64_t samples);

/// With --json one object of version 1 on standard output, else, unless --quiet, the text. Of a run with a profile also
/// where its time went: `profile`, `bound_by`, `efficiency` and `stages_share` of the object, and with --profile a table
/// on standard error.
void print_summary(const Global& global, const std::string& schema, nlohmann::ordered_json object,
                   const std::string& text, const engine::Profile* profile = nullptr);

}  // namespace tautline::cli
