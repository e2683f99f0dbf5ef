// Reads X.truth.json back: the sources, delays and powers that a correlator should find.
#pragma once

#include <complex>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/time.h"
#include "tautline/formats/astronomy.h"

namespace tautline::pipeline::simulation {

/// One source; delays are of each antenna of Truth::antenna_numbers, at Truth::middle.
struct TrueSource {
  std::string name;
  double flux = 0, spectral_index = 0;
  double power_x = 1, power_y = 1;  ///< of each feed, in units of the flux
  std::vector<double> delay_s, delay_rate, delay_acceleration_per_s;
};

struct Truth {
  core::Instant middle;
  double centre_hz = 0, bandwidth_hz = 0;
  double power_scale = 1;  ///< power in the samples' steps over power in the scene's units
  bool complex = true;     ///< samples; else real
  int largest_step = 0;    ///< of a sample's component; 0: not said
  std::vector<int> antenna_numbers;
  std::vector<std::string> antenna_names;        ///< empty: not said
  std::vector<formats::Vector3> antenna_ecef_m;  ///< empty: not said
  std::vector<TrueSource> sources;
  std::vector<double> tones_hz;
  /// conj(x_first) x_second at the band's centre and the run's middle, in the scene's units, by
  /// (ant_1, ant_2, feed). Empty for large arrays.
  std::map<std::pair<std::pair<int, int>, char>, std::complex<double>> listed;
  /// Mean power of each input by (antenna, feed), in the scene's units.
  std::map<std::pair<int, char>, double> input_power;
};

/// Throws Error(format), which names what the file is, for a folder and for a file of another known kind that is no
/// truth of `schema`.
void require_truth_file(const std::string& path, const std::string& schema);
/// Throws Error(io) and Error(format) naming the file and the field.
Truth read_truth(const std::string& path);

}  // namespace tautline::pipeline::simulation
