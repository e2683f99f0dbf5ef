#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "tautline/formats/candidates/candidates.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/text.h"

namespace tautline::formats::candidates {

namespace {

using core::Candidate;

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

// The fields of one line, and where they are, for messages.
class Row {
 public:
  Row(const std::string& path, std::size_t line, std::vector<std::string_view> fields)
      : path_(path), line_(line), fields_(std::move(fields)) {}

  std::size_t size() const { return fields_.size(); }
  std::string_view text(std::size_t column) const { return fields_[column]; }

  double real(std::size_t column, const char* name) const {
    return value<double>(column, name, "a number");
  }
  std::uint64_t count(std::size_t column, const char* name) const {
    return value<std::uint64_t>(column, name, "a whole number, 0 or more");
  }
  std::uint64_t power_of_two(std::size_t column, const char* name) const {
    constexpr std::uint64_t kHighest = 62;
    const std::uint64_t exponent = count(column, name);
    if (exponent > kHighest) throw wrong(fmt::format("{} {}", name, exponent), "0 to 62");
    return std::uint64_t{1} << exponent;
  }
  core::Error wrong(std::string found, std::string expected) const {
    return format_error(path_, fmt::format("line {}", line_), std::move(found),
                        std::move(expected));
  }

 private:
  template <class T>
  T value(std::size_t column, const char* name, const char* expected) const {
    T result{};
    if (column < fields_.size()) {
      const std::string_view text = fields_[column];
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
      if (error == std::errc() && end == text.data() + text.size() &&
          std::isfinite(static_cast<double>(result)))
        return result;
    }
    throw wrong(fmt::format("{} '{}'", name,
                            column < fields_.size() ? fields_[column].substr(0, 40) : "nothing"),
                expected);
  }

  const std::string& path_;
  std::size_t line_;
  std::vector<std::string_view> fields_;
};

// Places of columns, counted from the last one, since a file's name may have commas; 0: there is none, as `filled` in
// lists of earlier versions.
struct LastColumns {
  std::size_t filled = 0, injected = 0;
};

Candidate from_csv(const Row& row, const LastColumns& last) {
  if (row.size() < 14) throw row.wrong(fmt::format("{} fields", row.size()), "15");
  Candidate c;
  c.snr = row.real(0, "snr");
  c.time_s = row.real(1, "time_s");
  c.sample = row.count(2, "sample");
  c.width_samples = row.count(3, "width_samples");
  c.dm = row.real(5, "dm");
  c.dm_index = row.count(6, "dm_index");
  c.members = row.count(7, "members");
  c.first_sample = row.count(8, "first_sample");
  c.last_sample = row.count(9, "last_sample");
  c.beam = row.count(13, "beam");
  const auto has = [&](std::size_t at) {
    return at > 13 && at < row.size() && !row.text(at).empty();
  };
  if (const std::size_t at = row.size() - std::min(last.filled, row.size()); has(at))
    c.filled = row.real(at, "filled");
  if (const std::size_t at = row.size() - std::min(last.injected, row.size()); has(at))
    c.injected = row.count(at, "injected") != 0;
  return c;
}

Candidate from_heimdall(const Row& row) {
  if (row.size() < 9) throw row.wrong(fmt::format("{} fields", row.size()), "9");
  Candidate c;
  c.snr = row.real(0, "S/N");
  c.sample = row.count(1, "sample");
  c.time_s = row.real(2, "time");
  c.width_samples = row.power_of_two(3, "filter index");
  c.dm_index = row.count(4, "DM index");
  c.dm = row.real(5, "DM");
  c.members = row.count(6, "members");
  c.first_sample = row.count(7, "first sample");
  c.last_sample = row.count(8, "last sample");
  return c;
}

Candidate from_presto(const Row& row) {
  if (row.size() < 5) throw row.wrong(fmt::format("{} fields", row.size()), "5");
  Candidate c;
  c.dm = row.real(0, "DM");
  c.snr = row.real(1, "Sigma");
  c.time_s = row.real(2, "Time");
  c.sample = row.count(3, "Sample");
  c.width_samples = row.count(4, "Downfact");
  c.first_sample = c.last_sample = c.sample;
  return c;
}

Candidate from_your(const Row& row) {
  if (row.size() < 5) throw row.wrong(fmt::format("{} fields", row.size()), "8");
  Candidate c;
  c.snr = row.real(1, "snr");
  c.time_s = row.real(2, "stime");
  c.width_samples = row.power_of_two(3, "width");
  c.dm = row.real(4, "dm");
  return c;
}

constexpr std::string_view kSchema = "tautline.candidate";

// A line of JSON; nothing for one of another schema, as `search --json` ends with.
std::optional<Candidate> from_json(const std::string& path, std::size_t number,
                                   std::string_view text) {
  const auto wrong = [&](const std::string& found, const std::string& expected) {
    return format_error(path, fmt::format("line {}", number), found, expected);
  };
  const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
  if (!line.is_object()) throw wrong("no whole JSON object", "a candidate as JSON");
  const auto schema = line.find("schema");
  if (schema == line.end() || *schema != std::string(kSchema)) return std::nullopt;
  const auto get = [&](const char* name, auto& to) {
    const auto found = line.find(name);
    constexpr bool kWhole = std::is_integral_v<std::remove_reference_t<decltype(to)>>;
    if (found == line.end() || !(kWhole ? found->is_number_unsigned() : found->is_number()))
      throw wrong(fmt::format("{} {}", name, found == line.end() ? "missing" : found->dump()),
                  kWhole ? "a whole number, 0 or more" : "a number");
    found->get_to(to);
  };
  Candidate c;
  get("snr", c.snr);
  get("time_s", c.time_s);
  get("sample", c.sample);
  get("width_samples", c.width_samples);
  get("dm", c.dm);
  get("dm_index", c.dm_index);
  get("members", c.members);
  get("first_sample", c.first_sample);
  get("last_sample", c.last_sample);
  get("beam", c.beam);
  if (line.contains("latency_s")) get("latency_s", c.latency_s.emplace());
  c.injected = line.contains("injected") && line["injected"] == true;
  if (line.contains("filled") && !line["filled"].is_null()) get("filled", c.filled.emplace());
  return c;
}

Candidate read_row(Format format, const Row& row, const LastColumns& last) {
  switch (format) {
    case Format::csv:
      return from_csv(row, last);
    case Format::heimdall:
      return from_heimdall(row);
    case Format::presto:
      return from_presto(row);
    case Format::your:
      return from_your(row);
  }
  return {};
}

// The last line may be one that is still being written: without its end it is left out.
std::vector<Candidate> read_json_lines(const std::string& path, std::string_view rest) {
  std::vector<Candidate> candidates;
  std::size_t number = 0;
  for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos;) {
    if (const auto one = from_json(path, ++number, rest.substr(0, end))) candidates.push_back(*one);
    rest = rest.substr(end + 1);
  }
  return candidates;
}

}  // namespace

