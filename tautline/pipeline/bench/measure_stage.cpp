#include "tautline/pipeline/bench/measure_stage.h"

#include <utility>

#include "tautline/core/error.h"
#include "tautline/pipeline/bench/stage_table.h"
#include "tautline/pipeline/device_memory.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

template <class Is>
std::vector<std::string> names_of(Is is) {
  std::vector<std::string> names;
  for (const StageEntry& stage : stage_table())
    if (is(stage)) names.push_back(stage.name);
  return names;
}

// Without sizes that were not asked for.
std::string describe_sizes(Problem sizes) {
  const Problem unsaid{{"blocks", 1},
                       {"calls", 1},
                       {"impulses_every", 0},
                       {"pulses", 0},
                       {"snr", 60},
                       {"channelized", 0},
                       {"impulses", 0},
                       {"corner_turned", 0},
                       {"delays", 0},
                       {"design", 0},
                       {"float", 0},
                       {"from_host", 0},
                       {"half", 0},
                       {"layout", 0},
                       {"method", 0},
                       {"pulse_us", 0},
                       {"oversample_denominator", 1},
                       {"real", 0},
                       {"oversample_numerator", 1},
                       {"standard", 0},
                       {"zero_dm", 0}};
  std::erase_if(sizes, [&](const auto& size) {
    const auto known = unsaid.find(size.first);
    return known != unsaid.end() && size.second == known->second;
  });
  return describe(sizes);
}

}  // namespace

std::vector<std::string> measurable_stages() {
  return names_of([](const StageEntry& stage) { return stage.set_up != nullptr; });
}

std::vector<std::string> host_fed_stages() {
  return names_of([](const StageEntry& stage) { return stage.measure_fed != nullptr; });
}

std::vector<std::string> whole_runs() {
  return names_of([](const StageEntry& stage) { return stage.measure_whole != nullptr; });
}

Problem default_problem(const std::string& stage, const device::Device& device) {
  return find_stage(stage).sizes_on(device);
}

std::string describe_asked(const std::string& stage, const Problem& problem,
                           const device::Device& device) {
  return describe_sizes(complete(stage, default_problem(stage, device), problem));
}

Measurement measure_stage(const std::string& stage, const Problem& problem, DevicePointer device,
                          const Limits& limits, double budget_s) {
  return measure_stage(stage, problem, std::vector{std::move(device)}, limits, budget_s);
}

Measurement measure_stage(const std::string& stage, const Problem& problem,
                          const std::vector<DevicePointer>& devices, const Limits& limits,
                          double budget_s) {
  const StageEntry& entry = find_stage(stage);
  const device::Device& first = *devices.front();
  const bool host_fed = entry.measure_fed != nullptr;
  const bool whole = entry.measure_whole != nullptr;
  if (devices.size() > 1 && !host_fed && !whole)
    throw Error(ErrorKind::config, "device", std::to_string(devices.size()) + " devices",
                "one device for " + stage, "the host_fed stages share their work among several");
  const Problem sizes = complete(stage, entry.sizes_on(first), problem);
  if (host_fed && !first.compiles())
    throw Error(ErrorKind::unsupported, stage, first.name(), "cuda:N or opencl:N",
                "data are in the host's memory already");
  Measurement m = of_stage(stage, [&] {
    if (whole) return entry.measure_whole(sizes, devices, limits, budget_s);
    return host_fed ? entry.measure_fed(sizes, devices, limits, budget_s)
                    : measure_run(entry.set_up(sizes, devices.front()), limits, budget_s);
  });
  m.stage = stage;
  m.problem = describe_sizes(sizes);
  m.has_inputs = sizes.count("inputs") != 0;
  for (const DevicePointer& device : devices)
    m.device += (m.device.empty() ? "" : ", ") + device->name();
  return m;
}

}  // namespace tautline::pipeline
