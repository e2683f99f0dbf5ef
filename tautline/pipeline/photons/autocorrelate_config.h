// The Config of a run from counts to correlation curves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/core/fields.h"
#include "tautline/core/log.h"
#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/sensor_config.h"
#include "tautline/pipeline/run_watch.h"
#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::pipeline {

/// How time tags are correlated: in bins, or one by one, whose cost follows the photons and not the
/// length of the run. The sums are the same, bit for bit.
enum class TagMethod { automatic, bins, direct };

struct AutocorrelateConfig {
  /// NPY, TIFF, PTU, PT3, SPC, Photon-HDF5, or counts without a header. "-" (standard input), a named pipe or a device:
  /// a live run of counts without a header, or of PTU or PT3 with `detectors`. A live run ends with its input, after
  /// `duration_s` or at a stop, and its result is that of the samples received by then.
  std::string input;
  /// Gives the reader of counts that are in no file (formats/memory); `input` is then a name for messages only.
  std::function<std::unique_ptr<formats::CountReader>()> source = {};
  /// `source` reads from the memory of the run's device: blocks are made there, and the host looks at none. With
  /// `keep_constant`, and without sensors that are added together.
  bool samples_on_device = false;
  std::string output;  ///< .csv (one curve), .zip of CSVs, .h5
  bool overwrite = false;
  /// Seconds a bin, above 0, in the place of what a truth beside simulated counts says. 0: as that or `source` says;
  /// for time tags default_bin().
  double bin_s = 0;
  stages::autocorrelate::LagScheme lag_scheme = stages::autocorrelate::LagScheme::chain;
  std::size_t bins = 32;    ///< chain: lags a group, 1 to 1024; standard: m, even
  std::size_t levels = 10;  ///< groups or levels, 1 to 40
  stages::autocorrelate::Coarsening coarsening = stages::autocorrelate::Coarsening::sum;
  core::Normalization normalization = core::Normalization::symmetric;
  std::size_t segments = 10;  ///< for the standard error; 0 or 1: none
  /// Means segment by segment, against bleaching: 2 or more segments, symmetric normalisation.
  bool detrend = false;
  // Of packets, where `input` is udp://HOST:PORT: as stream::PacketRowsConfig. The layout says the type of the counts;
  // `bin_s` and `raw.sensors` or `sensors` are given.
  std::string layout = "counts", interface;
  std::optional<std::uint64_t> first_count;
  std::size_t window_samples = 0;
  double wait_s = -1, silence_s = -1, longest_gap_s = 60;
  SensorConfig sensors;
  formats::RawCounts raw;                ///< sensors and header, only for raw files
  std::vector<std::uint16_t> detectors;  ///< of time tags, which must have photons; empty: all
  std::optional<std::pair<double, double>> gate_s;  ///< [low, high) of T3 tags' microtimes, seconds
  TagMethod tag_method = TagMethod::automatic;      ///< automatic: direct where photons are rare
  double start_s = 0;                               ///< seconds to skip, 0 or more
  double duration_s = -1;                           ///< seconds to take; below 0: to the end
  /// Stops of all sensors, which are left out of files, are data, and sensors that stop are not looked for.
  bool keep_constant = false;
  std::size_t memory_bytes = core::half_of_memory();  ///< most memory of the run
  /// Seconds between two writings of the curves so far, on a thread of their own (which alone uses HDF5 from then on);
  /// 0: only at the end.
  double every_s = 0;
  /// Beside the run's curves, write those of about its last `window_s` (WindowSteps) to a file of their own
  /// (window_path()); 0: none.
  double window_s = 0;
  /// File for the run's state, written as often as the curves; empty: none. The state of a file's part plans for the
  /// rest of the file.
  std::string save_state;
  std::string resume;   ///< a state that the run resumes from; empty: none
  std::string history;  ///< for the output
  core::LogSink log;    ///< messages during a run, from any thread
  RunWatch watch;
};
const core::Fields<AutocorrelateConfig>& fields(const AutocorrelateConfig&);

}  // namespace tautline::pipeline
