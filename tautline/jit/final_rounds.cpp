#include "tautline/jit/final_rounds.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "tautline/jit/timing.h"

namespace tautline::jit {

namespace {

using Clock = std::chrono::steady_clock;

// Rounds end early, after this many at least, when they take longer than this and than a quarter of
// the budget.
constexpr std::size_t kFewestRounds = 3;
constexpr double kFinalSeconds = 10;

class FinalRounds {
 public:
  FinalRounds(const Space& space, Evaluator& evaluator, const TuningSearchOptions& options,
              const std::vector<Configuration>& entrants, TuningSearchReport& report)
      : space_(space),
        evaluator_(evaluator),
        options_(options),
        entrants_(entrants),
        report_(report) {
    for (const Configuration& configuration : entrants) samples_[configuration];
  }

  void run(const std::function<void(const Configuration&)>& show) {
    evaluator_.expect({});
    if (!time_all(show)) return;
    check_again();
    rank();
  }

 private:
  // False when interrupted.
  bool time_all(const std::function<void(const Configuration&)>& show) {
    const Clock::time_point start = Clock::now();
    const double allowed_s = std::max(kFinalSeconds, options_.budget_s / 4);
    for (std::size_t round = 0; round < options_.rounds; ++round) {
      const double elapsed_s = std::chrono::duration<double>(Clock::now() - start).count();
      if (round >= kFewestRounds && elapsed_s > allowed_s) break;
      for (const Configuration& configuration : entrants_) {
        if (!samples_.contains(configuration)) continue;
        show(configuration);
        const Result result =
            evaluator_.evaluate({.configuration = configuration, .check = false, .keep = true});
        if (result.outcome == Outcome::interrupted) return false;
        if (result.outcome == Outcome::measured)
          samples_[configuration].push_back(result.seconds);
        else
          drop(result);
      }
    }
    return true;
  }

  // Kernels whose threads race may be right most of the time.
  void check_again() {
    for (const Configuration& configuration : entrants_) {
      if (!samples_.contains(configuration)) continue;
      const Result result = evaluator_.evaluate({.configuration = configuration, .time = false});
      if (result.outcome != Outcome::measured && result.outcome != Outcome::interrupted)
        drop(result);
    }
  }

  void drop(Result result) {
    samples_.erase(result.configuration);
    result.reason = "in the final rounds: " + result.reason;
    if (options_.on_result) options_.on_result(result);
    for (Result& earlier : report_.results)
      if (earlier.configuration == result.configuration) earlier = result;
  }

  void rank() {
    report_.finalists.clear();
    for (const auto& [configuration, seconds] : samples_) {
      if (seconds.empty()) continue;
      const Timing timing = summarise(seconds);
      report_.finalists.push_back(
          {configuration, Outcome::measured, {}, timing.seconds, timing.spread, timing.samples});
    }
    std::stable_sort(report_.finalists.begin(), report_.finalists.end(),
                     [](const Result& a, const Result& b) { return a.seconds < b.seconds; });
    for (const auto* list : {&report_.results, &report_.finalists})
      for (const Result& result : *list)
        if (result.configuration == space_.default_configuration()) report_.default_result = result;
  }

  const Space& space_;
  Evaluator& evaluator_;
  const TuningSearchOptions& options_;
  const std::vector<Configuration>& entrants_;
  TuningSearchReport& report_;
  std::map<Configuration, std::vector<double>> samples_;
};

}  // namespace

void run_final_rounds(const Space& space, Evaluator& evaluator, const TuningSearchOptions& options,
                      const std::vector<Configuration>& entrants,
                      const std::function<void(const Configuration&)>& show,
                      TuningSearchReport& report) {
  FinalRounds(space, evaluator, options, entrants, report).run(show);
}

}  // namespace tautline::jit
