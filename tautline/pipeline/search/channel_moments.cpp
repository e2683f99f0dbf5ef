#include "tautline/pipeline/search/channel_moments.h"

#include <algorithm>
#include <cmath>

namespace tautline::pipeline {

namespace {

struct Totals {
  explicit Totals(std::size_t channels)
      : count(channels, 0), sum(channels, 0), squares(channels, 0) {}
  std::vector<double> count, sum, squares;  // about `pivot`
  std::vector<double> pivot;
};

// As many spectra as sums of squares of bytes have room for in 32 bits.
constexpr std::size_t kStrip = 65536;

void add(const std::uint8_t* x, std::size_t times, std::size_t channels, Totals& totals) {
  std::vector<std::uint32_t> sum(channels), squares(channels);
  for (std::size_t first = 0; first < times; first += kStrip) {
    std::fill(sum.begin(), sum.end(), 0);
    std::fill(squares.begin(), squares.end(), 0);
    const std::size_t last = std::min(times, first + kStrip);
    for (std::size_t t = first; t < last; ++t, x += channels)
      for (std::size_t c = 0; c < channels; ++c) {
        const std::uint32_t value = x[c];
        sum[c] += value;
        squares[c] += value * value;
      }
    for (std::size_t c = 0; c < channels; ++c) {
      totals.sum[c] += sum[c];
      totals.squares[c] += squares[c];
    }
  }
  std::fill(totals.count.begin(), totals.count.end(), static_cast<double>(times));
}

void add(const std::uint16_t* x, std::size_t times, std::size_t channels, Totals& totals) {
  std::vector<std::uint64_t> sum(channels, 0), squares(channels, 0);
  for (std::size_t t = 0; t < times; ++t, x += channels)
    for (std::size_t c = 0; c < channels; ++c) {
      const std::uint64_t value = x[c];
      sum[c] += value;
      squares[c] += value * value;
    }
  for (std::size_t c = 0; c < channels; ++c) {
    totals.sum[c] = static_cast<double>(sum[c]);
    totals.squares[c] = static_cast<double>(squares[c]);
  }
  std::fill(totals.count.begin(), totals.count.end(), static_cast<double>(times));
}

// About the first finite value of each channel, so that a large level costs no digits.
void add(const float* x, std::size_t times, std::size_t channels, Totals& totals) {
  totals.pivot.assign(channels, 0);
  for (std::size_t t = 0; t < times; ++t, x += channels)
    for (std::size_t c = 0; c < channels; ++c) {
      if (!std::isfinite(x[c])) continue;
      if (totals.count[c] == 0) totals.pivot[c] = x[c];
      const double value = x[c] - totals.pivot[c];
      totals.count[c] += 1;
      totals.sum[c] += value;
      totals.squares[c] += value * value;
    }
}

}  // namespace

ChannelMoments measure_moments(std::span<const std::byte> spectra, formats::Delivered type,
                               std::size_t channels) {
  const std::size_t times = spectra.size() / (channels * formats::bytes_of(type));
  Totals totals(channels);
  formats::with_samples(type, spectra.data(),
                        [&](const auto* samples) { add(samples, times, channels, totals); });
  ChannelMoments moments{std::vector<double>(channels, 0), std::vector<double>(channels, 0)};
  for (std::size_t c = 0; c < channels; ++c) {
    if (totals.count[c] == 0) continue;
    const double mean = totals.sum[c] / totals.count[c];
    moments.mean[c] = mean + (totals.pivot.empty() ? 0 : totals.pivot[c]);
    moments.deviation[c] =
        std::sqrt(std::max(0.0, totals.squares[c] / totals.count[c] - mean * mean));
  }
  return moments;
}

}  // namespace tautline::pipeline
