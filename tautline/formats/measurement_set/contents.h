// A summary of a Measurement Set for `inspect`, read from its tables without the visibilities.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tautline::formats::measurement_set {

struct SpectralWindow {
  std::size_t channels = 0;
  double lowest_hz = 0, highest_hz = 0;  ///< centres
  double channel_width_hz = 0;           ///< of the first channel, positive
};

struct Contents {
  std::string telescope;
  std::vector<std::string> antennas;
  std::vector<std::string> fields;  ///< names; consecutive equal names once
  /// Right ascension and declination of PHASE_DIR, [field]; of fields that follow each other, the first's.
  std::vector<std::array<double, 2>> field_positions_deg;
  std::vector<std::string> polarisations;    ///< of the first setup: "XX"
  std::vector<SpectralWindow> windows;       ///< spectral windows
  std::uint64_t rows = 0, flagged_rows = 0;  ///< of MAIN
  std::uint64_t integrations = 0;            ///< different times
  double first_mjd_s = 0, last_mjd_s = 0;    ///< middles of the first and of the last
  double integration_s = 0;                  ///< the longest
  double lowest_weight = 0, mean_weight = 0, highest_weight = 0;  ///< of rows that are not flagged
};

/// Memory: some thousand rows at a time. Throws Error(format) when a folder is no Measurement Set, with casacore's
/// reason, and Error(unsupported) in a build without casacore.
Contents contents_of(const std::string& path);

/// Throws Error(io) where nothing has that name: casacore's own message would call it a damaged set.
void require_there(const std::string& path);

}  // namespace tautline::formats::measurement_set
