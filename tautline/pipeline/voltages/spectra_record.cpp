#include "tautline/pipeline/voltages/spectra_record.h"

#include <nlohmann/json.hpp>

#include "tautline/pipeline/voltages/frequencies.h"

namespace tautline::pipeline {

void add_channels(nlohmann::ordered_json& record, const Spectra& spectra) {
  record["channel_hz"] = channel_frequencies_hz(spectra.voltages, spectra.stream_channels);
  if (!spectra.gains) return;
  const std::size_t inputs = spectra.voltages.inputs();
  for (auto row = spectra.gains->begin(); row != spectra.gains->end();
       row += static_cast<std::ptrdiff_t>(inputs))
    record["requantisation_gains"].push_back(
        std::vector<float>(row, row + static_cast<std::ptrdiff_t>(inputs)));
}

}  // namespace tautline::pipeline
