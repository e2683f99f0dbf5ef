#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

IntegrationTime IntegrationClock::time_of(const core::Instant& segment_start, std::uint64_t first,
                                          std::uint64_t spectra) const {
  const std::uint64_t twice_middle = (2 * first + spectra - 1) * hop_samples + span_samples;
  return {core::advance_half(segment_start, static_cast<std::int64_t>(twice_middle), rate_hz),
          static_cast<double>(spectra) * static_cast<double>(hop_samples) / rate_hz.value()};
}

}  // namespace tautline::pipeline
