#include "tautline/device/cuda/nvml.h"

#include "tautline/device/cuda/library.h"

namespace tautline::device::cuda {

namespace {

using Clock = std::chrono::steady_clock;

// Entry points of nvml.h, declared by us; 0 is success.
struct Nvml {
  int (*Init)();
  int (*GetHandleByPciBusId)(const char*, void**);
  int (*GetPowerUsage)(void*, unsigned*);                        // milliwatts
  int (*GetTotalEnergyConsumption)(void*, unsigned long long*);  // millijoules; may be null
};

bool load(Nvml& n) {
  const Library library{"libnvidia-ml.so.1"};
  bool all = true, optional = true;
  library.find(n.Init, "nvmlInit_v2", all);
  library.find(n.GetHandleByPciBusId, "nvmlDeviceGetHandleByPciBusId_v2", all);
  library.find(n.GetPowerUsage, "nvmlDeviceGetPowerUsage", all);
  library.find(n.GetTotalEnergyConsumption, "nvmlDeviceGetTotalEnergyConsumption", optional);
  return all && n.Init() == 0;
}

const Nvml* nvml() {
  return loaded_table<Nvml, load>();
}

}  // namespace

std::optional<double> EnergyMeter::read_watts() const {
  unsigned milliwatts = 0;
  if (nvml()->GetPowerUsage(card_, &milliwatts) != 0) return std::nullopt;
  return milliwatts * 1e-3;
}

void EnergyMeter::start() {
  failed_ = false;
  joules_ = 0;
  if (counter_) {
    failed_ = nvml()->GetTotalEnergyConsumption(card_, &start_millijoules_) != 0;
    return;
  }
  const auto watts = read_watts();
  failed_ = !watts;
  watts_ = watts.value_or(0);
  sampled_ = Clock::now();
}

void EnergyMeter::add_power() {
  const auto watts = read_watts();
  const auto now = Clock::now();
  failed_ = failed_ || !watts;
  joules_ +=
      (watts_ + watts.value_or(0)) / 2 * std::chrono::duration<double>(now - sampled_).count();
  watts_ = watts.value_or(0);
  sampled_ = now;
}

std::optional<double> EnergyMeter::joules() {
  if (!counter_) {
    add_power();
    return failed_ ? std::nullopt : std::optional(joules_);
  }
  unsigned long long now = 0;
  if (failed_ || nvml()->GetTotalEnergyConsumption(card_, &now) != 0 || now < start_millijoules_)
    return std::nullopt;
  return static_cast<double>(now - start_millijoules_) * 1e-3;
}

std::optional<EnergyMeter> make_energy_meter(const std::string& pci_address) {
  if (pci_address.empty() || nvml() == nullptr) return std::nullopt;
  EnergyMeter meter;
  if (nvml()->GetHandleByPciBusId(pci_address.c_str(), &meter.card_) != 0) return std::nullopt;
  unsigned long long energy = 0;
  meter.counter_ = nvml()->GetTotalEnergyConsumption != nullptr &&
                   nvml()->GetTotalEnergyConsumption(meter.card_, &energy) == 0;
  if (!meter.counter_ && !meter.read_watts()) return std::nullopt;
  return meter;
}

std::optional<EnergyMeter> make_energy_meter(const Device& device) {
  if (!device.compiles()) return std::nullopt;
  return make_energy_meter(device.properties().pci_address);
}

}  // namespace tautline::device::cuda
