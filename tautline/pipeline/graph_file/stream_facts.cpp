#include "tautline/pipeline/graph_file/stream_facts.h"

#include "tautline/pipeline/photons/count_source_node.h"
#include "tautline/pipeline/photons/curve_node.h"
#include "tautline/pipeline/search/dedisperse_node.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/pipeline/voltages/frequencies.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

namespace {

using StreamFacts = std::map<std::string, StreamFact>;

double as_fact(std::size_t number) {
  return static_cast<double>(number);
}

StreamFacts facts_of_voltages(const core::VoltageDescription& voltages) {
  return {{"rate_hz", voltages.rate_hz.value()},
          {"centre_hz", voltages.centre_hz},
          {"bandwidth_hz", voltages.bandwidth_hz},
          {"inputs", as_fact(voltages.inputs())},
          {"channels", as_fact(voltages.channels)},
          {"polarisations", as_fact(voltages.polarisations)},
          {"format", core::to_string(voltages.format)}};
}

StreamFacts facts_of_spectra(const Spectra& spectra) {
  const std::vector<double> all = channel_frequencies_hz(spectra.voltages, spectra.stream_channels);
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(spectra.channels.first);
  return {{"frequencies_hz",
           std::vector<double>(first, first + static_cast<std::ptrdiff_t>(spectra.channels.count))},
          {"inputs", as_fact(spectra.voltages.inputs())},
          {"format", core::to_string(spectra.format)}};
}

}  // namespace

std::map<std::string, StreamFact> facts_of(const engine::Stream& stream) {
  const std::any& details = stream.details;
  if (const auto* raw = std::any_cast<RawVoltages>(&details))
    return facts_of_voltages(raw->description);
  if (const auto* spectra = std::any_cast<Spectra>(&details)) return facts_of_spectra(*spectra);
  if (const auto* visibilities = std::any_cast<Visibilities>(&details)) {
    const formats::VisibilityDescription& d = visibilities->description;
    return {{"frequencies_hz", d.channel_hz},
            {"inputs", as_fact(d.array.inputs.size())},
            {"integration_s", d.integration_s}};
  }
  if (const auto* filterbank = std::any_cast<FilterbankStream>(&details)) {
    const formats::FilterbankDescription& d = filterbank->description();
    return {{"frequencies_mhz", d.channel_mhz},
            {"sample_time_s", d.tsamp_s},
            {"source", d.source},
            {"telescope", d.telescope}};
  }
  if (const auto* trials = std::any_cast<TrialStream>(&details))
    return {{"dms", trials->dms},
            {"sample_time_s", trials->description.tsamp_s * as_fact(trials->downsample)},
            {"dm_constant", trials->dm_constant},
            {"f_ref_mhz", trials->description.highest_mhz()}};
  if (const auto* counts = std::any_cast<CountStream>(&details))
    return {{"bin_s", counts->bin_s}, {"sensors", as_fact(counts->description.sensors)}};
  return {};
}

std::shared_ptr<const core::CorrelationCurves> curves_of(const engine::Block& block) {
  const auto* snapshot = std::any_cast<std::shared_ptr<CurveSnapshot>>(&block.payload);
  if (snapshot == nullptr || *snapshot == nullptr) return nullptr;
  return {*snapshot, &(*snapshot)->curves};
}

}  // namespace tautline::pipeline
