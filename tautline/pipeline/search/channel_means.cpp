#include "tautline/pipeline/search/channel_means.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "tautline/core/constant_run.h"

namespace tautline::pipeline {

namespace {

// Runs of more than `most` equal values are left out.
template <class Sample>
void write_means(const Sample* spectra, std::size_t channels, std::size_t samples, std::size_t most,
                 std::vector<std::byte>& line) {
  std::vector<double> sums(channels, 0), counts(channels, 0);
  std::vector<Sample> row(channels), value(channels);
  std::vector<std::size_t> run(channels, 0);
  const std::size_t row_bytes = channels * sizeof(Sample);
  const auto end_run = [&](std::size_t c) {
    const auto x = static_cast<double>(value[c]);
    if (run[c] > most || !std::isfinite(x)) return;
    sums[c] += x * static_cast<double>(run[c]);
    counts[c] += static_cast<double>(run[c]);
  };
  for (std::size_t t = 0; t < samples; ++t) {
    const Sample* at = spectra + t * channels;
    if (t > 0 && std::memcmp(at, at - channels, row_bytes) == 0) continue;
    std::memcpy(row.data(), at, row_bytes);
    for (std::size_t c = 0; c < channels; ++c) {
      if (run[c] > 0 && row[c] == value[c]) {
        ++run[c];
        continue;
      }
      end_run(c);
      value[c] = row[c];
      run[c] = 1;
    }
  }
  for (std::size_t c = 0; c < channels; ++c) end_run(c);
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = counts[c] > 0 ? sums[c] / counts[c] : 0;
    if constexpr (std::is_same_v<Sample, float>)
      row[c] = static_cast<float>(mean);
    else
      row[c] = static_cast<Sample>(std::lround(mean));
  }
  std::memcpy(line.data(), row.data(), row_bytes);
}

}  // namespace

std::vector<std::byte> channel_means(formats::FilterbankReader& reader, std::uint64_t first,
                                     std::uint64_t count) {
  const formats::FilterbankDescription& description = reader.description();
  std::vector<std::byte> line(description.sample_bytes());
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * line.size());
  const std::size_t got = reader.read_across(first, static_cast<std::size_t>(count), bytes);
  const std::size_t most = core::repeats_of_nothing(
      description.bits, description.rate_hz.value() * static_cast<double>(description.channels));
  formats::with_samples(description.delivered, bytes.data(), [&](const auto* spectra) {
    write_means(spectra, description.channels, got, most, line);
  });
  return line;
}

}  // namespace tautline::pipeline
