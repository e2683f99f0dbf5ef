// Decides whether the threads of a VDIF file are antennas, polarisations or bands: the headers do not say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/formats/voltage_reader.h"

namespace tautline::formats::vdif {

/// Threads in ascending order of station and number are [antenna][polarisation][band].
struct ThreadRoles {
  std::size_t antennas = 1, polarisations = 1, bands = 1;
  std::vector<std::string> antenna_names;  ///< by station; empty: no station is named
  std::string assumed;                     ///< the assumptions, in words; empty: none
};

/// "Wz", or the number where it is no two letters.
std::string station_text(std::uint32_t station);

/// `keys`: Header::key() in ascending order. Two threads of each station are taken for polarisations unless options say
/// otherwise, other numbers for antennas. Throws Error(config) where stations have not the threads that are asked for.
ThreadRoles roles_of(const std::vector<std::uint32_t>& keys, const ReaderOptions& options);

}  // namespace tautline::formats::vdif
