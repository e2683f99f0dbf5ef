#include "tautline/pipeline/voltages/trigger_listener.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostTriggerSeconds = 86400;
constexpr std::size_t kMostIdLength = 64;
// Most datagrams of one call: a flood of them does not delay data.
constexpr std::size_t kMostInOneTurn = 256;

[[noreturn]] void refuse_datagram(const std::string& field, const std::string& value,
                                  const std::string& expected) {
  throw core::Error(core::ErrorKind::format, "trigger: " + field, value, expected);
}

double number_in(const Json& object, const char* name, double low, double high) {
  const Json& value = object.at(name);
  if (!value.is_number()) refuse_datagram(name, value.dump(), "a number");
  const auto number = value.get<double>();
  if (!(number >= low && number <= high))
    refuse_datagram(name, value.dump(), Json(low).dump() + " to " + Json(high).dump());
  return number;
}

std::string id_in(const Json& value) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  const std::string id = value.is_string() ? value.get<std::string>() : "";
  if (id.empty() || id.size() > kMostIdLength || !std::all_of(id.begin(), id.end(), is_allowed))
    refuse_datagram("id", value.dump(), "1 to 64 letters, digits, . _ or -");
  return id;
}

void read_time(const Json& value, Trigger& trigger) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() <= INT64_MAX / 2)
    trigger.sample = static_cast<std::int64_t>(value.get<std::uint64_t>());
  else if (value.is_string()) {
    try {
      trigger.time = core::parse_utc(value.get<std::string>());
    } catch (const core::Error&) {  // its text would contain the datagram's bytes
      refuse_datagram("time", value.dump(), "yyyy-mm-dd-hh:mm:ss");
    }
  } else
    refuse_datagram("time", value.dump(), "UTC as a text, or the number of a sample");
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

Trigger parse_trigger(std::string_view datagram) {
  if (datagram.size() > kMostTriggerBytes)
    refuse_datagram("datagram", std::to_string(datagram.size()) + " bytes",
                    "at most " + std::to_string(kMostTriggerBytes));
  const Json object = Json::parse(datagram, nullptr, false);
  if (!object.is_object()) refuse_datagram("datagram", "no JSON object", "{\"time\": ...}");
  Trigger trigger{.kind = "datagram", .id = "unnamed"};
  if (!object.contains("time")) refuse_datagram("time", "not given", "UTC, or a sample's number");
  for (const auto& [name, value] : object.items()) {
    if (name == "time")
      read_time(value, trigger);
    else if (name == "before_s")
      trigger.before_s = number_in(object, "before_s", 0, kMostTriggerSeconds);
    else if (name == "after_s")
      trigger.after_s = number_in(object, "after_s", 0, kMostTriggerSeconds);
    else if (name == "id")
      trigger.id = id_in(value);
    else if (name == "dm")
      trigger.dm = number_in(object, "dm", 0, 1e5);
    else if (name == "reference_hz")
      trigger.reference_hz = number_in(object, "reference_hz", 1, 1e13);
    else
      refuse_datagram(Json(name).dump().substr(0, kMostIdLength), "unknown field",
                      "time, before_s, after_s, id, dm, reference_hz");
  }
  if ((trigger.dm > 0) != (trigger.reference_hz > 0))
    refuse_datagram("dm", "without reference_hz, or the other way round", "both, or neither");
  return trigger;
}

std::string trigger_text(const Trigger& trigger) {
  Json object;
  if (trigger.sample)
    object["time"] = *trigger.sample;
  else
    object["time"] = core::to_iso(trigger.time);
  if (trigger.before_s >= 0) object["before_s"] = trigger.before_s;
  if (trigger.after_s >= 0) object["after_s"] = trigger.after_s;
  object["id"] = trigger.id;
  if (trigger.dm > 0) {
    object["dm"] = trigger.dm;
    object["reference_hz"] = trigger.reference_hz;
  }
  return object.dump();
}

RateLimit::RateLimit(double most_per_s)
    : most_per_s_(most_per_s), most_(std::max(1.0, most_per_s)), left_(most_) {}

bool RateLimit::allows(Clock::time_point now) {
  if (last_ != Clock::time_point{})
    left_ =
        std::min(most_, left_ + std::chrono::duration<double>(now - last_).count() * most_per_s_);
  last_ = now;
  if (left_ < 1) return false;
  left_ -= 1;
  return true;
}

stream::Endpoint trigger_endpoint(const TriggerListenerConfig& config) {
  const stream::Endpoint endpoint = stream::parse_endpoint("listen", config.listen);
  if (endpoint.transport != stream::Endpoint::Transport::udp)
    throw core::Error(core::ErrorKind::config, "listen", config.listen, "udp://HOST:PORT");
  if (!config.listen_beyond && !is_loopback(endpoint.host))
    throw core::Error(core::ErrorKind::config, "listen", config.listen,
                      "an address of this machine alone, as udp://127.0.0.1:9050",
                      "set `listen_beyond` to let other machines trigger dumps");
  return endpoint;
}

TriggerListener::TriggerListener(const TriggerListenerConfig& config)
    : receiver_({.listen = {trigger_endpoint(config)},
                 .packet_bytes = kMostTriggerBytes + 1,  // so that a longer one is recognised
                 .buffer_bytes = std::size_t{64} << 10,
                 .log = config.log}),
      limit_(config.most_per_s),
      log_(config.log) {
  if (log_)
    log_(core::LogLevel::info,
         "listening for triggers at " + to_string(receiver_.listening().front()));
}

void TriggerListener::poll(const std::function<void(Trigger)>& take) {
  const auto look = [&](std::span<const stream::UdpReceiver::Packet> datagrams, std::size_t) {
    for (const stream::UdpReceiver::Packet& datagram : datagrams) look_at(datagram, take);
  };
  std::size_t looked_at = 0;
  while (looked_at < kMostInOneTurn) {
    const std::size_t came = receiver_.receive(std::chrono::milliseconds(0), look);
    if (came == 0) return;
    looked_at += came;
  }
}

// Datagrams beyond the limit are not even parsed.
void TriggerListener::look_at(std::span<const std::byte> datagram,
                              const std::function<void(Trigger)>& take) {
  if (!limit_.allows(RateLimit::Clock::now())) {
    ++too_many_;
    return;
  }
  Trigger trigger;
  try {
    trigger = parse_trigger({reinterpret_cast<const char*>(datagram.data()), datagram.size()});
  } catch (const core::Error& error) {
    ++malformed_;
    if (log_) log_(core::LogLevel::warning, error.what());
    return;
  }
  take(std::move(trigger));
}

}  // namespace tautline::pipeline
