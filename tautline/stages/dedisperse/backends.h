// The functions that make the backends' plans, and the base class of the plans: not part of the stage's interface.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/stages/dedisperse/cpu/cost.h"
#include "tautline/stages/dedisperse/dedisperse.h"
#include "tautline/stages/dedisperse/gpu/cost.h"
#include "tautline/stages/dedisperse/plan/delays.h"
#include "tautline/stages/dedisperse/tunables.h"

namespace tautline::stages::dedisperse {

std::shared_ptr<const Plan> make_reference_plan(std::shared_ptr<const DelayPlan> plan);
std::shared_ptr<const Plan> make_cpu_plan(std::shared_ptr<const DelayPlan> plan,
                                          const device::Device& device, const Tunables& tunables,
                                          const CpuCost& cost = kXeonCost);
std::shared_ptr<const Plan> make_gpu_plan(std::shared_ptr<const DelayPlan> plan,
                                          std::shared_ptr<const device::Device> device,
                                          const Tunables& tunables,
                                          const GpuCost& cost = kH200Cost);

/// A plan that sums along the delays of a DelayPlan.
class PlanOfDelays : public Plan {
 public:
  const Config& config() const final { return plan_->config(); }
  const MethodChoice& choice() const final { return choice_; }
  bool float_output() const final { return plan_->float_sums(); }
  std::size_t max_delay() const final { return plan_->max_delay(); }
  std::int64_t delay(std::size_t trial, std::size_t channel) const final {
    return plan_->delay(trial, channel);
  }
  std::size_t max_output_samples() const final { return plan_->max_new_samples(); }

 protected:
  explicit PlanOfDelays(std::shared_ptr<const DelayPlan> plan) : plan_(std::move(plan)) {}

  std::shared_ptr<const DelayPlan> plan_;
  MethodChoice choice_;
};

/// How far a stream has come, and how it is saved.
class BaseState : public State {
 public:
  std::size_t held_samples() const final { return held; }
  std::vector<std::byte> save() const final;
  void load(std::span<const std::byte> saved) final;

  std::size_t held = 0;   ///< complete times of every row
  std::size_t phase = 0;  ///< times of the input in the element behind them

 protected:
  /// `rows` of elements of `element_bytes`; `kind`: of backends whose rows hold the same.
  BaseState(std::shared_ptr<const DelayPlan> plan, std::string kind, std::size_t rows,
            std::size_t element_bytes);

  /// [row][held + 1]: the complete times, and one that is not where phase > 0.
  virtual std::vector<std::byte> kept() const = 0;
  /// Takes them over, after reset; `held` and `phase` are as saved.
  virtual void restore(const std::vector<std::byte>& kept, const std::vector<Moments>& moments) = 0;

  std::size_t rows_, element_bytes_;

 private:
  std::string text() const;  ///< of what saved bytes depend on

  std::shared_ptr<const DelayPlan> plan_;
  std::string kind_;
};

/// What one call completes.
struct Step {
  std::size_t fresh;    ///< times of the rows
  std::size_t samples;  ///< times of the trials
  std::size_t phase;    ///< afterwards

  /// The stream after the call.
  void take(BaseState& state) const {
    state.held += fresh - samples;
    state.phase = phase;
  }
};
/// Throws Error(config) when the input or the trials' view are not the plan's.
Step step_of(const DelayPlan& plan, const BaseState& state, const Input& input,
             const core::MutableSampleView<3>& trials);

}  // namespace tautline::stages::dedisperse
