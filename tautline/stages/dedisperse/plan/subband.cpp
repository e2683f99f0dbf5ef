#include "tautline/stages/dedisperse/plan/subband.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tautline/stages/dedisperse/plan/sharing.h"

namespace tautline::stages::dedisperse {

namespace {

// Channels of a sub-band that are tried: trials add the sub-bands, so few of them are good, and
// narrow ones can share their series among more trials.
constexpr std::size_t kWidths[] = {16, 32, 64};
// Of what exact sums take: sub-bands that take more are not worth a loss.
constexpr double kWorthwhile = 0.8;
// Trials, in order, that share patterns: those that a GPU sums together. Sums must not depend on
// the device, so all take them; processors, which sum four times as many together, lose 2 % by it.
constexpr std::size_t kBlock = 64;
// So much of what is allowed is planned for, and what is told is as much more: computed losses are
// off by a few hundredths, for profiles are in cells and made of boxes, and the exact sums of
// another trial than the nearest are sometimes the better ones.
constexpr double kPlanned = 0.84;

// The budget of a trial is the variance that errors of delays may add, over that of the pulse in a
// channel. Each trial starts from what did for those before it.
constexpr double kFirstBudget = 10, kLargestBudget = 50;  // times the loss that is allowed
constexpr double kWider = 1.02, kNarrower = 0.99;         // for later trials, by what one lost
constexpr double kNearlyAll = 0.96;                       // of the loss: not wider
constexpr double kTighter = 0.95;                         // for a trial that lost too much
constexpr double kFarOff = 4;  // times what a trial could have in the end: too much for later ones
constexpr int kAttempts = 100;
constexpr std::size_t kNoPlace = std::numeric_limits<std::size_t>::max();

// Delays of some dispersion measure in a sub-band, rounded.
//
// With slopes s_k, the delays per unit of DM, they are DM s_k + r_k, so that what they leave of a
// trial's true delays is (DM_i - DM) s_k - r_k: its sum and the sum of its squares over the
// channels follow from these sums.
struct SubbandPattern {
  double dm = 0;
  std::size_t place = 0;             // of the trial whose own delays they are, or no trial's
  std::vector<std::int32_t> delays;  // [channel]
  double sum = 0, squares = 0, with_slope = 0;  // of r
};

// A pattern moved as a whole to where it serves a trial best.
struct Fit {
  std::size_t pattern = 0;
  std::int32_t shift = 0;
  double variance = std::numeric_limits<double>::infinity();  // mean square of the errors
};

// One sub-band of all trials. Trials are told by their place in order of DM.
class Subband {
 public:
  Subband(const DelayPlan& plan, const Dispersion& dispersion, std::size_t first,
          std::size_t channels)
      : plan_(plan),
        first_(first),
        slopes_(dispersion.delays.begin() + static_cast<std::ptrdiff_t>(first),
                dispersion.delays.begin() + static_cast<std::ptrdiff_t>(first + channels)),
        best_(plan.trials()) {
    double smear_squares = 0;
    for (std::size_t k = 0; k < channels; ++k) {
      const double smear = dispersion.smears[first + k];
      slope_sum_ += slopes_[k];
      slope_squares_ += slopes_[k] * slopes_[k];
      smear_squares += smear * smear / static_cast<double>(channels);
    }
    for (std::size_t n = 0; n < plan.trials(); ++n) {
      rounding_.push_back(exact(n).squares / static_cast<double>(channels));
      const double width_squares =
          dispersion.own_width * dispersion.own_width + dm(n) * dm(n) * smear_squares;
      pulse_.push_back((1 + width_squares) / 12 + rounding_.back());
    }
  }

  /// Makes a pattern for the n-th trial unless one there is keeps to its budget. Those after it are
  /// thought to have the budget `later`.
  void choose(std::size_t n, double budget, double later) {
    if (best_[n].variance <= allowed(n, budget)) return;
    SubbandPattern made = widest(n, budget, later);
    for (std::size_t k = n; k < end_of_block(n); ++k) {
      const Fit fit = fitted(k, made);
      if (fit.variance < best_[k].variance) best_[k] = {patterns_.size(), fit.shift, fit.variance};
    }
    patterns_.push_back(std::move(made));
  }

