// The histogram of photons' arrival times within the laser's period (TCSPC), for the choice of time gates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tautline/formats/photon_reader.h"

namespace tautline::pipeline {

struct TcspcHistogram {
  double unit_s = 0;  ///< of a microtime
  std::vector<std::uint16_t> detectors;
  std::vector<std::vector<std::uint64_t>> counts;  ///< [detector][microtime], all of one length
};

/// Reads the stream from its first record to its end. Throws Error(config) where tags have no microtimes, or these have
/// no unit.
TcspcHistogram tcspc_histogram(formats::PhotonReader& reader, const std::string& path);

/// A line for each microtime: its lower edge (s), as `gate_s` counts it, then the counts of each detector. Comments
/// begin with #.
std::string tcspc_csv(const TcspcHistogram& histogram, const std::string& history);

/// Throws Error(io); an existing file is refused unless `overwrite`.
void write_tcspc(const std::string& path, const TcspcHistogram& histogram,
                 const std::string& history, bool overwrite);

/// Whether a file is such a table, by its heading.
bool holds_tcspc(const std::string& path);
/// Throws Error(format) that names the line.
TcspcHistogram read_tcspc(const std::string& path);

}  // namespace tautline::pipeline
