#include <random>
#include <string>

#include "tautline/core/error.h"
#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/stages/unpack/case_run.h"

namespace tautline::pipeline {

namespace unpack = stages::unpack;

// A block in host memory, which must be copied to other devices.
StageRun set_up_unpack(const Problem& p, const DevicePointer& device) {
  const auto layouts = unpack::instrument_cases();
  if (p.at("layout") > layouts.size())
    throw core::Error(core::ErrorKind::config, "`problem` of unpack: layout",
                      std::to_string(p.at("layout")), "1 to " + std::to_string(layouts.size()));
  unpack::Case problem;
  if (p.at("layout") > 0) {
    problem = layouts[p.at("layout") - 1];
  } else {
    problem.format = complex_format("unpack", p.at("bits"));
    problem.channels = p.at("channels");
    problem.antennas = p.at("inputs");
  }
  problem.samples = p.at("samples");
  const auto plan = unpack::make_plan(problem.config(), device);
  std::mt19937_64 random(1);
  const auto calls = std::make_shared<unpack::CaseRun>(
      problem.config(), unpack::make_block(problem, random, false), device);
  calls->use(plan);
  const std::size_t inputs = problem.antennas * problem.polarisations;
  return {.memory = calls,
          .run = [calls] { calls->execute(); },
          .code = plan->backend(),
          .bytes = problem.bytes(),
          .count = static_cast<double>(problem.channels * inputs * problem.samples),
          .input_samples = static_cast<double>(problem.channels * problem.samples),
          .host_bytes = static_cast<double>(problem.block_bytes())};
}

Problem layout_words(std::string_view word) {
  const std::string_view layout = "layout";
  if (!word.starts_with(layout)) return {};
  word.remove_prefix(layout.size());
  const auto number = take_number(word);
  const auto layouts = unpack::instrument_cases();
  if (!number || *number == 0 || *number > layouts.size() || !word.empty()) return {};
  const unpack::Case& c = layouts[*number - 1];
  return {{"layout", *number},
          {"inputs", c.antennas * c.polarisations},
          {"channels", c.channels},
          {"samples", c.samples},
          {"bits", static_cast<std::size_t>(c.format.bits)}};
}

}  // namespace tautline::pipeline
