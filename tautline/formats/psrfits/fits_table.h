// One binary table of a FITS file through cfitsio, with errors that name file and field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tautline/core/error.h"

namespace tautline::formats::psrfits {

/// Owns cfitsio's handle. Rows and elements count from 0.
class FitsTable {
 public:
  struct Column {
    int number = 0;              ///< cfitsio's, from 1; 0: there is none
    int type = 0;                ///< cfitsio's code
    std::uint64_t elements = 0;  ///< in a row
    double zero = 0, scale = 1;  ///< TZERO and TSCAL
    explicit operator bool() const { return number != 0; }
  };

  /// Opens the file of exactly this name: brackets and plus signs are characters of the name.
  explicit FitsTable(std::string path);
  ~FitsTable();
  FitsTable(const FitsTable&) = delete;
  FitsTable& operator=(const FitsTable&) = delete;

  const std::string& path() const { return path_; }
  /// Moves from the primary header to a table. Throws Error(format) when there is none.
  void move_to(const char* table);

  /// A key of the header in use; nothing when the key is absent, undefined ('*') or of another type.
  std::optional<double> number(const char* key);
  std::optional<std::int64_t> integer(const char* key);
  std::string text(const char* key);

  std::uint64_t rows();
  std::uint64_t row_bytes() { return static_cast<std::uint64_t>(integer("NAXIS1").value_or(0)); }
  /// Where the table's rows begin in the file.
  std::uint64_t data_offset_bytes();
  Column column(const char* name);

  void read(const Column& column, std::uint64_t row, std::uint64_t first, std::span<double> values);
  void read(const Column& column, std::uint64_t row, std::uint64_t first, std::span<float> values);
  /// As stored, TZERO and TSCAL left aside.
  void read_raw(const Column& column, std::uint64_t row, std::uint64_t first,
                std::span<std::uint8_t> values);
  void read_raw(const Column& column, std::uint64_t row, std::uint64_t first,
                std::span<std::int16_t> values);

  core::Error wrong(const std::string& what, std::string found, std::string expected,
                    std::string advice = {}) const;

 private:
  bool read_key(int type, const char* key, void* value);
  void leave_unscaled(const Column& column);
  void read_as(int type, const Column& column, std::uint64_t row, std::uint64_t first,
               std::size_t count, void* values);
  core::Error failed(const std::string& what, int status) const;

  std::string path_;
  void* file_ = nullptr;  // a fitsfile: its header stays out of ours
};

}  // namespace tautline::formats::psrfits
