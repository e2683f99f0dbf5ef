#include "tautline/stages/autocorrelate/cpu/amx/layout.h"

#include <algorithm>
#include <string>

#include "tautline/core/error.h"
#include "tautline/core/integers.h"

namespace tautline::stages::autocorrelate::cpu {

namespace {

void check_rows(const char* field, std::size_t value) {
  if (value < kAmxStep || value > 16384 || value % kAmxStep != 0)
    throw core::Error(core::ErrorKind::config, std::string("autocorrelate tunables ") + field,
                      std::to_string(value), "1024 to 16384, a multiple of 1024");
}

// The delay must be a multiple of both levels' windows, and rows must fit in two bytes (255 x 4^4
// does).
std::size_t pairs_of(const Config& config, const Tunables& tunables) {
  std::size_t pairs = 0;
  const std::size_t most =
      std::min({tunables.amx_level_pairs, kMaxLevelPairs, (config.levels + 1) / 2});
  const auto whole = [&](std::size_t level) {
    return config.lag_scheme == LagScheme::standard || level >= config.levels ||
           config.bins % (std::size_t{1} << level) == 0;
  };
  while (pairs < most && whole(2 * pairs) && whole(2 * pairs + 1)) ++pairs;
  return pairs;
}

}  // namespace

bool amx_fits(const Config& config, const Tunables& tunables) {
  return config.type == SampleType::u8 && config.coarsening == Coarsening::sum &&
         config.pairs.empty() && config.bins <= 32 && config.sensors > tunables.series_pairs &&
         pairs_of(config, tunables) > 0;
}

AmxLayout make_amx_layout(const Config& config, const Tunables& tunables) {
  check_rows("amx_samples", tunables.amx_samples);
  check_rows("amx_later_samples", tunables.amx_later_samples);
  if (4 * tunables.amx_later_samples % tunables.amx_samples != 0)
    throw core::Error(core::ErrorKind::config, "autocorrelate tunables amx_later_samples",
                      std::to_string(tunables.amx_later_samples), "a multiple of amx_samples / 4");
  AmxLayout layout;
  const std::size_t pairs = pairs_of(config, tunables);
  Tunables lanes = tunables;
  lanes.series_pairs = 0;
  layout.rest = make_layout(config, lanes, true, 2 * pairs);
  std::size_t at = pairs * sizeof(LevelPairProgress);
  const auto take = [&](std::size_t size) {
    const std::size_t start = core::round_up(at, 64);
    at = start + size;
    return start;
  };
  std::size_t words = 0;
  for (std::size_t p = 0; p < pairs; ++p) {
    LevelPair pair;
    const std::size_t scale = std::size_t{1} << 2 * p;  // samples in a row
    pair.ranges = {lag_range(config, 2 * p), lag_range(config, 2 * p + 1)};
    pair.second = 2 * p + 1 < config.levels;
    pair.planes = p == 0 ? 1 : 2;
    pair.block = p == 0 ? tunables.amx_samples : tunables.amx_later_samples;
    pair.delay = pair.ranges[0].base / scale;
    pair.second_lag =
        (pair.ranges[1].base - pair.ranges[0].base) / scale + 2 * pair.ranges[1].first_steps;
    // Matrix s has the lags 16 s - 15 to 16 s + 15. A sum of the odd level adds products
    // at three neighbouring lags of the even level.
    std::size_t longest = pair.ranges[0].first_steps + pair.ranges[0].steps - 1;
    if (pair.second) longest = std::max(longest, pair.second_lag + 2 * pair.ranges[1].steps - 1);
    pair.shifts = (longest + 15) / 16 + 1;
    pair.rows_at = take(pair.planes * pair.plane_bytes());
    pair.first_at = take(pair.planes * kAmxHistory * kGroupSensors);
    pair.sums_at = take(kGroupSensors * 2 * kAmxLags * sizeof(std::uint64_t));
    pair.totals_at = take(kGroupSensors * sizeof(std::uint64_t));
    layout.rows_bytes += pair.planes * pair.plane_bytes();
    words =
        std::max(words, core::round_up(16 * (kAmxShifts - 1) + pair.delay + pair.block / 4, 16));
    layout.pairs.push_back(pair);
  }
  if (!layout.rest.levels.empty() && layout.rest.levels[0].separate)
    layout.rest_delay = lag_range(config, 2 * pairs).base >> 2 * (pairs - 1);
  layout.tiles_at = take(kGroupTiles * layout.rest.tile_bytes);
  layout.group_bytes = core::round_up(at, 64);
  // An odd number of cache lines, so that the sensors' series start in different sets of a cache.
  layout.series_words = (words / 16 | 1) * 16;
  return layout;
}

}  // namespace tautline::stages::autocorrelate::cpu
