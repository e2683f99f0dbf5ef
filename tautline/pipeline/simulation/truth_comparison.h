// Measured visibilities beside the simulator's: amplitudes and phases, closure phases, and the verdict.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

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
  std::size_t without_data =
      0;  ///< products that are not among the visibilities: no sample of them is valid
  /// Antennas with other names or positions than in the truth, in words; empty: none.
  std::string other_antennas;
  bool agrees = false;
  std::string verdict;  ///< one sentence
};

/// Of triangles of antennas that follow each other in `numbers`, and of some wide ones.
std::vector<ComparedClosure> closures_of(const std::vector<ComparedVisibility>& visibilities,
                                         const std::vector<int>& numbers);

/// Fills in what follows from the visibilities and closures.
void judge(TruthComparison& found, const TruthTolerance& tolerance);

}  // namespace tautline::pipeline
