#include "tautline/pipeline/bench/stage_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/core/stopwatch.h"
#include "tautline/device/cuda/nvml.h"
#include "tautline/jit/timing.h"

namespace tautline::pipeline {

namespace {

using core::Clock;
using core::seconds_since;

constexpr std::size_t kFewestSamples = 5;
// Marks of a device resolve about a microsecond: a thousandth of this time.
constexpr double kLeastSampleSeconds = 1e-3;
constexpr double kMostRunsInARow = 1000;
// An H200's counter is renewed ten times a second.
constexpr double kLeastEnergySeconds = 1.0;
constexpr double kBatchSeconds = 0.01;
// A smaller budget means that the caller does not want to wait for a second.
constexpr double kLeastBudgetForEnergy = 0.5;
// A burst: at most so many runs, fewer when they are long, after a rest.
constexpr double kMostRunsOfABurst = 5, kBurstSeconds = 5e-3;
constexpr auto kRest = std::chrono::milliseconds(40);
constexpr std::size_t kBursts = 7;

class RunTimer {
 public:
  RunTimer(const StageRun& run, double budget_s)
      : run_(run),
        budget_s_(budget_s),
        start_(run.memory->device().make_event()),
        end_(run.memory->device().make_event()) {}

  /// Fills in seconds, spread, burst_seconds, energy_j and power_w.
  void time(Measurement& measurement);

 private:
  double sample(std::size_t times);
  void measure_bursts(Measurement& measurement);
  void measure_energy(Measurement& measurement);

  const StageRun& run_;
  double budget_s_;
  std::unique_ptr<device::Event> start_, end_;
};

double RunTimer::sample(std::size_t times) {
  device::Queue& queue = run_.memory->queue();
  queue.record(*start_);
  for (std::size_t t = 0; t < times; ++t) run_.run();
  queue.record(*end_);
  return run_.memory->device().seconds_between(*start_, *end_);
}

void RunTimer::time(Measurement& measurement) {
  sample(1);
  const double once = std::max(sample(1), 1e-9);
  const auto times = static_cast<std::size_t>(
      std::clamp(std::ceil(kLeastSampleSeconds / once), 1.0, kMostRunsInARow));
  std::vector<double> seconds;
  const auto started = Clock::now();
  while (seconds.size() < kFewestSamples || seconds_since(started) < budget_s_)
    seconds.push_back(sample(times) / static_cast<double>(times));
  const jit::Timing timing = jit::summarise(std::move(seconds));
  measurement.seconds = timing.seconds;
  measurement.spread = timing.spread;
  if (budget_s_ < kLeastBudgetForEnergy) return;
  measure_bursts(measurement);
  measure_energy(measurement);
}

void RunTimer::measure_bursts(Measurement& measurement) {
  const device::Device& device = run_.memory->device();
  if (!device.compiles() || device.properties().host_cpu) return;
  const auto times = static_cast<std::size_t>(
      std::clamp(std::floor(kBurstSeconds / measurement.seconds), 1.0, kMostRunsOfABurst));
  std::vector<double> seconds;
  for (std::size_t b = 0; b < kBursts; ++b) {
    std::this_thread::sleep_for(kRest);
    seconds.push_back(sample(times) / static_cast<double>(times));
  }
  measurement.burst_seconds = jit::summarise(std::move(seconds)).seconds;
}

// Two batches are always under way, each long enough to hide that the card's library takes
// milliseconds to answer: the card must not rest. Energy is read from one renewal of the counter to
// another: between renewals it does not change.
void RunTimer::measure_energy(Measurement& measurement) {
  auto meter = device::cuda::make_energy_meter(run_.memory->device());
  if (!meter) return;
  struct Reading {
    double joules = 0, seconds = 0;
    std::size_t batches = 0;
  };
  const std::array<device::Event*, 2> marks{start_.get(), end_.get()};
  const auto batch = static_cast<std::size_t>(
      std::clamp(std::ceil(kBatchSeconds / measurement.seconds), 1.0, kMostRunsInARow));
  const double enough = std::max(budget_s_, kLeastEnergySeconds);
  std::optional<Reading> first;
  Reading last;
  device::Queue& queue = run_.memory->queue();
  queue.synchronise();
  const auto started = Clock::now();
  meter->start();
  for (std::size_t batches = 0; seconds_since(started) < 3 * enough;) {
    for (std::size_t r = 0; r < batch; ++r) run_.run();
    queue.record(*marks[batches % 2]);
    ++batches;
    marks[batches % 2]->synchronise();
    const auto joules = meter->joules();
    if (!joules) return;
    if (*joules == last.joules) continue;
    last = {*joules, seconds_since(started), batches};
    if (!first)
      first = last;
    else if (last.seconds - first->seconds >= enough)
      break;
  }
  queue.synchronise();
  if (!first || last.batches == first->batches) return;
  const double joules = last.joules - first->joules;
  measurement.energy_j = joules / static_cast<double>((last.batches - first->batches) * batch);
  measurement.power_w = joules / (last.seconds - first->seconds);
}

}  // namespace

void require_on_device(const std::string& stage, const std::string& backend,
                       const device::Device& device) {
  const bool on_gpu = backend.starts_with("cuda") || backend.starts_with("opencl");
  if (on_gpu || !device.compiles()) return;
  throw core::Error(core::ErrorKind::unsupported, stage, device.name(),
                    "a device that it has code for", "here it runs on the host: " + backend);
}

Measurement measure_run(const StageRun& run, const Limits& limits, double budget_s) {
  Measurement m;
  RunTimer(run, budget_s).time(m);
  m.instruction_set = run.code;
  m.operations = run.operations;
  m.bytes = run.bytes;
  m.rate = run.count / m.seconds;
  m.unit = run.unit;
  m.bandwidth_hz = run.input_samples / m.seconds;
  if (run.data_s > 0) m.real_time_factor = run.data_s / m.seconds;
  // The time at each of the device's limits: the longest is the limit.
  const double arithmetic_s = run.arithmetic ? run.operations / run.arithmetic(limits) : 0;
  const double memory_s = run.bytes / limits.copy_bytes_per_s;
  const bool fed = run.host_bytes > 0 && run.memory->device().compiles();
  const double transfer_s = fed ? run.host_bytes / limits.to_device_bytes_per_s : 0;
  const double longest = std::max({arithmetic_s, memory_s, transfer_s});
  m.fraction_of_limit = longest / m.seconds;
  m.limit = longest == transfer_s ? "transfer" : longest == memory_s ? "memory" : "arithmetic";
  return m;
}

}  // namespace tautline::pipeline
