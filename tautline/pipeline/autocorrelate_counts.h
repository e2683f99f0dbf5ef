// Files of counts to correlation curves: the whole run of `tautline autocorrelate`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/device/device.h"
#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/sensor_map.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::pipeline {

/// How time tags are correlated: in bins, or one by one, whose cost follows the photons and not the
/// length of the run. The sums are the same, bit for bit.
enum class TagMethod { automatic, bins, direct };

struct AutocorrelateConfig {
  std::string input;   ///< NPY, TIFF, PTU, PT3, or counts without a header
  std::string output;  ///< .csv (one curve), .zip of CSVs, .h5
  bool overwrite = false;
  double bin_s = 0;  ///< seconds a bin, above 0; 0: what the file says, which goes first
  stages::autocorrelate::Ladder ladder = stages::autocorrelate::Ladder::chain;
  std::size_t bins = 32;    ///< lags a group, 1 to 1024; of the standard ladder m, even
  std::size_t levels = 10;  ///< groups or levels, 1 to 40
  stages::autocorrelate::Coarsening coarsening = stages::autocorrelate::Coarsening::sum;
  core::Normalization normalization = core::Normalization::symmetric;
  std::size_t segments = 10;  ///< for the standard error; 0 or 1: none
  /// Means segment by segment, against bleaching: 2 or more segments, symmetric normalisation.
  bool detrend = false;
  SensorConfig sensors;
  formats::RawCounts raw;                ///< sensors and header of raw files alone
  std::vector<std::uint16_t> detectors;  ///< of time tags, which must have photons; empty: all
  std::optional<std::pair<double, double>> gate_s;  ///< [low, high) of T3 tags' microtimes, seconds
  TagMethod tag_method = TagMethod::automatic;      ///< automatic: direct where photons are rare
  double start_s = 0;                               ///< seconds to skip, 0 or more
  double duration_s = -1;                           ///< seconds to take; below 0: to the end
  std::size_t memory_bytes = std::size_t{512} << 20;  ///< most that is taken
  std::string history;                                ///< into the output
};

struct AutocorrelateSummary {
  std::string format;
  std::size_t sensors = 0, curves = 0, lags = 0;
  std::size_t masked = 0;              ///< sensors that the mask calls bad
  std::size_t undefined = 0;           ///< curves without any g: no counts at all
  std::size_t lags_too_long = 0;       ///< lags that no pair of the run reaches
  std::uint64_t samples = 0;           ///< bins of each sensor
  double bin_s = 0, mean_rate_hz = 0;  ///< of a sensor, over all curves
  std::string backend;
  double elapsed_s = 0, stream_s = 0;
  formats::Damage damage;
  std::vector<std::string> warnings;
};

/// Reads, correlates and normalises. Throws core::Error; nothing is written.
core::CorrelationCurves correlate_counts(const AutocorrelateConfig& config,
                                         std::shared_ptr<const device::Device> device,
                                         AutocorrelateSummary& summary,
                                         const ProgressCallback& progress = {},
                                         std::stop_token stop = {});

/// The same, into config.output.
AutocorrelateSummary autocorrelate_counts(const AutocorrelateConfig& config,
                                          std::shared_ptr<const device::Device> device,
                                          const ProgressCallback& progress = {},
                                          std::stop_token stop = {});

}  // namespace tautline::pipeline
