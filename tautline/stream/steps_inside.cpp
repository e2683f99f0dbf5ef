#include "tautline/stream/steps_inside.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "tautline/core/step_fit.h"

namespace tautline::stream {

namespace {

constexpr std::size_t kSide = core::kStepSide;
// A smaller change of the gain (5 % of the amplitude) is what receivers do by themselves.
constexpr double kLeastRatio = 1.1;
// Standard errors, by the scatter of neighbouring pieces, from which on a place is looked at more closely.
constexpr double kLooksLikeOne = 6;
constexpr std::size_t kMostPlaces = 64;  // that are looked at more closely
// Of a step, so much is between the pieces next to it: a level that drifts or settles takes longer.
constexpr double kAtOnce = 0.6;

class Series {
 public:
  explicit Series(std::span<const float> powers) {
    for (std::size_t k = 0; k < powers.size(); ++k)
      if (std::isfinite(powers[k])) {
        values_.push_back(static_cast<double>(powers[k]));
        pieces_.push_back(k);
      }
    sums_.resize(values_.size() + 1);
    for (std::size_t k = 0; k < values_.size(); ++k) sums_[k + 1] = sums_[k] + values_[k];
    std::vector<double> changes;
    for (std::size_t k = 1; k < values_.size(); ++k)
      if (const double both = values_[k] + values_[k - 1]; both > 0)
        changes.push_back(std::abs(values_[k] - values_[k - 1]) / both);
    if (changes.empty()) return;
    const auto middle = changes.begin() + static_cast<std::ptrdiff_t>(changes.size() / 2);
    std::ranges::nth_element(changes, middle);
    // A piece's standard deviation as a part of its mean: half the difference of two has 0.4769 of it in the middle.
    scatter_ = std::max(*middle / 0.4769, 1e-6);
  }

  std::size_t size() const { return values_.size(); }
  double scatter() const { return scatter_; }
  double mean(std::size_t first, std::size_t count) const {
    return (sums_[first + count] - sums_[first]) / static_cast<double>(count);
  }
  // Means of `count` pieces before and after piece `at`, which is left out.
  std::pair<double, double> sides(std::size_t at, std::size_t count) const {
    return {mean(at - count, count), mean(at + 1, count)};
  }
  double middle_of(std::size_t first, std::size_t count) const {
    double sum = 0;
    for (std::size_t k = first; k < first + count; ++k) sum += static_cast<double>(pieces_[k]);
    return sum / static_cast<double>(count);
  }
  // Where in piece `at`, counted from the first piece, a level `before` turns into `after`.
  double place(std::size_t at, double before, double after) const {
    const double part = std::clamp((values_[at] - after) / (before - after), 0.0, 1.0);
    return static_cast<double>(pieces_[at]) + part;
  }

 private:
  std::vector<double> values_, sums_;  // of pieces with samples; sums before each
  std::vector<std::size_t> pieces_;    // their numbers
  double scatter_ = 1e-6;
};

bool is_large(double before, double after) {
  return std::max(before, after) > kLeastRatio * std::min(before, after);
}

// The piece of [first, end) between two levels that describe these best.
std::size_t change_in(const Series& series, std::size_t first, std::size_t end) {
  std::size_t best = first + 1;
  double most = 0;
  for (std::size_t at = first + 1; at + 1 < end; ++at) {
    const std::size_t left = at - first, right = end - at - 1;
    const double change = series.mean(at + 1, right) - series.mean(first, left);
    const double gain = change * change * static_cast<double>(left) * static_cast<double>(right);
    if (gain > most) most = gain, best = at;
  }
  return best;
}

// A piece of [first, end) whose sides, of 16 to as many pieces as there are, differ most for their scatter; none where
// they hardly do.
std::optional<std::size_t> most_unlike(const Series& series, std::size_t first, std::size_t end) {
  double most = kLooksLikeOne;
  std::size_t from = 0, to = 0;
  for (std::size_t side = kSide; 2 * side < end - first; side *= 2) {
    const double error = series.scatter() * std::sqrt(2.0 / static_cast<double>(side));
    for (std::size_t at = first + side; at + side < end; ++at) {
      const auto [before, after] = series.sides(at, side);
      if (!is_large(before, after)) continue;
      const double errors = std::abs(after - before) / (0.5 * (before + after) * error);
      if (errors > most) most = errors, from = at - side, to = at + side + 1;
    }
  }
  if (to == 0) return {};
  return change_in(series, from, to);
}

// Whether most of a step is between the pieces that are next to it, as many as tell. `error`: a piece's standard
// deviation as a part of the step's height.
bool is_at_once(const Series& series, std::size_t at, std::size_t side, double height,
                double error) {
  const auto enough = static_cast<std::size_t>(std::ceil(2 * std::pow(error / 0.1, 2)));
  const auto [before, after] = series.sides(at, std::clamp<std::size_t>(enough, 1, side));
  return (after - before) / height > kAtOnce;
}

// In blocks as long as [first, end) allows, and in shorter ones, among which there may be less else.
std::optional<StepInside> step_at(const Series& series, std::size_t at, std::size_t first,
                                  std::size_t end) {
  for (std::size_t block = std::bit_floor(std::min(at - first, end - at - 1) / kSide); block > 0;
       block /= 2) {
    std::array<double, core::kStepBlocks> powers{}, middles{};
    for (std::size_t k = 0; k < core::kStepBlocks; ++k) {
      const std::size_t begin = k < kSide ? at - (kSide - k) * block : at + 1 + (k - kSide) * block;
      powers[k] = series.mean(begin, block);
      middles[k] = series.middle_of(begin, block);
    }
    const core::StepFit fit = core::fit_step(powers, middles);
    const double before = fit.mean - fit.height / 2, after = fit.mean + fit.height / 2;
    if (!(std::abs(fit.standard_errors) > core::kStepStandardErrors) || before <= 0 || after <= 0 ||
        !is_large(before, after))
      continue;
    const double error = series.scatter() * fit.mean / std::abs(fit.height);
    if (!is_at_once(series, at, kSide * block, fit.height, error)) continue;
    // The most likely place of a step in noise is off by some error^2 pieces.
    return StepInside{series.place(at, before, after), 1 + 10 * error * error, after / before,
                      fit.standard_errors};
  }
  return {};
}

}  // namespace

std::vector<StepInside> find_steps_inside(std::span<const float> powers) {
  const Series series(powers);
  std::vector<StepInside> steps;
  std::vector<std::pair<std::size_t, std::size_t>> parts{{0, series.size()}};
  for (std::size_t k = 0; k < parts.size() && k < kMostPlaces; ++k) {
    const auto [first, end] = parts[k];
    const auto at = most_unlike(series, first, end);
    if (!at) continue;
    if (const auto step = step_at(series, *at, first, end)) steps.push_back(*step);
    parts.emplace_back(first, *at);
    parts.emplace_back(*at + 1, end);
  }
  std::ranges::sort(steps, {}, &StepInside::place);
  return steps;
}

}  // namespace tautline::stream
