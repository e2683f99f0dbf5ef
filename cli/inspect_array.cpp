#include "cli/inspect_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "cli/field_options.h"
#include "tautline/core/counted.h"
#include "tautline/formats/count_reader.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/npy/npy.h"

namespace tautline::cli {

namespace {

using Json = nlohmann::ordered_json;

// The record that dedisperse wrote beside an array; null where there is none.
Json record_beside(const std::string& path) {
  std::ifstream file(path + ".json");
  if (!file) return nullptr;
  Json record = Json::parse(file, nullptr, false);
  if (record.is_discarded()) (void)formats::npy::has_channelize_record(path);  // throws
  const bool known = record.is_object() && record["schema"] == "tautline.dedisperse.record" &&
                     record["dms"].is_array() && !record["dms"].empty() &&
                     record["tsamp_s"].is_number();
  return known ? record : Json(nullptr);
}

// FilledTrials of the record; null where what was filled is not known.
Json filled_of(const Json& record) {
  const Json segments = record.value("segments", Json());
  const bool one = segments.is_array() && segments.size() == 1 && segments[0].is_object();
  Json filled = one ? segments[0].value("filled", Json()) : Json();
  const bool whole = filled.is_object() && filled.value("step_samples", Json()).is_number() &&
                     filled.value("steps", Json()).is_array();
  return whole ? filled : Json();
}

// The steps of which some is filled, and the largest share of a trial in one.
std::string filled_text(const Json& filled, double tsamp_s) {
  double most = 0;
  std::size_t unknown = 0;
  for (const Json& step : filled["steps"]) {
    const Json fraction = step.value("fraction", Json());
    if (!fraction.is_array()) ++unknown;
    if (fraction.is_array())
      for (const Json& one : fraction)
        most = std::max(most, one.is_number() ? one.get<double>() : 0);
  }
  const std::size_t some = filled["steps"].size() - unknown;
  std::string text = some == 0
                         ? "nothing"
                         : fmt::format("in {} of {:.3g} s, {:.3g} % of a trial's values at most",
                                       core::counted(some, "step"),
                                       filled["step_samples"].get<double>() * tsamp_s, 100 * most);
  if (unknown > 0) text += fmt::format("; not known in {}", core::counted(unknown, "step"));
  return text;
}

int inspect_series(const Global& global, const std::string& path,
                   const formats::npy::Header& header, const Json& record) {
  const Json &dms = record["dms"], &tsamp_s = record["tsamp_s"];
  const std::uint64_t samples = header.shape.back();
  const Json filled = filled_of(record);
  if (global.json) {
    print_json("tautline.inspect.series", 1,
               {{"file", said_name(path)},
                {"type", header.type},
                {"trials", header.shape.front()},
                {"samples", samples},
                {"tsamp_s", tsamp_s},
                {"dms", dms},
                {"f_ref_mhz", record.value("f_ref_mhz", Json())},
                {"dm_constant", record.value("dm_constant", Json())},
                {"start_utc", record.value("start", Json())},
                {"filled", filled}});
    return kDone;
  }
  fmt::print("{}: dedispersed series\n", said_name(path));
  fmt::print("  trials      {}, DM {} to {}\n", header.shape.front(), dms.front().dump(),
             dms.back().dump());
  fmt::print("  samples     {} of {:.6g} s, {}\n", samples, tsamp_s.get<double>(), header.type);
  if (const Json start = record.value("start", Json()); start.is_string())
    fmt::print("  start       {} UTC\n", start.get<std::string>());
  if (!filled.is_null())
    fmt::print("  lost data   filled {}\n", filled_text(filled, tsamp_s.get<double>()));
  return kDone;
}

// Unsigned numbers of a shape that counts have.
bool holds_counts(const formats::npy::Header& header) {
  constexpr const char* kTypes[] = {"|b1", "|u1", "<u1", "<u2", "<u4", "<u8", ">u2", ">u4", ">u8"};
  const std::size_t axes = header.shape.size();
  return axes >= 1 && axes <= 3 &&
         std::find(std::begin(kTypes), std::end(kTypes), header.type) != std::end(kTypes);
}

}  // namespace

int inspect_counts(const Global& global, const std::string& path, bool strict) {
  const auto reader = formats::open_counts(path, {});
  const formats::CountDescription& d = reader->description();
  if (global.json)
    print_json("tautline.inspect.counts", 1,
               {{"file", said_name(path)},
                {"format", d.format},
                {"type", core::to_string(d.type)},
                {"samples", reader->total_samples()},
                {"sensors", d.sensors},
                {"rows", d.rows},
                {"columns", d.columns},
                {"bin_s", d.bin_s > 0 ? Json(d.bin_s) : Json()}});
  else
    fmt::print(
        "{}: photon counts\n  times       {} of {}, {}\n{}", said_name(path),
        reader->total_samples(),
        d.rows > 0 ? fmt::format("{} x {} pixels (rows x columns)", d.rows, d.columns)
                   : core::counted(d.sensors, "sensor"),
        core::to_string(d.type),
        d.bin_s > 0 ? fmt::format("  bins        {:.6g} s, {}\n", d.bin_s, d.bin_reason) : "");
  return damage_status(reader->damage(), 0, strict);
}

std::optional<int> inspect_array(const Global& global, const std::string& path, bool strict) {
  const formats::InputFile file(path);
  constexpr std::size_t kFirstBytes = 64;
  if (!formats::npy::recognise(file.head(kFirstBytes), path)) return std::nullopt;
  const auto header = formats::npy::parse_header(file.head(formats::npy::kMaxHeaderBytes), path);
  if (const Json record = record_beside(path); !record.is_null() && header.shape.size() == 2)
    return inspect_series(global, path, header, record);
  if (holds_counts(header)) return inspect_counts(global, path, strict);
  return std::nullopt;
}

}  // namespace tautline::cli
