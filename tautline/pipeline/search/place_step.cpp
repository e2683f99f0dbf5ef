#include "tautline/pipeline/search/place_step.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "tautline/pipeline/search/data_pieces.h"
#include "tautline/pipeline/search/level_blocks.h"

namespace tautline::pipeline {

namespace {

// Squares of deviations, in those of the noise before, are counted up to this: a single impulse is not the change.
constexpr double kMostSquared = 36;
// Spectra on either side of a change of the noise whose means tell whether it is one, and by how many times what white
// noise would have they differ then.
constexpr std::size_t kAroundNoise = 128;
constexpr double kOtherMean = 8;

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

std::uint64_t place_step(formats::FilterbankReader& reader, const SampleRange& from,
                         const SampleRange& to, std::size_t spectra, Quantity changing,
                         const std::vector<bool>& counts) {
  const auto quantity = member_of(changing);
  std::uint64_t low = from.first, high = to.first;
  const std::uint64_t end = to.first + to.count;
  const auto levels_from = [&](std::uint64_t first) {
    return levels_in(reader, first_data(reader, {first, end - first}, spectra, counts));
  };
  const BlockLevels before = levels_from(low), after = levels_from(high);
  const double whole = change_of(before, after, counts).*quantity;
  while (high - low > spectra) {
    const std::uint64_t middle = low + (high - low) / 2;
    const double part = change_of(before, levels_from(middle), counts).*quantity;
    (part / whole > 0.5 ? high : low) = middle;
  }
  const DataPieces pieces = first_data(reader, {low, end - low}, high - low + spectra, counts);
  const std::size_t sample_bytes = reader.description().sample_bytes();
  std::vector<std::byte> bytes(static_cast<std::size_t>(length_of(pieces)) * sample_bytes);
  std::vector<std::uint64_t> samples;  // of the spectra
  for (const SampleRange& piece : pieces) {
    const std::size_t got =
        reader.read_across(piece.first, static_cast<std::size_t>(piece.count),
                           std::span(bytes).subspan(samples.size() * sample_bytes));
    for (std::size_t t = 0; t < got; ++t) samples.push_back(piece.first + t);
  }
  const std::size_t got = samples.size();
  const std::vector<double> sums = formats::with_samples(
      reader.description().delivered, bytes.data(), [&](const auto* spectrum) {
        return sums_up_to(spectrum, got, before, after, changing, counts);
      });
  double best = -1;
  std::uint64_t place = low;
  for (std::size_t t = 1; t < got; ++t) {
    const auto n = static_cast<double>(got), k = static_cast<double>(t);
    const double step = sums[t] - sums[got] * k / n, squared = step * step / (k * (n - k));
    if (squared > best) best = squared, place = samples[t];
  }
  if (changing == Quantity::mean || place < from.first + 2 * kAroundNoise ||
      end < place + kAroundNoise)
    return place;
  // A block that a step of the mean is in has more noise, too.
  const SampleRange left{place - 2 * kAroundNoise, kAroundNoise};
  const SampleRange right{std::min(place + kAroundNoise, end - kAroundNoise), kAroundNoise};
  const auto levels_of = [&](const SampleRange& range) {
    return levels_in(reader, first_data(reader, range, kAroundNoise, counts));
  };
  const LevelChange change = change_of(levels_of(left), levels_of(right), counts);
  if (std::abs(change.mean) < kOtherMean * least_change(kAroundNoise, counts).mean) return place;
  return place_step(reader, left, right, kAroundNoise, Quantity::mean, counts);
}

}  // namespace tautline::pipeline
