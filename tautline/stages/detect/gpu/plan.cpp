// The plan on a GPU, CUDA and OpenCL alike: the series stay in its memory, the few peaks over the
// threshold come to the host, which makes pulses of them with the code that the CPU has.
#include <bit>
#include <utility>

#include "tautline/jit/program.h"
#include "tautline/stages/detect/gpu/state.h"
#include "tautline/stages/detect/backends.h"

namespace tautline::stages::detect {

namespace {

constexpr std::size_t kLeastLocal = 256, kMostLocal = 4096;

class GpuPlan final : public Plan {
 public:
  GpuPlan(const Config& config, std::shared_ptr<const device::Device> device,
          const Tunables& tunables) {
    auto setting = std::make_shared<GpuSetting>();
    setting->config = config;
    setting->sizes = derive_sizes(config);
    setting->rings = derive_gpu_sizes(setting->sizes, config.max_samples);
    setting->scales = derive_scales(config, setting->sizes, setting->sizes.baseline());
    setting->tunables = tunables.gpu;
    setting->device = std::move(device);
    fit_threads(*setting);
    compile(*setting);
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

  static void compile(GpuSetting& setting) {
    const device::Device& device = *setting.device;
    const int floats = setting.config.type == SampleType::float32 ? 1 : 0;
    // Each operation rounded by itself, as on the host.
    const std::vector<std::string> options = device.api() == device::Api::cuda
                                                 ? std::vector<std::string>{"-fmad=false"}
                                                 : std::vector<std::string>{};
    const auto build = [&](const char* file, jit::Defines defines) {
      return jit::build(device, file, defines.set("FLOATS", floats), options);
    };
    const auto tile = static_cast<std::int64_t>(setting.tunables.tile);
    const auto segments = build("detect/gpu/segments.kernel", {});
    const auto baseline = build("detect/gpu/baseline.kernel", {});
    const auto threads = static_cast<std::int64_t>(setting.tunables.threads);
    const auto noise = build("detect/gpu/noise.kernel", jit::Defines().set("THREADS", threads));
    const auto units = build("detect/gpu/units.kernel", jit::Defines()
                                                        .set("THREADS", threads)
                                                        .set("TILE", tile)
                                                        .set("FRONT", std::int64_t{kFront}));
    const std::size_t local =
        std::clamp(std::bit_ceil(setting.sizes.widest() + 1), kLeastLocal, kMostLocal);
    const std::size_t coarse = std::min(kCoarseWidest, std::bit_ceil(setting.sizes.widest()));
    const auto boxcars =
        build("detect/gpu/boxcars.kernel",
              jit::Defines()
                  .set("TILE", tile)
                  .set("LOCAL_WIDEST", static_cast<std::int64_t>(local))
                  .set("COARSE_WIDEST", static_cast<std::int64_t>(coarse))
                  .set("FRONT", std::int64_t{kFront})
                  .set("WIDTHS", static_cast<std::int64_t>(setting.sizes.widths.size())));
    setting.sum_segments = segments->kernel("sum_segments");
    setting.average = baseline->kernel("average");
    setting.subtract = baseline->kernel("subtract");
    setting.gather = baseline->kernel("gather");
    setting.find_median = noise->kernel("find_median");
    setting.add_up = units->kernel("add_up");
    setting.scan = boxcars->kernel("scan");
    setting.sum_squares = boxcars->kernel("sum_squares");
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
