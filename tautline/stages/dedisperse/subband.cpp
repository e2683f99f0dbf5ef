#include "tautline/stages/dedisperse/subband.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tautline/stages/dedisperse/loss.h"

namespace tautline::stages::dedisperse {

namespace {

constexpr std::size_t kRecent = 8;  // patterns that a trial may take over
constexpr std::size_t kAhead = 48;  // trials ahead among which a new pattern is chosen
constexpr int kRefinements = 6;

// One sub-band of all trials.
//
// A trial's true delay at channel k is DM_i s_k and its rounded one DM_i s_k + r_ik, so that what
// another trial p's rounded delays leave of it is (DM_i - DM_p) s_k - r_pk: its sum and the sum of
// its squares over the channels follow from five sums that are taken once for each trial.
class Subband {
 public:
  Subband(const Problem& problem, const PulseWidth& width, const std::vector<double>& delays_per_dm,
          std::size_t first, std::size_t channels)
      : problem_(problem),
        first_(first),
        channels_(channels),
        own_width_(width.own()),
        remainders_(problem.trials()) {
    const double* slope = delays_per_dm.data() + first;
    for (std::size_t k = 0; k < channels; ++k) {
      const double smear = width.smear_per_dm(first + k);
      slopes_ += slope[k];
      slope_squares_ += slope[k] * slope[k];
      smear_squares_ += smear * smear;
    }
    for (std::size_t i = 0; i < problem.trials(); ++i) {
      const std::int32_t* rounded = problem.delays().row(i) + first;
      const double dm = problem.config().dms[i];
      Remainders& sums = remainders_[i];
      for (std::size_t k = 0; k < channels; ++k) {
        const double r = rounded[k] - dm * slope[k];
        sums.sum += r;
        sums.squares += r * r;
        sums.with_slope += r * slope[k];
      }
    }
  }

  /// `budget`: the variance that errors may add, over that of the pulse in a channel.
  void fill(Delays& delays, const std::vector<double>& budget) const {
    const auto& order = problem_.order();
    std::vector<std::size_t> recent;
    for (std::size_t n = 0; n < order.size(); ++n) {
      const std::size_t trial = order[n];
      const double most = allowed(trial, budget[trial]);
      Fit best;
      for (const std::size_t pattern : recent) {
        const Fit fit = fitted(trial, pattern);
        if (fit.variance < best.variance) best = fit;
      }
      if (!(best.variance <= most)) {
        best = farthest(n, most);
        recent.push_back(best.pattern);
        if (recent.size() > kRecent) recent.erase(recent.begin());
      }
      const std::int32_t* pattern = problem_.delays().row(best.pattern) + first_;
      std::int32_t* to = delays.row(trial) + first_;
      for (std::size_t k = 0; k < channels_; ++k) to[k] = pattern[k] + best.shift;
    }
  }

 private:
  struct Fit {
    std::size_t pattern = 0;
    std::int32_t shift = 0;
    double variance = std::numeric_limits<double>::infinity();
  };

  // Of r over the channels of one trial.
  struct Remainders {
    double sum = 0, squares = 0, with_slope = 0;
  };

  double dm(std::size_t trial) const { return problem_.config().dms[trial]; }

  // Mean square error of a trial's own rounded delays.
  double rounding(std::size_t trial) const {
    return remainders_[trial].squares / static_cast<double>(channels_);
  }

  // A box of width w, sampled, has the variance (1 + w^2) / 12.
  double allowed(std::size_t trial, double budget) const {
    const double squares = own_width_ * own_width_ +
                           dm(trial) * dm(trial) * smear_squares_ / static_cast<double>(channels_);
    const double own = rounding(trial);
    return own + budget * ((1 + squares) / 12 + own);
  }

  // The pattern of another trial, moved to where it serves this one best.
  Fit fitted(std::size_t trial, std::size_t pattern) const {
    if (trial == pattern) return {pattern, 0, rounding(trial)};
    const auto channels = static_cast<double>(channels_);
    const Remainders& r = remainders_[pattern];
    const double apart = dm(trial) - dm(pattern);
    const double mean = (apart * slopes_ - r.sum) / channels;
    const double squares =
        (apart * apart * slope_squares_ - 2 * apart * r.with_slope + r.squares) / channels;
    const double shift = std::floor(mean + 0.5);
    // About zero, where both are large: the variance about the shift.
    Fit fit{pattern, static_cast<std::int32_t>(shift),
            std::max(0.0, squares - mean * mean) + (mean - shift) * (mean - shift)};
    // Delays never fall along the positions.
    const std::int32_t* delays = problem_.delays().row(pattern) + first_;
    const std::int32_t low = delays[0] + fit.shift, high = delays[channels_ - 1] + fit.shift;
    if (low < 0 || static_cast<std::size_t>(high) > problem_.max_delay())
      fit.variance = std::numeric_limits<double>::infinity();
    return fit;
  }

  // The trial farthest ahead whose delays still do for the n-th: it will do for those beyond, too.
  Fit farthest(std::size_t n, double most) const {
    const auto& order = problem_.order();
    Fit best = fitted(order[n], order[n]);
    for (std::size_t ahead = 1; ahead < kAhead && n + ahead < order.size(); ++ahead) {
      const Fit fit = fitted(order[n], order[n + ahead]);
      if (fit.variance <= most) best = fit;
    }
    return best;
  }

  const Problem& problem_;
  std::size_t first_, channels_;
  double own_width_;
  double slopes_ = 0, slope_squares_ = 0, smear_squares_ = 0;  // sums over the channels
  std::vector<Remainders> remainders_;                         // [trial]
};

}  // namespace

SubbandDelays subband_delays(const Problem& problem, std::size_t channels) {
  const double most = problem.config().max_loss;
  SubbandDelays best{problem.delays(), 0};
  if (most == 0) return best;
  const PulseWidth width(problem);
  const std::vector<double> per_dm = delays_per_dm(problem);
  std::vector<Subband> subbands;
  for (std::size_t p = 0; p < problem.positions(); p += channels)
    subbands.emplace_back(problem, width, per_dm, p, std::min(channels, problem.positions() - p));

  // A Gaussian loses a quarter of the relative variance; what is lost indeed corrects the budget.
  std::vector<double> budget(problem.trials(), 4 * most);
  LossMeter meter(problem);
  std::vector<double> lost;
  Delays delays = problem.delays();
  for (int pass = 0; pass < kRefinements; ++pass) {
    for (const Subband& subband : subbands) subband.fill(delays, budget);
    lost = meter.losses(delays);
    for (std::size_t i = 0; i < budget.size(); ++i)
      budget[i] *= lost[i] > 0 ? std::clamp(0.9 * most / lost[i], 0.3, 1.5) : 1.2;
  }
  // Trials that still lose too much keep their exact delays.
  for (std::size_t i = 0; i < problem.trials(); ++i) {
    if (lost[i] > most) {
      std::copy_n(problem.delays().row(i), delays.positions, delays.row(i));
      lost[i] = 0;
    }
  }
  best.delays = std::move(delays);
  best.loss = *std::max_element(lost.begin(), lost.end());
  return best;
}

}  // namespace tautline::stages::dedisperse
