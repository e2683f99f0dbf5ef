// Compares measured visibilities with those that the simulator predicts.
//
// Every baseline's visibilities V(t, f) are fitted with the model M(t, f) of the truth file, whose
// only free number is one complex gain g = sum w conj(M) V / sum w |M|^2, with w the inverse of the
// noise's variance P_1 P_2 / n in each channel (P the two autocorrelations' means, n the count of
// valid samples). What is reported as measured is g times the model at the band's centre and the
// run's middle: a correlator without a fault gives g = 1, and the noise of its real and of its
// imaginary part is (2 sum w |M|^2)^(-1/2).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tautline/formats/visibility_reader.h"
#include "tautline/pipeline/simulation/truth_comparison.h"
#include "tautline/pipeline/simulation/truth_file.h"

namespace tautline::pipeline {

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
