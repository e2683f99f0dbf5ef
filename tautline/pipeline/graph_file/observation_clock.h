// Observations of a schedule begin and end by this machine's clock.
#pragma once

#include <stop_token>
#include <string>
#include <thread>

#include "tautline/core/log.h"
#include "tautline/pipeline/graph_file/schedule.h"

namespace tautline::pipeline {

/// Waits for an observation's start. False: it is over already, which is said, or `stop` was requested.
bool wait_for_observation(const Observation& observation, const std::string& name,
                          const std::stop_token& stop, const core::LogSink& log);

/// A stop that is requested when the caller's is, and at the observation's end.
class ObservationClock {
 public:
  /// The observation begins now. Null: only the caller's stop counts.
  ObservationClock(const std::stop_token& stop, const Observation* observation);

  std::stop_token stop() const { return source_.get_token(); }

 private:
  struct RequestStop {
    std::stop_source& source;
    void operator()() const { source.request_stop(); }
  };
  std::stop_source source_;
  std::stop_callback<RequestStop> on_stop_;
  std::jthread thread_;  // none where the clock does not end it
};

}  // namespace tautline::pipeline
