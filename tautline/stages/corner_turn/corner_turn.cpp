#include "tautline/stages/corner_turn/corner_turn.h"

#include <array>
#include <string>

#include "tautline/core/error.h"
#include "tautline/stages/corner_turn/backends.h"

namespace tautline::stages::corner_turn {

namespace {

constexpr std::size_t kMaxInputs = 4096;
constexpr std::size_t kMaxChannels = 65536;
constexpr std::size_t kMaxSpectra = std::size_t{1} << 32;

void require_range(const std::string& field, std::size_t value, std::size_t low, std::size_t high) {
  if (value < low || value > high)
    throw core::Error(core::ErrorKind::config, "corner_turn " + field, std::to_string(value),
                      std::to_string(low) + " to " + std::to_string(high));
}

void require_extent(const std::string& field, std::size_t value, std::size_t expected) {
  if (value != expected)
    throw core::Error(core::ErrorKind::config, "corner_turn " + field, std::to_string(value),
                      std::to_string(expected) + ", as the plan says");
}

}  // namespace

void require_views(const Config& config, const Spectra& spectra, const core::ValidityView& validity,
                   int bits, const std::array<std::size_t, 3>& samples) {
  require_extent("samples' bits", static_cast<std::size_t>(bits),
                 static_cast<std::size_t>(config.output_bits));
  require_extent("spectra's inputs", spectra.extent(0), config.inputs);
  require_range("spectra", spectra.extent(1), 0, config.max_spectra);
  require_extent("spectra's channels", spectra.extent(2), config.channels);
  require_extent("samples' channels", samples[0], config.channels);
  require_extent("samples' inputs", samples[1], config.inputs);
  require_range("samples' times", samples[2], spectra.extent(1), static_cast<std::size_t>(-1));
  if (validity.data() == nullptr) return;
  require_extent("validity's inputs", validity.extent(0), config.inputs);
  require_range("validity's words", validity.extent(1), core::validity_words(spectra.extent(1)),
                static_cast<std::size_t>(-1));
}

void require_gains(const Config& config, const Gains& gains, const Clipped& clipped) {
  require_extent("gains' channels", gains.extent(0), config.channels);
  require_extent("gains' inputs", gains.extent(1), config.inputs);
  require_extent("clipped's inputs", clipped.extent(0), config.inputs);
}

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device) {
  require_range("inputs", config.inputs, 1, kMaxInputs);
  require_range("channels", config.channels, 1, kMaxChannels);
  require_range("max_spectra", config.max_spectra, 1, kMaxSpectra);
  if (config.output_bits != 8 && config.output_bits != 4 && config.output_bits != 32)
    throw core::Error(core::ErrorKind::config, "corner_turn output_bits",
                      std::to_string(config.output_bits), "8, 4 or 32");
  if (device->api() == device::Api::reference) return make_reference_plan(config);
  return make_cpu_plan(config, device->instruction_set(), Tunables{});
}

}  // namespace tautline::stages::corner_turn
