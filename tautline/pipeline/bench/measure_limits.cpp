#include "tautline/pipeline/bench/measure_limits.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "tautline/device/cpu/limits.h"
#include "tautline/jit/program.h"

namespace tautline::pipeline {

namespace {

using device::Buffer;
using device::Device;

constexpr LimitField kFields[] = {
    {"copy_bytes_per_s", &Limits::copy_bytes_per_s, "copy in its memory, read + written"},
    {"fill_bytes_per_s", &Limits::fill_bytes_per_s, "fill of its memory"},
    {"local_read_bytes_per_s", &Limits::local_read_bytes_per_s,
     "reads of shared memory (OpenCL: local memory)"},
    {"to_device_bytes_per_s", &Limits::to_device_bytes_per_s, "host to device, pinned"},
    {"to_host_bytes_per_s", &Limits::to_host_bytes_per_s, "device to host, pinned"},
    {"both_ways_bytes_per_s", &Limits::both_ways_bytes_per_s, "each way, both at once"},
    {"float_operations_per_s", &Limits::float_operations_per_s, "float32 multiply-adds"},
    {"int8_operations_per_s", &Limits::int8_operations_per_s, "8-bit dot products"},
    {"int8_matrix_operations_per_s", &Limits::int8_matrix_operations_per_s,
     "8-bit matrix instructions"},
    {"half_matrix_operations_per_s", &Limits::half_matrix_operations_per_s,
     "16-bit float matrix instructions"},
};

// Duration and number of measurements; a CPU behind OpenCL is measured briefly.
struct Effort {
  std::size_t memory_bytes, host_bytes;  // most that a copy moves
  double launch_s;                       // at least, of one timed launch
  double warm_up_s;                      // clocks rise within it
  std::size_t repeats;
};

constexpr Effort kGpu{std::size_t{2} << 30, std::size_t{1} << 28, 3e-3, 0.1, 9};
constexpr Effort kHostCpu{std::size_t{1} << 26, std::size_t{1} << 24, 4e-3, 0, 5};
constexpr std::size_t kAlignment = 4096;
constexpr int kBothWaysCopies = 4;

constexpr std::uint32_t kFirstRounds = 16, kMostRounds = 1u << 24;

// A kernel with one kind of operation. The work of a group in a round follows from STEPS and CHAINS
// of the kernel file.
struct RateKernel {
  const char* file;
  const char* name;
  std::size_t threads;          // of a group
  std::size_t groups_per_unit;  // of a compute unit
  double work_per_round;        // of a group
};

RateKernel plain_kernel(const char* name, std::size_t threads, double work_per_thread) {
  // 2,048 threads: the most that a unit holds, or two rounds of them.
  return {"jit/limits.kernel", name, threads, 8, static_cast<double>(threads) * work_per_thread};
}

constexpr std::size_t kMmaWarps = 8;
constexpr double kMmaInt8 = kMmaWarps * 8 * 16.0 * 8 * 32 * 2;
constexpr RateKernel kMma[] = {
    {"jit/limits.cuda.kernel", "int8_matrix_rate", 32 * kMmaWarps, 4, kMmaInt8},
    {"jit/limits.cuda.kernel", "half_matrix_rate", 32 * kMmaWarps, 4, kMmaInt8 / 2}};

// Two groups a unit: one waits for its products while the products of the other run.
constexpr double kWgmmaInt8 = 8 * 64.0 * 256 * 32 * 2;
constexpr RateKernel kWgmma[] = {
    {"jit/limits_wgmma.cuda.kernel", "int8_matrix_rate", 128, 2, kWgmmaInt8},
    {"jit/limits_wgmma.cuda.kernel", "half_matrix_rate", 128, 2, kWgmmaInt8 / 2}};

class LimitMeter {
 public:
  explicit LimitMeter(std::shared_ptr<const Device> device)
      : device_(std::move(device)),
        effort_(device_->properties().host_cpu ? kHostCpu : kGpu),
        queue_(device_->make_queue()),
        other_(device_->make_queue()),
        start_(device_->make_event()),
        end_(device_->make_event()),
        other_end_(device_->make_event()),
        sink_(device_->allocate(64)) {}

  Limits measure();

 private:
  double median_seconds(const std::function<double()>& run) const;
  double timed(const std::function<void()>& work);
  double rate(const RateKernel& work);
  void measure_memory(Limits& limits);
  void measure_host_copies(Limits& limits);
  void measure_matrices(Limits& limits);
  std::size_t at_most(std::size_t wanted, std::size_t share_of_free) const;

