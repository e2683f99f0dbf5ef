// The fields of each JSON object, as the guide's table of schemas lists them.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "tests/end_to_end/run_command.h"

namespace tautline::tests {

using Keys = std::set<std::string>;

inline Keys keys_of(const nlohmann::json& object) {
  Keys keys;
  for (const auto& [key, unused] : object.items()) keys.insert(key);
  return keys;
}

// Where tests were carried to another machine, TAUTLINE_TEST_SOURCE says what was carried with
// them.
inline std::string source_folder() {
  const char* elsewhere = std::getenv("TAUTLINE_TEST_SOURCE");
  return elsewhere == nullptr ? TAUTLINE_SOURCE_DIR : elsewhere;
}

// Those of a row of the guide's table of schemas that begins so, from `begin` to the next semicolon; a word in code is
// a field when it has only letters, digits and underscores.
inline Keys documented(const std::string& row, const std::string& begin = " | `") {
  std::istringstream guide(read_file(source_folder() + "/docs/guide/command.md"));
  Keys keys;
  for (std::string line; std::getline(guide, line);) {
    const std::size_t at = line.find(begin);
    if (!line.starts_with("| " + row) || at == std::string::npos) continue;
    const std::string fields = line.substr(at + begin.size() - 1);
    bool code = false;
    std::string word;
    for (const char c : fields.substr(0, fields.find(';'))) {
      if (code && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_')) {
        word += c;
        continue;
      }
      if (!word.empty()) keys.insert(word);
      word.clear();
      if (c == '`') code = !code;
    }
  }
  EXPECT_FALSE(keys.empty()) << row;
  return keys;
}

// The fields of the row's list `part`.
inline Keys documented_part(const std::string& row, const std::string& part) {
  return documented(row, "each of `" + part + "`: `");
}

// With what every object has.
inline Keys documented_object(const std::string& row) {
  Keys keys = documented(row);
  keys.insert({"schema", "version"});
  return keys;
}

// The one object that a command printed, with the fields of `schema` in the guide.
inline nlohmann::json documented_in(const std::string& out, const std::string& schema) {
  const auto object = nlohmann::json::parse(out, nullptr, false);
  EXPECT_FALSE(object.is_discarded()) << out;
  if (object.is_discarded()) return {};
  EXPECT_EQ(object["schema"], schema);
  EXPECT_EQ(object["version"], 1);
  EXPECT_EQ(keys_of(object), documented_object("`" + schema + "` 1")) << schema;
  return object;
}

}  // namespace tautline::tests
