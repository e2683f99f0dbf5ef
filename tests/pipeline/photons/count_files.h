// Counts in NPY files and time tags in PTU, for runs of the autocorrelator.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/npy/npy.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/ptu/record_type.h"
#include "tautline/formats/ptu/writer.h"
#include "tautline/pipeline/photons/autocorrelate_config.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {

inline std::vector<std::uint8_t> poisson(std::size_t size, double mean) {
  auto random = generator();
  std::poisson_distribution<int> draw(mean);
  std::vector<std::uint8_t> counts(size);
  for (auto& count : counts) count = static_cast<std::uint8_t>(draw(random));
  return counts;
}

template <class Count>
std::string save_counts(const ScratchFolder& scratch, const std::string& type,
                        const std::vector<Count>& counts, std::uint64_t sensors) {
  const std::string path = scratch / "counts.npy";
  formats::npy::ArrayWriter writer(path, type, {counts.size() / sensors, sensors}, true);
  writer.write(std::as_bytes(std::span(counts)));
  writer.finish();
  return path;
}

inline std::string save(const ScratchFolder& scratch, const std::vector<std::uint8_t>& counts,
                        std::uint64_t sensors) {
  return save_counts(scratch, "|u1", counts, sensors);
}

/// Of two channels, in PTU's records of T2.
inline void write_tags(const std::string& path, const std::vector<formats::Photon>& photons,
                       double tick_s) {
  formats::PhotonDescription description;
  description.mode = formats::TagMode::t2;
  description.time_unit_s = tick_s;
  description.rates_hz = {0, 0};
  description.channels = 2;
  formats::ptu::Writer writer(path, *formats::ptu::find_record_type(0x01010204), description, true);
  writer.write(photons);
  writer.finish(description.rates_hz);
}

inline pipeline::AutocorrelateConfig config_for(const std::string& input) {
  pipeline::AutocorrelateConfig config;
  config.input = input;
  config.bin_s = 1e-5;
  config.lag_scheme = stages::autocorrelate::LagScheme::standard;
  config.bins = 8;
  config.levels = 6;
  return config;
}

}  // namespace tautline::tests
