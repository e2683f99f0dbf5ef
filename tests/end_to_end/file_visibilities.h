// All that files of visibilities hold, to be compared to the bit.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/formats/visibility_reader.h"

namespace tautline::tests {

struct FileVisibilities {
  std::vector<std::complex<float>> values;  ///< [integration][channel][baseline]
  std::vector<std::int64_t> counts;
  std::vector<core::Instant> middles;
  bool operator==(const FileVisibilities&) const = default;
};

inline void append_visibilities(FileVisibilities& all, const std::string& path) {
  const auto reader = formats::open_visibilities(path);
  for (std::size_t k = 0; k < reader->integrations(); ++k) {
    const formats::Integration one = reader->read(k);
    all.middles.push_back(one.middle);
    for (std::size_t c = 0; c < one.visibilities.extent(0); ++c)
      for (std::size_t b = 0; b < one.visibilities.extent(1); ++b) {
        all.values.push_back(one.visibilities(c, b));
        all.counts.push_back(one.counts(c, b));
      }
  }
}

inline FileVisibilities visibilities_in(const std::string& path) {
  FileVisibilities all;
  append_visibilities(all, path);
  return all;
}

}  // namespace tautline::tests
