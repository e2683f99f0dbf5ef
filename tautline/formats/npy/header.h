// The header of a NPY file, versions 1 to 3: the array's type, shape and order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tautline::formats::npy {

inline constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 20;

struct Header {
  std::string type;            ///< as numpy writes it: "<f4", "|i1"
  bool fortran_order = false;  ///< first axis fastest
  std::vector<std::uint64_t> shape;
  std::uint64_t data_offset_bytes = 0;
};

/// "(3, 4)", as messages show a shape.
std::string shape_text(const std::vector<std::uint64_t>& shape);

/// Bytes of one element of a type as "<f4": the number behind the letter. 0 when there is none.
std::size_t element_bytes(const std::string& type);

/// `bytes` are the file's first ones, kMaxHeaderBytes of them or the whole file. Throws
/// Error(format) that names the fault, for example a structured type.
Header parse_header(std::span<const std::byte> bytes, const std::string& file);

/// A header in C order whose length is a multiple of 64 bytes and at least `least_bytes`.
std::string format_header(const std::string& type, const std::vector<std::uint64_t>& shape,
                          std::size_t least_bytes = 0);

}  // namespace tautline::formats::npy
