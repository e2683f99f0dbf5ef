#include "tautline/pipeline/graph_file/schedule.h"

#include "tautline/core/error.h"
#include "tautline/formats/toml/toml_table.h"

namespace tautline::pipeline {

namespace {

// "receivers.centre_hz" = 1e8, or receivers.centre_hz = 1e8, which are tables.
void add_assignments(const formats::TomlTable& table, const std::string& before,
                     std::vector<std::string>& assignments) {
  for (const std::string& key : table.keys()) {
    const std::string name = before.empty() ? key : before + "." + key;
    if (table.is_table(key)) {
      add_assignments(table.table(key), name, assignments);
      continue;
    }
    std::string value;
    for (const std::string& text : table.any_texts(key)) value += (value.empty() ? "" : ",") + text;
    assignments.push_back(name + "=" + value);
  }
}

Observation read_observation(const formats::TomlTable& table) {
  table.allow_only({"start", "stop", "duration_s", "set"});
  Observation one;
  one.place = table.error("set", "", "").field();
  if (table.has("start")) one.start = table.instant("start");
  if (table.has("stop")) one.stop = table.instant("stop");
  if (table.has("duration_s")) one.duration_s = table.number("duration_s");
  if (table.has("duration_s") && !(one.duration_s > 0 && one.duration_s <= 1e9))
    throw table.error("duration_s", std::to_string(one.duration_s), "above 0, to 1e9");
  if (one.stop && one.duration_s > 0)
    throw table.error("stop", "given beside duration_s", "one of them");
  if (one.start && one.stop && !core::before(*one.start, *one.stop))
    throw table.error("stop", core::to_iso(*one.stop), "a time behind start");
  if (table.has("set")) add_assignments(table.table("set"), "", one.assignments);
  return one;
}

}  // namespace

std::vector<Observation> read_schedule(const formats::TomlTable& file) {
  std::vector<Observation> all;
  const Observation* before = nullptr;
  for (const formats::TomlTable& table : file.tables("observation")) {
    Observation one = read_observation(table);
    if (before != nullptr && one.start && before->start &&
        !core::before(*before->start, *one.start))
      throw table.error("start", core::to_iso(*one.start), "a time behind the start before it");
    if (before != nullptr && one.start && before->stop && core::before(*one.start, *before->stop))
      throw table.error("start", core::to_iso(*one.start),
                        "a time behind the end of the observation before it");
    all.push_back(std::move(one));
    before = &all.back();
  }
  return all;
}

}  // namespace tautline::pipeline
