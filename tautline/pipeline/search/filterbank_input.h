// The opened input of a run over filterbanks: one filterbank, of one file or several, or a file for each beam.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/progress.h"
#include "tautline/pipeline/search/filterbank_run_config.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/pipeline/search/left_out_channels.h"
#include "tautline/pipeline/search/level_steps.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

struct Beam {
  std::vector<std::string> files;
  std::shared_ptr<formats::FilterbankReader> reader;
  SampleRange range;
  std::vector<PlacedRange> data_segments;  ///< of the range
  /// Of a series, on its grid: times at which, as its record says, the filterbank held no data.
  std::vector<SampleRange> empty;
  LeftOutChannels left_out;
  std::vector<LevelStep> level_steps;    ///< data segments end at them
  std::vector<UncutLevel> uncut_levels;  ///< no data segment ends there

  const formats::FilterbankDescription& description() const { return reader->description(); }
  double rate_hz() const { return description().rate_hz.value(); }
  /// Times of the data segments.
  std::uint64_t samples() const;
  /// Times of the range that the files have, those at which a series is empty among them.
  std::uint64_t times_read() const;
  /// Times that the files lack.
  std::uint64_t gap_samples() const;
};

/// Files that were opened, and how they are read.
struct FilterbankInput {
  FilterbankRunConfig config;  ///< as configured
  bool each_is_beam = false;
  bool live =
      false;  ///< comes by a pipe, once; ranges are those of kLiveSamples until it has ended
  std::vector<Beam> beams;  ///< one, or one for each file
  /// FilterbankStream's; none where gaps are not filled.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> filled;
  std::size_t block_samples =
      0;  ///< of a source, where it was asked for; 0: as whoever reads first likes
  Stopwatch opened;
  mutable std::mutex drawing;  ///< used by threads that read again after the run has read all

  const formats::FilterbankDescription& description() const { return beams.front().description(); }
  /// Of all beams.
  std::uint64_t samples() const;
  /// The files of a beam that a list of candidates names.
  std::size_t files_of_beam() const { return each_is_beam ? 1 : config.inputs.size(); }
};

/// The files of a config, opened, with `each_is_beam` as a beam each. With `fill_gaps` what is missing is filled in; of
/// one beam alone. Throws Error(config), naming the file and what differs, for beams that do not have the same
/// channels, frequencies, sample time and sample type; they may differ in start and length. Remarks of the readers go
/// to the device's log.
std::shared_ptr<FilterbankInput> open_filterbanks(const FilterbankRunConfig& config,
                                                  bool each_is_beam, bool fill_gaps,
                                                  const device::Device& device);

/// Reads each part once, in blocks of `block_samples` times. `device`: FilterbankSourceConfig's.
std::unique_ptr<FilterbankSourceNode> make_filterbank_source(
    std::shared_ptr<const FilterbankInput> input, std::size_t block_samples,
    std::shared_ptr<const device::Device> device = nullptr);

}  // namespace tautline::pipeline
