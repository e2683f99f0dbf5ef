#include "tautline/pipeline/photons/autocorrelate_counts.h"

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"
#include "tautline/pipeline/photons/count_run.h"
#include "tautline/pipeline/photons/curve_output.h"
#include "tautline/pipeline/progress.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

void check_fields(const AutocorrelateConfig& config) {
  core::check(config);
  // Refused now rather than after the work.
  if (!config.save_state.empty()) formats::PartialPath(config.save_state, config.overwrite);
}

/// What is written: of one moment of a run.
struct Snapshot {
  core::CorrelationCurves curves;
  AutocorrelateSummary summary;
  std::vector<std::byte> state;
};

/// The run's outputs, written once or again and again. Each is whole at any time: it is written
/// beside its name and renamed.
class RunOutput {
 public:
  RunOutput(const AutocorrelateConfig& config, std::string device)
      : config_(config), device_(std::move(device)) {}

  /// At the end.
  AutocorrelateSummary write(const CountRun& run) {
    collect();
    Snapshot now = take(run);
    now.summary.writes = ++writes_;
    write_all(now);
    return std::move(now.summary);
  }

  /// While the run goes on: on a thread of its own, so that disks hold up nothing. Where the last
  /// writing still goes on, there is no other, and this is false.
  bool begin(const CountRun& run) {
    using namespace std::chrono_literals;
    if (writing_.valid() && writing_.wait_for(0s) != std::future_status::ready) return false;
    collect();
    auto now = std::make_shared<Snapshot>(take(run));
    writing_ = std::async(std::launch::async, [this, now, live = run.live()] {
      return live ? try_to_put(*now) : put(*now);
    });
    return true;
  }

 private:
  Snapshot take(const CountRun& run) const {
    Snapshot now;
    now.curves = run.curves(now.summary);
    now.summary.elapsed_s = stopwatch_.elapsed_s();
    if (!config_.save_state.empty()) now.state = run.state();
    return now;
  }

  // What lies under the names after the first time is the run's own.
  void write_all(const Snapshot& now) {
    if (!config_.output.empty()) {
      AutocorrelateConfig config = config_;
      config.overwrite = config_.overwrite || output_written_;
      write_curves(config, now.curves, now.summary, device_);
      output_written_ = true;
    }
    if (!config_.save_state.empty()) {
      write_state(config_.save_state, config_.overwrite || state_written_, now.state);
      state_written_ = true;
    }
  }

  bool put(const Snapshot& now) {
    write_all(now);
    say(core::LogLevel::info, "written after " + std::to_string(now.summary.samples) + " samples");
    return true;
  }

  // A live run goes on when a writing failed: a disk that is full now may have room again.
  bool try_to_put(const Snapshot& now) {
    try {
      return put(now);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::io) throw;
      say(core::LogLevel::warning, std::string(error.what()) + "; the run goes on");
      return false;
    }
  }

  // The end of the last begin().
  void collect() {
    if (writing_.valid() && writing_.get()) ++writes_;
  }

  void say(core::LogLevel level, const std::string& text) const {
    if (config_.log) config_.log(level, text);
  }

  const AutocorrelateConfig& config_;
  std::string device_;
  Stopwatch stopwatch_;
  bool output_written_ = false, state_written_ = false;
  std::uint64_t writes_ = 0;
  std::future<bool> writing_;  // last: it uses the others
};

/// Feeds the run; calls `due` every config.every_s seconds in which something came, and again where
/// that is false.
void feed(CountRun& run, const AutocorrelateConfig& config, const ProgressCallback& progress,
          const std::stop_token& stop, const std::function<bool()>& due) {
  ProgressReporter reporter(progress);
  double last_s = 0;
  std::uint64_t last_samples = 0;
  const auto done = [&] {
    reporter.report(run.samples_done(), run.samples_planned(),
                    static_cast<double>(run.samples_done()) * run.bin_s());
    // Of live input a stop is the end, and what came is kept.
    if (!run.live()) require_running(stop);
    if (config.every_s <= 0 || reporter.elapsed_s() - last_s < config.every_s) return;
    if (run.samples_done() == last_samples || !due()) return;
    last_s = reporter.elapsed_s();
    last_samples = run.samples_done();
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
  check_fields(config);
  CountRun run(config, std::move(device), stop);
  feed(run, config, progress, stop, [] { return true; });
  auto curves = run.curves(summary);
  if (!config.save_state.empty()) write_state(config.save_state, config.overwrite, run.state());
  summary.elapsed_s = stopwatch.elapsed_s();
  return curves;
}

AutocorrelateSummary autocorrelate_counts(const AutocorrelateConfig& config,
                                          std::shared_ptr<const device::Device> device,
                                          const ProgressCallback& progress, std::stop_token stop) {
  const Stopwatch stopwatch;
  check_fields(config);
  check_curve_output(config);
  RunOutput output(config, device->name());
  CountRun run(config, std::move(device), stop);
  feed(run, config, progress, stop, [&] { return output.begin(run); });
  AutocorrelateSummary summary = output.write(run);
  summary.elapsed_s = stopwatch.elapsed_s();
  return summary;
}

}  // namespace tautline::pipeline
