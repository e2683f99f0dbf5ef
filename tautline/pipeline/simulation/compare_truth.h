// Compares measured visibilities with those that the simulator predicts.
//
// Every baseline's visibilities V(t, f) are fitted with the model M(t, f) of the truth file, whose
// only free number is one complex gain g = sum w conj(M) V / sum w |M|^2, with w the inverse of the
// noise's variance P_1 P_2 / n in each channel (P the two autocorrelations' means, n the count of
// valid samples). What is reported as measured is g times the model at the band's centre and the
// run's middle: a correlator without a fault gives g = 1, and the noise of its real and of its
// imaginary part is (2 sum w |M|^2)^(-1/2).
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tautline/formats/visibility_reader.h"
#include "tautline/pipeline/simulation/truth_file.h"

namespace tautline::pipeline {

/// One product of equal feeds of two antennas. Amplitudes are in the scene's units of power.
struct ComparedVisibility {
  int ant_1 = 0, ant_2 = 0;  ///< antenna numbers
  char feed = 'x';
  double length_m = 0;
  double measured_amplitude = 0, true_amplitude = 0, amplitude_error = 0;  ///< error: 1 sigma
  double measured_phase_deg = 0, true_phase_deg = 0, phase_error_deg = 0;
  double amplitude_sigmas = 0, phase_sigmas = 0;  ///< (measured - true) / error, signed
};

/// Phase around a triangle: phase(1,2) + phase(2,3) - phase(1,3).
struct ComparedClosure {
  std::array<int, 3> antennas{};
  char feed = 'x';
  double measured_deg = 0, true_deg = 0, error_deg = 0, sigmas = 0;
};

/// A difference may be `sigmas` standard errors and, added to these, a part of the amplitude or an angle: the
/// simulator's sources lose up to 1 % of their amplitude on its longest baselines. (The 4 % that rounding to 4 bits
/// loses, in recording or behind the filter bank, are included in the prediction.)
struct TruthTolerance {
  double sigmas = 5;
  double amplitude_fraction = 0.02;
  double phase_deg = 0.5;
};

struct TruthComparison {
  std::vector<ComparedVisibility> visibilities;  ///< from the shortest baseline to the longest
  std::vector<ComparedClosure> closures;
  /// Root mean square of the differences over their errors; 1 when the differences are only noise.
  double amplitude_rms_sigmas = 0, phase_rms_sigmas = 0, closure_rms_sigmas = 0;
  double mean_amplitude_ratio = 0;  ///< measured over true, weighted by 1 / error^2
  double power_ratio = 0;           ///< autocorrelations over the true power; NaN with tones
  std::size_t beyond_noise =
      0;                    ///< visibilities and closures off by more than `sigmas` standard errors
  std::size_t outside = 0;  ///< of these, beyond the whole tolerance
  std::size_t strong = 0;   ///< visibilities at least 10 times their error
  bool agrees = false;
  std::string verdict;  ///< one sentence
};

/// At most this many baselines are compared, evenly chosen.
inline constexpr std::size_t kMostComparedBaselines = 8192;

/// Throws core::Error; Error(config) when the files have no antennas or no channels in common.
TruthComparison compare_truth(formats::VisibilityReader& visibilities,
                              const simulation::Truth& truth, const TruthTolerance& tolerance = {});

/// The same from files.
TruthComparison compare_truth(const std::string& visibilities_path, const std::string& truth_path,
                              const TruthTolerance& tolerance = {});

/// At most `most` indices of `count` rows, evenly spread, with the first and the last among them:
/// the rows of a table on a screen.
std::vector<std::size_t> spread_rows(std::size_t count, std::size_t most);

}  // namespace tautline::pipeline
