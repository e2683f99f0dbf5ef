// Lines and numbers of text files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tautline::formats {

/// The file's lines without their ends. Throws Error(io), and Error(format) for more than 64 MiB or
/// for bytes that no text has.
std::vector<std::string> read_lines(const std::string& path);
/// The same for bytes that were read from `path`.
std::vector<std::string> lines_of(const std::string& path, std::string_view bytes);

std::string_view trim(std::string_view text, std::string_view blanks = " \t");
std::string lower(std::string_view text);
/// Split where any of `separators` stands; empty fields are left out unless `keep_empty`.
std::vector<std::string_view> split(std::string_view text, std::string_view separators = " \t",
                                    bool keep_empty = false);
/// The whole text as a number: nan and inf too.
std::optional<double> number(std::string_view text);
std::optional<double> finite_number(std::string_view text);
/// "[-]hh:mm:ss.s" times `scale`.
std::optional<double> sexagesimal(const std::string& text, double scale);
/// Every field as a number; empty when any field is no number.
std::vector<double> numbers(std::string_view line, std::string_view separators = " \t");

}  // namespace tautline::formats
