// The interface of every writer of visibility files: one integration at a time, written beside the final name.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/core/time.h"
#include "tautline/core/view.h"
#include "tautline/formats/array_layout.h"
#include "tautline/formats/astronomy.h"

namespace tautline::formats {

/// Where the correlator's phases point.
struct PhaseCentre {
  bool tracked = false;  ///< false: unprojected (no delays applied)
  std::string name = "zenith";
  double ra_deg = 0, dec_deg = 0;  ///< ICRS
};

/// Everything about the whole file.
struct VisibilityDescription {
  ArrayLayout array;
  std::vector<double> channel_hz;  ///< sky frequency of each channel's centre
  double channel_width_hz = 0;     ///< positive
  /// Flagged whatever their counts, ascending; visibilities and weights are written as they are.
  std::vector<std::size_t> flagged_channels;
  /// Integrations hold, and files list, the products of antennas with themselves alone.
  bool autos_only = false;
  double integration_s = 0;        ///< nominal: spectra x hop / rate
  std::int64_t nominal_count = 0;  ///< samples that a full integration sums
  PhaseCentre phase_centre;
  EarthOrientation earth;  ///< for uvw and apparent places; zero: UT1 = UTC
  std::string telescope, instrument, source;
  std::string history;                       ///< version, command line, device and kernels, inputs
  std::map<std::string, std::string> extra;  ///< more facts recorded in the file
  /// Steps per unit by which voltages were multiplied before they were rounded, [channel][input],
  /// already divided out of the visibilities; empty: nothing was rounded. Channels that were averaged into one have a
  /// gain each. Kept as the HDF5 dataset /tautline/requantisation_gains, or in a Measurement Set's keyword record
  /// "tautline". Where gains change during the run these are the first ones, and all are in
  /// /tautline/requantisation_gain_changes [change][channel][input] with requantisation_gain_integrations [change],
  /// from which integration on each holds, or in the Measurement Set's table REQUANTISATION_GAINS, a row each with
  /// INTEGRATION, TIME (its middle) and GAINS.
  std::vector<double> requantisation_gains;
};

/// One integration, packed lower triangle, inputs in data order, V(i, j) = mean of x_i conj(x_j); where there are
/// `autos_only`, the baselines of baselines_of_antennas().
struct Integration {
  core::Instant middle;      ///< of the span of its spectra
  double integration_s = 0;  ///< spectra it spans x hop / rate (short at the end, a gap, padding)
  core::View<const std::complex<float>, 2> visibilities;  ///< [channel][baseline], means
  core::View<const std::int64_t, 2> counts;               ///< [channel][baseline], valid samples
  /// The gains of this integration, where they change during the run; empty: requantisation_gains.
  std::span<const double> gains = {};
};

/// Writes to "PATH.partial" (a folder for Measurement Sets) and renames on finish(); destroyed
/// before that, it removes what it wrote. Every failure is Error(io) with the path and the reason.
class VisibilityWriter {
 public:
  virtual ~VisibilityWriter() = default;
  virtual void write(const Integration& integration) = 0;
  /// Facts known only at the end (counters); call before finish.
  virtual void add_extra(const std::string& key, const std::string& value) = 0;
  virtual void finish() = 0;
};

/// Makes the receiver of visibilities that are not written to a file.
using MakeVisibilityWriter =
    std::function<std::unique_ptr<VisibilityWriter>(const VisibilityDescription& description)>;

/// Throws Error(config) of `field` for a name without such an ending as create_visibilities takes.
void require_visibility_name(const std::string& field, const std::string& path);

/// By the name's ending: .uvh5 or .ms. Refuses an existing file unless `overwrite`. Throws
/// Error(unsupported) when this build lacks the format's library.
std::unique_ptr<VisibilityWriter> create_visibilities(const std::string& path,
                                                      const VisibilityDescription& description,
                                                      bool overwrite);

}  // namespace tautline::formats
