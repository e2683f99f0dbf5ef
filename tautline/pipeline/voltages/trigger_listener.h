// Triggers as datagrams of JSON: {"time": UTC or sample, "before_s": S, "after_s": S, "id": TEXT}.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tautline/core/log.h"
#include "tautline/pipeline/trigger.h"
#include "tautline/stream/udp.h"

namespace tautline::pipeline {

inline constexpr std::size_t kMostTriggerBytes = 1000;

/// Parses strictly: "time" (a text in UTC, or the number of a sample) is required; "before_s", "after_s" (0 to 86400),
/// "id" (1 to 64 letters, digits, . _ -) and "dm" with "reference_hz" are optional; other keys are errors. Throws
/// Error(format).
Trigger parse_trigger(std::string_view datagram);

/// The text that parse_trigger takes, with the trigger's time (to the microsecond, or a sample), stretch, name and
/// dispersion.
std::string trigger_text(const Trigger& trigger);

/// Limits the rate to `most_per_s`, and bursts to as many (at least one).
class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;
  explicit RateLimit(double most_per_s);
  bool allows(Clock::time_point now);

 private:
  double most_per_s_, most_, left_;
  Clock::time_point last_ = {};
};

struct TriggerListenerConfig {
  std::string listen;          ///< udp://HOST:PORT
  bool listen_beyond = false;  ///< also addresses that other machines can reach
  double most_per_s = 10;
  core::LogSink log = {};
};

/// Throws Error(config) where listening at the address is not allowed.
stream::Endpoint trigger_endpoint(const TriggerListenerConfig& config);

/// Used by one thread.
class TriggerListener {
 public:
  /// Throws Error(io) where the address is in use.
  explicit TriggerListener(const TriggerListenerConfig& config);

  /// Returns the triggers that have come, without waiting.
  void poll(const std::function<void(Trigger)>& take);
  std::uint64_t malformed() const { return malformed_; }
  std::uint64_t too_many() const { return too_many_; }

 private:
  void look_at(std::span<const std::byte> datagram, const std::function<void(Trigger)>& take);

  stream::UdpReceiver receiver_;
  RateLimit limit_;
  core::LogSink log_;
  std::uint64_t malformed_ = 0, too_many_ = 0;
};

}  // namespace tautline::pipeline
