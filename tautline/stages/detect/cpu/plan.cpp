// The CPU plan: searches trials in parallel, then groups the detections of all.
#include <algorithm>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/detect/backends.h"
#include "tautline/stages/detect/cpu/trial_search.h"
#include "tautline/stages/detect/groups.h"

namespace tautline::stages::detect {

namespace {

template <class T>
class CpuState final : public BaseState {
 public:
  CpuState(std::shared_ptr<const CpuSetting> setting, std::size_t workers)
      : BaseState(*setting, "cpu"), setting_(std::move(setting)), groups_(*setting_) {
    workspaces_.reserve(workers);
    for (std::size_t w = 0; w < workers; ++w) workspaces_.emplace_back(setting_->sizes);
    make_trials();
  }

 private:
  void search(device::Queue& queue, const core::SampleView<2>& given) override {
    const auto series = given.as<const T>("series");
    advance(queue,
            [&](TrialSearch<T>& trial, std::size_t t, Workspace& workspace, std::uint64_t* over) {
              trial.execute(series.row(t), series.extent(1), workspace, over);
            });
  }
  void search_rest(device::Queue& queue) override {
    advance(queue, [](TrialSearch<T>& trial, std::size_t, Workspace& workspace,
                      std::uint64_t* over) { trial.finish(workspace, over); });
  }
  void set_lengths(device::Queue&, std::span<const std::uint64_t> lengths) override {
    for (std::size_t t = 0; t < lengths.size(); ++t)
      trials_[t].shorten(setting_->config.lengths[t] - lengths[t]);
  }
  void clear() override {
    groups_ = Groups(*setting_);
    trials_.clear();
    make_trials();
  }
  void exchange(core::ByteWriter& archive) override { exchange_trials(archive); }
  void exchange(core::ByteReader& archive) override { exchange_trials(archive); }

  template <class Archive>
  void exchange_trials(Archive& archive) {
    groups_.exchange(archive);
    for (TrialSearch<T>& trial : trials_) trial.exchange(archive);
  }
  // The memory of all trials' samples is one buffer, which the threads that search them are the first to touch.
  void make_trials() {
    const std::size_t count = setting_->config.trials;
    const std::size_t each = TrialSearch<T>::sample_bytes(setting_->sizes);
    samples_ = {};
    samples_ = device::Buffer(count * each);
    trials_.reserve(count);
    for (std::size_t t = 0; t < count; ++t)
      trials_.emplace_back(*setting_, t, samples_.as<std::byte>() + t * each);
  }

  // Calls work(trial, index, workspace, over) for every trial, then groups the detections.
  template <class Work>
  void advance(device::Queue& queue, const Work& work) {
    const std::size_t widths = over_.size() / trials_.size();
    queue.parallel_for(trials_.size(), setting_->task_trials,
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

  std::shared_ptr<const CpuSetting> setting_;
  std::vector<Workspace> workspaces_;
  Groups groups_;
  device::Buffer samples_;
  std::vector<TrialSearch<T>> trials_;
};

template <class T>
std::shared_ptr<const Plan> plan_of(const std::shared_ptr<const CpuSetting>& setting,
                                    std::size_t workers) {
  const std::size_t bytes = TrialSearch<T>::bytes(setting->sizes) * setting->config.trials +
                            Workspace::bytes(setting->sizes) * workers;
  return std::make_shared<BackendPlan>(
      setting, std::string(device::to_string(setting->kernels->set)), device::MemoryUse{bytes, 0},
      [setting](device::Queue& queue) {
        return std::make_unique<CpuState<T>>(setting, queue.workers());
      });
}

}  // namespace

std::shared_ptr<const Plan> make_cpu_plan(const Config& config, const device::Device& device,
                                          const Tunables& tunables) {
  const auto setting = std::make_shared<CpuSetting>(config);
  setting->kernels = &kernels_for(device.instruction_set());
  setting->task_trials = tunables.task_trials;
  const std::size_t workers = device.make_queue()->workers();
  return config.type == core::SampleType::f32 ? plan_of<float>(setting, workers)
                                              : plan_of<std::int32_t>(setting, workers);
}

}  // namespace tautline::stages::detect
