#include "tautline/pipeline/measure_stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <random>
#include <set>

#include "tautline/core/error.h"
#include "tautline/stages/channelize/case.h"
#include "tautline/stages/channelize/channelize.h"
#include "tautline/stages/corner_turn/case.h"
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/unpack/case.h"

namespace tautline::pipeline {

namespace {

using core::Axis;
using core::Error;
using core::ErrorKind;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kFewestRepeats = 5;

void fill_random(device::Buffer& buffer) {
  std::mt19937_64 random(1);
  for (std::size_t k = 0; k < buffer.bytes() / 8; ++k) buffer.as<std::uint64_t>()[k] = random();
}

// Median and relative quartile distance of the time of `work`.
void time_repeats(Measurement& m, double budget_s, const std::function<void()>& work) {
  work();
  std::vector<double> seconds;
  const auto started = Clock::now();
  while (seconds.size() < kFewestRepeats ||
         std::chrono::duration<double>(Clock::now() - started).count() < budget_s) {
    const auto start = Clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  m.seconds = seconds[seconds.size() / 2];
  m.spread = (seconds[seconds.size() * 3 / 4] - seconds[seconds.size() / 4]) / m.seconds;
}

// The sizes of a problem: what the user named over the defaults.
Problem sizes(const std::string& stage, Problem defaults, const Problem& asked) {
  for (const auto& [key, value] : asked) {
    const auto known = defaults.find(key);
    if (known == defaults.end()) {
      std::string names;
      for (const auto& [name, unused] : defaults) names += (names.empty() ? "" : ", ") + name;
      throw Error(ErrorKind::config, "--problem of " + stage, key, "one of " + names);
    }
    known->second = value;
  }
  return defaults;
}

std::string describe(const Problem& problem) {
  std::string text;
  for (const auto& [key, value] : problem)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  return text;
}

void relate_to_limit(Measurement& m, double operations_per_s, double bytes_per_s) {
  m.fraction_of_limit =
      std::max(m.operations / operations_per_s, m.bytes / bytes_per_s) / m.seconds;
}

Measurement measure_correlate(const Problem& asked, std::shared_ptr<const device::Device> device,
                              const device::cpu::Limits& limits, double budget_s) {
  const Problem p =
      sizes("correlate", {{"inputs", 256}, {"channels", 8}, {"samples", 4096}}, asked);
  const std::size_t inputs = p.at("inputs"), channels = p.at("channels"), samples = p.at("samples");
  const stages::correlate::Config config{
      .channels = channels, .inputs = inputs, .max_samples = samples, .format = core::kCi8};
  const auto plan = stages::correlate::make_plan(config, device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  const std::size_t baselines = core::baseline_count(inputs);
  device::Buffer voltages(channels * inputs * samples * sizeof(core::ci8));
  fill_random(voltages);
  const device::Buffer sums(channels * baselines * sizeof(core::ci64));
  const device::Buffer counts(channels * baselines * sizeof(std::int64_t));
  const std::array<Axis, 2> axes{Axis::channel, Axis::baseline};
  Measurement m;
  time_repeats(m, budget_s, [&] {
    plan->execute(*queue, *state,
                  stages::correlate::Samples<core::ci8>(voltages.as<core::ci8>(),
                                                        {Axis::channel, Axis::input, Axis::time},
                                                        {channels, inputs, samples}),
                  {}, {sums.as<core::ci64>(), axes, {channels, baselines}},
                  {counts.as<std::int64_t>(), axes, {channels, baselines}});
  });
  const stages::correlate::Case problem{"", config, samples};
  m.problem = describe(p);
  m.instruction_set = plan->backend();
  m.operations = problem.operations();
  m.bytes = problem.bytes();
  m.rate = m.operations / m.seconds;
  m.unit = "useful operations/s";
  relate_to_limit(m,
                  limits.int8_operations_per_s / stages::correlate::products_made(plan->backend()),
                  limits.copy_bytes_per_s);
  return m;
}

Measurement measure_channelize(const Problem& asked, std::shared_ptr<const device::Device> device,
                               const device::cpu::Limits& limits, double budget_s) {
  const Problem p = sizes(
      "channelize", {{"inputs", 16}, {"channels", 1024}, {"taps", 8}, {"spectra", 512}}, asked);
  const std::size_t inputs = p.at("inputs"), spectra = p.at("spectra");
  stages::channelize::Case problem;
  problem.config.inputs = inputs;
  problem.config.channels = p.at("channels");
  problem.config.taps = p.at("taps");
  problem.config.output = stages::channelize::Output::turned_ci8;
  const std::size_t count = spectra * problem.config.hop_samples();
  problem.config.max_samples = count;
  problem.spectra = spectra;
  const auto plan = stages::channelize::make_plan(problem.config, device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  device::Buffer voltages(inputs * count * sizeof(core::ci8));
  fill_random(voltages);
  const std::size_t channels = problem.config.channels;
  const device::Buffer out(channels * inputs * (spectra + 1) * sizeof(core::ci8));
  const std::vector<float> gains(channels * inputs, 0.3f);
  std::vector<std::uint64_t> clipped(inputs);
  stages::channelize::Input input;
  input.samples = voltages.data();
  input.row_stride_bytes = count * sizeof(core::ci8);
  input.count = count;
  Measurement m;
  time_repeats(m, budget_s, [&] {
    stages::channelize::OutputViews views;
    views.turned_ci8 = {out.as<core::ci8>(),
                        {Axis::channel, Axis::input, Axis::time},
                        {channels, inputs, plan->spectra(state->held_samples(), count)}};
    views.gains = {gains.data(), {Axis::channel, Axis::input}, {channels, inputs}};
    views.clipped = {clipped.data(), {Axis::input}, {inputs}};
    plan->execute(*queue, *state, input, views);
  });
  m.problem = describe(p);
  m.instruction_set = plan->backend();
  m.operations = problem.operations() * static_cast<double>(inputs * spectra);
  m.bytes = problem.bytes() * static_cast<double>(inputs * spectra);
  m.rate = static_cast<double>(inputs * count) / m.seconds;
  m.unit = "samples/s";
  relate_to_limit(m, limits.float_operations_per_s, limits.copy_bytes_per_s);
  return m;
}

Measurement measure_unpack(const Problem& asked, std::shared_ptr<const device::Device> device,
                           const device::cpu::Limits& limits, double budget_s) {
  const Problem p = sizes("unpack", {{"inputs", 64}, {"bits", 8}, {"samples", 65536}}, asked);
  stages::unpack::Case problem{
      "", {static_cast<int>(p.at("bits")), true, core::Encoding::twos_complement}};
  problem.order = "TA";
  problem.antennas = p.at("inputs");
  problem.samples = p.at("samples");
  const auto plan = stages::unpack::make_plan(problem.config(), device);
  const auto queue = device->make_queue();
  std::mt19937_64 random(1);
  const core::RawBlock block = stages::unpack::make_block(problem, random, false);
  const auto element_bytes =
      static_cast<std::size_t>(stages::unpack::unpacked_format(problem.format).bits_per_sample()) /
      8;
  const std::size_t row_bytes = problem.samples * element_bytes;
  const device::Buffer out(row_bytes * problem.antennas);
  core::ValidityMask valid(problem.antennas, problem.samples);
  Measurement m;
  time_repeats(m, budget_s, [&] {
    plan->execute(*queue, block, out.data(), row_bytes * problem.antennas, row_bytes,
                  valid.mutable_view());
  });
  m.problem = describe(p);
  m.instruction_set = plan->backend();
  m.bytes = problem.bytes();
  m.rate = static_cast<double>(problem.antennas * problem.samples) / m.seconds;
  m.unit = "samples/s";
  relate_to_limit(m, limits.float_operations_per_s, limits.copy_bytes_per_s);
  return m;
}

Measurement measure_corner_turn(const Problem& asked, std::shared_ptr<const device::Device> device,
                                const device::cpu::Limits& limits, double budget_s) {
  const Problem p =
      sizes("corner_turn", {{"inputs", 64}, {"channels", 128}, {"spectra", 1024}}, asked);
  const stages::corner_turn::Case problem{"", p.at("inputs"), p.at("channels"), p.at("spectra"), 8};
  const auto plan = stages::corner_turn::make_plan(problem.config(), device);
  const auto queue = device->make_queue();
  std::mt19937_64 random(1);
  const auto spectra = stages::corner_turn::make_spectra(problem, random, false);
  const auto gains = stages::corner_turn::make_gains(problem, random);
  std::vector<std::uint64_t> clipped(problem.inputs);
  const device::Buffer out(problem.elements() * sizeof(core::ci8));
  Measurement m;
  time_repeats(m, budget_s, [&] {
    plan->execute(
        *queue,
        stages::corner_turn::Spectra(spectra.data(), {Axis::input, Axis::spectrum, Axis::channel},
                                     {problem.inputs, problem.spectra, problem.channels}),
        {},
        stages::corner_turn::Gains(gains.data(), {Axis::channel, Axis::input},
                                   {problem.channels, problem.inputs}),
        core::View<core::ci8, 3>(out.as<core::ci8>(), {Axis::channel, Axis::input, Axis::time},
                                 {problem.channels, problem.inputs, problem.spectra}),
        {clipped.data(), {Axis::input}, {problem.inputs}});
  });
  m.problem = describe(p);
  m.instruction_set = plan->backend();
  m.operations = problem.operations();
  m.bytes = problem.bytes();
  m.rate = static_cast<double>(problem.elements()) / m.seconds;
  m.unit = "samples/s";
  relate_to_limit(m, limits.float_operations_per_s, limits.copy_bytes_per_s);
  return m;
}

}  // namespace

std::vector<std::string> measurable_stages() {
  return {"unpack", "channelize", "corner_turn", "correlate"};
}

Problem parse_problem(const std::string& text) {
  Problem problem;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string pair = text.substr(at, comma - at);
    const std::size_t equals = pair.find('=');
    std::size_t value = 0;
    const char* end = pair.data() + pair.size();
    if (equals == std::string::npos ||
        std::from_chars(pair.data() + equals + 1, end, value).ptr != end || value == 0 ||
        equals + 1 == pair.size())
      throw Error(ErrorKind::config, "--problem", pair, "sizes as key=value,key=value");
    problem[pair.substr(0, equals)] = value;
    at = comma + 1;
  }
  return problem;
}

Measurement measure_stage(const std::string& stage, const Problem& problem,
                          std::shared_ptr<const device::Device> device,
                          const device::cpu::Limits& limits, double budget_s) {
  Measurement m;
  if (stage == "correlate")
    m = measure_correlate(problem, device, limits, budget_s);
  else if (stage == "channelize")
    m = measure_channelize(problem, device, limits, budget_s);
  else if (stage == "unpack")
    m = measure_unpack(problem, device, limits, budget_s);
  else if (stage == "corner_turn")
    m = measure_corner_turn(problem, device, limits, budget_s);
  else
    throw Error(ErrorKind::config, "stage", stage, "unpack, channelize, corner_turn or correlate");
  m.stage = stage;
  m.device = device->name();
  return m;
}

}  // namespace tautline::pipeline
