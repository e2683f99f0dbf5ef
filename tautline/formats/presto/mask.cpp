#include "tautline/formats/presto/mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "tautline/core/error.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/seeming_kind.h"

namespace tautline::formats::presto {

namespace {

constexpr std::int32_t kMostChannels = 1 << 20, kMostIntervals = 1 << 24;

// Reads front to back. A count is refused where the file is too short for it.
class Fields {
 public:
  explicit Fields(const std::string& path) : file_(path) {}

  template <class T>
  std::vector<T> list(const char* name, std::size_t count) {
    if (count > (file_.size() - at_) / sizeof(T))
      throw wrong(name, fmt::format("{} bytes are left", file_.size() - at_),
                  fmt::format("{} x {}", count, sizeof(T)), "the mask is cut short or no mask");
    std::vector<T> values(count);
    const auto bytes = std::as_writable_bytes(std::span(values));
    if (file_.read(at_, bytes) != bytes.size())
      throw wrong(name, "the file ends", fmt::format("{} bytes", bytes.size()), "");
    at_ += bytes.size();
    return values;
  }

  double real(const char* name) {
    const double value = list<double>(name, 1).front();
    if (!std::isfinite(value)) throw wrong(name, fmt::format("{}", value), "a number", "");
    return value;
  }

  std::size_t count(const char* name, std::int32_t lowest, std::int32_t highest) {
    const std::int32_t value = list<std::int32_t>(name, 1).front();
    if (value < lowest || value > highest)
      throw wrong(name, std::to_string(value), fmt::format("{} to {}", lowest, highest),
                  "this is no mask of rfifind's, or it is damaged");
    return static_cast<std::size_t>(value);
  }

  // Numbers below `limit`, sorted, each once.
  std::vector<std::size_t> numbers(const char* name, std::size_t how_many, std::size_t limit) {
    std::vector<std::size_t> sorted;
    for (const std::int32_t value : list<std::int32_t>(name, how_many)) {
      if (value < 0 || static_cast<std::size_t>(value) >= limit)
        throw wrong(name, std::to_string(value), fmt::format("0 to {}", limit - 1), "");
      sorted.push_back(static_cast<std::size_t>(value));
    }
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    return sorted;
  }

  core::Error wrong(const char* name, std::string found, std::string expected,
                    std::string advice) const {
    // A file of another kind, in which the numbers before this one were valid by accident.
    if (!seeming_kind(file_.path()).empty() || !commands_for(file_.path()).empty())
      return other_kind(file_.path(), "a .mask of rfifind", "give the .mask that rfifind wrote");
    return format_error(file_.path(), fmt::format("byte {}: {}", at_, name), std::move(found),
                        std::move(expected), std::move(advice));
  }

 private:
  InputFile file_;
  std::uint64_t at_ = 0;
};

}  // namespace

Mask read_mask(const std::string& path) {
  Fields fields(path);
  Mask mask;
  mask.time_sigma = fields.real("time sigma");
  mask.frequency_sigma = fields.real("frequency sigma");
  mask.mjd = fields.real("MJD");
  mask.interval_s = fields.real("seconds of an interval");
  mask.low_channel_mhz = fields.real("lowest frequency");
  mask.channel_width_mhz = fields.real("channel width");
  mask.channels = fields.count("number of channels", 1, kMostChannels);
  mask.intervals = fields.count("number of intervals", 1, kMostIntervals);
  mask.samples_per_interval = fields.count("samples of an interval", 1, INT32_MAX);
  const std::size_t channels = fields.count("number of zapped channels", 0, kMostChannels);
  mask.zapped_channels = fields.numbers("zapped channel", channels, mask.channels);
  const std::size_t intervals = fields.count("number of zapped intervals", 0, kMostIntervals);
  mask.zapped_intervals = fields.numbers("zapped interval", intervals, mask.intervals);
  const auto counts = fields.list<std::int32_t>("channels masked in an interval", mask.intervals);
  for (const std::int32_t count : counts) {
    if (count < 0 || static_cast<std::size_t>(count) > mask.channels)
      throw fields.wrong("channels masked in an interval", std::to_string(count),
                         fmt::format("0 to {}", mask.channels), "");
    // Where all of them are masked the file does not list them.
    const bool all = static_cast<std::size_t>(count) == mask.channels;
    std::vector<std::size_t> list(all ? mask.channels : 0);
    std::iota(list.begin(), list.end(), std::size_t{0});
    mask.interval_channels.push_back(
        all ? list
            : fields.numbers("masked channel", static_cast<std::size_t>(count), mask.channels));
  }
  return mask;
}

std::size_t Mask::interval_of(std::uint64_t sample) const {
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(sample / samples_per_interval, intervals - 1));
}

