#include "tautline/pipeline/graph_file/observation_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace tautline::pipeline {

namespace {

using SystemTime = std::chrono::system_clock::time_point;

// The clock's first time for those before it, and its last for those after: it goes from 1677 to 2262.
SystemTime system_time(const core::Instant& instant) {
  constexpr auto kFirst = std::chrono::ceil<std::chrono::seconds>(SystemTime::min());
  constexpr auto kLast = std::chrono::floor<std::chrono::seconds>(SystemTime::max());
  if (instant.seconds <= kFirst.time_since_epoch().count()) return kFirst;
  if (instant.seconds >= kLast.time_since_epoch().count()) return kLast;
  const auto fraction_ns =
      static_cast<std::int64_t>(static_cast<double>(instant.fraction_numerator) /
                                static_cast<double>(instant.fraction_denominator) * 1e9);
  return SystemTime(std::chrono::duration_cast<SystemTime::duration>(
      std::chrono::seconds(instant.seconds) + std::chrono::nanoseconds(fraction_ns)));
}

// False: stopped. The clock may be set meanwhile, so no wait is long.
bool wait_until(SystemTime when, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  while (std::chrono::system_clock::now() < when && !stop.stop_requested()) {
    const auto left = when - std::chrono::system_clock::now();
    changed.wait_for(lock, stop, std::min<SystemTime::duration>(left, std::chrono::seconds(1)),
                     [] { return false; });
  }
  return !stop.stop_requested();
}

}  // namespace

bool wait_for_observation(const Observation& observation, const std::string& name,
                          const std::stop_token& stop, const core::LogSink& log) {
  if (observation.stop && system_time(*observation.stop) <= std::chrono::system_clock::now()) {
    log(core::LogLevel::warning,
        fmt::format("{} is left out: it ended at {}", name, core::to_iso(*observation.stop)));
    return false;
  }
  if (observation.start && system_time(*observation.start) > std::chrono::system_clock::now()) {
    log(core::LogLevel::info,
        fmt::format("{} begins at {}", name, core::to_iso(*observation.start)));
    if (!wait_until(system_time(*observation.start), stop)) return false;
  }
  log(core::LogLevel::info, name + " begins");
  return true;
}

ObservationClock::ObservationClock(const std::stop_token& stop, const Observation* observation)
    : on_stop_(stop, RequestStop{source_}) {
  if (observation == nullptr || !observation->is_ended()) return;
  const SystemTime end = observation->stop
                             ? system_time(*observation->stop)
                             : std::chrono::system_clock::now() +
                                   std::chrono::duration_cast<SystemTime::duration>(
                                       std::chrono::duration<double>(observation->duration_s));
  thread_ = std::jthread([this, end](const std::stop_token& over) {
    if (wait_until(end, over)) source_.request_stop();
  });
}

}  // namespace tautline::pipeline
