#include "tautline/formats/psrfits/fits_table.h"

#include <fitsio.h>
#include <fmt/format.h>

#include <utility>

namespace tautline::formats::psrfits {

namespace {

fitsfile* handle(void* file) {
  return static_cast<fitsfile*>(file);
}

std::string reason_of(int status) {
  char text[FLEN_STATUS] = "";
  ::fits_get_errstatus(status, text);
  ::fits_clear_errmsg();
  return text;
}

}  // namespace

FitsTable::FitsTable(std::string path) : path_(std::move(path)) {
  int status = 0;
  fitsfile* file = nullptr;
  ::fits_open_diskfile(&file, path_.c_str(), READONLY, &status);
  if (status != 0)
    throw wrong("cannot be read as FITS", reason_of(status), "a FITS file",
                "check that the file was written completely");
  file_ = file;
}

FitsTable::~FitsTable() {
  int status = 0;
  if (file_ != nullptr) ::fits_close_file(handle(file_), &status);
  if (status != 0) ::fits_clear_errmsg();
}

core::Error FitsTable::wrong(const std::string& what, std::string found, std::string expected,
                             std::string advice) const {
  return {core::ErrorKind::format, path_ + ": " + what, std::move(found), std::move(expected),
          std::move(advice)};
}

core::Error FitsTable::failed(const std::string& what, int status) const {
  return wrong(what, reason_of(status), "readable FITS", "the file is damaged");
}

void FitsTable::move_to(const char* table) {
  int status = 0;
  std::string name(table);
  ::fits_movnam_hdu(handle(file_), BINARY_TBL, name.data(), 0, &status);
  if (status != 0)
    throw wrong(fmt::format("table {}", table), reason_of(status), "a table of this name",
                "this is no PSRFITS file with data");
}

bool FitsTable::read_key(int type, const char* key, void* value) {
  int status = 0;
  ::fits_read_key(handle(file_), type, key, value, nullptr, &status);
  if (status != 0) ::fits_clear_errmsg();
  return status == 0;
}

std::optional<double> FitsTable::number(const char* key) {
  double value = 0;
  return read_key(TDOUBLE, key, &value) ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> FitsTable::integer(const char* key) {
  LONGLONG value = 0;
  return read_key(TLONGLONG, key, &value) ? std::optional<std::int64_t>(value) : std::nullopt;
}

std::string FitsTable::text(const char* key) {
  char value[FLEN_VALUE] = "";
  if (!read_key(TSTRING, key, value)) return {};
  std::string text(value);
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::uint64_t FitsTable::rows() {
  int status = 0;
  LONGLONG rows = 0;
  ::fits_get_num_rowsll(handle(file_), &rows, &status);
  if (status != 0) throw failed("number of rows", status);
  return static_cast<std::uint64_t>(rows);
}

std::uint64_t FitsTable::data_offset_bytes() {
  int status = 0;
  LONGLONG header = 0, data = 0, end = 0;
  ::fits_get_hduaddrll(handle(file_), &header, &data, &end, &status);
  if (status != 0) throw failed("place of the table", status);
  return static_cast<std::uint64_t>(data);
}

FitsTable::Column FitsTable::column(const char* name) {
  int status = 0;
  Column column;
  std::string copy(name);
  ::fits_get_colnum(handle(file_), CASEINSEN, copy.data(), &column.number, &status);
  if (status != 0) {
    ::fits_clear_errmsg();
    return {};
  }
  LONGLONG repeat = 0, width = 0, null = 0;
  char unused[FLEN_VALUE], type[FLEN_VALUE], display[FLEN_VALUE], label[FLEN_VALUE];
  ::fits_get_coltypell(handle(file_), column.number, &column.type, &repeat, &width, &status);
  ::fits_get_bcolparmsll(handle(file_), column.number, label, unused, type, &repeat, &column.scale,
                         &column.zero, &null, display, &status);
  if (status != 0) throw failed(fmt::format("column {}", name), status);
  // cfitsio names the type after TZERO; the type in the file is needed here.
  column.type = type[0];
  column.elements = repeat < 0 ? 0 : static_cast<std::uint64_t>(repeat);
  return column;
}

void FitsTable::read_as(int type, const Column& column, std::uint64_t row, std::uint64_t first,
                        std::size_t count, void* values) {
  if (count == 0) return;
  int status = 0, any = 0;
  ::fits_read_col(handle(file_), type, column.number, static_cast<LONGLONG>(row + 1),
                  static_cast<LONGLONG>(first + 1), static_cast<LONGLONG>(count), nullptr, values,
                  &any, &status);
  if (status != 0) throw failed(fmt::format("row {}, column {}", row, column.number), status);
}

void FitsTable::read(const Column& column, std::uint64_t row, std::uint64_t first,
                     std::span<double> values) {
  read_as(TDOUBLE, column, row, first, values.size(), values.data());
}

void FitsTable::read(const Column& column, std::uint64_t row, std::uint64_t first,
                     std::span<float> values) {
  read_as(TFLOAT, column, row, first, values.size(), values.data());
}

void FitsTable::leave_unscaled(const Column& column) {
  int status = 0;
  ::fits_set_tscale(handle(file_), column.number, 1, 0, &status);
  if (status != 0) throw failed("scaling of a column", status);
}

void FitsTable::read_raw(const Column& column, std::uint64_t row, std::uint64_t first,
                         std::span<std::uint8_t> values) {
  leave_unscaled(column);
  read_as(TBYTE, column, row, first, values.size(), values.data());
}

void FitsTable::read_raw(const Column& column, std::uint64_t row, std::uint64_t first,
                         std::span<std::int16_t> values) {
  leave_unscaled(column);
  read_as(TSHORT, column, row, first, values.size(), values.data());
}

}  // namespace tautline::formats::psrfits
