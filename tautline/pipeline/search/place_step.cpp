#include "tautline/pipeline/search/place_step.h"

#include <algorithm>
#include <cmath>

namespace tautline::pipeline {

namespace {

// A change from one block to the next that is looked at, in those that are usual.
constexpr double kUnusualChange = 8;
// Of the logarithm of standard deviations: a smaller one moves S/N by less than a tenth, which no gap is worth.
constexpr double kLeastOfNoise = 0.1;
// Squares of deviations, in those of the noise before, are counted up to this: a single impulse is not the change.
constexpr double kMostSquared = 36;

// Spectra on either side of a change of the noise whose means tell whether it is one.
constexpr std::size_t kAroundNoise = 128;

// 2.1 times the lower quartile is the median of white noise: up to three quarters of the changes may be steps.
double usual(const std::vector<LevelChange>& changes, double LevelChange::*quantity) {
  std::vector<double> sizes;
  for (const LevelChange& change : changes) sizes.push_back(std::abs(change.*quantity));
  if (sizes.empty()) return 0;
  const auto quarter = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) / 4);
  std::nth_element(sizes.begin(), quarter, sizes.end());
  return 2.1 * *quarter;
}

double LevelChange::*member_of(Quantity quantity) {
  return quantity == Quantity::mean ? &LevelChange::mean : &LevelChange::noise;
}

// [t] the sum over all spectra before t, of the channels in their noise, or of the squares of that.
template <class Sample>
std::vector<double> sums_up_to(const Sample* spectra, std::size_t count, const BlockLevels& before,
                               const BlockLevels& after, Quantity changing,
                               const std::vector<bool>& counts) {
  std::vector<double> sums(count + 1, 0);
  for (std::size_t t = 0; t < count; ++t, spectra += counts.size()) {
    sums[t + 1] = sums[t];
    for (std::size_t c = 0; c < counts.size(); ++c) {
      if (!counts[c] || !has_noise(c, before, after)) continue;
      const double x = (static_cast<double>(spectra[c]) - before.mean[c]) / before.deviation[c];
      if (!std::isfinite(x)) continue;
      sums[t + 1] += changing == Quantity::mean ? x : std::min(kMostSquared, x * x);
    }
  }
  return sums;
}

}  // namespace

BlockLevels levels_at(formats::FilterbankReader& reader, std::uint64_t first, std::size_t spectra) {
  double time = 0;
  return read_levels(reader, {{first, spectra}}, 0, spectra, time);
}

LevelChange unusual_change(const std::vector<LevelChange>& changes, std::size_t spectra,
                           const std::vector<bool>& counts) {
  const LevelChange least = least_change(spectra, counts);
  return {kUnusualChange * std::max(least.mean, usual(changes, &LevelChange::mean)),
          std::max(kLeastOfNoise,
                   kUnusualChange * std::max(least.noise, usual(changes, &LevelChange::noise)))};
}

std::optional<Quantity> changing_quantity(const LevelChange& change, const LevelChange& unusual) {
  const double mean = std::abs(change.mean) / unusual.mean;
  const double noise = std::abs(change.noise) / unusual.noise;
  if (mean >= 1) return Quantity::mean;
  return noise >= 1 ? std::optional(Quantity::noise) : std::nullopt;
}

std::uint64_t place_step(formats::FilterbankReader& reader, std::uint64_t low, std::uint64_t high,
                         std::size_t spectra, Quantity changing, const std::vector<bool>& counts) {
  const auto quantity = member_of(changing);
  const std::uint64_t begin = low, end = high + spectra;
  const BlockLevels before = levels_at(reader, low, spectra);
  const BlockLevels after = levels_at(reader, high, spectra);
  const double whole = change_of(before, after, counts).*quantity;
  while (high - low > spectra) {
    const std::uint64_t middle = low + (high - low) / 2;
    const double part = change_of(before, levels_at(reader, middle, spectra), counts).*quantity;
    (part / whole > 0.5 ? high : low) = middle;
  }
  const auto wanted = static_cast<std::size_t>(high - low) + spectra;
  std::vector<std::byte> bytes(wanted * reader.description().sample_bytes());
  const std::size_t got = reader.read_across(low, wanted, bytes);
  const std::vector<double> sums =
      formats::with_samples(reader.description().delivered, bytes.data(), [&](const auto* samples) {
        return sums_up_to(samples, got, before, after, changing, counts);
      });
  double best = -1;
  std::uint64_t place = low;
  for (std::size_t t = 1; t < got; ++t) {
    const auto n = static_cast<double>(got), k = static_cast<double>(t);
    const double step = sums[t] - sums[got] * k / n, squared = step * step / (k * (n - k));
    if (squared > best) best = squared, place = low + t;
  }
  if (changing == Quantity::mean || place < begin + 2 * kAroundNoise ||
      end < 2 * kAroundNoise + begin)
    return place;
  // A block that a step of the mean is in has more noise, too.
  const std::uint64_t from = place - 2 * kAroundNoise;
  const std::uint64_t to = std::min(place + kAroundNoise, end - kAroundNoise);
  const LevelChange change =
      change_of(levels_at(reader, from, kAroundNoise), levels_at(reader, to, kAroundNoise), counts);
  if (std::abs(change.mean) < kUnusualChange * least_change(kAroundNoise, counts).mean)
    return place;
  return place_step(reader, from, to, kAroundNoise, Quantity::mean, counts);
}

}  // namespace tautline::pipeline
