#include "tautline/stages/channelize/cpu/phasors.h"

#include <bit>
#include <complex>

namespace tautline::stages::channelize {

namespace {

constexpr std::size_t kMaxLanes = 64;

// Number of bits of the low part of a channel number.
unsigned low_bits(std::size_t channels) {
  return (static_cast<unsigned>(std::bit_width(channels - 1)) + 1) / 2;
}

std::size_t high_count(std::size_t channels) {
  return ((channels - 1) >> low_bits(channels)) + 1;
}

struct Unit {
  double re[kMaxLanes], im[kMaxLanes];
};

// unit[s] = exp(i (angle + s step))
void progression(double angle, double step, std::size_t lanes, Unit& unit) {
  std::complex<double> value = std::polar(1.0, angle);
  const std::complex<double> factor = std::polar(1.0, step);
  for (std::size_t s = 0; s < lanes; ++s) {
    unit.re[s] = value.real(), unit.im[s] = value.imag();
    value = {value.real() * factor.real() - value.imag() * factor.imag(),
             value.real() * factor.imag() + value.imag() * factor.real()};
  }
}

// rows[n] = unit * step^n: a row of cosines and a row of sines.
void powers(Unit& unit, const Unit& step, std::size_t count, std::size_t lanes, float* rows) {
  for (std::size_t n = 0; n < count; ++n, rows += 2 * lanes) {
    for (std::size_t s = 0; s < lanes; ++s) {
      rows[s] = static_cast<float>(unit.re[s]);
      rows[lanes + s] = static_cast<float>(unit.im[s]);
      const double re = unit.re[s] * step.re[s] - unit.im[s] * step.im[s];
      unit.im[s] = unit.re[s] * step.im[s] + unit.im[s] * step.re[s];
      unit.re[s] = re;
    }
  }
}

}  // namespace

std::size_t Phasors::table_floats(std::size_t channels, std::size_t lanes) {
  return ((std::size_t{1} << low_bits(channels)) + high_count(channels)) * 2 * lanes;
}

Phasors::Phasors(const Bank& bank, const Tile& tile, std::size_t lanes, float* table)
    : used_(tile.phase != nullptr), stride_(2 * lanes), shift_(low_bits(bank.channels)) {
  if (!used_) return;
  table_ = table;
  const std::size_t low_count = std::size_t{1} << shift_;
  high_ = table + low_count * stride_;

  const PhaseModel& m = *tile.phase;
  const auto s0 = static_cast<double>(tile.first);
  const auto frame = static_cast<double>(bank.frame);
  // The slope in radians per channel at the tile's first spectrum, and its change per spectrum.
  const double slope = (m.slope_rad + s0 * m.slope_step_rad) / frame;
  const double slope_step = m.slope_step_rad / frame;
  const auto zero = static_cast<double>(bank.zero_channel());
  const auto jump = static_cast<double>(low_count);

  Unit unit, step;
  progression(slope, slope_step, lanes, step);
  progression(m.phase_rad + s0 * m.phase_step_rad - zero * slope,
              m.phase_step_rad - zero * slope_step, lanes, unit);
  powers(unit, step, low_count, lanes, table);
  progression(jump * slope, jump * slope_step, lanes, step);
  progression(0, 0, lanes, unit);
  powers(unit, step, high_count(bank.channels), lanes, table + low_count * stride_);
}

}  // namespace tautline::stages::channelize
