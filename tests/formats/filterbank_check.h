// What tests of filterbank readers share: everything a reader delivers as doubles, read in pieces
// of random size into poisoned memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include "tautline/formats/filterbank_reader.h"

namespace tautline::tests {

inline double delivered_value(const std::byte* bytes, formats::Delivered type, std::size_t index) {
  const auto as = [&](auto value) {
    std::memcpy(&value, bytes + index * sizeof value, sizeof value);
    return static_cast<double>(value);
  };
  if (type == formats::Delivered::u8) return as(std::uint8_t{});
  if (type == formats::Delivered::u16) return as(std::uint16_t{});
  return as(float{});
}

/// [time][channel], from sample `first` to the end, across segments.
inline std::vector<double> read_filterbank(formats::FilterbankReader& reader,
                                           std::mt19937_64& random, std::size_t most = 50,
                                           std::uint64_t first = 0) {
  const formats::FilterbankDescription& d = reader.description();
  std::vector<double> values;
  std::uint64_t at = first;
  while (true) {
    const std::size_t count = 1 + random() % most;
    // One sample more than asked for, which must stay as it is.
    std::vector<std::byte> bytes((count + 1) * d.sample_bytes(), std::byte{0xA5});
    const std::size_t got =
        reader.read(at, count, std::span(bytes).first(count * d.sample_bytes()));
    if (got > count) throw std::runtime_error("more was delivered than asked for");
    for (std::size_t k = got * d.sample_bytes(); k < bytes.size(); ++k)
      if (bytes[k] != std::byte{0xA5}) throw std::runtime_error("written behind the samples");
    if (got == 0) return values;
    for (std::size_t k = 0; k < got * d.channels; ++k)
      values.push_back(delivered_value(bytes.data(), d.delivered, k));
    at += got;
  }
}

}  // namespace tautline::tests
