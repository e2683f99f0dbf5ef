#include "tautline/device/cpu/cpu_device.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <utility>

#include "tautline/device/cpu/fft.h"
#if defined(__SANITIZE_THREAD__)
#include "tautline/device/cpu/plain_threads.h"
#endif

namespace tautline::device::cpu {

namespace {

// One arena per queue: workers are numbered inside it, and the caller's own arenas are untouched.
class CpuQueue final : public Queue {
 public:
  explicit CpuQueue(std::size_t threads) : arena_(static_cast<int>(threads)) {
    arena_.initialize();
  }

  void synchronise() override {}

  void parallel_for(std::size_t count, std::size_t grain, const Body& body) override {
    if (count == 0) return;
    if (workers() == 1) {
      body(0, count, 0);
      return;
    }
#if defined(__SANITIZE_THREAD__)
    plain_parallel_for(workers(), count, grain, body);
#else
    arena_.execute([&] {
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, std::max<std::size_t>(1, grain)),
                        [&](const tbb::blocked_range<std::size_t>& range) {
                          body(range.begin(), range.end(),
                               static_cast<std::size_t>(tbb::this_task_arena::current_thread_index()));
                        });
    });
#endif
  }

  std::size_t workers() const override { return static_cast<std::size_t>(arena_.max_concurrency()); }

 private:
  tbb::task_arena arena_;
};

// What was asked for, or all there are; never more than oneTBB may use, which it would complain of.
std::size_t allowed_threads(std::size_t asked) {
  const std::size_t most = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  return asked == 0 ? most : std::min(asked, most);
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
  std::unique_ptr<Queue> make_queue() const override { return std::make_unique<CpuQueue>(threads_); }
  std::shared_ptr<const FftPlan> make_fft(std::size_t length, std::size_t batch) const override {
    return cpu::make_fft(length, batch);
  }

 private:
  Api api_;
  InstructionSet set_;
  bool forced_;
  std::size_t threads_;
};

}  // namespace

std::shared_ptr<const Device> open(const Selection& selection, const Options& options) {
  return std::make_shared<CpuDevice>(selection, options);
}

}  // namespace tautline::device::cpu