std::vector<std::uint8_t> Mask::channel_flags(std::size_t interval,
                                              const FilterbankDescription& d) const {
  if (d.channels != channels)
    throw core::Error(core::ErrorKind::config, "mask: channels", std::to_string(channels),
                      fmt::format("{}, those of the data", d.channels),
                      "give the mask that was made from these data");
  // PRESTO's frequencies come from headers of other formats: half a channel is near enough.
  if (std::abs(d.lowest_mhz() - low_channel_mhz) > std::abs(channel_width_mhz) / 2)
    throw core::Error(core::ErrorKind::config, "mask: lowest channel",
                      fmt::format("{} MHz", low_channel_mhz),
                      fmt::format("{} MHz, that of the data", d.lowest_mhz()),
                      "give the mask that was made from these data");
  const bool descending = channels > 1 && d.channel_mhz.front() > d.channel_mhz.back();
  std::vector<std::uint8_t> flags(channels, 0);
  const auto set = [&](std::size_t channel) {
    flags[descending ? channels - 1 - channel : channel] = 1;
  };
  if (std::binary_search(zapped_intervals.begin(), zapped_intervals.end(), interval))
    return std::vector<std::uint8_t>(channels, 1);
  for (const std::size_t channel : zapped_channels) set(channel);
  if (interval < interval_channels.size())
    for (const std::size_t channel : interval_channels[interval]) set(channel);
  return flags;
}

std::vector<std::string> Mask::remarks(const FilterbankDescription& d,
                                       std::uint64_t samples) const {
  constexpr double kSecondsPerDay = 86400;
  const double tsamp_s = interval_s / static_cast<double>(samples_per_interval);
  if (std::abs(tsamp_s - d.tsamp_s) > 1e-3 * d.tsamp_s)
    throw core::Error(core::ErrorKind::config, "mask: sample time",
                      fmt::format("{:.6g} s", tsamp_s),
                      fmt::format("{:.6g} s, that of the data", d.tsamp_s),
                      "give the mask that was made from these data");
  std::vector<std::string> remarks;
  const double later_s = (mjd - d.tstart_mjd) * kSecondsPerDay;
  if (std::abs(later_s) > interval_s / 2)
    remarks.push_back(fmt::format(
        "`mask`: made from data that begin at MJD {:.8f}, and these begin at {:.8f}, {:.6g} s {}: "
        "intervals count from the first sample, so that they are of other times. Give the mask of "
        "these data, or only its channels (`ignored_channels`)",
        mjd, d.tstart_mjd, std::abs(later_s), later_s > 0 ? "earlier" : "later"));
  const std::uint64_t masked = static_cast<std::uint64_t>(intervals) * samples_per_interval;
  if (samples > masked + samples_per_interval)
    remarks.push_back(fmt::format(
        "`mask`: ends after {:.6g} s, and the data have {:.6g} s; the rest is masked as its last "
        "interval is",
        static_cast<double>(masked) * d.tsamp_s, static_cast<double>(samples) * d.tsamp_s));
  return remarks;
}

}  // namespace tautline::formats::presto
