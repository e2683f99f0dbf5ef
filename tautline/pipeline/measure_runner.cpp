#include "tautline/pipeline/measure_runner.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/core/half.h"
#include "tautline/core/stopwatch.h"
#include "tautline/device/cuda/nvml.h"
#include "tautline/jit/timing.h"

namespace tautline::pipeline {

namespace {

using core::Clock;
using core::seconds_since;
using device::Buffer;

constexpr std::size_t kFewestSamples = 5;
// A device's marks resolve about a microsecond: a thousandth of this.
constexpr double kLeastSampleSeconds = 1e-3;
constexpr double kMostRunsInARow = 1000;
// An H200's counter is renewed ten times a second.
constexpr double kLeastEnergySeconds = 1.0;
constexpr double kBatchSeconds = 0.01;
// Who gives less does not want to wait for a second.
constexpr double kLeastBudgetForEnergy = 0.5;
// A burst: at most so many runs, fewer when they are long, after a rest.
constexpr double kMostRunsOfABurst = 5, kBurstSeconds = 5e-3;
constexpr auto kRest = std::chrono::milliseconds(40);
constexpr std::size_t kBursts = 7;
constexpr std::size_t kPatternBytes = std::size_t{64} << 20;

}  // namespace

void require_on_device(const std::string& stage, const std::string& backend,
                       const device::Device& device) {
  const bool on_gpu = backend.starts_with("cuda") || backend.starts_with("opencl");
  if (on_gpu || !device.compiles()) return;
  throw core::Error(core::ErrorKind::unsupported, stage, device.name(),
                    "a device that it has code for", "here it runs on the host: " + backend);
}

void relate_to_limits(Measurement& m, double arithmetic_s, double memory_s, double transfer_s) {
  const double longest = std::max({arithmetic_s, memory_s, transfer_s});
  m.fraction_of_limit = longest / m.seconds;
  m.limit = longest == transfer_s ? "transfer" : longest == memory_s ? "memory" : "arithmetic";
}

Runner::Runner(std::shared_ptr<const device::Device> device, double budget_s)
    : device_(std::move(device)), budget_s_(budget_s), queue_(device_->make_queue()) {
  if (!device_->compiles()) return;
  start_ = device_->make_event();
  end_ = device_->make_event();
}

Buffer Runner::zeros(std::size_t bytes) {
  if (!device_->compiles()) return Buffer(bytes);
  Buffer buffer = device_->allocate(bytes);
  queue_->fill(buffer.data(), 0, bytes);
  return buffer;
}

Buffer Runner::repeat(const Buffer& pattern, std::size_t bytes) {
  Buffer buffer = device_->compiles() ? device_->allocate(bytes) : Buffer(bytes);
  for (std::size_t at = 0; at < bytes; at += pattern.bytes()) {
    const std::size_t part = std::min(pattern.bytes(), bytes - at);
    if (device_->compiles())
      queue_->copy(buffer.as<std::byte>() + at, pattern.data(), part);
    else
      std::memcpy(buffer.as<std::byte>() + at, pattern.data(), part);
  }
  queue_->synchronise();
  return buffer;
}

Buffer Runner::random_integers(std::size_t bytes) {
  const Buffer pattern((std::min(bytes, kPatternBytes) + 7) / 8 * 8);
  std::mt19937_64 random(1);
  std::generate_n(pattern.as<std::uint64_t>(), pattern.bytes() / 8, std::ref(random));
  return repeat(pattern, bytes);
}

Buffer Runner::random_floats(std::size_t bytes) {
  const Buffer pattern((std::min(bytes, kPatternBytes) + 3) / 4 * 4);
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::generate_n(pattern.as<float>(), pattern.bytes() / 4, [&] { return normal(random); });
  return repeat(pattern, bytes);
}

Buffer Runner::random_halves(std::size_t bytes) {
  const Buffer pattern((std::min(bytes, kPatternBytes) + 1) / 2 * 2);
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::generate_n(pattern.as<core::Half>(), pattern.bytes() / 2,
                  [&] { return core::to_half(normal(random)); });
  return repeat(pattern, bytes);
}

Buffer Runner::random_samples(const core::SampleFormat& format, std::size_t count) {
  const std::size_t bytes = count * static_cast<std::size_t>(format.bits_per_sample()) / 8;
  if (!format.is_float()) return random_integers(bytes);
  return format.bits == 16 ? random_halves(bytes) : random_floats(bytes);
}

Buffer Runner::floats(std::size_t count, float value) {
  const Buffer pattern(count * sizeof(float));
  std::fill_n(pattern.as<float>(), count, value);
  return repeat(pattern, pattern.bytes());
}

double Runner::sample(const std::function<void()>& run, std::size_t times) {
  const auto start = Clock::now();
  if (start_) queue_->record(*start_);
  for (std::size_t t = 0; t < times; ++t) run();
  if (!start_) return seconds_since(start);
  queue_->record(*end_);
  return device_->seconds_between(*start_, *end_);
}

void Runner::time(Measurement& measurement, const std::function<void()>& run) {
  sample(run, 1);
  const double once = std::max(sample(run, 1), 1e-9);
  const auto times = static_cast<std::size_t>(
      std::clamp(std::ceil(kLeastSampleSeconds / once), 1.0, kMostRunsInARow));
  std::vector<double> seconds;
  const auto started = Clock::now();
  while (seconds.size() < kFewestSamples || seconds_since(started) < budget_s_)
    seconds.push_back(sample(run, times) / static_cast<double>(times));
  const jit::Timing timing = jit::summarise(std::move(seconds));
  measurement.seconds = timing.seconds;
  measurement.spread = timing.spread;
  if (budget_s_ < kLeastBudgetForEnergy) return;
  measure_bursts(measurement, run);
  measure_energy(measurement, run);
}

void Runner::measure_bursts(Measurement& measurement, const std::function<void()>& run) {
  if (!device_->compiles() || device_->properties().host_cpu) return;
  const auto times = static_cast<std::size_t>(
      std::clamp(std::floor(kBurstSeconds / measurement.seconds), 1.0, kMostRunsOfABurst));
  std::vector<double> seconds;
  for (std::size_t b = 0; b < kBursts; ++b) {
    std::this_thread::sleep_for(kRest);
    seconds.push_back(sample(run, times) / static_cast<double>(times));
  }
  measurement.burst_seconds = jit::summarise(std::move(seconds)).seconds;
}

// Two batches are always under way, each long enough to hide that the card's library takes
// milliseconds to answer: the card must not rest. From one renewal of its counter to another:
// between renewals it stands still.
void Runner::measure_energy(Measurement& measurement, const std::function<void()>& run) {
  auto meter = device::cuda::make_energy_meter(*device_);
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
  queue_->synchronise();
  const auto started = Clock::now();
  meter->start();
  for (std::size_t batches = 0; seconds_since(started) < 3 * enough;) {
    for (std::size_t r = 0; r < batch; ++r) run();
    queue_->record(*marks[batches % 2]);
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
  queue_->synchronise();
  if (!first || last.batches == first->batches) return;
  const double joules = last.joules - first->joules;
  measurement.energy_j = joules / static_cast<double>((last.batches - first->batches) * batch);
  measurement.power_w = joules / (last.seconds - first->seconds);
}

}  // namespace tautline::pipeline
