// Tries candidates in this process.
#include <algorithm>
#include <chrono>
#include <future>
#include <list>
#include <map>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/jit/evaluator.h"
#include "tautline/jit/timing.h"

namespace tautline::jit {

namespace {

using Build = std::function<std::unique_ptr<CompiledCandidate>(const Configuration&)>;

// Builds candidates before they are requested. A build cannot be cancelled: a build that nobody
// waits for any more occupies its thread until the end.
class BuildAhead {
 public:
  BuildAhead(Build build, std::size_t most) : build_(std::move(build)), most_(most) {}

  void expect(std::span<const Configuration> next) {
    const auto wanted = [&](const Configuration& c) {
      return std::find(next.begin(), next.end(), c) != next.end();
    };
    for (auto at = coming_.begin(); at != coming_.end();) {
      if (!wanted(at->first)) abandoned_.push_back(std::move(at->second));
      at = wanted(at->first) ? std::next(at) : coming_.erase(at);
    }
    abandoned_.remove_if([](const auto& build) {
      return build.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    for (const Configuration& configuration : next) {
      if (coming_.size() + abandoned_.size() >= most_) return;
      if (!coming_.contains(configuration))
        coming_.emplace(configuration, std::async(std::launch::async, build_, configuration));
    }
  }

  std::unique_ptr<CompiledCandidate> take(const Configuration& configuration) {
    auto found = coming_.extract(configuration);
    return found.empty() ? build_(configuration) : found.mapped().get();
  }

 private:
  Build build_;
  std::size_t most_;
  std::map<Configuration, std::future<std::unique_ptr<CompiledCandidate>>> coming_;
  std::list<std::future<std::unique_ptr<CompiledCandidate>>> abandoned_;
};

class InProcess final : public LocalEvaluator {
 public:
  InProcess(Tunable tunable, std::size_t builders, std::function<void(Phase)> on_phase)
      : tunable_(std::move(tunable)),
        ahead_(tunable_.build, builders),
        on_phase_(std::move(on_phase)) {
    if (tunable_.prepare) tunable_.prepare();
  }

  bool device_failed() const override { return device_failed_; }
  void expect(std::span<const Configuration> next) override { ahead_.expect(next); }

  Result evaluate(const Request& request) override {
    Result result;
    result.configuration = request.configuration;
    if (std::shared_ptr<CompiledCandidate> candidate = built(request.configuration, result)) {
      run(*candidate, request, result);
      if (request.keep && result.outcome == Outcome::measured)
        kept_[request.configuration] = std::move(candidate);
    }
    if (!request.keep || result.outcome != Outcome::measured) kept_.erase(request.configuration);
    return result;
  }

 private:
  void enter(Phase phase) const {
    if (on_phase_) on_phase_(phase);
  }

  // Null when the candidate does not build; `result` then has the reason.
  std::shared_ptr<CompiledCandidate> built(const Configuration& configuration, Result& result) {
    const auto kept = kept_.find(configuration);
    if (kept != kept_.end()) return kept->second;
    enter(Phase::building);
    try {
      return ahead_.take(configuration);
    } catch (const core::Error& error) {
      drop(result, Outcome::not_built, error.what());
      return nullptr;
    }
  }

  void run(CompiledCandidate& candidate, const Request& request, Result& result) {
    enter(Phase::running);
    try {
      if (request.check) {
        if (std::string wrong = candidate.check(); !wrong.empty())
          return drop(result, Outcome::wrong, std::move(wrong));
      }
      if (!request.time) return;
      const Timing timing =
          time_runs([&](std::size_t times) { return candidate.run(times); }, request.hurry_over_s);
      // Otherwise a launch that the driver quietly ignored would win.
      if (!(timing.seconds > 0)) return drop(result, Outcome::not_run, "it took no time at all");
      result.seconds = timing.seconds;
      result.spread = timing.spread;
      result.samples = timing.samples;
    } catch (const core::Error& error) {
      device_failed_ = device_failed_ || error.kind() == core::ErrorKind::device;
      drop(result, Outcome::not_run, error.what());
    }
  }

  static void drop(Result& result, Outcome outcome, std::string reason) {
    result.outcome = outcome;
    result.reason = std::move(reason);
  }

  Tunable tunable_;
  BuildAhead ahead_;
  std::function<void(Phase)> on_phase_;
  std::map<Configuration, std::shared_ptr<CompiledCandidate>> kept_;
  bool device_failed_ = false;
};

}  // namespace

std::unique_ptr<LocalEvaluator> make_local_evaluator(Tunable tunable, std::size_t builders,
                                                     std::function<void(Phase)> on_phase) {
  return std::make_unique<InProcess>(std::move(tunable), builders, std::move(on_phase));
}

}  // namespace tautline::jit
