// The text of a DADA header: lines of `KEY value`, # begins a comment, NUL ends it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/core/time.h"

namespace tautline::formats::dada {

/// A decimal number of a header: its sign and the exact magnitude (zero has no magnitude).
struct Decimal {
  int sign = 0;  ///< -1, 0, 1
  std::string magnitude;
};

/// Every getter throws Error(format) that names the file, the key, what was found and what was
/// expected. Of a key that comes twice, the first holds, as in PSRDADA.
class KeyValues {
 public:
  /// Reads the text at the front of `bytes`. Throws when a line before the NUL holds control
  /// characters: then it is no header.
  KeyValues(std::span<const std::byte> bytes, std::string file);

  const std::string& file() const { return file_; }
  std::optional<std::string> text(std::string_view key) const;
  std::string text_or(std::string_view key, std::string_view otherwise) const;
  /// An integer in [low, high]; `otherwise` when the key is absent, or an error without it.
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high,
                       std::optional<std::int64_t> otherwise = {}) const;
  /// A finite decimal number, exactly as written (more than 18 digits are cut).
  Decimal decimal(std::string_view key) const;
  /// value x 10^shift, rounded once. `key` as decimal().
  double number(std::string_view key, int shift) const;
  /// value x 10^shift exactly. Throws unless it is positive.
  core::Rational positive(std::string_view key, int shift) const;
  /// "numerator/denominator".
  std::optional<core::Rational> ratio(std::string_view key) const;

  core::Error wrong(std::string_view what, std::string_view key, const std::string& expected,
                    const std::string& advice = "correct the header") const;

 private:
  std::string file_;
  std::vector<std::pair<std::string, std::string>> entries_;
};

}  // namespace tautline::formats::dada
