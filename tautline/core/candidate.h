// A pulse as the search reports it. docs/maths: "Pulse candidates" of the conventions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tautline::core {

/// One candidate: the best (trial, boxcar) of a cluster. Samples count from the leading edge of the
/// input's sample 0, at the input's own sampling, and are those of f_ref, the centre of the highest
/// channel.
struct Candidate {
  double dm = 0;                    ///< pc cm^-3, with the dispersion constant of the run
  std::size_t dm_index = 0;         ///< of the trial
  double snr = 0;                   ///< sum over the boxcar of (x - mu) / (sigma sqrt(w))
  std::uint64_t sample = 0;         ///< first sample of the boxcar + floor(width / 2)
  double time_s = 0;                ///< sample x tsamp
  std::uint64_t width_samples = 1;  ///< of the best boxcar
  std::uint64_t members = 1;        ///< detections in the cluster
  std::uint64_t first_sample = 0;   ///< of the cluster
  std::uint64_t last_sample = 0;    ///< of the cluster, included
  std::size_t beam = 0;
  bool injected = false;  ///< of a pulse that the run injected
  std::size_t beams = 1;  ///< beams with the pulse, where several were searched together
  /// Of a line of JSON of a live search: data that had come behind the pulse in the lowest channel.
  std::optional<double> latency_s = {};
  /// Of the values along its sweep, the fraction that stand in for data that did not come or held nothing; none: not
  /// known.
  std::optional<double> filled = {};

  /// heimdall's filter index: round(log2(width)).
  int filter_index() const {
    int index = 0;
    // 2^(index + 1/2) is the border between two indices: compare squares, which are whole.
    while (width_samples * width_samples > (std::uint64_t{2} << (2 * index))) ++index;
    return index;
  }

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

}  // namespace tautline::core
