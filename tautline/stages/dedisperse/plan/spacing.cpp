#include "tautline/stages/dedisperse/plan/spacing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/error.h"
#include "tautline/stages/dedisperse/plan/loss.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kMostSpacedTrials = 1 << 20;
// So much of the loss is planned for: rounded delays make some pulses lose more than others of
// nearly the same DM, and steps are looked for at some DMs alone.
constexpr double kPlannedSpacing = 0.85;
// A step is kept until the DM has grown so many times: the smearing that widens steps grows with it.
constexpr double kSameStep = 1.05;
// Steps are told by a number: 1.0, 1.1 ... 9.9 and ten times as many, and so on, times the least.
constexpr int kStepsInDecade = 90, kDecades = 10;
constexpr double kLeastStep = 1e-5;
constexpr double kDmUnit = 1e-6;  // DMs are whole numbers of it, whatever was added up
constexpr std::size_t kLookedAt = 64;
// Steps at low DMs are looked at one by one: there the delays of neighbouring channels are rounded
// alike, and what a pulse loses differs from one step to the next.
constexpr std::size_t kEachLookedAt = 4096;

double step_of(int number) {
  const int tenths = 10 + number % kStepsInDecade;
  return tenths * std::pow(10.0, number / kStepsInDecade) * (kLeastStep / 10);
}

double sum_of(double dm, double step) {
  return std::round((dm + step) / kDmUnit) * kDmUnit;
}

Config config_of(const Band& band, double highest_dm, double pulse_width_s) {
  Config config;
  config.frequencies_mhz = band.frequencies_mhz;
  config.sample_time_s = band.sample_time_s;
  config.dm_constant = band.dm_constant;
  config.dms = {highest_dm};  // refused where its delays are too long
  config.pulse_width_s = pulse_width_s > 0 ? pulse_width_s : band.sample_time_s;
  return config;
}

// What pulses between trials lose in a band.
class SpacingMeter {
 public:
  SpacingMeter(const Band& band, double highest_dm, double pulse_width_s)
      : plan_(config_of(band, highest_dm, pulse_width_s)),
        dispersion_(plan_),
        profile_(dispersion_),
        of_pulse_(dispersion_.delays.size()),
        of_trial_(dispersion_.delays.size()) {}

  struct Loss {
    double better = 0, mean = 0;
  };
  /// Half-way between two trials: in the better of the two, which is what a search finds, and in the
  /// mean of both, which depends less on how the delays happen to be rounded.
  Loss loss(double low, double high) {
    const double dm = (low + high) / 2;
    round_delays(dm, of_pulse_);
    profile_.set_pulse(dm, of_pulse_.data());
    const double best = profile_.brightness(of_pulse_.data());
    const auto lost = [&](double trial) {
      round_delays(trial, of_trial_);
      return 1 - profile_.brightness(of_trial_.data()) / best;
    };
    const double below = lost(low), above = lost(high);
    return {std::max(0.0, std::min(below, above)), (below + above) / 2};
  }

 private:
  void round_delays(double dm, std::vector<std::int32_t>& to) const {
    for (std::size_t p = 0; p < to.size(); ++p)
      to[p] = static_cast<std::int32_t>(std::lround(dm * dispersion_.delays[p]));
  }

  DelayPlan plan_;
  Dispersion dispersion_;
  PulseProfile profile_;
  std::vector<std::int32_t> of_pulse_, of_trial_;  // [position]
};

bool without_dispersion(const Band& band) {
  const auto [low, high] =
      std::minmax_element(band.frequencies_mhz.begin(), band.frequencies_mhz.end());
  return band.frequencies_mhz.empty() || *low == *high;
}

}  // namespace

std::vector<double> spaced_dms(const Band& band, double low, double high, double pulse_width_s,
                               double loss) {
  require_range(low, high);
  if (low == high) return {low};
  if (without_dispersion(band)) return {low, high};
  SpacingMeter meter(band, high, pulse_width_s);
  int number = 0;
  const auto allowed = [&](double dm, int step) {
    return meter.loss(dm, dm + step_of(step)).mean <= kPlannedSpacing * loss;
  };
  std::vector<double> dms{low};
  double looked_at = -1;
  while (dms.back() < high) {
    const double dm = dms.back();
    if (looked_at < 0)  // by decades first
      while (number < kStepsInDecade * (kDecades - 1) && allowed(dm, number + kStepsInDecade))
        number += kStepsInDecade;
    if (looked_at < 0 || dm > kSameStep * looked_at) {
      while (number > 0 && !allowed(dm, number)) --number;
      while (number < kStepsInDecade * kDecades && allowed(dm, number + 1)) ++number;
      looked_at = dm;
    }
    int own = number;
    if (dms.size() < kEachLookedAt)
      while (own > 0 && meter.loss(dm, dm + step_of(own)).better > loss) --own;
    dms.push_back(std::min(high, sum_of(dm, step_of(own))));
    if (dms.size() > kMostSpacedTrials)
      throw core::Error(core::ErrorKind::config, "dms.range",
                        fmt::format("more than {} trials up to DM {:.10g}", kMostSpacedTrials, dm),
                        "at most so many",
                        "lower the highest DM, or raise `max_loss` or `dms.pulse_width_s`");
  }
  return dms;
}

double spacing_loss(const Band& band, const std::vector<double>& dms, double pulse_width_s) {
  if (dms.size() < 2 || without_dispersion(band)) return 0;
  SpacingMeter meter(band, dms.back(), pulse_width_s);
  const std::size_t stride = std::max<std::size_t>(1, dms.size() / kLookedAt);
  double widest = 0, worst = 0;
  for (std::size_t i = 0; i + 1 < dms.size(); ++i) {
    const double step = dms[i + 1] - dms[i];
    const bool wider = step > 1.001 * widest;
    if (wider || i % stride == 0) worst = std::max(worst, meter.loss(dms[i], dms[i + 1]).better);
    widest = std::max(widest, step);
  }
  return worst;
}

}  // namespace tautline::stages::dedisperse
