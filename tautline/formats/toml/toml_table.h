// One table of a TOML file, read field by field with errors that name file, table, field and line.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tautline/core/angle.h"
#include "tautline/core/error.h"
#include "tautline/core/time.h"

namespace tautline::formats {

/// A cheap handle; the parsed file lives as long as any handle into it. Every getter throws
/// Error(format) when the field has another type or value than it promises, and the required ones
/// when it is absent.
class TomlTable {
 public:
  /// Throws Error(io) when the file cannot be read and Error(format) when it is not TOML.
  static TomlTable read(const std::string& path);
  /// The same for text in memory; `name` stands for the file in messages.
  static TomlTable parse(std::string_view text, const std::string& name);

  bool has(std::string_view key) const;
  /// Names of this table's fields and tables, in the order of the file.
  std::vector<std::string> keys() const;
  /// Throws unless every key of this table is among `known`: a misspelt field is never ignored.
  void allow_only(const std::vector<std::string_view>& known) const;

  double number(std::string_view key) const;  ///< integer or float, finite
  /// Degrees: a number, or a sexagesimal text, "12:30:49.4" (core/angle.h).
  double angle_deg(std::string_view key, core::AngleUnit unit) const;
  double number_or(std::string_view key, double fallback) const;
  std::int64_t integer(std::string_view key) const;
  bool boolean_or(std::string_view key, bool fallback) const;
  std::string text(std::string_view key) const;
  std::string text_or(std::string_view key, const std::string& fallback) const;
  /// A number stands for a list of one.
  std::vector<double> numbers(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  /// [[7, "x"], ...]
  std::vector<std::pair<std::int64_t, std::string>> pairs(std::string_view key) const;
  /// A string as parse_utc reads it, or a TOML date-time, taken as UTC when it names no offset.
  core::Instant instant(std::string_view key) const;
  /// A positive number taken by its shortest decimal digits: 1.28e6 and "1.28e6" are 1280000/1.
  core::Rational rational(std::string_view key) const;
  /// Any value as its text: of a list, that of each item.
  std::vector<std::string> any_texts(std::string_view key) const;
  bool is_table(std::string_view key) const;
  /// The table [key].
  TomlTable table(std::string_view key) const;
  /// The tables of [[key]] (or of an array of inline tables); none when the key is absent.
  std::vector<TomlTable> tables(std::string_view key) const;

  /// An Error(format) about one field, for checks that the getters cannot make.
  core::Error error(std::string_view key, const std::string& value, const std::string& expected,
                    const std::string& advice = {}) const;

 private:
  struct Document;
  TomlTable(std::shared_ptr<const Document> document, const void* table, std::string place);

  std::shared_ptr<const Document> document_;
  const void* table_ = nullptr;  // a toml::table inside the document
  std::string place_;            // "scene.toml" or "scene.toml: [[source]] 2"
};

}  // namespace tautline::formats
