// Choice of backend. Validation lives with the facts it protects (bank.cpp, checks.cpp).
#include "tautline/stages/channelize/channelize.h"

#include <utility>

#include "tautline/stages/channelize/bank.h"
#include "tautline/stages/channelize/kernel.h"
#include "tautline/stages/channelize/plan.h"
#include "tautline/stages/channelize/tunables.h"

namespace tautline::stages::channelize {

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device) {
  return make_plan(config, std::move(device), Tunables{});
}

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device,
                                      const Tunables& tunables) {
  auto bank = std::make_shared<const Bank>(config);
  auto kernel = device->api() == device::Api::reference ? make_reference_kernel(bank)
                                                        : make_cpu_kernel(bank, *device, tunables);
  return make_tiled_plan(std::move(bank), std::move(kernel), tunables,
                         device->make_queue()->workers());
}

}  // namespace tautline::stages::channelize
