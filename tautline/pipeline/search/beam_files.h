// What a search reads: one filterbank, of one file or several, or a file for each beam.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/left_out_channels.h"
#include "tautline/pipeline/search/sample_range.h"
#include "tautline/pipeline/search/search_filterbank.h"

namespace tautline::pipeline {

struct Beam {
  std::vector<std::string> files;
  std::shared_ptr<formats::FilterbankReader> reader;
  SampleRange range;
  std::vector<PlacedRange> data_segments;  ///< of the range
  LeftOutChannels left_out;

  const formats::FilterbankDescription& description() const { return reader->description(); }
  double rate_hz() const { return description().rate_hz.value(); }
  /// Times between the data segments.
  std::uint64_t gap_samples() const;
};

/// The inputs of a search, opened; with config.beams each is a beam. Throws Error(config), naming
/// the file and what differs, for beams that do not have the same channels, frequencies, sample
/// time and sample type; they may differ in start and length.
std::vector<Beam> open_beams(const SearchConfig& config);

}  // namespace tautline::pipeline
