// Options that several commands have, described once. Options of fields: field_options.h.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tautline::cli {

/// The input of a command: a path or several, before any option.
template <class Paths>
void add_input(CLI::App& command, Paths& paths, const std::string& what,
               const std::string& name = "input") {
  command.add_option(name, paths, what)->required();
}

/// `what`: the names by which the format is chosen.
inline CLI::Option* add_output(CLI::App& command, std::string& path, const std::string& what) {
  return command.add_option("-o,--output", path, what);
}
inline void add_required_output(CLI::App& command, std::string& path, const std::string& what) {
  add_output(command, path, what)->required();
}
/// Overwriting of the output and of all files that are written beside it.
inline void add_overwrite(CLI::App& command, bool& overwrite) {
  command.add_flag("--overwrite", overwrite, "replace existing outputs");
}

inline void add_report_output(CLI::App& command, std::string& path, const std::string& what) {
  command.add_option("--report", path, what);
}

/// `what` gives kFailed instead of kDamagedInput.
inline void add_strict(CLI::App& command, bool& strict, const std::string& what = "damaged input") {
  command.add_flag("--strict", strict, what + " is a failure (status 1, not 3)");
}

/// Only prints `what` instead of running.
inline void add_plan(CLI::App& command, bool& plan, const std::string& what) {
  command.add_flag("--plan", plan, "only print " + what);
}

/// Sizes or names, in the words of `problems`; may be given again and again.
inline void add_problem(CLI::App& command, std::vector<std::string>& problems,
                        const std::string& what) {
  command.add_option("--problem", problems, "may be repeated: " + what)->allow_extra_args(false);
}

}  // namespace tautline::cli
