// The messages between a search and its worker: lines of JSON.
//
//   worker  {"ready":true}
//   search
//   {"configuration":{...},"check":true,"time":true,"keep":false,"hurry_over_s":0.1,"next":[{...}]}
//   worker  {"phase":"building"}   when the phase begins
//   worker  {"phase":"running"}
//   worker  {"result":{...},"last":false}   last: the worker ends now, because the device failed
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tautline/jit/evaluator.h"

namespace tautline::jit {

std::string ready_message();
bool is_ready(const std::string& line);

std::string to_json(const Request& request, std::span<const Configuration> next);
struct RequestMessage {
  Request request;
  std::vector<Configuration> next;
};
RequestMessage parse_request(const std::string& line);

std::string phase_message(Phase phase);
/// None when the line is not a message.
std::optional<Phase> phase_of(const std::string& line);

struct Answer {
  Result result;
  bool last = false;
};
std::string to_json(const Answer& answer);
Answer parse_answer(const std::string& line);

}  // namespace tautline::jit
