#include "tautline/pipeline/voltages/spectra_record.h"

#include <nlohmann/json.hpp>

#include "tautline/pipeline/voltages/frequencies.h"
#include "tautline/pipeline/voltages/make_voltage_sink.h"

namespace tautline::pipeline {

void add_channels(nlohmann::ordered_json& record, const Spectra& spectra) {
  const core::VoltageDescription d = channelized_description(spectra);
  // Facts that an array file has no fields for: its readers take them from here.
  record["format"] = core::to_string(d.format);
  record["rate_hz"] = {d.rate_hz.numerator, d.rate_hz.denominator};
  record["centre_hz"] = d.centre_hz;
  record["bandwidth_hz"] = d.bandwidth_hz;
  record["antennas"] = d.antennas;
  record["polarisations"] = d.polarisations;
  record["telescope"] = d.telescope;
  record["source"] = d.source;
  record["start_utc"] = core::to_dada(d.start);
  record["start_fraction_s"] = {d.start.fraction_numerator, d.start.fraction_denominator};
  record["edge_channels"] = spectra.edge_channels;
  record["channel_hz"] = channel_frequencies_hz(spectra.voltages, spectra.stream_channels);
  const int bits = spectra.requantised_bits;
  if (bits > 0) record["requantised_bits"] = bits;
  if (!spectra.gains) return;
  const std::size_t inputs = spectra.voltages.inputs();
  const std::vector<float>& gains = spectra.gains->values();
  for (auto row = gains.begin(); row != gains.end(); row += static_cast<std::ptrdiff_t>(inputs))
    record["requantisation_gains"].push_back(
        std::vector<float>(row, row + static_cast<std::ptrdiff_t>(inputs)));
}

}  // namespace tautline::pipeline
