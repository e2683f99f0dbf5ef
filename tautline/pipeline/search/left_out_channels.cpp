#include "tautline/pipeline/search/left_out_channels.h"

#include <algorithm>

#include "tautline/core/error.h"
#include "tautline/pipeline/search/channel_flags.h"
#include "tautline/pipeline/search/mask_intervals.h"

namespace tautline::pipeline {

namespace {

void require_channels_of(const std::vector<std::size_t>& ignored, std::size_t channels) {
  if (ignored.empty()) return;
  const std::size_t last = *std::max_element(ignored.begin(), ignored.end());
  if (last >= channels)
    throw core::Error(core::ErrorKind::config, "ignored_channels",
                      "channel " + std::to_string(last),
                      "channels 0 to " + std::to_string(channels - 1),
                      "ranges include both ends and must end within the input's " +
                          std::to_string(channels) + " channels");
}

}  // namespace

LeftOutChannels channels_to_leave_out(formats::FilterbankReader& reader, const SampleRange& range,
                                      const FilterbankRunConfig& config) {
  const std::size_t channels = reader.description().channels;
  require_channels_of(config.ignored_channels, channels);
  LeftOutChannels out;
  std::string fields;  // that leave some out
  const auto name = [&fields](const std::string& field) {
    fields += (fields.empty() ? "" : ", ") + field;
  };
  out.all = config.ignored_channels;
  if (!out.all.empty()) name("`ignored_channels`");
  if (!config.mask.empty()) {
    const MaskIntervals mask(formats::presto::read_mask(config.mask), reader);
    out.all.insert(out.all.end(), mask.ignored_channels().begin(), mask.ignored_channels().end());
    if (!mask.ignored_channels().empty()) name("`mask` " + config.mask);
  }
  if (config.flag_channels) {
    const ChannelFlagLimits limits;
    out.flagged = flag_channels(measure_channels(reader, range, limits), out.all, limits).bad;
    out.all.insert(out.all.end(), out.flagged.begin(), out.flagged.end());
    if (!out.flagged.empty()) name("`flag_channels`");
  }
  std::sort(out.all.begin(), out.all.end());
  out.all.erase(std::unique(out.all.begin(), out.all.end()), out.all.end());
  if (out.all.size() >= channels)
    throw core::Error(core::ErrorKind::config, fields,
                      "all " + std::to_string(channels) + " channels are left out",
                      "one at least that is not", "leave out fewer of them");
  return out;
}

}  // namespace tautline::pipeline
