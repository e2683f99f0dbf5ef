// DADA files put together by hand, so that readers are not judged by our own writer.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/seed.h"

namespace tautline::tests {

using Keys = std::vector<std::pair<std::string, std::string>>;

/// A plain header: 4 antennas of complex 8-bit samples at 1.28 MHz.
inline Keys plain_keys() {
  return {{"HEADER", "DADA"},
          {"HDR_VERSION", "1.0"},
          {"HDR_SIZE", "4096"},
          {"TELESCOPE", "TEST"},
          {"INSTRUMENT", "none"},
          {"SOURCE", "SKY"},
          {"UTC_START", "2020-02-29-23:59:59"},
          {"PICOSECONDS", "500000000000"},
          {"OBS_OFFSET", "0"},
          {"FREQ", "150.5"},
          {"BW", "1.28"},
          {"TSAMP", "0.78125"},
          {"NBIT", "8"},
          {"NDIM", "2"},
          {"NPOL", "1"},
          {"NANT", "4"},
          {"NCHAN", "1"},
          {"ORDER", "TFAP"}};
}

/// Replaces, adds, or (with the value "-") removes one key.
inline Keys with(Keys keys, const std::string& key, const std::string& value) {
  for (auto entry = keys.begin(); entry != keys.end(); ++entry) {
    if (entry->first != key) continue;
    if (value == "-") {
      keys.erase(entry);
    } else {
      entry->second = value;
    }
    return keys;
  }
  keys.emplace_back(key, value);
  return keys;
}

/// The header's text, NUL-padded, with `data` behind it.
inline std::vector<char> dada_bytes(const Keys& keys, const std::vector<char>& data,
                                    std::size_t header_bytes = 4096) {
  std::string text;
  for (const auto& [key, value] : keys) text += key + " " + value + "\n";
  text.resize(std::max(header_bytes, text.size()), '\0');
  std::vector<char> bytes(text.begin(), text.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

/// Bytes of samples.
inline std::vector<char> random_data(std::size_t bytes) {
  auto random = generator();
  std::vector<char> data(bytes);
  for (char& c : data) c = static_cast<char>(random());
  return data;
}

}  // namespace tautline::tests
