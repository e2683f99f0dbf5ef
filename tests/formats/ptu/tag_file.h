// PTU files made byte by byte, independently of the library's writer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/photon_reader.h"
#include "tautline/formats/ptu/record_encoder.h"
#include "tautline/formats/ptu/record_type.h"

namespace tautline::tests {

inline void append_tag(std::string& bytes, std::string name, std::int32_t index, std::uint32_t type,
                       const void* value) {
  name.resize(32);
  bytes += name;
  bytes.append(reinterpret_cast<const char*>(&index), 4);
  bytes.append(reinterpret_cast<const char*>(&type), 4);
  bytes.append(static_cast<const char*>(value), 8);
}

inline void append_integer(std::string& bytes, const std::string& name, std::int64_t value,
                           std::int32_t index = -1) {
  append_tag(bytes, name, index, 0x10000008, &value);
}

inline void append_number(std::string& bytes, const std::string& name, double value) {
  append_tag(bytes, name, -1, 0x20000008, &value);
}

/// A whole header; `records` is what it states.
inline std::string tag_header(std::uint32_t code, std::int64_t records, double unit_s = 1e-9) {
  std::string bytes(
      "PQTTTR\0\0"
      "1.0.00\0\0",
      16);
  append_number(bytes, "MeasDesc_GlobalResolution", unit_s);
  append_number(bytes, "MeasDesc_Resolution", 4e-12);
  append_integer(bytes, "TTResult_SyncRate", 20'000'000);
  append_integer(bytes, "TTResult_InputRate", 1234, 0);
  append_integer(bytes, "TTResult_InputRate", 567, 1);
  append_integer(bytes, "TTResult_NumberOfRecords", records);
  append_integer(bytes, "TTResultFormat_TTTRRecType", code);
  append_integer(bytes, "TTResultFormat_BitsPerRecord", 32);
  append_integer(bytes, "HW_InpChannels", 2);
  append_integer(bytes, "MeasDesc_AcquisitionTime", 2500);
  const std::int64_t none = 0;
  append_tag(bytes, "Header_End", -1, 0xFFFF0008, &none);
  return bytes;
}

inline std::string tag_file(std::uint32_t code, const std::vector<std::uint32_t>& words,
                            double unit_s = 1e-9) {
  std::string bytes = tag_header(code, static_cast<std::int64_t>(words.size()), unit_s);
  bytes.append(reinterpret_cast<const char*>(words.data()), 4 * words.size());
  return bytes;
}

/// Photons at random, of detectors 1 and 2, as an instrument gives them, and their records.
struct RandomTags {
  RandomTags(const formats::ptu::RecordType& type, std::size_t count, std::mt19937_64& random) {
    const bool t3 = type.mode == formats::TagMode::t3;
    std::exponential_distribution<double> gap(t3 ? 1 / 60.0 : 1 / 3000.0), late(1 / 700.0);
    formats::ptu::RecordEncoder encoder(type);
    std::uint64_t time = 0;
    for (std::size_t n = 0; n < count; ++n) {
      time += 1 + static_cast<std::uint64_t>(gap(random));
      const double microtime = t3 ? std::min(late(random), type.microtimes() - 1.0) : 0;
      photons.push_back({time, static_cast<std::uint16_t>(1 + random() % 2),
                         static_cast<std::uint16_t>(microtime)});
      encoder.append(std::span(photons).last(1), words);
      last_record.push_back(words.size() - 1);
    }
  }

  std::vector<formats::Photon> photons;
  std::vector<std::uint32_t> words;
  std::vector<std::size_t> last_record;  ///< [photon] its own; overflows come before it
};

/// Overwrites stretches of the records, two to 3,000 long, with other bits, and single ones: with 0, with ones, at
/// random.
inline void damage_records(std::vector<std::uint32_t>& words, std::mt19937_64& random) {
  for (std::size_t n = 0; n < 12; ++n) {
    const std::size_t count = n < 6 ? 2 + random() % 3000 : 1;
    const std::size_t first = random() % (words.size() - count);
    const std::uint32_t kind = n % 3;
    for (std::size_t k = first; k < first + count; ++k)
      words[k] = kind == 0 ? 0 : kind == 1 ? ~0u : static_cast<std::uint32_t>(random());
  }
}

inline bool same_photons(std::span<const formats::Photon> a, std::span<const formats::Photon> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.time == y.time && x.channel == y.channel && x.microtime == y.microtime;
  });
}

inline void save(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::string load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace tautline::tests
