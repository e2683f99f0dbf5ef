// The visibilities that a correlator without a fault makes of the truth's sources.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "tautline/formats/visibility_reader.h"
#include "tautline/pipeline/simulation/truth_file.h"

namespace tautline::pipeline::simulation {

/// Equal feeds of two antennas, which are indices of Truth::antenna_numbers.
struct TruePair {
  std::size_t first = 0, second = 0;
  char feed = 'x';
};

class TruthModel {
 public:
  /// Both outlive the model.
  TruthModel(const formats::VisibilityDescription& description, const Truth& truth);

  /// The integration of visibility().
  void follow_delays(const formats::Integration& integration);
  /// The channel of visibility(), by its centre; after follow_delays().
  void follow_phases(double hz);
  /// The mean over the channel and the integration of conj(x_first) x_second, in units of the samples' steps.
  std::complex<double> visibility(const TruePair& pair) const;

  /// The same at the band's centre and the run's middle, without a mean, in the scene's units.
  std::complex<double> reference(const TruePair& pair) const;
  /// The same from the list of the truth file, which includes the small loss of the simulator; large arrays are not
  /// listed.
  std::complex<double> listed(const TruePair& pair) const;

 private:
  std::vector<double> tracked_delays(const formats::Integration& integration,
                                     double fraction) const;

  const formats::VisibilityDescription& description_;
  const Truth& truth_;
  bool rotated_;  ///< the fringes, after correlation; else the voltages were delayed
  std::size_t channels_in_one_, integrations_in_one_ = 1;
  double correlated_s_;
  // Of the integration at hand, [source][antenna], as the signals arrived and less the phase centre's; and of the
  // channel at hand.
  std::vector<double> arrival_s_, arrival_drift_s_, delay_s_, drift_s_;
  std::vector<std::complex<double>> phasor_;
  std::vector<double> flux_;
  double hz_ = 0;
};

}  // namespace tautline::pipeline::simulation
