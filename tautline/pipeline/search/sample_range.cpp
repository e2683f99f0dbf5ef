#include "tautline/pipeline/search/sample_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tautline/core/error.h"

namespace tautline::pipeline {

SampleRange choose_range(const formats::FilterbankReader& reader, double start_s,
                         double duration_s) {
  const formats::FilterbankDescription& description = reader.description();
  const double rate = description.rate_hz.value();
  const std::string available = std::to_string(description.duration_s()) + " s of data";
  if (!(start_s >= 0) || !(start_s * rate <= static_cast<double>(description.samples)))
    throw core::Error(core::ErrorKind::config, "start_s", fmt::format("{}", start_s),
                      "0 or more, inside the " + available);
  if (std::isnan(duration_s))
    throw core::Error(core::ErrorKind::config, "duration_s", "nan",
                      "seconds, or a negative number for all there is");
  SampleRange range;
  range.first = static_cast<std::uint64_t>(std::llround(start_s * rate));
  range.count = description.samples - std::min(range.first, description.samples);
  if (duration_s >= 0 && duration_s * rate < static_cast<double>(range.count))
    range.count = static_cast<std::uint64_t>(std::llround(duration_s * rate));
  if (range.count == 0)
    throw core::Error(core::ErrorKind::config, duration_s >= 0 ? "duration_s" : "start_s",
                      fmt::format("{}", duration_s >= 0 ? duration_s : start_s),
                      fmt::format("one sample ({:.6g} s) of the {} at least", 1 / rate, available));
  return range;
}

std::vector<PlacedRange> split_at_gaps(const formats::FilterbankReader& reader,
                                       const SampleRange& range) {
  std::vector<PlacedRange> parts;
  for (const formats::DataSegment& segment : reader.segments()) {
    const std::uint64_t first = std::max(range.first, segment.first_sample);
    const std::uint64_t end =
        std::min(range.first + range.count, segment.first_sample + segment.samples);
    if (first < end)
      parts.push_back({{first, end - first}, segment.grid_sample + (first - segment.first_sample)});
  }
  return parts;
}

}  // namespace tautline::pipeline
