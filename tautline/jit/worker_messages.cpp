#include "tautline/jit/worker_messages.h"

#include "tautline/jit/json.h"

namespace tautline::jit {

std::string ready_message() {
  return one_line({{"ready", true}});
}

bool is_ready(const std::string& line) {
  return read_json(line, "tuning worker",
                   [](const Json& object) { return object.contains("ready"); });
}

std::string to_json(const Request& request, std::span<const Configuration> next) {
  return one_line({{"configuration", request.configuration},
                   {"check", request.check},
                   {"time", request.time},
                   {"keep", request.keep},
                   {"hurry_over_s", request.hurry_over_s},
                   {"next", std::vector<Configuration>(next.begin(), next.end())}});
}

RequestMessage parse_request(const std::string& line) {
  return read_json(line, "tuning request", [](const Json& object) {
    RequestMessage message;
    message.request.configuration = object.at("configuration").get<Configuration>();
    message.request.check = object.at("check").get<bool>();
    message.request.time = object.at("time").get<bool>();
    message.request.keep = object.at("keep").get<bool>();
    message.request.hurry_over_s = object.at("hurry_over_s").get<double>();
    message.next = object.at("next").get<std::vector<Configuration>>();
    return message;
  });
}

std::string phase_message(Phase phase) {
  return one_line({{"phase", phase == Phase::building ? "building" : "running"}});
}

std::optional<Phase> phase_of(const std::string& line) {
  return read_json(line, "tuning worker", [](const Json& object) -> std::optional<Phase> {
    if (!object.contains("phase")) return {};
    return object.at("phase").get<std::string>() == "building" ? Phase::building : Phase::running;
  });
}

std::string to_json(const Answer& answer) {
  return one_line({{"result", result_object(answer.result)}, {"last", answer.last}});
}

Answer parse_answer(const std::string& line) {
  return read_json(line, "tuning worker", [](const Json& object) {
    return Answer{result_of(object.at("result")), object.at("last").get<bool>()};
  });
}

}  // namespace tautline::jit
