// Flags for plots: the channels of a filterbank that a search would leave out, and at which times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/presto/mask.h"
#include "tautline/pipeline/plot/plot_config.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline::plot {

/// Channels for the whole range, as `search` with the same mask and flags chooses them, and those that the mask's
/// intervals name.
class CellFlags {
 public:
  /// Reads parts of the data. Throws as channels_to_leave_out().
  CellFlags(formats::FilterbankReader& reader, const SampleRange& range, const PlotConfig& config);

  const std::vector<std::size_t>& channels() const { return channels_; }
  /// Of each channel at a sample, counted with gaps: 1 where it is left out. Good until the next call.
  const std::vector<std::uint8_t>& at(std::uint64_t grid_sample);
  /// Samples from that one on that have the same flags.
  std::uint64_t same_until(std::uint64_t grid_sample) const;

 private:
  const formats::FilterbankDescription& description_;
  std::vector<std::size_t> channels_;
  std::optional<formats::presto::Mask> mask_;
  std::optional<std::size_t> interval_;  // whose flags these are
  std::vector<std::uint8_t> flags_;
};

}  // namespace tautline::pipeline::plot
