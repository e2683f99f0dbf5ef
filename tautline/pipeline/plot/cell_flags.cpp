#include "tautline/pipeline/plot/cell_flags.h"

#include <limits>

#include "tautline/pipeline/search/left_out_channels.h"

namespace tautline::pipeline::plot {

CellFlags::CellFlags(formats::FilterbankReader& reader, const SampleRange& range,
                     const PlotConfig& config)
    : description_(reader.description()), flags_(description_.channels, 0) {
  FilterbankRunConfig same;
  same.mask = config.mask;
  same.flag_channels = config.flag_channels;
  channels_ = channels_to_leave_out(reader, range, same).all;
  if (!config.mask.empty()) mask_ = formats::presto::read_mask(config.mask);
  for (const std::size_t channel : channels_) flags_[channel] = 1;
}

const std::vector<std::uint8_t>& CellFlags::at(std::uint64_t grid_sample) {
  if (!mask_) return flags_;
  const std::size_t interval = mask_->interval_of(grid_sample);
  if (interval_ == interval) return flags_;
  interval_ = interval;
  flags_ = mask_->channel_flags(interval, description_);
  for (const std::size_t channel : channels_) flags_[channel] = 1;
  return flags_;
}

std::uint64_t CellFlags::same_until(std::uint64_t grid_sample) const {
  if (!mask_) return std::numeric_limits<std::uint64_t>::max();
  return mask_->samples_per_interval - grid_sample % mask_->samples_per_interval;
}

}  // namespace tautline::pipeline::plot
