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
class Subband {
 public:
  Subband(const Problem& problem, const PulseWidth& width, std::size_t first, std::size_t channels)
      : problem_(problem), width_(width), first_(first), channels_(channels) {
    true_.resize(problem.trials() * channels);
    for (std::size_t i = 0; i < problem.trials(); ++i)
      for (std::size_t k = 0; k < channels; ++k)
        true_[i * channels + k] = problem.exact_delay(i, first + k);
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
      for (std::size_t k = 0; k < channels_; ++k)
        delays.row(trial)[first_ + k] = exact(best.pattern, k) + best.shift;
    }
  }

 private:
  struct Fit {
    std::size_t pattern = 0;
    std::int32_t shift = 0;
    double variance = std::numeric_limits<double>::infinity();
  };

  std::int32_t exact(std::size_t trial, std::size_t k) const {
    return problem_.delays()(trial, first_ + k);
  }

  // Mean square error of a trial's own rounded delays.
  double rounding(std::size_t trial) const {
    double sum = 0;
    for (std::size_t k = 0; k < channels_; ++k) {
      const double error = exact(trial, k) - true_[trial * channels_ + k];
      sum += error * error;
    }
    return sum / static_cast<double>(channels_);
  }

  double allowed(std::size_t trial, double budget) const {
    double pulse = 0;
    for (std::size_t k = 0; k < channels_; ++k) {
      const double w = width_(trial, first_ + k);
      pulse += (1 + w * w) / 12;
    }
    const double own = rounding(trial);
    return own + budget * (pulse / static_cast<double>(channels_) + own);
  }

  // The pattern of another trial, moved to where it serves this one best.
  Fit fitted(std::size_t trial, std::size_t pattern) const {
    if (trial == pattern) return {pattern, 0, rounding(trial)};
    const double* target = true_.data() + trial * channels_;
    const std::int32_t* delays = problem_.delays().row(pattern) + first_;
    double sum = 0, squares = 0;
    std::int32_t low = delays[0], high = delays[0];
    for (std::size_t k = 0; k < channels_; ++k) {
      const double error = target[k] - delays[k];
      sum += error, squares += error * error;
      low = std::min(low, delays[k]), high = std::max(high, delays[k]);
    }
    const double mean = sum / static_cast<double>(channels_);
    const auto shift = static_cast<std::int32_t>(std::lround(mean));
    Fit fit{pattern, shift,
            squares / static_cast<double>(channels_) - 2 * shift * mean +
                static_cast<double>(shift) * shift};
    if (low + shift < 0 || static_cast<std::size_t>(high + shift) > problem_.max_delay())
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
  const PulseWidth& width_;
  std::size_t first_, channels_;
  std::vector<double> true_;  // [trial][channel of the sub-band]
};

}  // namespace

SubbandDelays subband_delays(const Problem& problem, std::size_t channels) {
  const double most = problem.config().max_loss;
  SubbandDelays best{problem.delays(), 0};
  if (most == 0) return best;
  const PulseWidth width(problem);
  std::vector<Subband> subbands;
  for (std::size_t p = 0; p < problem.positions(); p += channels)
    subbands.emplace_back(problem, width, p, std::min(channels, problem.positions() - p));

  // A Gaussian loses a quarter of the relative variance; what is lost indeed corrects the budget.
  std::vector<double> budget(problem.trials(), 4 * most);
  std::vector<double> lost;
  Delays delays = problem.delays();
  for (int pass = 0; pass < kRefinements; ++pass) {
    for (const Subband& subband : subbands) subband.fill(delays, budget);
    lost = losses(problem, delays);
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
