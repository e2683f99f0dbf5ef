// The GPU plan, for CUDA and OpenCL. Series stay in device memory. The few peaks over the threshold
// are copied to the host, which makes events and pulses of them with the code of the CPU backend.
#include <utility>

#include "tautline/stages/detect/backends.h"
#include "tautline/stages/detect/gpu/dispatch.h"
#include "tautline/stages/detect/gpu/state.h"

namespace tautline::stages::detect {

namespace {

class GpuPlan final : public Plan {
 public:
  GpuPlan(const Config& config, std::shared_ptr<const device::Device> device,
          const Tunables& tunables) {
    auto setting = std::make_shared<GpuSetting>();
    setting->config = config;
    setting->sizes = derive_sizes(config);
    setting->rings = derive_rings(setting->sizes, config.max_samples);
    setting->scales = derive_scales(config, setting->sizes, setting->sizes.baseline());
    setting->tunables = tunables.gpu;
    setting->device = std::move(device);
    fit_threads(*setting);
    setting->kernels = make_kernels(*setting, *setting->device);
    setting_ = std::move(setting);
  }

  const Config& config() const override { return setting_->config; }
  const std::vector<std::size_t>& widths() const override { return setting_->sizes.widths; }
  std::size_t baseline_samples() const override { return setting_->sizes.baseline(); }
  std::size_t noise_samples() const override { return setting_->sizes.noise; }
  std::string backend() const override {
    return setting_->device->api() == device::Api::cuda ? "cuda" : "opencl";
  }
  device::MemoryUse bytes() const override { return setting_->bytes(); }
  std::unique_ptr<State> make_state(device::Queue& queue) const override {
    return std::make_unique<GpuState>(setting_, queue);
  }
  void execute(device::Queue& queue, State& state, const IntegerSeries& series) const override {
    run(queue, state, series, SampleType::int32);
  }
  void execute(device::Queue& queue, State& state, const FloatSeries& series) const override {
    run(queue, state, series, SampleType::float32);
  }
  void finish(device::Queue& queue, State& state) const override {
    static_cast<GpuState&>(state).finish(queue);
  }

 private:
  static void fit_threads(GpuSetting& setting) {
    const std::size_t most = setting.device->properties().max_group_threads;
    while (setting.tunables.threads > 64 && setting.tunables.threads > most)
      setting.tunables.threads /= 2;
  }

  template <class Series>
  void run(device::Queue& queue, State& state, const Series& series, SampleType type) const {
    auto& own = static_cast<GpuState&>(state);
    check_series(setting_->config, type, series.extent(0), series.extent(1), series.stride(1),
                 own.finished());
    own.execute(queue, series.data(), static_cast<std::size_t>(series.stride(0)), series.extent(1));
  }

  std::shared_ptr<const GpuSetting> setting_;
};

}  // namespace

std::shared_ptr<const Plan> make_gpu_plan(const Config& config,
                                          std::shared_ptr<const device::Device> device,
                                          const Tunables& tunables) {
  return std::make_shared<GpuPlan>(config, std::move(device), tunables);
}

}  // namespace tautline::stages::detect
