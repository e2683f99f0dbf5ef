#include "tautline/pipeline/voltages/voltage_streams.h"

#include <algorithm>

#include "tautline/core/error.h"

namespace tautline::pipeline {

void Gains::set_integration(std::uint64_t spectra) const {
  const std::uint64_t before = integration_spectra_.exchange(spectra);
  if (schedule_.changes() && before != 0 && before != spectra)
    throw core::Error(
        core::ErrorKind::config, "integration_s", std::to_string(spectra) + " spectra",
        std::to_string(before) +
            ", as another correlator of the filter bank: gains change at the edges of both",
        "give each a filter bank of its own, or leave `settle_s` out");
}

void ValidSpectra::add(const ValidSpectra& others) {
  if (others.empty()) return;
  first = empty() ? others.first : std::min(first, others.first);
  end = std::max(end, others.end);
}

IntegrationTime IntegrationClock::time_of(const core::Instant& segment_start, std::uint64_t first,
                                          std::uint64_t spectra, std::uint64_t whole_integration,
                                          const ValidSpectra& of_data) const {
  const std::uint64_t valid = of_data.end - of_data.first;
  if (valid > 0 && (spectra < whole_integration ||
                    static_cast<double>(valid) < kLeastPart * static_cast<double>(spectra))) {
    first = of_data.first;
    spectra = valid;
  }
  const std::uint64_t twice_middle = (2 * first + spectra - 1) * hop_samples + span_samples;
  return {core::advance_half(segment_start, static_cast<std::int64_t>(twice_middle), rate_hz),
          static_cast<double>(spectra) * static_cast<double>(hop_samples) / rate_hz.value(),
          {},
          of_data};
}

}  // namespace tautline::pipeline
