#include "tautline/pipeline/search/level_blocks.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <type_traits>

namespace tautline::pipeline {

namespace {

// Of integers: exact sums, of 2^15 spectra of 8 bits at most.
template <class Sample>
BlockLevels levels_of(const Sample* samples, std::size_t spectra, std::size_t channels) {
  using Sum = std::conditional_t<sizeof(Sample) == 1, std::int32_t, std::int64_t>;
  std::vector<Sum> sum(channels, 0), squares(channels, 0);
  for (std::size_t t = 0; t < spectra; ++t)
    for (std::size_t c = 0; c < channels; ++c) {
      const Sum x = samples[t * channels + c];
      sum[c] += x;
      squares[c] += x * x;
    }
  BlockLevels levels(channels);
  const double count = std::max(2.0, static_cast<double>(spectra));
  for (std::size_t c = 0; c < channels; ++c) {
    const auto total = static_cast<double>(sum[c]);
    const double spread = static_cast<double>(squares[c]) - total * total / count;
    levels.count[c] = static_cast<double>(spectra);
    levels.mean[c] = total / count;
    levels.deviation[c] = std::sqrt(std::max(0.0, spread / (count - 1)));
  }
  return levels;
}

BlockLevels levels_of(const float* samples, std::size_t spectra, std::size_t channels) {
  BlockLevels levels(channels);
  // Sums of distances from a value of the channel: squares of high levels would lose the noise.
  std::vector<double> origin(channels, 0), sum(channels, 0), squares(channels, 0);
  for (std::size_t c = 0; c < channels && spectra > 0; ++c) {
    const double x = samples[c];
    if (std::isfinite(x)) origin[c] = x;
  }
  for (std::size_t t = 0; t < spectra; ++t)
    for (std::size_t c = 0; c < channels; ++c) {
      const double x = double{samples[t * channels + c]} - origin[c];
      const bool finite = std::isfinite(x);
      levels.count[c] += finite ? 1 : 0;
      sum[c] += finite ? x : 0;
      squares[c] += finite ? x * x : 0;
    }
  for (std::size_t c = 0; c < channels; ++c) {
    const double count = std::max(2.0, levels.count[c]), mean = sum[c] / count;
    levels.mean[c] = origin[c] + mean;
    levels.deviation[c] =
        std::sqrt(std::max(0.0, (squares[c] - count * mean * mean) / (count - 1)));
  }
  return levels;
}

}  // namespace

double middle_mean(std::vector<double>& values) {
  const std::size_t cut = (values.size() + 1) / 4;
  const auto low = values.begin() + static_cast<std::ptrdiff_t>(cut);
  const auto high = values.end() - static_cast<std::ptrdiff_t>(cut);
  std::nth_element(values.begin(), low, values.end());
  if (high != values.end()) std::nth_element(low, high, values.end());
  const double sum = std::accumulate(low, high, 0.0);
  return sum / static_cast<double>(values.size() - 2 * cut);
}

BlockLevels read_levels(formats::FilterbankReader& reader, const DataPieces& pieces,
                        std::uint64_t skip, std::size_t spectra, double& time) {
  const formats::FilterbankDescription& description = reader.description();
  const std::size_t sample_bytes = description.sample_bytes();
  std::vector<std::byte> bytes(spectra * sample_bytes);
  std::size_t got = 0;
  for (const SampleRange& piece : pieces) {
    const std::uint64_t from = std::min(skip, piece.count);
    skip -= from;
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(spectra - got, piece.count - from));
    if (wanted == 0) continue;
    const std::size_t read = reader.read_across(piece.first + from, wanted,
                                                std::span(bytes).subspan(got * sample_bytes));
    time += (static_cast<double>(piece.first + from) + 0.5 * static_cast<double>(read)) *
            static_cast<double>(read) / static_cast<double>(spectra);
    got += read;
  }
  return formats::with_samples(description.delivered, bytes.data(), [&](const auto* samples) {
    return levels_of(samples, got, description.channels);
  });
}

BlockLevels levels_in(formats::FilterbankReader& reader, const DataPieces& pieces) {
  double time = 0;
  return read_levels(reader, pieces, 0, static_cast<std::size_t>(length_of(pieces)), time);
}

bool has_noise(std::size_t channel, const BlockLevels& from, const BlockLevels& to) {
  return from.deviation[channel] > 0 && to.deviation[channel] > 0;
}

LevelChange change_of(const BlockLevels& from, const BlockLevels& to,
                      const std::vector<bool>& counts) {
  std::vector<double> means, noises;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (!counts[c] || !has_noise(c, from, to)) continue;
    means.push_back((to.mean[c] - from.mean[c]) / std::hypot(from.deviation[c], to.deviation[c]) *
                    std::numbers::sqrt2);
    noises.push_back(std::log(to.deviation[c] / from.deviation[c]));
  }
  if (means.empty()) return {};
  return {middle_mean(means), middle_mean(noises)};
}

LevelChange least_change(std::size_t spectra, const std::vector<bool>& counts) {
  const auto channels = static_cast<double>(std::count(counts.begin(), counts.end(), true));
  const double samples = static_cast<double>(spectra) * std::max(1.0, channels / 2);
  return {std::sqrt(2 / samples), std::sqrt(1 / samples)};
}

}  // namespace tautline::pipeline
