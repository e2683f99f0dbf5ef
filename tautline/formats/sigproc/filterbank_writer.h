// sigproc filterbank files (.fil), written as a stream. docs/guide/formats.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tautline/formats/partial_file.h"

namespace tautline::formats::sigproc {

/// What the header says. Units as sigproc has them: MHz, seconds, MJD.
struct FilterbankHeader {
  std::string source_name = "unknown";
  std::string rawdatafile;
  std::size_t nchans = 1;
  std::size_t nifs = 1;
  int nbits = 32;          ///< 32: float
  double fch1_mhz = 0;     ///< centre of the first channel written
  double foff_mhz = 0;     ///< to the next channel, with its sign
  double tstart_mjd = 0;   ///< leading edge of the first sample
  double tsamp_s = 0;
};

/// Samples are [time][if][channel], float. Written to "PATH.partial" and renamed on finish().
class FilterbankWriter {
 public:
  /// Throws Error(config) naming the header's field, Error(io) when the system refuses.
  FilterbankWriter(const std::string& path, const FilterbankHeader& header, bool overwrite);

  /// Appends whole times: nifs x nchans floats each. Throws Error(config) otherwise.
  void write(std::span<const float> samples);
  std::uint64_t samples() const { return samples_; }
  void finish() { file_.finish(); }

 private:
  std::size_t values_per_time_;
  std::uint64_t samples_ = 0;
  PartialFile file_;
};

}  // namespace tautline::formats::sigproc