bool recognise(const std::string& path) {
  if (path.ends_with(".cand") || path.ends_with(".singlepulse")) return true;
  std::error_code ignored;
  if (!path.ends_with(".csv") && !std::filesystem::is_regular_file(path, ignored)) return false;
  constexpr std::size_t kFirstLine = 4096;
  const std::vector<std::byte> head = InputFile(path, InputFile::IfEmpty::taken).head(kFirstLine);
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.starts_with('{')) return line.find(kSchema) != std::string_view::npos;
  // Also one whose heading is damaged. Tables of curves have a lag, G, an error and a fit with its residual, each of
  // which may have a decimal comma.
  constexpr std::size_t kMostOfCurves = 10;
  if (path.ends_with(".csv") && (line.starts_with("file,snr,") || line.starts_with("snr,")))
    return true;
  return path.ends_with(".csv") && !line.starts_with("#") &&
         !line.starts_with(curves::kTableHeading) && line.find('\t') == std::string_view::npos &&
         (line.empty() || split(line, ",", true).size() > kMostOfCurves);
}

// A name with commas, and quotes, takes all columns that are too many.
std::string searched_file(const std::string& path) {
  if (!path.ends_with(".csv")) return {};
  constexpr std::size_t kFirstLines = 16384;
  const std::vector<std::byte> head = InputFile(path, InputFile::IfEmpty::taken).head(kFirstLines);
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return {};
  const std::string_view rest = text.substr(end + 1);
  const auto names = split(text.substr(0, end), ",", true);
  const auto values = split(rest.substr(0, rest.find('\n')), ",", true);
  const auto column = std::ranges::find(names, "file");
  if (column == names.end() || values.size() != names.size()) return {};
  return std::string(values[static_cast<std::size_t>(column - names.begin())]);
}

std::vector<Candidate> read(const std::string& path) {
  const std::vector<std::byte> bytes =
      InputFile(path, InputFile::IfEmpty::taken).head(kMaxFileBytes);
  refuse_compressed(path, "a list of candidates");
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (rest.starts_with('{') || path.ends_with(".jsonl")) return read_json_lines(path, rest);
  Format format = format_of(path);
  std::vector<Candidate> candidates;
  LastColumns last;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    if (number == 1 && line.starts_with("file,snr,stime,")) format = Format::your;
    const bool comma = format == Format::csv || format == Format::your;
    if (comma && number == 1 && (line.starts_with("snr,") || line.starts_with("file,"))) {
      const auto names = split(line, ",", true);
      const auto place = [&](std::string_view name) {
        return static_cast<std::size_t>(names.end() - std::ranges::find(names, name));
      };
      last = {place("filled"), place("injected")};
      continue;
    }
    const Row row(path, number, split(line, comma ? "," : " \t", comma));
    candidates.push_back(read_row(format, row, last));
  }
  return candidates;
}

}  // namespace tautline::formats::candidates
