// The passes of a transform of 2^n points over an array in cache.
//
// With radices R0 R1 ... and lengths n0 = N, n1 = N / R0, ..., pass i takes every block of n_i
// values, and for each m < n_i / R_i transforms the values m, m + n_i / R_i, ... and multiplies
// result k by exp(-2 pi i m k / n_i); result k replaces value m + k n_i / R_i. After the last pass,
// the value at digits (k0, k1, ...) is term k0 + R0 k1 + R0 R1 k2 + ... of the transform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tautline::stages::channelize {

struct FftPass {
  std::size_t radix = 0;
  std::size_t length = 0;              ///< n_i
  std::size_t stride = 0;              ///< places between the values of a transform
  std::vector<float> twiddles;         ///< [m][k] re, im; empty in the last pass
  std::vector<std::uint32_t> blocks;   ///< the place of each block's first value
  std::vector<std::uint32_t> columns;  ///< the place of value m, from its block's first one
};

/// The passes of one transform and the places of its values. One place is skipped after each block:
/// the values of a transform, a power of two apart, would otherwise map to the same cache set.
class FftPasses {
 public:
  explicit FftPasses(std::size_t points);

  std::size_t points() const { return points_; }
  const std::vector<FftPass>& list() const { return passes_; }
  /// Places of the array.
  std::size_t places() const { return places_; }
  /// Terms r + rows() j, with j < radix of the last pass, are in a row that starts at row_place(r).
  std::size_t rows() const { return row_places_.size(); }
  std::size_t row_place(std::size_t row) const { return row_places_[row]; }
  std::size_t place_of_term(std::size_t term) const {
    return row_places_[term % rows()] + term / rows();
  }
  std::size_t table_bytes() const;
  /// "32x32"
  std::string name() const;

 private:
  std::size_t points_;
  std::vector<FftPass> passes_;
  std::vector<std::uint32_t> row_places_;
  std::size_t places_ = 0;
};

}  // namespace tautline::stages::channelize
