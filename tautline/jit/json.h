// Helpers that the JSON files and messages of this layer share. For .cpp files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tautline/core/error.h"
#include "tautline/jit/result.h"
#include "tautline/jit/tunable.h"

namespace tautline::jit {

using Json = nlohmann::ordered_json;

/// Runs `read` over the parsed line; a missing field, or a field of another type, is Error(format).
template <class Read>
auto read_json(const std::string& line, const char* what, const Read& read) {
  try {
    return read(Json::parse(line));
  } catch (const nlohmann::json::exception& error) {
    throw core::Error(core::ErrorKind::format, what, error.what(), "a line of JSON as written");
  }
}

/// On one line. Texts of compilers and drivers may hold any bytes; they become valid UTF-8.
inline std::string one_line(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json result_object(const Result& result);
Result result_of(const Json& object);
Json key_object(const TuningKey& key);
TuningKey key_of(const Json& object);

}  // namespace tautline::jit
