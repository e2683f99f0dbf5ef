#include "tautline/stages/channelize/gpu/tables.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace tautline::stages::channelize::gpu {

namespace {

using std::numbers::pi;

// The angles of the twiddle factors of one level of a small transform.
struct Level {
  std::size_t size, q;
  double angle(std::size_t row, std::size_t rows) const {
    return 2 * pi *
           (static_cast<double>(row) / static_cast<double>(rows) + static_cast<double>(q)) /
           static_cast<double>(size);
  }
};

std::vector<Level> levels_of(std::size_t radix) {
  std::vector<Level> levels{{2, 0}};
  for (std::size_t size = 4; size <= radix; size *= 2)
    for (std::size_t q = 0; q < size / 4; ++q) levels.push_back({size, q});
  return levels;
}

// Appends the table of one pass: quadruples of floats, [quadruple][row].
void append_pass(std::vector<float>& table, std::size_t radix, std::size_t rows) {
  const std::size_t quadruples = (radix + 3) / 4, first = table.size();
  const std::vector<Level> levels = levels_of(radix);
  table.resize(first + quadruples * 4 * rows);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t n = 0; n < levels.size(); ++n) {
      const double angle = levels[n].angle(row, rows);
      // The tangent of pi / 2 is infinite: a cosine of 1e-8 times a tangent of 1e8 gives the sine,
      // 1.
      double cosine = std::cos(angle);
      if (std::fabs(cosine) < 1e-8) cosine = 1e-8;
      float* pair = table.data() + first + (n / 2 * rows + row) * 4 + n % 2 * 2;
      pair[0] = static_cast<float>(cosine);
      pair[1] = static_cast<float>(std::sin(angle) / cosine);
    }
}

}  // namespace

std::vector<float> coefficients(const Bank& bank, bool centred) {
  std::vector<float> h(bank.taps * bank.frame);
  for (std::size_t n = 0; n < h.size(); ++n) {
    const double sign = centred && n % bank.frame % 2 == 1 ? -1 : 1;
    h[n] = static_cast<float>(sign * (bank.real ? 0.5 : 1.0) * bank.filter[n]);
  }
  return h;
}

std::vector<float> twiddles(const Radices& radices, std::size_t parts) {
  std::vector<float> table;
  std::size_t rows = parts;
  for (const std::size_t radix : radices) {
    if (radix > 1 && rows > 1) append_pass(table, radix, rows);
    rows *= radix;
  }
  return table;
}

}  // namespace tautline::stages::channelize::gpu
