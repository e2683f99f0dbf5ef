// The CPU plan: searches trials in parallel, then groups the detections of all.
#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/detect/backends.h"
#include "tautline/stages/detect/cpu/trial_search.h"
#include "tautline/stages/detect/groups.h"

namespace tautline::stages::detect {

namespace {

class CpuState : public State {
 public:
  CpuState(std::shared_ptr<const Setting> setting, std::size_t workers)
      : setting_(std::move(setting)),
        groups_(setting_->config.links, setting_->sizes.widest(), setting_->config.trials),
        over_(setting_->config.trials * setting_->sizes.widths.size()) {
    workspaces_.reserve(workers);
    for (std::size_t w = 0; w < workers; ++w) workspaces_.emplace_back(setting_->sizes);
  }

  std::vector<Pulse> take() override {
    std::sort(pulses_.begin(), pulses_.end(), [](const Pulse& a, const Pulse& b) {
      return std::pair(a.first, a.trial) < std::pair(b.first, b.trial);
    });
    return std::exchange(pulses_, {});
  }
  Counters counters() const override { return counters_; }
  const std::vector<std::uint64_t>& over_threshold() const override { return over_; }

  bool finished() const { return finished_; }

 protected:
  std::shared_ptr<const Setting> setting_;  // a state may outlive its plan
  std::vector<Workspace> workspaces_;
  Groups groups_;
  std::vector<std::uint64_t> over_;
  std::vector<Pulse> pulses_;
  Counters counters_;
  bool finished_ = false;
};

template <class T>
class TypedState final : public CpuState {
 public:
  TypedState(std::shared_ptr<const Setting> setting, std::size_t workers)
      : CpuState(std::move(setting), workers) {
    trials_.reserve(setting_->config.trials);
    for (std::size_t t = 0; t < setting_->config.trials; ++t) trials_.emplace_back(*setting_, t);
  }

  // Calls work(trial, index, workspace, over) for every trial, then groups the detections.
  template <class Work>
  void advance(device::Queue& queue, std::size_t grain, const Work& work) {
    const std::size_t widths = over_.size() / trials_.size();
    queue.parallel_for(trials_.size(), grain,
                       [&](std::size_t first, std::size_t last, std::size_t worker) {
                         for (std::size_t t = first; t < last; ++t)
                           work(trials_[t], t, workspaces_[worker], over_.data() + t * widths);
                       });
    std::uint64_t horizon = ~std::uint64_t{0};
    std::vector<Detection> found;
    counters_.missing = 0;
    for (TrialSearch<T>& trial : trials_) {
      trial.blocks().events().take(found);
      horizon = std::min(horizon, trial.horizon(horizon));
      counters_.missing += trial.blocks().missing();
      counters_.searched = std::max(counters_.searched, trial.blocks().block_first());
    }
    counters_.detections += found.size();
    groups_.add(found);
    groups_.settle(horizon, pulses_);
  }

  void finish() { finished_ = true; }
  void count(std::size_t samples) { counters_.samples += samples; }

 private:
  std::vector<TrialSearch<T>> trials_;
};

class CpuPlan final : public Plan {
 public:
  CpuPlan(const Config& config, const device::Device& device, const Tunables& tunables)
      : tunables_(tunables), workers_(device.make_queue()->workers()) {
    Setting setting;
    setting.config = config;
    setting.sizes = derive_sizes(config);
    setting.scales = derive_scales(config, setting.sizes, setting.sizes.baseline());
    setting.kernels = &kernels_for(device.instruction_set());
    setting_ = std::make_shared<const Setting>(std::move(setting));
  }

  const Config& config() const override { return setting_->config; }
  const std::vector<std::size_t>& widths() const override { return setting_->sizes.widths; }
  std::size_t baseline_samples() const override { return setting_->sizes.baseline(); }
  std::size_t noise_samples() const override { return setting_->sizes.noise; }
  std::string backend() const override {
    return std::string(device::to_string(setting_->kernels->set));
  }
  device::MemoryUse bytes() const override {
    const std::size_t one = setting_->config.type == SampleType::int32
                                ? TrialSearch<std::int32_t>::bytes(setting_->sizes)
                                : TrialSearch<float>::bytes(setting_->sizes);
    return {one * setting_->config.trials + workers_ * Workspace::bytes(setting_->sizes), 0};
  }

  std::unique_ptr<State> make_state(device::Queue& queue) const override {
    if (setting_->config.type == SampleType::int32)
      return std::make_unique<TypedState<std::int32_t>>(setting_, queue.workers());
    return std::make_unique<TypedState<float>>(setting_, queue.workers());
  }

  void execute(device::Queue& queue, State& state, const IntegerSeries& series) const override {
    run(queue, state, series, SampleType::int32);
  }
  void execute(device::Queue& queue, State& state, const FloatSeries& series) const override {
    run(queue, state, series, SampleType::float32);
  }
  void finish(device::Queue& queue, State& state) const override {
    if (setting_->config.type == SampleType::int32)
      end<std::int32_t>(queue, state);
    else
      end<float>(queue, state);
  }

 private:
  template <class Series>
  void run(device::Queue& queue, State& state, const Series& series, SampleType type) const {
    using T = std::remove_cvref_t<decltype(series(0, 0))>;
    check_series(setting_->config, type, series.extent(0), series.extent(1), series.stride(1),
                 static_cast<CpuState&>(state).finished());
    auto& typed = static_cast<TypedState<T>&>(state);
    const std::size_t samples = series.extent(1);
    typed.count(samples);
    if (samples == 0) return;
    typed.advance(
        queue, tunables_.task_trials,
        [&](TrialSearch<T>& trial, std::size_t t, Workspace& workspace, std::uint64_t* over) {
          trial.execute(series.row(t), samples, workspace, over);
        });
  }

  template <class T>
  void end(device::Queue& queue, State& state) const {
    auto& typed = static_cast<TypedState<T>&>(state);
    if (typed.finished()) return;
    typed.finish();
    typed.advance(queue, tunables_.task_trials,
                  [](TrialSearch<T>& trial, std::size_t, Workspace& workspace,
                     std::uint64_t* over) { trial.finish(workspace, over); });
  }

  std::shared_ptr<const Setting> setting_;
  Tunables tunables_;
  std::size_t workers_;
};

}  // namespace

std::shared_ptr<const Plan> make_cpu_plan(const Config& config, const device::Device& device,
                                          const Tunables& tunables) {
  return std::make_shared<CpuPlan>(config, device, tunables);
}

}  // namespace tautline::stages::detect
