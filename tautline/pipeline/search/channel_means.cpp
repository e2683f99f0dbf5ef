#include "tautline/pipeline/search/channel_means.h"

#include <cmath>
#include <cstring>
#include <span>
#include <type_traits>

#include "tautline/core/constant_run.h"

namespace tautline::pipeline {

namespace {

// Runs of more than `most` equal values are left out.
template <class Sample>
void write_means(const std::vector<std::byte>& bytes, std::size_t channels, std::size_t samples,
                 std::size_t most, std::vector<std::byte>& line) {
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
    const std::byte* at = bytes.data() + t * row_bytes;
    if (t > 0 && std::memcmp(at, at - row_bytes, row_bytes) == 0) continue;
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
  std::size_t got = 0;
  while (got < count) {
    const std::size_t more = reader.read(first + got, static_cast<std::size_t>(count) - got,
                                         std::span(bytes).subspan(got * line.size()));
    if (more == 0) break;
    got += more;
  }
  const std::size_t most = core::repeats_of_nothing(
      description.bits, description.rate_hz.value() * static_cast<double>(description.channels));
  switch (description.delivered) {
    case formats::Delivered::u8:
      write_means<std::uint8_t>(bytes, description.channels, got, most, line);
      break;
    case formats::Delivered::u16:
      write_means<std::uint16_t>(bytes, description.channels, got, most, line);
      break;
    case formats::Delivered::f32:
      write_means<float>(bytes, description.channels, got, most, line);
      break;
  }
  return line;
}

}  // namespace tautline::pipeline
