#include "tautline/stages/corner_turn/corner_turn.h"

#include <algorithm>
#include <string>

#include "tautline/core/error.h"
#include "tautline/stages/corner_turn/backends.h"

namespace tautline::stages::corner_turn {

namespace {

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
                   const Gains& gains, const core::MutableSampleView<3>& samples,
                   const Clipped& clipped) {
  constexpr std::size_t kAny = static_cast<std::size_t>(-1);
  if (samples.type() != config.output_type)
    samples.refuse("corner_turn samples", std::string(core::to_string(config.output_type)));
  require_extent("spectra's inputs", spectra.extent(0), config.inputs);
  require_range("spectra", spectra.extent(1), 0, config.max_spectra);
  require_extent("spectra's channels", spectra.extent(2), config.channels);
  require_extent("samples' channels", samples.extent(0), config.channels);
  require_extent("samples' inputs", samples.extent(1), config.inputs);
  require_range("samples' times", samples.extent(2), spectra.extent(1), kAny);
  if (config.output_type != core::SampleType::cf32) {
    require_extent("gains' channels", gains.extent(0), config.channels);
    require_extent("gains' inputs", gains.extent(1), config.inputs);
    require_extent("clipped's inputs", clipped.extent(0), config.inputs);
  }
  if (validity.data() == nullptr) return;
  require_extent("validity's inputs", validity.extent(0), config.inputs);
  require_range("validity's words", validity.extent(1), core::validity_words(spectra.extent(1)),
                kAny);
}

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device) {
  core::check(config, "corner_turn");
  if (device->api() == device::Api::reference) return make_reference_plan(config);
  return make_cpu_plan(config, device->instruction_set(), Tunables{});
}

void corner_turn(const Spectra& spectra, const core::ValidityView& validity, const Gains& gains,
                 const core::MutableSampleView<3>& samples, const Clipped& clipped,
                 const device::Selection& selection) {
  const auto device = device::open(selection);
  const auto queue = device->make_queue();
  make_plan({.inputs = spectra.extent(0),
             .channels = spectra.extent(2),
             .max_spectra = std::max<std::size_t>(1, spectra.extent(1)),
             .output_type = samples.type()},
            device)
      ->execute(*queue, spectra, validity, gains, samples, clipped);
}

}  // namespace tautline::stages::corner_turn