  void write(std::size_t n, Delays& delays) const {
    const SubbandPattern& pattern = patterns_[best_[n].pattern];
    std::int32_t* to = delays.row(plan_.order()[n]) + first_;
    for (const std::int32_t delay : pattern.delays) *to++ = delay + best_[n].shift;
  }

 private:
  std::size_t end_of_block(std::size_t n) const {
    return std::min((n / kBlock + 1) * kBlock, best_.size());
  }
  double dm(std::size_t n) const { return plan_.config().dms[plan_.order()[n]]; }

  // A box of width w, sampled, has the variance (1 + w^2) / 12; the trial's own delays add their
  // rounding.
  double allowed(std::size_t n, double budget) const { return rounding_[n] + budget * pulse_[n]; }

  SubbandPattern exact(std::size_t n) const {
    SubbandPattern made{dm(n), n, {}};
    const std::int32_t* row = plan_.exact().row(plan_.order()[n]) + first_;
    made.delays.assign(row, row + slopes_.size());
    add_up(made);
    return made;
  }

  // Of the n-th trial's DM, all `phase` later before rounding.
  SubbandPattern rounded(std::size_t n, double phase) const {
    SubbandPattern made{dm(n), kNoPlace, {}};
    made.delays.reserve(slopes_.size());
    for (const double slope : slopes_)
      made.delays.push_back(static_cast<std::int32_t>(std::floor(dm(n) * slope + phase + 0.5)));
    add_up(made);
    return made;
  }

  void add_up(SubbandPattern& pattern) const {
    for (std::size_t k = 0; k < slopes_.size(); ++k) {
      const double r = pattern.delays[k] - pattern.dm * slopes_[k];
      pattern.sum += r;
      pattern.squares += r * r;
      pattern.with_slope += r * slopes_[k];
    }
  }

  Fit fitted(std::size_t n, const SubbandPattern& pattern) const {
    if (pattern.place == n) return {0, 0, rounding_[n]};  // also where a delay lies between two
    const auto channels = static_cast<double>(slopes_.size());
    const double apart = dm(n) - pattern.dm;
    const double mean = (apart * slope_sum_ - pattern.sum) / channels;
    const double squares =
        (apart * apart * slope_squares_ - 2 * apart * pattern.with_slope + pattern.squares) /
        channels;
    const double shift = std::floor(mean + 0.5);
    // About zero, where both are large: the variance about the shift.
    Fit fit{0, static_cast<std::int32_t>(shift),
            std::max(0.0, squares - mean * mean) + (mean - shift) * (mean - shift)};
    // Delays never fall along the positions.
    const std::int32_t low = pattern.delays.front() + fit.shift;
    const std::int32_t high = pattern.delays.back() + fit.shift;
    if (low < 0 || static_cast<std::size_t>(high) > plan_.max_delay())
      fit.variance = std::numeric_limits<double>::infinity();
    return fit;
  }

  // The trial's own delays, or those of a DM farther on, in phase with the trial's, if more of the
  // trials ahead can use them.
  SubbandPattern widest(std::size_t n, double budget, double later) const {
    SubbandPattern best = exact(n);
    std::size_t most = users(best, n, later);
    for (std::size_t ahead = 1; ahead < kBlock && n + ahead < best_.size();
         ahead += std::max<std::size_t>(1, ahead / 2)) {
      const double phase =
          (dm(n) - dm(n + ahead)) * slope_sum_ / static_cast<double>(slopes_.size());
      SubbandPattern other = rounded(n + ahead, phase - std::floor(phase));
      if (!(fitted(n, other).variance <= allowed(n, budget))) continue;
      const std::size_t count = users(other, n, later);
      if (count <= most) continue;
      most = count;
      best = std::move(other);
    }
    return best;
  }

  // How many trials after the n-th the pattern serves that have none yet.
  std::size_t users(const SubbandPattern& pattern, std::size_t n, double budget) const {
    std::size_t count = 0;
    for (std::size_t k = n + 1; k < end_of_block(n); ++k) {
      const double most = allowed(k, budget);
      if (!(best_[k].variance <= most) && fitted(k, pattern).variance <= most) ++count;
    }
    return count;
  }

