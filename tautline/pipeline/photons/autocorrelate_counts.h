// Files of counts to correlation curves: the whole run of `tautline autocorrelate`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/core/fields.h"
#include "tautline/core/log.h"
#include "tautline/device/device.h"
#include "tautline/engine/profile.h"
#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/empty_counts.h"
#include "tautline/pipeline/photons/sensor_map.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/run_watch.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::pipeline {

/// How time tags are correlated: in bins, or one by one, whose cost follows the photons and not the
/// length of the run. The sums are the same, bit for bit.
enum class TagMethod { automatic, bins, direct };

struct AutocorrelateConfig {
  /// NPY, TIFF, PTU, PT3, SPC, Photon-HDF5, or counts without a header. "-" (standard input), a named pipe or a device:
  /// a live run of counts without a header, or of PTU or PT3 with `detectors`. It goes on until the
  /// input ends, `duration_s` is over or a stop is requested, and what came by then is its result.
  std::string input;
  /// Gives the reader of counts that are in no file (formats/memory); `input` is then a name for messages alone.
  std::function<std::unique_ptr<formats::CountReader>()> source = {};
  std::string output;  ///< .csv (one curve), .zip of CSVs, .h5
  bool overwrite = false;
  /// Seconds a bin, above 0. 0: what the file says, which goes first; of time tags default_bin().
  double bin_s = 0;
  stages::autocorrelate::LagScheme lag_scheme = stages::autocorrelate::LagScheme::chain;
  std::size_t bins = 32;    ///< chain: lags a group, 1 to 1024; standard: m, even
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
  /// Padding at the ends of a file is data, and stretches without counts are not looked for.
  bool keep_constant = false;
  std::size_t memory_bytes = core::half_of_memory();  ///< most that is taken
  /// Seconds between two writings of what came so far, on a thread of their own (which HDF5 is used
  /// from then); 0: at the end alone.
  double every_s = 0;
  /// Beside the curves of the run those of about its last `window_s` (WindowSteps), in a file of their own (window_path());
  /// 0: none.
  double window_s = 0;
  /// Where the run's state goes, as often as the curves do; empty: nowhere. The state of a file's part
  /// plans for the rest of the file.
  std::string save_state;
  std::string resume;   ///< a state that the run goes on from; empty: none
  std::string history;  ///< into the output
  core::LogSink log;    ///< news of a run that goes on, from any thread
  RunWatch watch;
};
const core::Fields<AutocorrelateConfig>& fields(const AutocorrelateConfig&);

struct AutocorrelateSummary {
  std::string format;
  std::size_t sensors = 0, curves = 0, lags = 0;
  std::size_t masked = 0;              ///< sensors that the mask calls bad
  std::size_t undefined = 0;           ///< curves without any g: no counts at all
  std::size_t lags_too_long = 0;       ///< lags that no pair of the run reaches
  std::uint64_t samples = 0;           ///< bins of each sensor, those of a resumed state too
  std::uint64_t resumed_samples = 0;   ///< of these
  std::size_t segments = 0;            ///< that standard errors come from
  std::uint64_t writes = 0;            ///< times that the output was written
  std::uint64_t ignored_photons = 0;   ///< of a live run: of detectors that were not asked for
  bool live = false;                   ///< through a pipe
  bool interrupted = false;            ///< a live run that was stopped before its input ended
  double bin_s = 0, mean_rate_hz = 0;  ///< of a sensor, over all curves
  std::string bin_reason;              ///< why this bin, where it was chosen; empty: it was given
  std::string backend;
  double elapsed_s = 0, stream_s = 0;
  EmptyCountsFound empty;  ///< sensors that stopped, and padding that was left out
  formats::Damage damage;
  std::vector<std::string> warnings;
  engine::Profile profile;  ///< where the time went
};

/// Reads, correlates and normalises. Throws core::Error, of a live run that ends before its first whole
/// sample too; nothing is written but a state.
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
