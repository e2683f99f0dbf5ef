// Bytes as text, for arrays inside JSON.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tautline::pipeline::report {

/// RFC 4648 with padding.
std::string base64(std::span<const std::byte> bytes);

/// The array's bytes in this machine's order, which is little-endian everywhere that we build.
template <class T>
std::string base64(const std::vector<T>& values) {
  return base64(std::as_bytes(std::span<const T>(values)));
}

}  // namespace tautline::pipeline::report
