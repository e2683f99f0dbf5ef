// Filterbanks and masks for tests of the commands, and what they print.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/run_command.h"
#include "tests/formats/sigproc/sigproc_files.h"

namespace tautline::tests {

/// S/N that noise does not reach: a search of noise alone has a candidate of 6 once in some hundred times.
inline constexpr double kAboveNoise = 8;

/// A line of a .csv list, or its heading, without the file's name, the last column but one.
inline std::string without_file(const std::string& line) {
  const std::size_t filled = line.rfind(','), file = line.rfind(',', filled - 1);
  return line.substr(0, file) + line.substr(filled);
}

inline std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

/// A mask as rfifind writes it for `channels` channels above `low_mhz`, upwards in frequency.
struct MaskFile {
  double low_mhz = 0, width_mhz = 0, tsamp_s = 0;
  int channels = 0, intervals = 0, samples_per_interval = 0;
  std::vector<std::int32_t> zapped_channels, zapped_intervals;
  double mjd = 58000.25;

  std::string bytes() const {
    SigprocBytes mask;  // numbers one after the other
    for (const double value : {10.0, 4.0, mjd, samples_per_interval * tsamp_s, low_mhz, width_mhz})
      mask.put(value);
    for (const int value : {channels, intervals, samples_per_interval})
      mask.put(static_cast<std::int32_t>(value));
    for (const auto& list : {zapped_channels, zapped_intervals}) {
      mask.put(static_cast<std::int32_t>(list.size()));
      for (const std::int32_t value : list) mask.put(value);
    }
    for (int k = 0; k < intervals; ++k) mask.put(std::int32_t{0});
    return {mask.bytes().begin(), mask.bytes().end()};
  }
};

/// Noise of 8 bits about 100 with sigma 8, [time][channel], pulses of one sample added along their
/// delays.
struct NoisePulse {
  double dm = 0;
  std::size_t sample = 0;
  double amplitude = 0;  ///< in every channel
};

inline std::vector<double> noise_with_pulses(const SigprocShape& shape, std::size_t times,
                                             const std::vector<NoisePulse>& pulses,
                                             std::mt19937_64& random) {
  const auto channels = static_cast<std::size_t>(shape.nchans);
  std::normal_distribution<double> normal(100, 8);
  std::vector<double> values(times * channels);
  for (double& value : values) value = normal(random);
  const double top = shape.foff < 0 ? shape.fch1 : shape.fch1 + shape.foff * (shape.nchans - 1);
  for (const NoisePulse& pulse : pulses)
    for (std::size_t c = 0; c < channels; ++c) {
      const double mhz = shape.fch1 + shape.foff * static_cast<double>(c);
      const double delay_s = 4148.808 * pulse.dm * (1 / (mhz * mhz) - 1 / (top * top));
      const std::size_t at =
          pulse.sample + static_cast<std::size_t>(std::lround(delay_s / shape.tsamp));
      if (at < times) values[at * channels + c] += pulse.amplitude;
    }
  for (double& value : values) value = std::min(255.0, std::max(0.0, std::round(value)));
  return values;
}

inline void write_filterbank(const std::string& path, const SigprocShape& shape,
                             const std::vector<double>& values) {
  SigprocBytes header = sigproc_header(shape);
  const std::vector<char>& all = header.data(sigproc_data(values, shape.nbits)).bytes();
  write_file(path, std::string(all.begin(), all.end()));
}

}  // namespace tautline::tests
