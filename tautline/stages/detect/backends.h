// The plans and states of the stage's backends: not part of the stage's interface.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/byte_archive.h"
#include "tautline/stages/detect/detect.h"
#include "tautline/stages/detect/sizes.h"
#include "tautline/stages/detect/tunables.h"

namespace tautline::stages::detect {

/// What the states of all backends have.
class BaseState : public State {
 public:
  /// `setting` is the derived state's, which may outlive its plan. `backend`: what content() depends
  /// on besides the setting.
  BaseState(const Setting& setting, std::string backend)
      : over_(setting.config.trials * setting.sizes.widths.size()),
        base_(setting),
        backend_(std::move(backend)) {}

  std::vector<Pulse> take() final;
  Counters counters() const final { return counters_; }
  const std::vector<std::uint64_t>& over_threshold() const final { return over_; }
  void shorten(device::Queue& queue, std::span<const std::uint64_t> lengths) final;
  void reset() final;
  std::vector<std::byte> save() const final;
  void load(std::span<const std::byte> bytes) final;

  /// What Plan::execute and Plan::finish do.
  void execute(device::Queue& queue, const core::SampleView<2>& series);
  void finish(device::Queue& queue);

 protected:
  /// Searches columns, one or more, of the plan's type.
  virtual void search(device::Queue& queue, const core::SampleView<2>& series) = 0;
  virtual void search_rest(device::Queue& queue) = 0;
  virtual void set_lengths(device::Queue& queue, std::span<const std::uint64_t> lengths) = 0;
  virtual void clear() = 0;
  /// Hands what the derived state has to the archive. A writer changes nothing, but makes a GPU's
  /// state collect its last step.
  virtual void exchange(core::ByteWriter& archive) = 0;
  virtual void exchange(core::ByteReader& archive) = 0;

  std::vector<std::uint64_t> over_;
  std::vector<Pulse> pulses_;
  Counters counters_;

 private:
  template <class Archive>
  void exchange_all(Archive& archive);
  std::string plan_text() const;

  const Setting& base_;
  std::string backend_;
  bool finished_ = false;
};

/// The plan of every backend: their states differ.
class BackendPlan final : public Plan {
 public:
  using MakeState = std::function<std::unique_ptr<BaseState>(device::Queue& queue)>;
  BackendPlan(std::shared_ptr<const Setting> setting, std::string backend, device::MemoryUse bytes,
              MakeState make_state)
      : setting_(std::move(setting)),
        backend_(std::move(backend)),
        bytes_(bytes),
        make_state_(std::move(make_state)) {}

  const Config& config() const override { return setting_->config; }
  const std::vector<std::size_t>& widths() const override { return setting_->sizes.widths; }
  std::size_t baseline_samples() const override { return setting_->sizes.baseline(); }
  std::size_t noise_samples() const override { return setting_->sizes.noise; }
  std::string backend() const override { return backend_; }
  device::MemoryUse bytes() const override { return bytes_; }
  std::unique_ptr<State> make_state(device::Queue& queue) const override {
    return make_state_(queue);
  }
  void execute(device::Queue& queue, State& state,
               const core::SampleView<2>& series) const override {
    static_cast<BaseState&>(state).execute(queue, series);
  }
  void finish(device::Queue& queue, State& state) const override {
    static_cast<BaseState&>(state).finish(queue);
  }

 private:
  std::shared_ptr<const Setting> setting_;
  std::string backend_;
  device::MemoryUse bytes_;
  MakeState make_state_;
};

/// Keeps the whole stream and searches it at finish, in plain loops; the definition.
std::shared_ptr<const Plan> make_reference_plan(const Config& config);

/// The plan on CPUs (vnni and amx run the code of avx512).
std::shared_ptr<const Plan> make_cpu_plan(const Config& config, const device::Device& device,
                                          const Tunables& tunables);

/// The plan on GPUs, for a device that compiles kernels.
std::shared_ptr<const Plan> make_gpu_plan(const Config& config,
                                          std::shared_ptr<const device::Device> device,
                                          const Tunables& tunables);

}  // namespace tautline::stages::detect
