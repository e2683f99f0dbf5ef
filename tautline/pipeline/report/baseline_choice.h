// Chooses the baselines that a report draws, out of thousands.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tautline/formats/visibility_writer.h"

namespace tautline::pipeline::report {

/// One kept pair of inputs. As in UVH5 files, the visibility is the mean of conj(x_first) x_second,
/// which is V(second, first) of the packed triangle.
struct KeptBaseline {
  std::size_t first = 0, second = 0;  ///< inputs, first < second
  double length_m = 0;                ///< 0 when positions are unknown
  double strength = 0;  ///< fringe_coefficient() x sqrt(valid fraction) in the given integration
  std::vector<std::string>
      reasons;  ///< "strongest", "shortest", "longest", "closure", "cross-hand", "other"
};

/// Three inputs in data order; `sides` are places in BaselineChoice::baselines of (0,1), (1,2) and (0,2).
struct Triangle {
  std::array<std::size_t, 3> inputs{};
  std::array<std::size_t, 3> sides{};
};

struct BaselineChoice {
  std::vector<KeptBaseline> baselines;
  std::vector<Triangle> triangles;
};

/// At most `most` baselines: those that close the triangles of `closure_antennas` antennas, then in
/// turn the strongest, the shortest and the longest between the same feeds of two antennas, as this
/// integration shows them. Small arrays are kept whole. Deterministic.
BaselineChoice choose_baselines(const formats::VisibilityDescription& description,
                                const formats::Integration& integration, std::size_t most,
                                std::size_t closure_antennas);

/// Root of |mean of r(c + 1) conj(r(c))| over neighbouring channels c, r = V(i, j) / sqrt(V(i, i) V(j, j)), at some
/// `places` (1 or more) spread over the band: a fringe counts whole whatever its delay, noise averages away, and a tone
/// in one channel counts little. `flagged` channels, ascending, are left out.
double fringe_coefficient(const formats::Integration& integration, std::size_t i, std::size_t j,
                          std::size_t places, const std::vector<std::size_t>& flagged = {});

}  // namespace tautline::pipeline::report
