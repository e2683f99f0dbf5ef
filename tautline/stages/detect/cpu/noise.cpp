#include "tautline/stages/detect/cpu/noise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace tautline::stages::detect {

namespace {

// So few that std::nth_element takes little time compared with the scans of a block.
constexpr std::size_t kFew = 1536;
// Values of a sample that brackets a rank. With kProbeMargin the bracket misses the rank once in a
// thousand times.
constexpr std::size_t kProbes = 257;
constexpr std::size_t kProbeMargin = 26;  // 3.3 times sqrt(kProbes) / 2

// Two values between which the rank probably lies.
std::pair<float, float> bracket(const float* v, std::size_t n, std::size_t rank) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float probes[kProbes];
  for (std::size_t k = 0; k < kProbes; ++k) probes[k] = v[k * n / kProbes];
  std::sort(probes, probes + kProbes);
  const std::size_t at = rank * kProbes / n;
  return {at < kProbeMargin ? -kInfinity : probes[at - kProbeMargin],
          at + kProbeMargin >= kProbes ? kInfinity : probes[at + kProbeMargin]};
}

float nth(float* v, std::size_t n, std::size_t rank) {
  std::nth_element(v, v + rank, v + n);
  return v[rank];
}

}  // namespace

// The value of `rank` among values_[0..n), searched first in [low, high].
float NoiseMeter::select(std::size_t n, std::size_t rank, float low, float high,
                         const Kernels& kernels) {
  const float* from = values_.data();
  for (int attempt = 0; n > kFew && attempt < 8; ++attempt) {
    if (attempt > 0 || !(low <= high)) std::tie(low, high) = bracket(from, n, rank);
    float* to = from == kept_.data() ? smaller_.data() : kept_.data();
    std::size_t below = 0, count = 0;
    kernels.narrow(from, n, low, high, to, &below, &count);
    if (rank < below || rank >= below + count) continue;
    if (count == n) break;  // many equal values: narrowing does not help
    rank -= below;
    n = count;
    from = to;
  }
  if (from == values_.data()) {
    std::copy(from, from + n, kept_.data());
    return nth(kept_.data(), n, rank);
  }
  return nth(from == kept_.data() ? kept_.data() : smaller_.data(), n, rank);
}

double NoiseMeter::sigma(const float* y, std::size_t n, std::uint64_t first, core::SampleType type,
                         bool may_be_missing, const Kernels& kernels, NoiseGuess& guess) {
  const std::vector<float>& table = spreading();
  const bool spread = type == core::SampleType::i32;
  std::size_t count = 0;
  if (may_be_missing) {
    for (std::size_t i = 0; i < n; ++i)
      if (!std::isnan(y[i]))
        values_[count++] = spread ? y[i] + table[(first + i) % kSpreadingPeriod] : y[i];
  } else if (spread) {
    while (count < n) {
      const std::size_t at = (first + count) % kSpreadingPeriod;
      const std::size_t step = std::min(n - count, kSpreadingPeriod - at);
      kernels.add(y + count, table.data() + at, step, values_.data() + count);
      count += step;
    }
  } else {
    std::copy(y, y + n, values_.data());
    count = n;
  }
  if (count < kFewestForNoise) return 0;
  // The medians of two blocks of n samples differ by 2.6 MAD / sqrt(n), their MADs by 1.7. The
  // first range is three times that around the last block's values; it has about 3 % of the
  // samples.
  const float unit = guess.mad / std::sqrt(static_cast<float>(count));
  const float median_reach = guess.known ? 8 * unit : -1.0f;
  const float mad_reach = guess.known ? 5 * unit : -1.0f;
  const std::size_t rank = (count - 1) / 2;
  const float median =
      select(count, rank, guess.median - median_reach, guess.median + median_reach, kernels);
  kernels.deviate(values_.data(), count, median);
  const float mad = select(count, rank, guess.mad - mad_reach, guess.mad + mad_reach, kernels);
  guess = {true, median, mad};
  return sigma_of(static_cast<double>(mad), type);
}

}  // namespace tautline::stages::detect
