#include "tautline/pipeline/autocorrelate_counts.h"

#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/block_reader.h"
#include "tautline/pipeline/count_run.h"
#include "tautline/pipeline/curve_output.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

void check_repetition(const AutocorrelateConfig& config) {
  if (!(config.every_s >= 0))
    throw Error(ErrorKind::config, "--every", std::to_string(config.every_s), "0 s or more");
  // Refused now rather than after the work.
  if (!config.save_state.empty()) formats::PartialPath(config.save_state, config.overwrite);
}

/// The run's outputs, written once or again and again. Each is whole at any time: it is written
/// beside its name and renamed.
class RunOutput {
 public:
  RunOutput(const AutocorrelateConfig& config, std::string device)
      : config_(config), device_(std::move(device)) {}

  /// What lies under the names after the first time is the run's own.
  void write(const CountRun& run, AutocorrelateSummary& summary, const Stopwatch& stopwatch) {
    const core::CorrelationCurves curves = run.curves(summary);
    summary.elapsed_s = stopwatch.elapsed_s();
    summary.writes = ++writes_;
    if (!config_.output.empty()) {
      AutocorrelateConfig config = config_;
      config.overwrite = config_.overwrite || output_written_;
      write_curves(config, curves, summary, device_);
      output_written_ = true;
    }
    if (config_.save_state.empty()) return;
    run.save_state(config_.overwrite || state_written_);
    state_written_ = true;
  }

  /// The same while the run goes on: a disk that is full now may have room again.
  void try_to_write(const CountRun& run, const Stopwatch& stopwatch) {
    try {
      AutocorrelateSummary summary;
      write(run, summary, stopwatch);
      say(core::LogLevel::info, "written after " + std::to_string(summary.samples) + " samples");
    } catch (const Error& error) {
      --writes_;
      if (error.kind() != ErrorKind::io || !run.live()) throw;
      say(core::LogLevel::warning, std::string(error.what()) + "; the run goes on");
    }
  }

 private:
  void say(core::LogLevel level, const std::string& text) const {
    if (config_.log) config_.log(level, text);
  }

  const AutocorrelateConfig& config_;
  std::string device_;
  bool output_written_ = false, state_written_ = false;
  std::uint64_t writes_ = 0;
};

/// Feeds the run; calls `due` every config.every_s seconds in which something came.
void feed(CountRun& run, const AutocorrelateConfig& config, const ProgressCallback& progress,
          const std::stop_token& stop, const std::function<void()>& due) {
  ProgressReporter reporter(progress);
  double last_s = 0;
  std::uint64_t last_samples = 0;
  const auto done = [&] {
    reporter.report(run.samples_done(), run.samples_planned(),
                    static_cast<double>(run.samples_done()) * run.bin_s());
    // Of live input a stop is the end, and what came is kept.
    if (!run.live()) require_running(stop);
    if (config.every_s <= 0 || reporter.elapsed_s() - last_s < config.every_s) return;
    last_s = reporter.elapsed_s();
    if (run.samples_done() == last_samples) return;
    last_samples = run.samples_done();
    due();
  };
  if (!run.live()) require_running(stop);
  run.feed(done);
}

}  // namespace

core::CorrelationCurves correlate_counts(const AutocorrelateConfig& config,
                                         std::shared_ptr<const device::Device> device,
                                         AutocorrelateSummary& summary,
                                         const ProgressCallback& progress, std::stop_token stop) {
  const Stopwatch stopwatch;
  check_repetition(config);
  CountRun run(config, std::move(device), stop);
  feed(run, config, progress, stop, [] {});
  auto curves = run.curves(summary);
  if (!config.save_state.empty()) run.save_state(config.overwrite);
  summary.elapsed_s = stopwatch.elapsed_s();
  return curves;
}

AutocorrelateSummary autocorrelate_counts(const AutocorrelateConfig& config,
                                          std::shared_ptr<const device::Device> device,
                                          const ProgressCallback& progress, std::stop_token stop) {
  const Stopwatch stopwatch;
  check_curve_output(config);
  check_repetition(config);
  RunOutput output(config, device->name());
  CountRun run(config, std::move(device), stop);
  feed(run, config, progress, stop, [&] { output.try_to_write(run, stopwatch); });
  AutocorrelateSummary summary;
  output.write(run, summary, stopwatch);
  summary.elapsed_s = stopwatch.elapsed_s();
  return summary;
}

}  // namespace tautline::pipeline
