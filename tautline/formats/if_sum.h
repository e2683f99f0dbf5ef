// IFs (polarisations) added up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tautline::formats {

/// sums[time][channel] = sum over the `chosen` IFs of samples[time][if][channel]. Integers fit
/// their sums' type by the caller's choice of it; floats are added in double. `flip` is exclusively
/// ored into every integer first: the sign bit turns two's complement into offset binary.
template <class Sample, class Sum>
void sum_ifs(const Sample* samples, std::size_t times, std::size_t ifs, std::size_t channels,
             const std::vector<std::size_t>& chosen, unsigned flip, Sum* sums) {
  using Wide = std::conditional_t<std::is_floating_point_v<Sample>, double, std::uint32_t>;
  std::vector<Wide> row(channels);
  for (std::size_t t = 0; t < times; ++t) {
    std::fill(row.begin(), row.end(), Wide{0});
    for (const std::size_t k : chosen) {
      const Sample* from = samples + (t * ifs + k) * channels;
      for (std::size_t c = 0; c < channels; ++c) {
        if constexpr (std::is_floating_point_v<Sample>)
          row[c] += from[c];
        else
          row[c] += from[c] ^ flip;
      }
    }
    for (std::size_t c = 0; c < channels; ++c) sums[t * channels + c] = static_cast<Sum>(row[c]);
  }
}

}  // namespace tautline::formats
