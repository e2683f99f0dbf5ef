#include "tautline/jit/search.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "tautline/jit/final_rounds.h"

namespace tautline::jit {

namespace {

using Clock = std::chrono::steady_clock;

// A candidate that takes this many times the time of the best is not timed with care.
constexpr double kPlainlySlower = 3;

class TuningSearch {
 public:
  TuningSearch(const Space& space, Evaluator& evaluator, const TuningSearchOptions& options)
      : space_(space),
        evaluator_(evaluator),
        options_(options),
        strategy_(make_strategy(options.strategy, space, options.seed)) {
    report_.legal = count_legal(space);
  }

  TuningSearchReport run() {
    // Listing a large space takes a second, which does not count against the candidates' budget.
    started_ = Clock::now();
    take_known();
    std::vector<Configuration> first{space_.default_configuration()};
    for (const Configuration& start : options_.starts)
      if (space_.legal(start) && start != first.front()) first.push_back(start);
    for (const Configuration& configuration : first)
      if (!over() && !known_.contains(configuration)) try_one(configuration, {});
    while (!over()) {
      const auto next = strategy_->next(1 + options_.ahead);
      report_.whole_space = next.empty();
      if (next.empty()) break;
      try_one(next.front(), std::span(next).subspan(1));
    }
    // The strategy may have had no more candidates when the time was over.
    report_.whole_space = report_.whole_space || strategy_->next(1).empty();
    if (!options_.stop.stop_requested()) final_rounds();
    report_.stopped = options_.stop.stop_requested();
    report_.elapsed_s = elapsed();
    return std::move(report_);
  }

 private:
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }
  bool over() const {
    return options_.stop.stop_requested() ||
           (options_.most_candidates > 0 && report_.results.size() >= options_.most_candidates) ||
           (options_.budget_s > 0 && elapsed() > options_.budget_s);
  }

  void take_known() {
    // Of several results of one candidate the last counts: a candidate that failed in the final
    // rounds is dropped.
    std::map<Configuration, const Result*> last;
    for (const Result& result : options_.known) last[result.configuration] = &result;
    for (const Result& result : options_.known) {
      if (last[result.configuration] != &result || !space_.legal(result.configuration)) continue;
      known_.insert(result.configuration);
      take(result);
    }
    report_.known = known_.size();
  }

  void try_one(const Configuration& configuration, std::span<const Configuration> next) {
    show(configuration, false);
    evaluator_.expect(next);
    const Result result = evaluator_.evaluate(
        {.configuration = configuration, .hurry_over_s = kPlainlySlower * best_s_});
    if (result.outcome == Outcome::interrupted) return;
    if (options_.on_result) options_.on_result(result);
    take(result);
  }

  void take(const Result& result) {
    strategy_->tell(result);
    report_.results.push_back(result);
    if (result.outcome == Outcome::measured && (best_s_ == 0 || result.seconds < best_s_))
      best_s_ = result.seconds;
  }

  void show(const Configuration& now, bool final_rounds) const {
    if (options_.on_progress)
      options_.on_progress(
          {report_.results.size(), report_.legal, elapsed(), best_s_, final_rounds, now});
  }

  // The fastest few, and the default, so that the gain of tuning is measured within the same
  // minute.
  std::vector<Configuration> entrants() const {
    std::vector<const Result*> measured;
    for (const Result& result : report_.results)
      if (result.outcome == Outcome::measured) measured.push_back(&result);
    std::stable_sort(measured.begin(), measured.end(),
                     [](const Result* a, const Result* b) { return a->seconds < b->seconds; });
    std::vector<Configuration> list;
    for (std::size_t k = 0; k < measured.size(); ++k)
      if (k < options_.finalists || measured[k]->configuration == space_.default_configuration())
        list.push_back(measured[k]->configuration);
    return list;
  }

  void final_rounds() {
    run_final_rounds(
        space_, evaluator_, options_, entrants(),
        [this](const Configuration& configuration) { show(configuration, true); }, report_);
  }

  const Space& space_;
  Evaluator& evaluator_;
  const TuningSearchOptions& options_;
  std::unique_ptr<Strategy> strategy_;
  Clock::time_point started_;
  std::set<Configuration> known_;
  TuningSearchReport report_;
  double best_s_ = 0;
};

}  // namespace

TuningSearchReport search(const Space& space, Evaluator& evaluator,
                          const TuningSearchOptions& options) {
  return TuningSearch(space, evaluator, options).run();
}

}  // namespace tautline::jit
