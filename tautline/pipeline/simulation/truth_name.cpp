#include "tautline/pipeline/simulation/truth_name.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"

namespace tautline::pipeline::simulation {

namespace {

// The name of the simulated file of a truth file, without its folder; empty when the truth file
// does not name it.
std::string file_of_truth(const std::string& truth_path) {
  std::ifstream file(truth_path, std::ios::binary);
  const auto truth = nlohmann::json::parse(file, nullptr, false);
  if (!truth.is_object()) return {};
  const auto one = truth.find("file"), several = truth.find("files");
  std::string name;
  if (one != truth.end() && one->is_string()) name = one->get<std::string>();
  if (several != truth.end() && several->is_array() && !several->empty() &&
      several->front().is_string())
    name = several->front().get<std::string>();
  return std::filesystem::path(name).filename().string();
}

std::string in_bytes(double bytes) {
  if (bytes < 1e6) return fmt::format("{:.0f} bytes", bytes);
  const char* const units[] = {"MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  for (bytes /= 1e6; bytes >= 1000 && unit + 1 < std::size(units); bytes /= 1000) ++unit;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

}  // namespace

std::string truth_name(const std::string& output, std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings)
    if (output.size() > ending.size() && output.ends_with(ending))
      return output.substr(0, output.size() - ending.size()) + ".truth.json";
  return output + ".truth.json";
}

void refuse_existing(const std::string& truth_path, const std::string& output, bool overwrite) {
  std::error_code ignored;
  if (overwrite) return;
  formats::refuse_existing(output, overwrite);
  if (!std::filesystem::exists(truth_path, ignored)) return;
  const std::string other = file_of_truth(truth_path);
  throw core::Error(core::ErrorKind::io, truth_path + ": output (the truth of " + output + ")",
                    other.empty() ? "it exists" : "it exists, as the truth of " + other,
                    "a new name",
                    "give `overwrite` or an output whose name differs before its ending");
}

void require_room(const std::string& output, double bytes) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(output, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) return;
  const fs::path folder = fs::path(output).parent_path();
  const fs::space_info space = fs::space(folder.empty() ? fs::path(".") : folder, error);
  if (error || space.capacity == 0 || bytes <= static_cast<double>(space.available)) return;
  throw core::Error(
      core::ErrorKind::io, output + ": output", in_bytes(bytes),
      "at most " + in_bytes(static_cast<double>(space.available)) + ", which the disk has left",
      "a shorter `duration_s` takes less");
}

}  // namespace tautline::pipeline::simulation
