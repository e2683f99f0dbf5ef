// sigproc filterbank files (.fil) and time series (.tim), written as streams. docs/guide/formats.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/packed_samples.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/sigproc/header.h"

namespace tautline::formats::sigproc {

/// Samples are [time][if][channel]. Written to "PATH.partial" and renamed on finish(). A spectrum
/// whose bits fill no whole number of bytes is followed by the next one's without a gap.
class FilterbankWriter {
 public:
  /// Throws Error(config) naming the header's field, Error(io) when the system refuses.
  FilterbankWriter(const std::string& path, const Header& header, bool overwrite);

  /// Each appends whole times: nifs x nchans values each, for files of 32 bits, of 16, and of 1 to
  /// 8 (one value a byte, below 2^nbits). Throws Error(config) otherwise.
  void write(std::span<const float> samples);
  void write(std::span<const std::uint16_t> samples);
  void write(std::span<const std::uint8_t> samples);
  std::uint64_t samples() const { return samples_; }
  void finish();

 private:
  void count(std::size_t values, bool right_type);

  std::size_t values_per_time_;
  int nbits_;
  std::uint64_t samples_ = 0;
  SamplePacker packer_;
  std::vector<std::byte> packed_;
  PartialFile file_;
};

/// A time series (.tim) of floats. Holds no descriptor between writes, so that a search can have a writer for every
/// trial.
class TimeSeriesWriter {
 public:
  /// `header` as for a filterbank, with refdm; data_type, nchans, nifs and nbits are set here.
  /// Throws Error(config) naming the header's field, Error(io) when the system refuses.
  TimeSeriesWriter(const std::string& path, const Header& header, bool overwrite);

  /// As AppendFile's.
  void lock() { file_.lock(); }
  /// Writes at once, without a buffer: pass large pieces.
  void write(std::span<const float> samples);
  std::uint64_t samples() const { return samples_; }
  void finish() { file_.finish(); }

 private:
  std::uint64_t samples_ = 0;
  AppendFile file_;
};

}  // namespace tautline::formats::sigproc
