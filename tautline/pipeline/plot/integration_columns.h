// The columns of a picture in which integrations are drawn.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tautline/formats/figure/figure.h"
#include "tautline/pipeline/plot/mean_grid.h"

namespace tautline::pipeline::plot {

inline constexpr double kOffGrid = 0.01;  // of an integration's length, or of a column
inline constexpr double kDate_s = 1e-4;   // Julian dates in doubles have steps of 40 us

// The columns of a picture that show an integration.
struct ColumnRange {
  std::size_t first = 0, end = 0;  // none: left out
};

// Integrations in the columns of a picture.
struct Columns {
  std::vector<ColumnRange> of;  // each integration
  std::size_t count = 0;
  formats::figure::Axis axis;
  std::vector<double> centre;  // of each column
};

// Whether integrations, by their starts and lengths, have one length and follow each other at multiples of it, so that
// columns of that length, or of an equal part of it, show each of them where it is. The last one may be shorter.
inline bool on_grid(const std::vector<double>& starts_s, const std::vector<double>& lengths_s,
                    double length_s) {
  const double first_s = *std::ranges::min_element(starts_s),
               last_s = *std::ranges::max_element(starts_s),
               off_s = std::max(kOffGrid * length_s, kDate_s);
  for (std::size_t k = 0; k < starts_s.size(); ++k) {
    const double from_s = starts_s[k] - first_s;
    if (std::abs(from_s - std::round(from_s / length_s) * length_s) > off_s ||
        lengths_s[k] > length_s + off_s ||
        (starts_s[k] < last_s && lengths_s[k] < length_s - off_s))
      return false;
  }
  return true;
}

// The columns whose middles lie in an integration; of a shorter one, that of the integration's middle.
inline ColumnRange columns_within(double start_cells, double length_cells, std::size_t columns) {
  const auto column = [&](double place) {
    return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(columns)));
  };
  const ColumnRange range{column(std::ceil(start_cells - 0.5 - kOffGrid)),
                          column(std::ceil(start_cells + length_cells - 0.5 - kOffGrid))};
  if (range.first < range.end) return range;
  const std::size_t middle = std::min(columns - 1, column(start_cells + length_cells / 2));
  return {middle, middle + 1};
}

// Integrations on a grid: a column each, or several of which the last integration, where it is shorter, has fewer.
// Sets all but the axis, and returns the length of a column.
inline double place_on_grid(const std::vector<std::size_t>& taken,
                            const std::vector<double>& starts_s,
                            const std::vector<double>& lengths_s, double length_s,
                            std::size_t most_columns, Columns& columns) {
  const double first_s = *std::ranges::min_element(starts_s);
  const auto last = std::ranges::max_element(starts_s) - starts_s.begin();
  const auto place = [&](double start_s) {
    return static_cast<std::size_t>(std::llround((start_s - first_s) / length_s));
  };
  const std::size_t end = place(starts_s[static_cast<std::size_t>(last)]);
  const double part = lengths_s[static_cast<std::size_t>(last)] / length_s;
  const std::size_t most =
      std::min(most_columns / (end + 1), static_cast<std::size_t>(length_s / kDate_s));
  const std::size_t each = part < 1 - kOffGrid ? std::max<std::size_t>(1, most) : 1;
  const auto of_last = static_cast<std::size_t>(std::clamp<long long>(
      std::llround(part * static_cast<double>(each)), 1, static_cast<long long>(each)));
  const Binning binning = Binning::of(end * each + of_last, most_columns);
  columns.count = binning.cells;
  for (std::size_t t = 0; t < taken.size(); ++t) {
    const std::size_t at = place(starts_s[t]), from = at * each;
    columns.of[taken[t]] = {binning.cell(from),
                            binning.cell(from + (at == end ? of_last : each) - 1) + 1};
  }
  return length_s / static_cast<double>(each) * static_cast<double>(binning.per_cell);
}

}  // namespace tautline::pipeline::plot
