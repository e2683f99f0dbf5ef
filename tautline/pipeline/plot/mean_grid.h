// Means of samples in the cells of a picture of bounded size, filled as a file is read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tautline::pipeline::plot {

/// How `count` things share at most `most` cells: `per_cell` neighbours each, the last cell with what is left.
struct Binning {
  std::uint64_t per_cell = 1;
  std::size_t cells = 1;

  static Binning of(std::uint64_t count, std::size_t most) {
    const std::uint64_t per_cell = count <= most ? 1 : (count + most - 1) / most;
    return {per_cell, static_cast<std::size_t>(
                          std::max<std::uint64_t>(1, (count + per_cell - 1) / per_cell))};
  }
  std::size_t cell(std::uint64_t place) const { return static_cast<std::size_t>(place / per_cell); }
};

class MeanGrid {
 public:
  MeanGrid(std::size_t rows, std::size_t columns)
      : columns_(columns), sums_(rows * columns), counts_(rows * columns) {}

  void add(std::size_t row, std::size_t column, double sum, double count) {
    sums_[row * columns_ + column] += sum;
    counts_[row * columns_ + column] += count;
  }
  double count(std::size_t row, std::size_t column) const {
    return counts_[row * columns_ + column];
  }
  /// NaN where nothing was added.
  double mean(std::size_t row, std::size_t column) const {
    const double count = counts_[row * columns_ + column];
    return count > 0 ? sums_[row * columns_ + column] / count
                     : std::numeric_limits<double>::quiet_NaN();
  }
  /// Over a row, each sample with the same weight; NaN of an empty one.
  double row_mean(std::size_t row) const {
    double sum = 0, count = 0;
    for (std::size_t c = 0; c < columns_; ++c) {
      sum += sums_[row * columns_ + c];
      count += counts_[row * columns_ + c];
    }
    return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
  }
  std::size_t rows() const { return sums_.size() / columns_; }
  std::size_t columns() const { return columns_; }

 private:
  std::size_t columns_;
  std::vector<double> sums_, counts_;
};

}  // namespace tautline::pipeline::plot
