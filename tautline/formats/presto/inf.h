// PRESTO's .inf: the text that describes the .dat beside it. docs/guide/formats.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tautline/core/time.h"

namespace tautline::formats::presto {

/// The dispersion constant that PRESTO uses, s MHz^2 per pc cm^-3.
inline constexpr double kDispersionConstant = 1 / 2.41e-4;

/// The DM that makes PRESTO see the delays which `dm` has with the constant `dm_constant`.
constexpr double presto_dm(double dm, double dm_constant) {
  return dm * dm_constant / kDispersionConstant;
}

struct Inf {
  std::string name;  ///< of the data file, without its ending
  std::string telescope = "unset", instrument = "unset", object = "unset";
  std::string right_ascension = "00:00:00.0000", declination = "00:00:00.0000";  ///< J2000
  std::string observer = "unset", analyst = "tautline";
  core::Instant epoch;  ///< leading edge of the first sample, UTC
  bool barycentred = false;
  std::uint64_t bins = 0;
  double bin_s = 0;
  /// First and last bin of each segment that holds data, when there are breaks.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> on_bins;
  double beam_arcsec = 0;
  double dm = 0;               ///< with kDispersionConstant
  double low_channel_mhz = 0;  ///< centre of the lowest channel
  double bandwidth_mhz = 0, channel_width_mhz = 0;
  std::size_t channels = 1;
  std::vector<std::string> notes;

  double highest_mhz() const {
    return low_channel_mhz + static_cast<double>(channels - 1) * channel_width_mhz;
  }
};

/// Throws Error(format) naming the line, the label and the expectation.
Inf parse_inf(std::string_view text, const std::string& file);
Inf read_inf(const std::string& path);
std::string format_inf(const Inf& inf);

/// An instant as PRESTO writes epochs: the MJD with 15 decimals, rounded down.
std::string format_epoch(const core::Instant& instant);
/// The inverse. Throws Error(config).
core::Instant parse_epoch(std::string_view text);

/// hh:mm:ss.ssss of an angle in degrees, and [-]dd:mm:ss.ssss.
std::string hours_text(double ra_deg);
std::string degrees_text(double dec_deg);

}  // namespace tautline::formats::presto
