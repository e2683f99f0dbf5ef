#include "tautline/formats/visibility_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"

namespace tautline::formats {

using core::Error;
using core::ErrorKind;

Integration VisibilityReader::read(std::size_t k) {
  if (k >= middles_.size())
    throw Error(ErrorKind::config, "integration", fmt::to_string(k),
                fmt::format("less than {}", middles_.size()));
  std::fill(visibilities_.begin(), visibilities_.end(), std::complex<float>{});
  std::fill(counts_.begin(), counts_.end(), 0);
  fill(k);
  const std::array<std::size_t, 2> extents{channels(), baselines()};
  return {middles_[k], lengths_s_[k], {visibilities_.data(), extents}, {counts_.data(), extents}};
}

std::size_t VisibilityReader::baselines() const {
  return core::baseline_count(description_.array.inputs.size());
}

void VisibilityReader::allocate(const std::string& path) {
  constexpr std::size_t kMostCells = std::size_t{1} << 32;
  const double cells = static_cast<double>(channels()) * static_cast<double>(baselines());
  if (cells > static_cast<double>(kMostCells))
    throw Error(ErrorKind::memory, path, fmt::format("{:.0f} cells an integration", cells),
                fmt::format("at most {}", kMostCells));
  visibilities_.resize(channels() * baselines());
  counts_.resize(channels() * baselines());
}

bool VisibilityReader::take_nominal_count() {
  VisibilityDescription& d = description_;
  d.nominal_count =
      std::max<std::int64_t>(1, std::llround(std::min(1e15, d.channel_width_hz * d.integration_s)));
  const auto said = d.extra.find("nominal_count");
  if (said == d.extra.end()) return false;
  std::int64_t count = 0;
  const char* const end = said->second.data() + said->second.size();
  const bool good = std::from_chars(said->second.data(), end, count).ptr == end && count > 0;
  if (good) d.nominal_count = count;
  d.extra.erase(said);
  return good;
}

std::vector<char> VisibilityReader::feeds_of(const std::vector<Feeds>& products) {
  std::vector<char> feeds;
  for (const char feed : {'x', 'y', 'r', 'l'})
    if (std::any_of(products.begin(), products.end(),
                    [&](const Feeds& pair) { return pair[0] == feed || pair[1] == feed; }))
      feeds.push_back(feed);
  return feeds;
}

core::Instant VisibilityReader::instant_of(double unix_s) {
  const double whole = std::floor(unix_s);
  const auto micros = static_cast<std::int64_t>(std::llround((unix_s - whole) * 1e6));
  const core::Instant instant{static_cast<std::int64_t>(whole), 0, 1};
  return micros == 0 ? instant : core::advance(instant, micros, core::Rational{1'000'000, 1});
}

}  // namespace tautline::formats