  std::shared_ptr<const Device> device_;
  Effort effort_;
  std::unique_ptr<device::Queue> queue_, other_;
  std::unique_ptr<device::Event> start_, end_, other_end_;
  Buffer sink_;
};

double LimitMeter::median_seconds(const std::function<double()>& run) const {
  std::vector<double> seconds(effort_.repeats);
  run();
  for (double& s : seconds) s = run();
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  return seconds[seconds.size() / 2];
}

double LimitMeter::timed(const std::function<void()>& work) {
  queue_->record(*start_);
  work();
  queue_->record(*end_);
  return device_->seconds_between(*start_, *end_);
}

double LimitMeter::rate(const RateKernel& work) {
  jit::Defines defines;
  defines.set("THREADS", static_cast<std::int64_t>(work.threads));
  const auto kernel = jit::build(*device_, work.file, defines)->kernel(work.name);
  const std::size_t groups = device_->properties().multiprocessors * work.groups_per_unit;
  const device::LaunchShape shape{.groups = {groups, 1, 1}, .threads = {work.threads, 1, 1}};
  std::uint32_t rounds = kFirstRounds;
  const auto run = [&] {
    return timed([&] { queue_->run(*kernel, shape, sink_.data(), rounds); });
  };
  run();
  // Long enough to be timed, and for the clocks to rise.
  double seconds = run(), spent = seconds;
  while (rounds < kMostRounds && (seconds < effort_.launch_s || spent < effort_.warm_up_s)) {
    if (seconds < effort_.launch_s) rounds *= 2;
    seconds = run();
    spent += seconds;
  }
  return static_cast<double>(groups) * rounds * work.work_per_round / median_seconds(run);
}

std::size_t LimitMeter::at_most(std::size_t wanted, std::size_t share_of_free) const {
  const std::size_t bytes = std::min(wanted, device_->free_bytes() / share_of_free);
  return std::max(bytes / kAlignment, std::size_t{1}) * kAlignment;
}

void LimitMeter::measure_memory(Limits& limits) {
  const std::size_t bytes = at_most(effort_.memory_bytes, 8);
  const Buffer from = device_->allocate(bytes), to = device_->allocate(bytes);
  const auto size = static_cast<double>(bytes);
  const double fill =
      median_seconds([&] { return timed([&] { queue_->fill(from.data(), 0x5A, bytes); }); });
  const double copy =
      median_seconds([&] { return timed([&] { queue_->copy(to.data(), from.data(), bytes); }); });
  limits.fill_bytes_per_s = size / fill;
  limits.copy_bytes_per_s = 2 * size / copy;
}

void LimitMeter::measure_host_copies(Limits& limits) {
  const std::size_t bytes = at_most(effort_.host_bytes, 8);
  const Buffer up = device_->allocate(bytes), down = device_->allocate(bytes);
  const Buffer from = device_->allocate_pinned(bytes), to = device_->allocate_pinned(bytes);
  queue_->fill(down.data(), 1, bytes);
  const auto size = static_cast<double>(bytes);
  limits.to_device_bytes_per_s =
      size /
      median_seconds([&] { return timed([&] { queue_->copy(up.data(), from.data(), bytes); }); });
  limits.to_host_bytes_per_s = size / median_seconds([&] {
                                 return timed([&] { queue_->copy(to.data(), down.data(), bytes); });
                               });
  // Several in a row, so that the two directions run beside each other from start to end.
  limits.both_ways_bytes_per_s = kBothWaysCopies * size / median_seconds([&] {
                                   queue_->record(*start_);
                                   other_->wait(*start_);
                                   for (int k = 0; k < kBothWaysCopies; ++k) {
                                     queue_->copy(up.data(), from.data(), bytes);
                                     other_->copy(to.data(), down.data(), bytes);
                                   }
                                   queue_->record(*end_);
                                   other_->record(*other_end_);
                                   return std::max(device_->seconds_between(*start_, *end_),
                                                   device_->seconds_between(*start_, *other_end_));
                                 });
}

void LimitMeter::measure_matrices(Limits& limits) {
  const int capability = device_->properties().compute_capability;
  if (device_->api() != device::Api::cuda || capability < 80) return;
  const bool wgmma = capability == 90;
  const RateKernel* kernels = wgmma ? kWgmma : kMma;
  limits.int8_matrix_operations_per_s = rate(kernels[0]);
  limits.half_matrix_operations_per_s = rate(kernels[1]);
  limits.matrix_instruction = wgmma ? "wgmma" : "mma.sync";
}

Limits LimitMeter::measure() {
  constexpr std::size_t kGroupThreads = 256;
  const std::size_t threads = std::min(kGroupThreads, device_->properties().max_group_threads);
  Limits limits;
  limits.float_operations_per_s = rate(plain_kernel("float_rate", threads, 8 * 16 * 2));
  limits.int8_operations_per_s = rate(plain_kernel("dot4_rate", threads, 8 * 16 * 8));
  limits.local_read_bytes_per_s = rate(plain_kernel("local_rate", threads, 8 * 16));
  measure_matrices(limits);
  measure_memory(limits);
  measure_host_copies(limits);
  return limits;
}

}  // namespace

std::span<const LimitField> limit_fields() {
  return kFields;
}

Limits measure_limits(const std::shared_ptr<const Device>& device) {
  if (device->compiles()) return LimitMeter(device).measure();
  const auto host = device::cpu::measure_limits(*device);
  Limits limits;
  limits.copy_bytes_per_s = host.copy_bytes_per_s;
  limits.float_operations_per_s = host.float_operations_per_s;
  limits.int8_operations_per_s = host.int8_operations_per_s;
  return limits;
}

}  // namespace tautline::pipeline
