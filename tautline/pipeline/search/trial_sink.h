// Where dedispersed series go: an array, or a folder of one file a trial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/sample_view.h"
#include "tautline/formats/filterbank_reader.h"

namespace tautline::pipeline {

enum class SeriesFormat { npy, dat, tim };

/// The trials of a range of the DM plan, which have one sample time.
struct TrialRange {
  std::vector<double> dms;
  std::size_t downsample = 1;
  std::uint64_t samples = 0;  ///< of every trial, known beforehand; 0: not known
};

struct TrialSinkConfig {
  SeriesFormat format = SeriesFormat::npy;
  /// npy: the file. dat, tim: a folder, or the one trial's file by its ending.
  std::string output;
  bool overwrite = false;
  std::string name;                            ///< of the files in a folder, before _DM12.50.dat
  formats::FilterbankDescription description;  ///< starting where the series start
  double dm_constant = 0;
  bool float_samples = false;  ///< else int32, which only npy keeps
  std::vector<TrialRange> ranges;
};

/// First and last + 1 input sample of each segment that holds data; one or none: no gaps.
using DataSegments = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

class TrialSink {
 public:
  virtual ~TrialSink() = default;
  /// Appends times to every trial of a range: [trial][time], int32 or float, the last axis dense.
  virtual void write(std::size_t range, const core::SampleView<2>& trials) = 0;
  /// Before finish(): PRESTO's .inf tells them.
  virtual void tell_data(const DataSegments&) {}
  /// Every file gets its final name.
  virtual void finish() = 0;
  /// Files that it writes.
  virtual std::vector<std::string> paths() const = 0;
};

/// Makes where series go that are not written to files.
using MakeTrialSink = std::function<std::unique_ptr<TrialSink>(const TrialSinkConfig& config)>;

/// Throws Error(config) for a npy of several ranges, Error(io).
std::unique_ptr<TrialSink> make_trial_sink(const TrialSinkConfig& config);

/// "12.50": as many decimals as tell the trials apart, two at least.
std::vector<std::string> dm_names(const std::vector<double>& dms);

}  // namespace tautline::pipeline
