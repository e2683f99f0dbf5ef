// NVIDIA's management library (NVML), opened at run time: measures the power and the energy that a card draws.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "tautline/device/device.h"

namespace tautline::device::cuda {

/// Adds up the energy that a card draws: by the card's own counter (Volta and later, renewed some
/// ten times a second), else from its power at the times of the calls. It is the whole
/// card's, idle power and other programs' work included.
class EnergyMeter {
 public:
  /// Begins at zero.
  void start();
  /// Joules from start to now; nothing when the card stopped answering. Where there is no counter
  /// it has to be called now and then while work runs.
  std::optional<double> joules();

 private:
  friend std::optional<EnergyMeter> make_energy_meter(const std::string& pci_address);
  EnergyMeter() = default;

  std::optional<double> read_watts() const;
  void add_power();

  void* card_ = nullptr;
  bool counter_ = false, failed_ = false;
  unsigned long long start_millijoules_ = 0;
  double joules_ = 0, watts_ = 0;
  std::chrono::steady_clock::time_point sampled_{};
};

/// Nothing without the library, for an address that it does not know (every other maker's cards),
/// and for cards that report neither energy nor power. Never throws.
std::optional<EnergyMeter> make_energy_meter(const std::string& pci_address);

/// The card of a device that compiles, by its properties.
std::optional<EnergyMeter> make_energy_meter(const Device& device);

}  // namespace tautline::device::cuda
