#include "tautline/pipeline/search/wrapped_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace tautline::pipeline {

namespace {

// Values of a channel below kLowEnd and from kHighEnd on are at the ends of the range.
constexpr std::uint8_t kLowEnd = 64, kHighEnd = 192;

struct ChannelValues {
  std::uint32_t low = 0, high = 0, all = 0;
  std::uint64_t low_seen = 0, high_seen = 0;  // a bit for each value

  void add(std::uint8_t value) {
    ++all;
    if (value < kLowEnd) {
      ++low;
      low_seen |= std::uint64_t{1} << value;
    } else if (value >= kHighEnd) {
      ++high;
      high_seen |= std::uint64_t{1} << (value - kHighEnd);
    }
  }
  // An eighth at either end, of several values each, as samples of one or two bits in bytes do not have.
  bool wrapped() const {
    constexpr int kValues = 4;
    return 8 * low >= all && 8 * high >= all && 64 * (all - low - high) <= all &&
           std::popcount(low_seen) >= kValues && std::popcount(high_seen) >= kValues;
  }
};

}  // namespace

std::string wrapped_bytes_text(formats::FilterbankReader& reader, const SampleRange& range,
                               std::span<const std::size_t> left_out) {
  constexpr std::size_t kParts = 64, kSpectra = 16;
  const formats::FilterbankDescription& description = reader.description();
  if (description.bits != 8 || description.delivered != formats::Delivered::u8 ||
      description.summed_ifs.size() > 1 || description.time_series)
    return {};
  const std::size_t channels = description.channels;
  std::vector<ChannelValues> values(channels);
  std::vector<std::byte> bytes(kSpectra * channels);
  const std::uint64_t parts = std::min<std::uint64_t>(kParts, range.count / kSpectra);
  for (std::uint64_t part = 0; part < parts; ++part) {
    const std::uint64_t first =
        parts > 1 ? part * (range.count - kSpectra) / (parts - 1) : std::uint64_t{0};
    const std::size_t got = reader.read(range.first + first, kSpectra, bytes);
    for (std::size_t t = 0; t < got; ++t)
      for (std::size_t c = 0; c < channels; ++c)
        values[c].add(std::to_integer<std::uint8_t>(bytes[t * channels + c]));
  }
  for (const std::size_t c : left_out) values[c] = {};
  const auto wrapped = static_cast<std::size_t>(std::ranges::count_if(
      values, [](const ChannelValues& channel) { return channel.all > 0 && channel.wrapped(); }));
  if (2 * wrapped <= channels - left_out.size()) return {};
  return fmt::format(
      "the bytes of {} of {} channels lie near 0 and near 255, as read, and hardly any between: as "
      "where {}. Pulses are not found in them: correct the header (sigproc's keyword signed)",
      wrapped, channels,
      description.is_signed ? "unsigned bytes have a header that says signed"
                            : "signed bytes have a header that does not say so");
}

}  // namespace tautline::pipeline
