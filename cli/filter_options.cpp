#include "cli/filter_options.h"

#include <spdlog/spdlog.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "tautline/core/error.h"
#include "tautline/formats/file_formats.h"
#include "tautline/pipeline/voltages/data_warnings.h"

namespace tautline::cli {

namespace {

std::vector<float> read_coefficients(const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  if (!file)
    throw core::Error(core::ErrorKind::io, path + ": opening it",
                      std::generic_category().message(errno), "a text file of coefficients");
  std::vector<float> values;
  float value;
  while (file >> value) values.push_back(value);
  if (values.empty() || !file.eof())
    throw core::Error(core::ErrorKind::io, path, "no coefficients or not a number among them",
                      "one coefficient after the other, taps x channels of them, in sample order");
  return values;
}

}  // namespace

void FilterOptions::fill(pipeline::FilterConfig& filter) const {
  filter.named = given_members(*command, "filter.");
  if (command->count("--requantize") > 0) filter.named.push_back("requantise");
  if (coefficients_path.empty()) return;
  filter.coefficients = read_coefficients(coefficients_path);
}

std::vector<formats::NamedFile> files_read(const std::vector<std::string>& inputs,
                                           const FilterOptions& filter) {
  auto files = formats::name_files("input", inputs);
  files.push_back({"--coefficients", filter.coefficients_path});
  return files;
}

bool voltages_come_in_order(std::span<const std::byte> first_bytes, const std::string& name) {
  return !formats::voltages_in_order(first_bytes, name).empty();
}

std::string voltages_help() {
  return "voltage files (" +
         formats::names_of(formats::formats_with(&formats::FileFormat::voltages)) +
         "); NPY: [time], [input][time] or [channel][input][time], antenna slow and polarisation "
         "fast; complex integers (--format ci8) have a last axis of 2";
}

void InputOptions::warn_of_unknown_frequency(const std::string& file) {
  spdlog::warn("{}", pipeline::unknown_frequency_message(file));
}

void InputOptions::warn_of_unknown_start(const std::string& file) {
  spdlog::warn("{}", pipeline::unknown_start_message(file));
}

void InputOptions::warn_of_guess(const std::string& file, const std::string& assumed) {
  spdlog::warn("{}: {}", file, assumed);
}

}  // namespace tautline::cli
