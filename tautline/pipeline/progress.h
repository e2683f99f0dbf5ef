// The progress of a run: samples done, total and elapsed time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>

namespace tautline::pipeline {

struct Progress {
  std::uint64_t samples = 0, total_samples = 0;  ///< times, of each input
  double elapsed_s = 0;
  double stream_s = 0;  ///< of data done
  double seconds_left = 0;
  double real_time_factor() const { return elapsed_s > 0 ? stream_s / elapsed_s : 0; }
};

using ProgressCallback = std::function<void(const Progress&)>;

/// Throws Error(io, "interrupted") once a stop was asked for.
void require_running(const std::stop_token& stop);

/// Runs from when it is made.
class Stopwatch {
 public:
  double elapsed_s() const;

 private:
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

/// Tells a callback about a run that starts when this is made, from one thread at a time.
class ProgressReporter {
 public:
  /// `callback` may be empty, and outlives this object.
  explicit ProgressReporter(const ProgressCallback& callback) : callback_(callback) {}
  double elapsed_s() const { return stopwatch_.elapsed_s(); }
  /// `samples` of `total_samples` are done, `stream_s` of data. A few of these a second are passed
  /// on, and always the `last` one and that of a whole run.
  void report(std::uint64_t samples, std::uint64_t total_samples, double stream_s,
              bool last = false);

 private:
  const ProgressCallback& callback_;
  Stopwatch stopwatch_;
  double last_report_s_ = 0;
};

}  // namespace tautline::pipeline
