// The tagged header of a PTU file: named values of a few types, in any order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tautline/formats/ptu/tag_header.h"

namespace tautline::formats::ptu {

/// The types of tags, as their codes are written.
enum class TagType : std::uint32_t {
  empty = 0xFFFF0008,
  boolean = 0x00000008,
  integer = 0x10000008,
  bits = 0x11000008,
  colour = 0x12000008,
  number = 0x20000008,
  date = 0x21000008,  ///< days since 1899-12-30, local time
  numbers = 0x2001FFFF,
  text = 0x4001FFFF,
  wide_text = 0x4002FFFF,
  blob = 0xFFFFFFFF
};

struct HeaderTag {
  std::string name;
  std::int32_t index = -1;  ///< of a repeated name; -1 where there is one only
  TagType type = TagType::empty;
  std::int64_t integer = 0;  ///< of boolean, integer, bits, colour
  double number = 0;         ///< of number and date
  std::string text;          ///< of text
};

class Header {
 public:
  /// Throws Error(format) that names the byte where the header breaks.
  static Header read(const HeaderSource& file);

  std::uint64_t size_bytes() const { return size_bytes_; }
  const std::vector<HeaderTag>& tags() const { return tags_; }
  const HeaderTag* find(std::string_view name, std::int32_t index = -1) const;
  std::optional<std::int64_t> integer(std::string_view name, std::int32_t index = -1) const;
  std::optional<double> number(std::string_view name) const;
  std::string text(std::string_view name) const;

 private:
  std::vector<HeaderTag> tags_;
  std::uint64_t size_bytes_ = 0;
};

/// "2011-07-05 13:33:20" from a date tag's days; empty for 0 and nonsense.
std::string date_text(double days);

}  // namespace tautline::formats::ptu
