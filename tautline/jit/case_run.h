// A stage set up on a problem: memory of a device with seeded random data, and the state of one plan. The tuner,
// `bench` and the programs of bench/ run stages through it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/sample_format.h"
#include "tautline/device/device.h"
#include "tautline/jit/check_output.h"
#include "tautline/jit/tunable.h"

namespace tautline::jit {

/// Memory in which a device computes, with the same data on every device.
class CaseMemory {
 public:
  explicit CaseMemory(std::shared_ptr<const device::Device> device);

  const device::Device& device() const { return *device_; }
  device::Queue& queue() const { return *queue_; }

  device::Buffer zeros(std::size_t bytes) const;
  /// `pattern`, repeated, in the memory of the host.
  device::Buffer repeat(const device::Buffer& pattern, std::size_t bytes) const;
  /// Integers: all bit patterns. Floats and their components: Gaussian values with an rms of 1. The
  /// values repeat after 64 MiB.
  device::Buffer random(const core::SampleFormat& format, std::size_t samples) const;
  device::Buffer floats(std::size_t count, float value) const;

 private:
  std::shared_ptr<const device::Device> device_;
  std::unique_ptr<device::Queue> queue_;
};

/// The state of a stage that has none.
struct NoState {};

template <class Plan>
auto make_state_of(const Plan& plan, device::Queue& queue) {
  if constexpr (requires { plan.make_state(queue); })
    return plan.make_state(queue);
  else
    return std::make_unique<NoState>();
}

/// A stage's buffers for one problem, and calls of one plan at a time: the states of several would
/// fill a small card. Each stage derives its own (case_run.h beside case.h).
template <class PlanType>
class CaseRun : public CaseMemory {
 public:
  using Plan = PlanType;
  using State = typename decltype(make_state_of(std::declval<const Plan&>(),
                                                std::declval<device::Queue&>()))::element_type;

  using CaseMemory::CaseMemory;
  virtual ~CaseRun() = default;

  /// Null: none.
  void use(std::shared_ptr<const Plan> plan) {
    if (plan == plan_) return;
    queue().synchronise();
    state_.reset();
    plan_ = std::move(plan);
    if (plan_ == nullptr) return;
    state_ = make_state_of(*plan_, queue());
    begin();
  }
  const Plan* plan() const { return plan_.get(); }
  State& state() const { return *state_; }

  virtual void execute() = 0;
  void run(std::size_t calls) {
    for (std::size_t c = 0; c < calls; ++c) execute();
    finish();
  }
  /// Copies the results of a call to the place of results() of a tuned case. (Stages that read
  /// results in another way have a function of their own.)
  void run_for_results() { run(1); }

 protected:
  /// Runs a new state until its calls are alike, as in the middle of a stream.
  virtual void begin() {}
  /// Ends a row of calls.
  virtual void finish() {}

 private:
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<State> state_;
};

/// Of a plan's call. Run is a stage's CaseRun, with results(): a buffer of the device.
template <class Run>
std::vector<std::byte> results_of(Run& run, std::shared_ptr<const typename Run::Plan> plan) {
  run.use(std::move(plan));
  const device::Buffer& results = run.results();
  run.queue().fill(results.data(), kPoison, results.bytes());
  run.run_for_results();
  std::vector<std::byte> found(results.bytes());
  run.queue().copy(found.data(), results.data(), found.size());
  run.queue().synchronise();
  return found;
}

using Bytes = std::span<const std::byte>;

template <class T>
std::string describe_difference_as(Bytes found, Bytes expected, double tolerance = 0) {
  const auto values = [](Bytes bytes) {
    return std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
  };
  return describe_difference<T>(values(found), values(expected), tolerance);
}

/// The parts by which a stage is tuned. Run is its CaseRun, with results(): a buffer of the device.
template <class Run>
struct TunedCase {
  using DevicePointer = std::shared_ptr<const device::Device>;
  using PlanPointer = std::shared_ptr<const typename Run::Plan>;

  DevicePointer device;
  std::function<std::unique_ptr<Run>(DevicePointer)> set_up;
  std::function<PlanPointer(DevicePointer)> host_plan;  ///< its results are the expected ones
  std::function<PlanPointer(const Configuration&)> candidate_plan;
  /// Empty when the results agree.
  std::function<std::string(Bytes found, Bytes expected)> difference;
};

template <class Run>
class CaseCandidate final : public CompiledCandidate {
 public:
  /// All candidates share the case.
  struct Shared {
    TunedCase<Run> tuned;
    std::unique_ptr<Run> run;
    std::vector<std::byte> expected;

    void prepare() {
      const auto host = device::open({});
      expected = results_of(*tuned.set_up(host), tuned.host_plan(host));
      run = tuned.set_up(tuned.device);
    }
  };

  CaseCandidate(std::shared_ptr<Shared> shared, const Configuration& configuration)
      : shared_(std::move(shared)), plan_(shared_->tuned.candidate_plan(configuration)) {}
  ~CaseCandidate() override {
    if (shared_->run != nullptr && shared_->run->plan() == plan_.get()) shared_->run->use(nullptr);
  }

  std::string check() override {
    return shared_->tuned.difference(results_of(*shared_->run, plan_), shared_->expected);
  }
  double run(std::size_t times) override {
    Run& run = *shared_->run;
    run.use(plan_);
    const auto start = run.device().make_event(), stop = run.device().make_event();
    run.queue().record(*start);
    run.run(times);
    run.queue().record(*stop);
    return run.device().seconds_between(*start, *stop);
  }

 private:
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<const typename Run::Plan> plan_;
};

/// Throws Error(unsupported) for a device that compiles no kernels.
void require_tunable(const std::string& stage, const device::Device* device);

/// `tunable` with prepare and build.
template <class Run>
Tunable with_candidates(Tunable tunable, TunedCase<Run> tuned) {
  auto shared = std::make_shared<typename CaseCandidate<Run>::Shared>();
  shared->tuned = std::move(tuned);
  tunable.prepare = [shared] { shared->prepare(); };
  tunable.build = [shared](const Configuration& c) {
    return std::make_unique<CaseCandidate<Run>>(shared, c);
  };
  return tunable;
}

}  // namespace tautline::jit
