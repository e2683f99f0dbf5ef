#include "tautline/formats/seeming_kind.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>

#include "tautline/formats/file_formats.h"

namespace tautline::formats {

namespace {

using std::string_view_literals::operator""sv;

constexpr std::size_t kHeadBytes = 4096;

struct Mark {
  std::string_view bytes, kind;
};

// Kinds that nothing here reads: the bytes that a file of the kind begins with.
constexpr std::array<Mark, 4> kOthers{{{"PK\x03\x04"sv, "a ZIP archive"},
                                       {"<!DOCTYPE html"sv, "an HTML page"},
                                       {"<!doctype html"sv, "an HTML page"},
                                       {"{"sv, "JSON"}}};

bool is_text(std::string_view head) {
  return std::none_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 127 || (byte < 32 && c != '\n' && c != '\r' && c != '\t' && c != '\f');
  });
}

std::string kind_of_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path + "/table.dat", ignored) ? "a Measurement Set (a folder)"
                                                               : "a folder";
}

}  // namespace

std::string seeming_kind(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return kind_of_folder(path);
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kHeadBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (bytes.empty()) return file.eof() ? "an empty file" : "";
  const auto first_bytes = std::as_bytes(std::span(bytes));
  for (const FileFormat& format : file_formats())
    if (!format.kind.empty() && format.is(first_bytes, "")) return format.kind;
  for (const Mark& mark : kOthers)
    if (bytes.starts_with(mark.bytes)) return std::string(mark.kind);
  return is_text(bytes) ? "text" : "";
}

}  // namespace tautline::formats
