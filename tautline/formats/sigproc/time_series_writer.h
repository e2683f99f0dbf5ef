// sigproc time series (.tim) of floats, written as a stream. docs/guide/formats.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tautline/formats/append_file.h"
#include "tautline/formats/sigproc/header.h"

namespace tautline::formats::sigproc {

/// Holds no descriptor between writes, so that one can be had for every trial of a search.
class TimeSeriesWriter {
 public:
  /// `header` as for a filterbank, with refdm; data_type, nchans, nifs and nbits are set here.
  /// Throws Error(config) naming the header's field, Error(io) when the system refuses.
  TimeSeriesWriter(const std::string& path, const Header& header, bool overwrite);

  /// Appends at once: give it large pieces.
  void write(std::span<const float> samples);
  std::uint64_t samples() const { return samples_; }
  void finish() { file_.finish(); }

 private:
  std::uint64_t samples_ = 0;
  AppendFile file_;
};

}  // namespace tautline::formats::sigproc
