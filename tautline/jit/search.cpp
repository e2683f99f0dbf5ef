#include "tautline/jit/search.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "tautline/jit/timing.h"

namespace tautline::jit {

namespace {

using Clock = std::chrono::steady_clock;

// A candidate that needs this many times the best's time is not timed with care.
constexpr double kPlainlySlower = 3;
// Final rounds end early, after this many at least, when they take longer than this and than a
// quarter of the budget.
constexpr std::size_t kFewestRounds = 3;
constexpr double kFinalSeconds = 10;

class Search {
 public:
  Search(const Space& space, Evaluator& evaluator, const SearchOptions& options)
      : space_(space),
        evaluator_(evaluator),
        options_(options),
        strategy_(make_strategy(options.strategy, space, options.seed)) {
    report_.legal = count_legal(space);
  }

  SearchReport run() {
    // Listing a large space takes a second, which is not the candidates' to pay.
    started_ = Clock::now();
    take_known();
    std::vector<Configuration> first{space_.usual()};
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
    // A strategy may have been at its end when the time was up.
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
    // Of several results of one candidate the last: one that failed in the final rounds is out.
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

  // The fastest few; the default too, so that what tuning gained is measured in the same minute.
  std::vector<Configuration> entrants() const {
    std::vector<const Result*> measured;
    for (const Result& result : report_.results)
      if (result.outcome == Outcome::measured) measured.push_back(&result);
    std::stable_sort(measured.begin(), measured.end(),
                     [](const Result* a, const Result* b) { return a->seconds < b->seconds; });
    std::vector<Configuration> list;
    for (std::size_t k = 0; k < measured.size(); ++k)
      if (k < options_.finalists || measured[k]->configuration == space_.usual())
        list.push_back(measured[k]->configuration);
    return list;
  }

  void final_rounds() {
    evaluator_.expect({});
    std::map<Configuration, std::vector<double>> samples;
    const auto list = entrants();
    for (const Configuration& configuration : list) samples[configuration];
    const double start_s = elapsed(), allowed_s = std::max(kFinalSeconds, options_.budget_s / 4);
    for (std::size_t round = 0; round < options_.rounds; ++round) {
      if (round >= kFewestRounds && elapsed() - start_s > allowed_s) break;
      for (const Configuration& configuration : list) {
        if (!samples.contains(configuration)) continue;
        show(configuration, true);
        const Result result =
            evaluator_.evaluate({.configuration = configuration, .check = false, .keep = true});
        if (result.outcome == Outcome::interrupted) return;
        if (result.outcome == Outcome::measured)
          samples[configuration].push_back(result.seconds);
        else
          drop(samples, result);
      }
    }
    check_again(list, samples);
    rank(samples);
  }

  // Kernels whose threads race may be right most of the time.
  void check_again(const std::vector<Configuration>& list,
                   std::map<Configuration, std::vector<double>>& samples) {
    for (const Configuration& configuration : list) {
      if (!samples.contains(configuration)) continue;
      const Result result = evaluator_.evaluate({.configuration = configuration, .time = false});
      if (result.outcome != Outcome::measured && result.outcome != Outcome::interrupted)
        drop(samples, result);
    }
  }

  void drop(std::map<Configuration, std::vector<double>>& samples, Result result) {
    samples.erase(result.configuration);
    result.reason = "in the final rounds: " + result.reason;
    if (options_.on_result) options_.on_result(result);
    for (Result& earlier : report_.results)
      if (earlier.configuration == result.configuration) earlier = result;
  }

  void rank(const std::map<Configuration, std::vector<double>>& samples) {
    for (const auto& [configuration, seconds] : samples) {
      if (seconds.empty()) continue;
      const Timing timing = summarise(seconds);
      report_.finalists.push_back(
          {configuration, Outcome::measured, {}, timing.seconds, timing.spread, timing.samples});
    }
    std::stable_sort(report_.finalists.begin(), report_.finalists.end(),
                     [](const Result& a, const Result& b) { return a.seconds < b.seconds; });
    for (const auto* list : {&report_.results, &report_.finalists})
      for (const Result& result : *list)
        if (result.configuration == space_.usual()) report_.usual = result;
  }

  const Space& space_;
  Evaluator& evaluator_;
  const SearchOptions& options_;
  std::unique_ptr<Strategy> strategy_;
  Clock::time_point started_;
  std::set<Configuration> known_;
  SearchReport report_;
  double best_s_ = 0;
};

}  // namespace

SearchReport search(const Space& space, Evaluator& evaluator, const SearchOptions& options) {
  return Search(space, evaluator, options).run();
}

}  // namespace tautline::jit
