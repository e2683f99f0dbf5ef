// Choice of backend. bank.cpp validates configs, checks.cpp the arguments of execute().
#include "tautline/stages/channelize/channelize.h"

#include <algorithm>
#include <utility>

#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/cpu/dispatch.h"
#include "tautline/stages/channelize/cpu/plan.h"
#include "tautline/stages/channelize/gpu/plan.h"
#include "tautline/stages/channelize/gpu/tuning.h"
#include "tautline/stages/channelize/reference.h"
#include "tautline/stages/channelize/tunables.h"

namespace tautline::stages::channelize {

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device) {
  if (device->compiles())
    return gpu::make_tuned_plan(std::make_shared<const Bank>(config), std::move(device));
  return make_plan(config, std::move(device), Tunables{});
}

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const Tunables& tunables) {
  auto bank = std::make_shared<const Bank>(config);
  if (device->compiles()) return gpu::make_gpu_plan(std::move(bank), std::move(device), tunables);
  auto kernel = device->api() == device::Api::reference ? make_reference_kernel(bank)
                                                        : make_cpu_kernel(bank, *device, tunables);
  return make_tiled_plan(std::move(bank), std::move(kernel), tunables,
                         device->make_queue()->workers());
}

core::SampleType Config::output_type() const {
  if (output == Output::corner_turned_ci8) return core::SampleType::ci8;
  return output == Output::corner_turned_ci4 ? core::SampleType::ci4 : core::SampleType::cf32;
}

core::MutableSampleView<3> Config::output_view(void* data, std::size_t spectra) const {
  if (output == Output::spectra_float) return {data, output_type(), {inputs, spectra, channels}};
  return {data, output_type(), {channels, inputs, spectra}};
}

std::size_t channelize(const Config& config, const Input& input, const OutputViews& output,
                       const device::Selection& selection) {
  Config sized = config;
  sized.max_samples = std::max<std::size_t>(1, input.count);
  const auto device = device::open(selection);
  const auto plan = make_plan(sized, device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  const std::size_t spectra = plan->execute(*queue, *state, input, output);
  queue->synchronise();
  return spectra;
}

}  // namespace tautline::stages::channelize
