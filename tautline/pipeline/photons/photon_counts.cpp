#include "tautline/pipeline/photons/photon_counts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

// A detector that never counted is more likely mistaken for another than meant.
void check_detectors(const std::string& path, const std::vector<std::uint16_t>& wanted) {
  const auto there = formats::count_detectors(*formats::open_photons(path));
  std::string names;
  for (const formats::DetectorCount& detector : there)
    names += (names.empty() ? "" : ", ") + std::to_string(detector.channel);
  for (const std::uint16_t detector : wanted)
    if (std::none_of(there.begin(), there.end(),
                     [&](const auto& one) { return one.channel == detector; }))
      throw core::Error(core::ErrorKind::config, "detectors", std::to_string(detector),
                        names.empty() ? "none: " + path + " holds no photons"
                                      : "detectors with photons in " + path + ": " + names);
}

}  // namespace

PhotonCounts::PhotonCounts(const AutocorrelateConfig& config) : path_(config.input) {
  bin_config_.bin_s = config.bin_s;
  bin_config_.detectors = config.detectors;
  if (config.gate_s) bin_config_.gate = MicrotimeGate{config.gate_s->first, config.gate_s->second};
  const core::SampleType type = config.raw.type.value_or(core::SampleType::u8);
  if (core::bytes_of(type) > 2)
    throw core::Error(core::ErrorKind::config, "type", std::string(core::to_string(type)),
                      "u8 or u16 for time tags");
  if (!config.detectors.empty()) check_detectors(path_, config.detectors);
  open();
  bin_config_.detectors = binner_->detectors();
  count_bins();
  description_ = binner_->description(type);
}

void PhotonCounts::seek(std::uint64_t first_sample) {
  bin_config_.start_s = static_cast<double>(first_sample) * description_.bin_s;
  open();
}

std::size_t PhotonCounts::read(std::span<std::byte> counts) {
  const std::size_t row_bytes = description_.sensors * core::bytes_of(description_.type);
  const std::size_t values =
      counts.size() / row_bytes * row_bytes / core::bytes_of(description_.type);
  if (description_.type == core::SampleType::u8)
    return binner_->read({reinterpret_cast<std::uint8_t*>(counts.data()), values});
  return binner_->read({reinterpret_cast<std::uint16_t*>(counts.data()), values});
}

void PhotonCounts::open() {
  binner_ = std::make_unique<PhotonBinner>(formats::open_photons(path_), bin_config_);
}

// The length of the run is where its last tag is: one pass, which bins nothing.
void PhotonCounts::count_bins() {
  std::vector<BinnedPhoton> events(std::size_t{1} << 14);
  while (binner_->read_events(events) == events.size()) {
  }
  total_ = binner_->bins_done();
  photons_ = binner_->photons_kept();
  open();
}

}  // namespace tautline::pipeline
