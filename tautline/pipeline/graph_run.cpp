#include "tautline/pipeline/graph_run.h"

#include <utility>

namespace tautline::pipeline {

engine::RunOptions run_options(ProgressReporter& reporter, const core::Rational& rate_hz,
                               std::size_t memory_bytes) {
  engine::RunOptions options;
  options.memory_bytes = memory_bytes;
  options.progress = [&reporter, rate_hz = rate_hz.value()](std::uint64_t samples,
                                                            std::uint64_t total) {
    const double stream_s = static_cast<double>(samples) / rate_hz;
    reporter.report(samples, total, stream_s, total > 0 && samples >= total);
  };
  return options;
}

WatchedRun::WatchedRun(engine::Graph graph, engine::RunOptions options, const RunWatch& watch,
                       const std::vector<std::string>& drawn)
    : watch_(watch) {
  if (watch.prepare) watch.prepare(graph, drawn);
  options.live_counters = static_cast<bool>(watch.begin);
  run_ = std::make_unique<engine::Run>(std::move(graph), std::move(options));
}

void WatchedRun::go(const std::stop_token& stop) {
  std::shared_ptr<void> watching;
  if (watch_.begin) watching = watch_.begin(*run_);
  run_->go(stop);
}

}  // namespace tautline::pipeline
