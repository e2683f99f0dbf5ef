// Measured limits of a device, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tautline/pipeline/bench/measure_limits.h"

namespace tautline::cli {

/// Every rate by its name, null where there is none, and `matrix_instruction`.
nlohmann::ordered_json limits_json(const pipeline::Limits& limits);

/// One line a rate that there is, indented.
std::string limits_text(const pipeline::Limits& limits);

/// "4.29 TB/s", "60.4 T operations/s" (unit " operations/s"): the prefix that suits the value.
std::string with_prefix(double value, const std::string& unit);

}  // namespace tautline::cli
