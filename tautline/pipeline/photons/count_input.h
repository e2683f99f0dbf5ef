// The input of a run over counts or photons: its file or pipe, the part that is read, and the sensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/log.h"
#include "tautline/device/device.h"
#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/autocorrelate_config.h"
#include "tautline/pipeline/photons/empty_counts.h"
#include "tautline/pipeline/photons/live_counts.h"
#include "tautline/pipeline/photons/photon_counts.h"
#include "tautline/pipeline/photons/sensor_map.h"

namespace tautline::pipeline {

/// Bins.
struct Padding {
  std::uint64_t before = 0, after = 0;
};

struct CountInput {
  // Exactly one of these three is set; none for a pipe that is only planned.
  std::unique_ptr<formats::CountReader> file = nullptr;
  std::unique_ptr<CountsAsTheyCome> live_counts = nullptr;
  std::unique_ptr<PhotonBinner> live_tags = nullptr;
  /// The file's or pipe's photons, where they are correlated one by one and not as counts of bins; or null.
  PhotonBinner* photons = nullptr;
  bool one_by_one = false;            ///< whether they are, also of a pipe that is only planned for
  stream::LiveInput* pipe = nullptr;  ///< what live tags are read from

  std::string name = {};  ///< of the file; "-": standard input
  formats::CountDescription description = {};
  double bin_s = 0;
  std::shared_ptr<const SensorMap> sensors = nullptr;
  double start_s = 0;  ///< as configured
  /// First sample of the input that is read, and number of samples; for live input their largest number.
  std::uint64_t first = 0, samples = 0;
  Padding padding = {};  ///< left out before and after these samples
  /// Stops between them, counted from the first, which are read and not correlated.
  std::vector<BinRange> stops = {};
  std::vector<BinRange> named_stops = {};      ///< and those that are correlated
  std::vector<SensorStops> single_stops = {};  ///< of single sensors, which are correlated, too
  /// Bins, counted likewise, in which records of time tags were lost: no pair spans them.
  std::vector<BinRange> breaks = {};
  bool keep_constant = false;  ///< as configured
  core::LogSink log = {};      ///< is told at the end what was damaged; none: it is not

  bool live() const { return file == nullptr; }
  /// Of live input.
  void stop() { live_counts != nullptr ? live_counts->stop() : pipe->stop(); }
  bool stopped() const { return live_counts != nullptr ? live_counts->stopped() : pipe->stopped(); }
  const formats::Damage& damage() const;
  /// Bytes of one time: as read, and after sensors are added together.
  std::size_t row_bytes() const;
};

/// The rate of bins of that length, which is rounded to a femtosecond.
core::Rational rate_of_bins(double bin_s);

/// Samples of live input without `duration_s`: more than any run.
inline constexpr std::uint64_t kAllThatCome = std::uint64_t{1} << 62;

/// Opens counts from an array, a raw file or time tags (binned as they are read), or through a pipe; for a pipe it
/// waits for the first bytes, which determine the format, unless a stop is requested. Throws the formats' errors, and
/// Error(config) on options that the input does not use. `device`: the device that will correlate. `only_planned`: a
/// pipe is not opened, and the input, which cannot be read, has the properties that the options give; Error(config)
/// where they are missing.
CountInput open_count_input(const AutocorrelateConfig& config, const device::Device& device,
                            std::stop_token stop, bool only_planned = false);

/// Buffer of live input, bytes.
std::size_t live_buffer_bytes(const AutocorrelateConfig& config);

}  // namespace tautline::pipeline
