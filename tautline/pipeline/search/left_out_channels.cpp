#include "tautline/pipeline/search/left_out_channels.h"

#include <algorithm>
#include <cstring>

#include "tautline/core/constant_run.h"
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

// Channels with one value in 64 parts of 16 spectra each, spread over the range. Spectra that repeat the one before
// them tell nothing, and where there are fewer others than it takes to tell a constant channel from noise nothing is
// said.
std::vector<std::size_t> constant_channels(formats::FilterbankReader& reader,
                                           const SampleRange& range) {
  constexpr std::uint64_t kParts = 64, kSpectra = 16;
  const formats::FilterbankDescription& description = reader.description();
  const std::size_t value = formats::bytes_of(description.delivered);
  const std::size_t spectrum_bytes = description.sample_bytes();
  if (description.channels < 2) return {};
  std::vector<std::byte> bytes(kSpectra * spectrum_bytes), one;
  std::vector<bool> changes(description.channels, false);
  std::size_t seen = 0;
  const std::uint64_t parts = std::min(kParts, range.count / kSpectra);
  for (std::uint64_t part = 0; part < parts; ++part) {
    const std::uint64_t first =
        parts > 1 ? part * (range.count - kSpectra) / (parts - 1) : std::uint64_t{0};
    const std::size_t got = reader.read(range.first + first, kSpectra, bytes);
    for (std::size_t t = 1; t < got; ++t) {
      const std::byte* spectrum = bytes.data() + t * spectrum_bytes;
      if (std::memcmp(spectrum, spectrum - spectrum_bytes, spectrum_bytes) == 0) continue;
      if (one.empty()) one.assign(spectrum, spectrum + spectrum_bytes);
      for (std::size_t c = 0; c < changes.size(); ++c)
        if (!changes[c])
          changes[c] = std::memcmp(spectrum + c * value, one.data() + c * value, value) != 0;
      ++seen;
    }
  }
  std::vector<std::size_t> constant;
  const std::size_t least =
      core::repeats_of_nothing(description.bits, static_cast<double>(description.channels));
  for (std::size_t c = 0; c < changes.size() && seen >= least; ++c)
    if (!changes[c]) constant.push_back(c);
  if (constant.size() == changes.size()) constant.clear();
  return constant;
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
    const MaskIntervals mask(formats::presto::read_mask(config.mask), MissingTimes::mean, reader);
    out.all.insert(out.all.end(), mask.ignored_channels().begin(), mask.ignored_channels().end());
    if (!mask.ignored_channels().empty()) name("`mask` " + config.mask);
  }
  if (!config.keep_constant) {
    out.constant = constant_channels(reader, range);
    out.all.insert(out.all.end(), out.constant.begin(), out.constant.end());
    if (!out.constant.empty()) name("constant ones (`keep_constant`)");
  }
  std::sort(out.all.begin(), out.all.end());
  out.all.erase(std::unique(out.all.begin(), out.all.end()), out.all.end());
  if (config.flag_channels) {
    const ChannelFlagLimits limits;
    out.flagged =
        flag_channels(measure_channels(reader, range, out.all, config.keep_constant, limits),
                      out.all, limits)
            .bad;
    out.all.insert(out.all.end(), out.flagged.begin(), out.flagged.end());
    if (!out.flagged.empty()) name("`flag_channels`");
    std::sort(out.all.begin(), out.all.end());
  }
  if (out.all.size() >= channels)
    throw core::Error(core::ErrorKind::config, fields,
                      channels == 1 ? "the only channel is left out"
                                    : "all " + std::to_string(channels) + " channels are left out",
                      "one at least that is not", "leave out fewer of them");
  return out;
}

}  // namespace tautline::pipeline
