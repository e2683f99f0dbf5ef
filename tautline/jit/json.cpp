#include "tautline/jit/json.h"

#include <array>
#include <utility>

namespace tautline::jit {

namespace {

constexpr std::array<std::pair<Outcome, std::string_view>, 7> kOutcomes{{
    {Outcome::measured, "measured"},
    {Outcome::not_built, "not built"},
    {Outcome::not_run, "not run"},
    {Outcome::wrong, "wrong"},
    {Outcome::hung, "hung"},
    {Outcome::died, "died"},
    {Outcome::interrupted, "interrupted"},
}};

}  // namespace

std::string_view to_string(Outcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)].second;
}

Outcome parse_outcome(std::string_view text) {
  for (const auto& [outcome, name] : kOutcomes)
    if (name == text) return outcome;
  throw core::Error(core::ErrorKind::format, "outcome", std::string(text), "measured, wrong, ...");
}

Json result_object(const Result& result) {
  Json object{{"configuration", result.configuration}, {"outcome", to_string(result.outcome)}};
  if (result.outcome != Outcome::measured) {
    object["reason"] = result.reason;
    return object;
  }
  object["seconds"] = result.seconds;
  object["spread"] = result.spread;
  object["samples"] = result.samples;
  return object;
}

Result result_of(const Json& object) {
  Result result;
  result.configuration = object.at("configuration").get<Configuration>();
  result.outcome = parse_outcome(object.at("outcome").get<std::string>());
  if (result.outcome != Outcome::measured) {
    result.reason = object.at("reason").get<std::string>();
    return result;
  }
  result.seconds = object.at("seconds").get<double>();
  result.spread = object.at("spread").get<double>();
  result.samples = object.at("samples").get<std::size_t>();
  return result;
}

std::string to_json(const Result& result) {
  return one_line(result_object(result));
}

Result parse_result(const std::string& line) {
  return read_json(line, "tuning result", result_of);
}

Json key_object(const TuningKey& key) {
  return {{"stage", key.stage},       {"variant", key.variant},        {"problem", key.problem},
          {"api", key.api},           {"product", key.product},        {"driver", key.driver},
          {"compiler", key.compiler}, {"kernel_hash", key.kernel_hash}};
}

TuningKey key_of(const Json& object) {
  const auto text = [&](const char* name) { return object.at(name).get<std::string>(); };
  return {text("api"),         text("product"), text("driver"),  text("compiler"),
          text("kernel_hash"), text("stage"),   text("variant"), object.at("problem").get<Sizes>()};
}

}  // namespace tautline::jit
