// The input of a run over counts or photons: its file or pipe, the part that is read, and the sensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "tautline/device/device.h"
#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/photons/count_padding.h"
#include "tautline/pipeline/photons/live_counts.h"
#include "tautline/pipeline/photons/photon_counts.h"
#include "tautline/pipeline/photons/sensor_map.h"

namespace tautline::pipeline {

struct CountInput {
  // One of these three; none of a pipe that is only planned for.
  std::unique_ptr<formats::CountReader> file = nullptr;
  std::unique_ptr<LiveCounts> live_counts = nullptr;
  std::unique_ptr<PhotonBinner> live_tags = nullptr;
  /// The file's or the pipe's, where photons are taken one by one and not as the counts of bins; or null.
  PhotonBinner* photons = nullptr;
  bool one_by_one = false;            ///< whether they are, also of a pipe that is only planned for
  stream::LiveInput* pipe = nullptr;  ///< what live input is read from

  std::string name = {};  ///< of the file; "-": standard input
  formats::CountDescription description = {};
  double bin_s = 0;
  std::shared_ptr<const SensorMap> sensors = nullptr;
  double start_s = 0;  ///< as it was asked for
  /// Of the input's samples, the first that is taken, and how many; of live input at most so many.
  std::uint64_t first = 0, samples = 0;
  Padding padding = {};        ///< left out before and after these
  bool keep_constant = false;  ///< as it was asked for

  bool live() const { return file == nullptr; }
  const formats::Damage& damage() const;
  /// Bytes of one time: as it is read, and with its sensors added together.
  std::size_t row_bytes() const;
};

/// What is taken of live input without `duration_s`: more than anybody will wait for.
inline constexpr std::uint64_t kAllThatCome = std::uint64_t{1} << 62;

/// Counts from an array, a raw file or time tags (binned as they are read), or through a pipe; then this
/// waits for the first bytes, which tell the format, unless a stop is requested. Throws what the formats
/// throw, and Error(config) on options that the input has no use for. `device`: what will work on them.
/// `only_planned`: a pipe is not opened, and the input, which cannot be read, is what the options say of it; Error(config)
/// where they do not.
CountInput open_count_input(const AutocorrelateConfig& config, const device::Device& device,
                            std::stop_token stop, bool only_planned = false);

/// What live input is gathered in while others work: bytes.
std::size_t live_buffer_bytes(const AutocorrelateConfig& config);

}  // namespace tautline::pipeline
