// Records of PicoQuant's instruments, decoded apart from the readers under test, and a stop cut into a recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tautline::tests {

template <class T>
T number_at(const std::string& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

inline std::vector<std::uint32_t> words_from(const std::string& bytes, std::size_t at) {
  std::vector<std::uint32_t> words((bytes.size() - at) / 4);
  std::memcpy(words.data(), bytes.data() + at, 4 * words.size());
  return words;
}

/// PicoHarp 300 in T3 mode: a header of 728 bytes, in which the laser's rate is at 704, the number of records at 720
/// and the length of an image's header at 724; then channel (4 bits), microtime (12), period (16).
struct CutPt3 {
  std::string bytes;
  std::int32_t removed = 0;  ///< photons
};

/// Without the photons of `length_s` from `first_s` on, as if a shutter had closed; overflows and markers go on.
inline CutPt3 cut_pt3(const std::string& bytes, double first_s, double length_s) {
  constexpr std::size_t kRatePlace = 704, kRecordsPlace = 720, kHeader = 728;
  const double rate_hz = number_at<std::int32_t>(bytes, kRatePlace);
  CutPt3 cut{bytes.substr(0, kHeader)};
  std::uint64_t wraps = 0;
  std::int32_t records = 0;
  for (const std::uint32_t word : words_from(bytes, kHeader)) {
    const bool photon = word >> 28 != 15;
    if (!photon && (word >> 16 & 0xFFF) == 0) ++wraps;
    const double at_s = static_cast<double>(65'536 * wraps + (word & 0xFFFF)) / rate_hz;
    if (photon && at_s >= first_s && at_s < first_s + length_s) {
      ++cut.removed;
      continue;
    }
    cut.bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
    ++records;
  }
  std::memcpy(cut.bytes.data() + kRecordsPlace, &records, sizeof records);
  return cut;
}

}  // namespace tautline::tests
