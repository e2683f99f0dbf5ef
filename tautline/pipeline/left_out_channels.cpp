#include "tautline/pipeline/left_out_channels.h"

#include <algorithm>

#include "tautline/core/error.h"
#include "tautline/pipeline/channel_flags.h"
#include "tautline/pipeline/mask_intervals.h"

namespace tautline::pipeline {

LeftOutChannels channels_to_leave_out(formats::FilterbankReader& reader, const SampleRange& range,
                                      const FilterbankRunConfig& config) {
  LeftOutChannels out;
  out.all = config.ignored_channels;
  if (!config.mask.empty()) {
    const MaskIntervals mask(formats::presto::read_mask(config.mask), reader);
    out.all.insert(out.all.end(), mask.ignored_channels().begin(), mask.ignored_channels().end());
  }
  if (config.flag_channels) {
    const ChannelFlagLimits limits;
    out.flagged = flag_channels(measure_channels(reader, range, limits), out.all, limits).bad;
    out.all.insert(out.all.end(), out.flagged.begin(), out.flagged.end());
  }
  std::sort(out.all.begin(), out.all.end());
  out.all.erase(std::unique(out.all.begin(), out.all.end()), out.all.end());
  const std::size_t channels = reader.description().channels;
  if (out.all.size() >= channels)
    throw core::Error(core::ErrorKind::config, "--ignorechan",
                      "all " + std::to_string(channels) + " channels are left out",
                      "one at least that is not",
                      "leave out fewer of --ignorechan, --mask and --flag-channels");
  return out;
}

}  // namespace tautline::pipeline
