#include "tautline/pipeline/progress.h"

#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

constexpr double kInterval_s = 0.2;

}  // namespace

void require_running(const std::stop_token& stop) {
  if (stop.stop_requested())
    throw core::Error(core::ErrorKind::io, "run", "interrupted", "", "nothing was kept");
}

double Stopwatch::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

void ProgressReporter::report(std::uint64_t samples, std::uint64_t total_samples, double stream_s,
                              bool last) {
  if (!callback_) return;
  const double elapsed = elapsed_s();
  if (!last && samples < total_samples && elapsed - last_report_s_ < kInterval_s) return;
  last_report_s_ = elapsed;
  const double left_s =
      samples > 0 && total_samples > samples
          ? elapsed * static_cast<double>(total_samples - samples) / static_cast<double>(samples)
          : 0;
  callback_({samples, total_samples, elapsed, stream_s, left_s});
}

}  // namespace tautline::pipeline
