#include "tautline/pipeline/graph_run.h"

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

}  // namespace tautline::pipeline
