// The text in front of a block: cards of 80 characters, "KEYWORD = value / comment", up to END.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tautline/core/time.h"
#include "tautline/formats/input_file.h"

namespace tautline::formats::guppi {

inline constexpr std::size_t kCardBytes = 80;

/// The values of one header as text. Getters throw Error(format) that names file, offset and
/// keyword.
class Cards {
 public:
  /// None when the bytes at `offset` are no header: no cards, or none that says END.
  static std::optional<Cards> read(const InputFile& file, std::uint64_t offset);

  std::uint64_t offset() const { return offset_; }
  /// From the first card to the first byte of data.
  std::size_t bytes() const { return bytes_; }

  bool has(const std::string& keyword) const { return values_.contains(keyword); }
  std::string text(const std::string& keyword, const std::string& otherwise = {}) const;
  /// A whole number within [least, most]; `otherwise` when the card is absent and that is given.
  std::int64_t integer(const std::string& keyword, std::int64_t least, std::int64_t most,
                       std::optional<std::int64_t> otherwise = {}) const;
  double number(const std::string& keyword) const;
  /// The exact size of a number that is not zero, times 10^shift; its sign is left to number().
  core::Rational magnitude(const std::string& keyword, int shift) const;

  core::Error error(const std::string& keyword, const std::string& found,
                    const std::string& expected) const;

 private:
  std::string path_;
  std::uint64_t offset_ = 0;
  std::size_t bytes_ = 0;
  std::map<std::string, std::string> values_;
};

}  // namespace tautline::formats::guppi
