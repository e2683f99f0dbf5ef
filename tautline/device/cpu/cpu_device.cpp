#include "tautline/device/cpu/cpu_device.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "tautline/core/error.h"
#include "tautline/core/threads.h"
#include "tautline/device/cpu/fft.h"
#include "tautline/device/cpu/processor_cap.h"
#if defined(__SANITIZE_THREAD__)
#include "tautline/device/cpu/plain_threads.h"
#endif

namespace tautline::device::cpu {

namespace {

using Clock = std::chrono::steady_clock;

// Work is done when the call that asks for it returns.
struct CpuEvent final : Event {
  void synchronise() const override {}
  Clock::time_point at;
};

[[noreturn]] void throw_compiles_nothing() {
  throw core::Error(core::ErrorKind::unsupported, "device", "cpu", "cuda:N or opencl:N",
                    "only those run kernels that are compiled at run time");
}

// One arena per queue: workers are numbered inside it, and the caller's own arenas are untouched.
class CpuQueue final : public Queue {
 public:
  explicit CpuQueue(std::size_t threads)
      : threads_(threads),
        arena_(is_without_tbb() ? nullptr
                                : std::make_unique<tbb::task_arena>(static_cast<int>(threads))) {
    if (arena_) arena_->initialize();
  }
  ~CpuQueue() override {
    if (is_without_tbb()) (void)arena_.release();  // its end takes locks
  }

  void synchronise() override {}
  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                 std::size_t row_bytes, std::size_t rows) override {
    for (std::size_t r = 0; r < rows; ++r)
      copy(static_cast<std::byte*>(to) + r * to_stride,
           static_cast<const std::byte*>(from) + r * from_stride, row_bytes);
  }
  void fill(void* to, std::uint8_t value, std::size_t bytes) override {
    if (bytes > 0) std::memset(to, value, bytes);
  }
  void launch(const Kernel&, const LaunchShape&, std::span<const Argument>) override {
    throw_compiles_nothing();
  }
  void record(Event& event) override { dynamic_cast<CpuEvent&>(event).at = Clock::now(); }
  void wait(const Event&) override {}

  void parallel_for(std::size_t count, std::size_t grain, const Body& body) override {
    if (count == 0) return;
    if (threads_ == 1) {
      body(0, count, 0);
      return;
    }
    if (is_without_tbb()) {
      core::in_pieces(count, std::min(threads_, count / std::max<std::size_t>(1, grain)),
                      [&](std::size_t worker, std::size_t first, std::size_t last) {
                        body(first, last, worker);
                      });
      return;
    }
#if defined(__SANITIZE_THREAD__)
    plain_parallel_for(workers(), count, grain, body);
#else
    arena_->execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, count, std::max<std::size_t>(1, grain)),
          [&](const tbb::blocked_range<std::size_t>& range) {
            body(range.begin(), range.end(),
                 static_cast<std::size_t>(tbb::this_task_arena::current_thread_index()));
          });
    });
#endif
  }

  std::size_t workers() const override {
    return threads_;
  }

 private:
  std::size_t threads_;
  std::unique_ptr<tbb::task_arena> arena_;
};

// What was asked for, or all there are, and never more than there are.
std::size_t allowed_threads(std::size_t asked) {
  return asked == 0 ? cores() : std::min(asked, cores());
}

class CpuDevice final : public Device {
 public:
  CpuDevice(const Selection& selection, const Options& options)
      : api_(selection.api),
        set_(selection.instruction_set.value_or(best_instruction_set())),
        forced_(selection.instruction_set.has_value()),
        threads_(allowed_threads(options.threads)) {}

  Api api() const override { return api_; }
  std::string name() const override {
    return api_ == Api::reference ? "reference" : "cpu:" + std::string(to_string(set_));
  }
  InstructionSet instruction_set() const override { return set_; }
  bool forced() const override { return forced_; }
  std::unique_ptr<Queue> make_queue() const override {
    return std::make_unique<CpuQueue>(threads_);
  }
  std::shared_ptr<const FftPlan> make_fft(std::size_t length, std::size_t batch) const override {
    return cpu::make_fft(length, batch);
  }
  std::unique_ptr<Event> make_event() const override { return std::make_unique<CpuEvent>(); }
  double seconds_between(const Event& start, const Event& end) const override {
    return std::chrono::duration<double>(dynamic_cast<const CpuEvent&>(end).at -
                                         dynamic_cast<const CpuEvent&>(start).at)
        .count();
  }
  Buffer allocate(std::size_t bytes) const override { return Buffer(bytes); }
  Buffer allocate_pinned(std::size_t bytes) const override { return Buffer(bytes); }
  bool holds(const void*) const override { return false; }
  std::size_t free_bytes() const override {
    return static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) *
           static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  }
  const Properties& properties() const override { throw_compiles_nothing(); }
  std::string compiler() const override { throw_compiles_nothing(); }
  std::vector<std::byte> compile(const ProgramSource&) const override { throw_compiles_nothing(); }
  std::shared_ptr<const Program> load(const std::string&,
                                      std::span<const std::byte>) const override {
    throw_compiles_nothing();
  }
  TensorMap make_tensor_map(const TensorLayout&) const override { throw_compiles_nothing(); }

 private:
  Api api_;
  InstructionSet set_;
  bool forced_;
  std::size_t threads_;
};

}  // namespace

std::unique_ptr<Queue> make_host_queue(const Options& options) {
  return std::make_unique<CpuQueue>(allowed_threads(options.threads));
}

std::shared_ptr<const Device> open(const Selection& selection, const Options& options) {
  return std::make_shared<CpuDevice>(selection, options);
}

}  // namespace tautline::device::cpu
