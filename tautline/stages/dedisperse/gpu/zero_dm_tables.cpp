#include "tautline/stages/dedisperse/gpu/zero_dm_tables.h"

#include <algorithm>
#include <cmath>

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kShortestTransform = 256;
// Beyond these a sum over the delays is no slower, or takes less memory.
constexpr std::size_t kMostParts = 16;
constexpr std::size_t kMostPatternBytes = std::size_t{4} << 30;

}  // namespace

ZeroDmTables make_zero_dm_tables(
    std::size_t trials, std::size_t positions,
    const std::function<std::uint32_t(std::size_t, std::size_t)>& delay, std::size_t most_points,
    std::size_t most_added) {
  ZeroDmTables tables;
  std::vector<std::uint32_t> delays(positions);
  std::size_t longest = 0;  // of those that may be transformed
  for (std::size_t trial = 0; trial < trials; ++trial) {
    tables.starts.push_back(static_cast<std::uint32_t>(tables.entries.size() / 2));
    for (std::size_t p = 0; p < positions; ++p) delays[p] = delay(trial, p);
    std::sort(delays.begin(), delays.end());
    for (std::size_t p = 0; p < positions;) {
      const std::size_t first = p;
      while (p < positions && delays[p] == delays[first]) ++p;
      tables.entries.insert(tables.entries.end(),
                            {delays[first], static_cast<std::uint32_t>(p - first)});
    }
    const std::size_t different = tables.entries.size() / 2 - tables.starts.back();
    const bool few = different <= most_added;
    (few ? tables.added : tables.transformed).push_back(static_cast<std::uint32_t>(trial));
    if (few) continue;
    longest = std::max<std::size_t>(longest, delays.back());
    double squares = 0;
    for (std::size_t e = tables.starts.back(); 2 * e < tables.entries.size(); ++e)
      squares += std::pow(static_cast<double>(tables.entries[2 * e + 1]), 2);
    tables.largest_norm = std::max(tables.largest_norm, std::sqrt(squares));
  }
  tables.starts.push_back(static_cast<std::uint32_t>(tables.entries.size() / 2));
  tables.points = kShortestTransform;
  while (4 * tables.points <= most_points && tables.points / 2 <= longest) tables.points *= 4;
  tables.parts = longest / (tables.points / 2) + 1;
  if (most_points < kShortestTransform || tables.parts > kMostParts ||
      tables.pattern_bytes() > kMostPatternBytes) {
    tables.added.insert(tables.added.end(), tables.transformed.begin(), tables.transformed.end());
    tables.transformed.clear();
    tables.parts = 1;
  }
  return tables;
}

}  // namespace tautline::stages::dedisperse
