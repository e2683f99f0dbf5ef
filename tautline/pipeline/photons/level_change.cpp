#include "tautline/pipeline/photons/level_change.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace tautline::pipeline {

namespace {

using Values = std::span<const double>;

constexpr std::size_t kFewestValues = 64;
// Both levels have at least so many values, and such a part of the series.
constexpr std::size_t kFewestAtALevel = 16, kPartAtALevel = 32;
constexpr std::size_t kPlaces = 128;  // that are looked at first
// The longest segments whose means tell how far fluctuations go.
constexpr std::size_t kFewestSegments = 24;
// The difference of levels over its standard error; and what two levels explain beyond a parabola, as a square of it.
constexpr double kOfError = 7, kBeyondDrift = 10;

// Of each value, less their mean; equal values have their mean rank.
std::vector<double> ranks_of(Values values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t k = first; k < end; ++k)
      ranks[order[k]] =
          static_cast<double>(first + end) / 2 - static_cast<double>(order.size()) / 2;
  }
  return ranks;
}

// Of the values before each.
std::vector<double> sums_of(Values values) {
  std::vector<double> sums{0};
  for (const double value : values) sums.push_back(sums.back() + value);
  return sums;
}

double squares_of_levels(Values sums, const LevelStretch& s) {
  const auto all = static_cast<double>(sums.size() - 1),
             inside = static_cast<double>(s.end - s.first);
  const double sum = sums[s.end] - sums[s.first];
  return sum * sum * all / (inside * (all - inside));
}

// The stretch whose level explains the most.
LevelStretch most_unlike(Values sums) {
  const std::size_t size = sums.size() - 1;
  const std::size_t least = std::max(kFewestAtALevel, size / kPartAtALevel);
  const std::size_t apart = std::max<std::size_t>(1, size / kPlaces);
  LevelStretch best;
  double most = -1;
  const auto look_at = [&](std::size_t first, std::size_t end) {
    if (end > size || end < first + least || size - (end - first) < least) return;
    if ((first > 0 && first < least) || (end < size && size - end < least)) return;
    const double squares = squares_of_levels(sums, {first, end});
    if (squares > most) most = squares, best = {first, end};
  };
  for (std::size_t first = 0; first < size; first += apart) {
    look_at(first, size);
    for (std::size_t end = first + least; end < size; end += apart) look_at(first, end);
  }
  const auto [first, end] = best;
  const auto low = [&](std::size_t at) { return at == 0 ? 0 : at - std::min(at, apart); };
  for (std::size_t a = low(first); a <= (first == 0 ? 0 : first + apart); ++a)
    for (std::size_t b = end == size ? size : low(end); b <= (end == size ? size : end + apart);
         ++b)
      look_at(a, b);
  return best;
}

// Of a sum of n values, over n: the largest of segments' sums about both levels, and how it grows with their length.
double variance_of_sums(Values ranks, Values sums, const LevelStretch& s) {
  const std::size_t size = ranks.size();
  const double sum = sums[s.end] - sums[s.first], inside = static_cast<double>(s.end - s.first);
  std::vector<double> rest(ranks.begin(), ranks.end());
  for (std::size_t k = 0; k < size; ++k)
    rest[k] -=
        k >= s.first && k < s.end ? sum / inside : -sum / (static_cast<double>(size) - inside);
  const std::vector<double> rests = sums_of(rest);
  std::vector<double> variances;
  std::size_t length = 1;
  for (; length * kFewestSegments <= size; length *= 2) {
    constexpr double kFitted = 3;  // two levels and a place
    const std::size_t segments = size / length;
    double squares = 0;
    for (std::size_t k = 0; k < segments; ++k)
      squares += std::pow(rests[(k + 1) * length] - rests[k * length], 2);
    variances.push_back(squares / static_cast<double>(length) /
                        (static_cast<double>(segments) - kFitted));
  }
  // Fluctuations that last longer than the segments go on growing with the length, up to half of the series.
  double growth = 1;  // at a doubling
  for (std::size_t doublings = 1; doublings <= 2 && doublings < variances.size(); ++doublings)
    if (const double before = variances[variances.size() - 1 - doublings]; before > 0)
      growth = std::max(growth,
                        std::pow(variances.back() / before, 1.0 / static_cast<double>(doublings)));
  const double left = std::log2(static_cast<double>(size) / static_cast<double>(length));
  return *std::max_element(variances.begin(), variances.end()) * std::pow(growth, left);
}

double squares_of_parabola(Values values) {
  const auto size = static_cast<double>(values.size());
  double line_product = 0, line_square = 0, bow_product = 0, bow_square = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double line = static_cast<double>(k) - (size - 1) / 2,
                 bow = line * line - (size * size - 1) / 12;
    line_product += line * values[k], line_square += line * line;
    bow_product += bow * values[k], bow_square += bow * bow;
  }
  return line_product * line_product / line_square + bow_product * bow_product / bow_square;
}

}  // namespace

std::optional<LevelStretch> changed_stretch(Values values) {
  if (values.size() < kFewestValues) return std::nullopt;
  const std::vector<double> ranks = ranks_of(values), sums = sums_of(ranks);
  const LevelStretch found = most_unlike(sums);
  const double variance = variance_of_sums(ranks, sums, found);
  const double squares = squares_of_levels(sums, found);
  if (!(squares > kOfError * kOfError * variance) ||
      squares - squares_of_parabola(ranks) < kBeyondDrift * variance)
    return std::nullopt;
  return found;
}

}  // namespace tautline::pipeline
