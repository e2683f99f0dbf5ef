// The headers of PTU and PT3 files, read from a file or from the front of a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/input_file.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/ptu/record_type.h"

namespace tautline::formats::ptu {

/// Access to bytes by position. Headers are read from front to back, so the source may be a stream.
struct HeaderSource {
  std::string path;
  std::uint64_t size_bytes = std::numeric_limits<std::uint64_t>::max();  ///< of a stream: that
  /// Fills the span from a position on and returns how many bytes there were.
  std::function<std::size_t(std::uint64_t, std::span<std::byte>)> read;

  /// The first bytes, at most `limit_bytes` of them.
  std::vector<std::byte> head(std::size_t limit_bytes) const {
    std::vector<std::byte> bytes(limit_bytes);
    bytes.resize(read(0, bytes));
    return bytes;
  }
};

inline HeaderSource source_of(const InputFile& file) {
  return {file.path(), file.size(), [&file](std::uint64_t offset, std::span<std::byte> bytes) {
            return file.read(offset, bytes);
          }};
}

struct TagHeader {
  PhotonDescription description;  ///< but for `records`
  const RecordType* type = nullptr;
  std::uint64_t size_bytes = 0;  ///< records begin there
};

}  // namespace tautline::formats::ptu
