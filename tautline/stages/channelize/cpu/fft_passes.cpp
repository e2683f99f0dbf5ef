#include "tautline/stages/channelize/cpu/fft_passes.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

namespace tautline::stages::channelize {

namespace {

// Indexed by log2 of the length. The first pass reads at least 8 neighbouring values, so its stride
// is 8 or more; fewer passes are faster than smaller radices as long as a transform fits the
// first-level cache.
const std::vector<std::size_t>& radices(std::size_t points) {
  static const std::vector<std::size_t> table[] = {{1},
                                                   {2},
                                                   {4},
                                                   {8},
                                                   {16},
                                                   {32},
                                                   {8, 8},
                                                   {16, 8},
                                                   {16, 16},
                                                   {32, 16},
                                                   {32, 32},
                                                   {16, 16, 8},
                                                   {16, 16, 16},
                                                   {32, 16, 16},
                                                   {32, 32, 16},
                                                   {32, 32, 32},
                                                   {16, 16, 16, 16}};
  return table[std::bit_width(points) - 1];
}

std::vector<float> twiddle_table(std::size_t length, std::size_t radix) {
  std::vector<float> table;
  table.reserve(2 * length);
  for (std::size_t m = 0; m < length / radix; ++m)
    for (std::size_t k = 0; k < radix; ++k) {
      const double angle =
          -2 * std::numbers::pi * static_cast<double>(m * k % length) / static_cast<double>(length);
      table.push_back(static_cast<float>(std::cos(angle)));
      table.push_back(static_cast<float>(std::sin(angle)));
    }
  return table;
}

}  // namespace

FftPasses::FftPasses(std::size_t points) : points_(points) {
  std::size_t length = points;
  for (const std::size_t radix : radices(points)) {
    passes_.push_back({radix, length, 0, {}, {}, {}});
    length /= radix;
  }
  // From the last pass to the first: the stride is a block and one skipped place.
  std::size_t stride = 1;
  for (std::size_t i = passes_.size(); i-- > 0;) {
    passes_[i].stride = stride;
    places_ = stride * passes_[i].radix;
    stride = places_ + 1;
  }
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    FftPass& pass = passes_[i];
    // Blocks are numbered by the digits of the previous passes, the first digit fastest.
    pass.blocks = {0};
    for (std::size_t before = i; before-- > 0;) {
      std::vector<std::uint32_t> blocks;
      for (const std::uint32_t block : pass.blocks)
        for (std::size_t k = 0; k < passes_[before].radix; ++k)
          blocks.push_back(static_cast<std::uint32_t>(block + k * passes_[before].stride));
      pass.blocks = std::move(blocks);
    }
    pass.columns = {0};
    for (std::size_t after = i + 1; after < passes_.size(); ++after) {
      std::vector<std::uint32_t> columns;
      for (const std::uint32_t column : pass.columns)
        for (std::size_t n = 0; n < passes_[after].radix; ++n)
          columns.push_back(static_cast<std::uint32_t>(column + n * passes_[after].stride));
      pass.columns = std::move(columns);
    }
    if (i + 1 < passes_.size()) pass.twiddles = twiddle_table(pass.length, pass.radix);
  }
  row_places_ = passes_.back().blocks;
}

std::size_t FftPasses::table_bytes() const {
  std::size_t bytes = row_places_.size() * sizeof(row_places_[0]);
  for (const FftPass& pass : passes_)
    bytes += (pass.twiddles.size() + pass.blocks.size() + pass.columns.size()) * sizeof(float);
  return bytes;
}

std::string FftPasses::name() const {
  std::string name;
  for (const FftPass& pass : passes_) {
    if (!name.empty()) name += 'x';
    name += std::to_string(pass.radix);
  }
  return name;
}

}  // namespace tautline::stages::channelize