  const DelayPlan& plan_;
  std::size_t first_;
  std::vector<double> slopes_;  // [channel]
  double slope_sum_ = 0, slope_squares_ = 0;
  std::vector<double> rounding_;  // [place]: mean square error of the own delays
  std::vector<double> pulse_;     // [place]: the pulse's variance in a channel
  std::vector<SubbandPattern> patterns_;
  std::vector<Fit> best_;  // [place]: among the patterns so far
};

// Loads and stores that summing `delays` takes for one time of all trials, whichever of plain sums
// and groups of up to 64 channels takes fewest: an addition to a trial loads one value, an
// addition of a shared sum loads two and stores one. Counted in blocks of 64 trials and tiles of
// 1,024 times for every device, so that nothing measured decides which delays are summed.
double counted_accesses(const DelayPlan& plan, const Delays& delays) {
  constexpr std::size_t kLevels = 6;
  constexpr double kTile = 1024, kOfSharedSum = 3;
  std::array<double, kLevels + 1> shared{}, groups{};  // [level]
  for (const auto block : plan.blocks(kBlock)) {
    const SharingTree tree = make_sharing_tree(delays, block, kLevels);
    for (std::size_t l = 1; l <= kLevels; ++l) {
      groups[l] += static_cast<double>(block.size() * tree.levels[l].size());
      for (const SharingNode& node : tree.levels[l]) {
        if (node.single && l > 1) continue;  // its one half's sums
        for (const Pattern& p : node.patterns)
          shared[l] += kOfSharedSum * (1 + static_cast<double>(p.high - p.low) / kTile);
      }
    }
  }
  double least = plan.plain_adds(), below = 0;
  for (std::size_t l = 1; l <= kLevels; ++l) {
    below += shared[l];
    least = std::min(least, below + groups[l]);
  }
  return least;
}

}  // namespace

LossyDelays subband_delays(const DelayPlan& plan, LossMeter& meter, std::size_t channels) {
  const double most = kPlanned * plan.allowed_loss();
  LossyDelays chosen{plan.exact(), 0};
  std::vector<Subband> subbands;
  for (std::size_t p = 0; p < plan.positions(); p += channels)
    subbands.emplace_back(plan, meter.dispersion(), p, std::min(channels, plan.positions() - p));

  double later = kFirstBudget * most;
  for (std::size_t n = 0; n < plan.trials(); ++n) {
    std::int32_t* row = chosen.delays.row(plan.order()[n]);
    double budget = later, loss = 0;
    for (int attempt = 0; attempt < kAttempts; ++attempt, budget *= kTighter) {
      for (Subband& subband : subbands) {
        subband.choose(n, budget, later);
        subband.write(n, chosen.delays);
      }
      loss = meter.loss(n, row, most);
      if (attempt == 0 && loss > most) later *= kNarrower;
      if (attempt == 0 && loss < kNearlyAll * most)
        later = std::min(later * kWider, kLargestBudget * most);
      if (loss <= most) break;
    }
    if (loss <= most) {
      later = std::min(later, kFarOff * budget);
    } else {
      std::copy_n(plan.exact().row(plan.order()[n]), plan.positions(), row);
      loss = 0;
    }
    chosen.loss = std::max(chosen.loss, std::min(loss / kPlanned, plan.allowed_loss()));
  }
  return chosen;
}

std::optional<LossyDelays> choose_subbands(const DelayPlan& plan) {
  LossMeter meter(plan);
  std::optional<LossyDelays> best;
  double least = plan.config().method == Method::automatic
                     ? kWorthwhile * counted_accesses(plan, plan.exact())
                     : std::numeric_limits<double>::infinity();
  for (const std::size_t channels : kWidths) {
    if (channels > kWidths[0] && channels >= 2 * plan.positions()) break;
    LossyDelays delays = subband_delays(plan, meter, channels);
    const double accesses = counted_accesses(plan, delays.delays);
    if (accesses >= least) continue;
    least = accesses;
    best = std::move(delays);
  }
  return best;
}

}  // namespace tautline::stages::dedisperse
