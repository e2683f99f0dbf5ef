#include "tautline/jit/strategy.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <random>
#include <unordered_set>
#include <utility>

namespace tautline::jit {

namespace {

constexpr std::array<std::string_view, 3> kNames{"exhaustive", "random", "guided"};

// A larger space is not listed in random order: candidates are drawn from it.
constexpr std::uint64_t kMostListed = std::uint64_t{1} << 20;
// After so many draws without an unseen legal configuration a space counts as used up.
constexpr int kMostDraws = 100'000;

// The configurations that have been proposed or told, by number.
class Seen {
 public:
  explicit Seen(const Space& space) : space_(space) {}
  bool contains(std::uint64_t number) const { return numbers_.contains(number); }
  bool add(std::uint64_t number) { return numbers_.insert(number).second; }
  void add(const Configuration& configuration) {
    if (const auto number = space_.number(configuration)) add(*number);
  }
  bool fresh_and_legal(const Configuration& configuration) const {
    const auto number = space_.number(configuration);
    return number && !contains(*number) && space_.legal(configuration);
  }

 private:
  const Space& space_;
  std::unordered_set<std::uint64_t> numbers_;
};

class Exhaustive final : public Strategy {
 public:
  explicit Exhaustive(const Space& space) : space_(space), seen_(space) {}

  std::vector<Configuration> next(std::size_t count) override {
    std::vector<Configuration> list;
    for (std::uint64_t n = at_; n < space_.combinations() && list.size() < count; ++n) {
      Configuration configuration = space_.at(n);
      if (seen_.fresh_and_legal(configuration)) list.push_back(std::move(configuration));
      // Configurations that were tried or are illegal need not be looked at again.
      if (list.empty()) at_ = n + 1;
    }
    return list;
  }
  void tell(const Result& result) override { seen_.add(result.configuration); }

 private:
  const Space& space_;
  Seen seen_;
  std::uint64_t at_ = 0;
};

// Fresh legal configurations at random.
class Draws {
 public:
  Draws(const Space& space, std::uint64_t seed) : space_(space), random_(seed) {
    if (space.combinations() > kMostListed) return;
    std::vector<std::uint64_t> order;
    for (std::uint64_t n = 0; n < space.combinations(); ++n)
      if (space.legal(space.at(n))) order.push_back(n);
    // Fisher-Yates, not std::shuffle: libraries shuffle differently, and a printed seed must give
    // one order.
    for (std::size_t k = order.size(); k > 1; --k)
      std::swap(order[k - 1], order[static_cast<std::size_t>(below(k))]);
    listed_ = std::move(order);
  }

  std::optional<Configuration> draw(const Seen& seen) {
    if (listed_) {
      for (; at_ < listed_->size(); ++at_)
        if (!seen.contains((*listed_)[at_])) return space_.at((*listed_)[at_++]);
      return {};
    }
    for (int attempt = 0; attempt < kMostDraws; ++attempt) {
      Configuration configuration = space_.at(below(space_.combinations()));
      if (seen.fresh_and_legal(configuration)) return configuration;
    }
    return {};
  }

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

 private:
  const Space& space_;
  std::mt19937_64 random_;
  std::optional<std::vector<std::uint64_t>> listed_;
  std::size_t at_ = 0;
};

class Random final : public Strategy {
 public:
  Random(const Space& space, std::uint64_t seed) : seen_(space), draws_(space, seed) {}

  std::vector<Configuration> next(std::size_t count) override {
    std::erase_if(queue_, [&](const Configuration& c) { return !seen_.fresh_and_legal(c); });
    while (queue_.size() < count) {
      auto drawn = draws_.draw(seen_);
      if (!drawn) break;
      queue_.push_back(std::move(*drawn));
    }
    return {queue_.begin(),
            queue_.begin() + static_cast<std::ptrdiff_t>(std::min(count, queue_.size()))};
  }
  void tell(const Result& result) override { seen_.add(result.configuration); }

 private:
  Seen seen_;
  Draws draws_;
  std::deque<Configuration> queue_;
};

// Walks from a start through every change of one parameter, in random order, nearer values first,
// and moves to any faster configuration; where none is faster, two or three parameters of the best
// so far change at once, or, every second time, the walk starts at a random configuration.
class Guided final : public Strategy {
 public:
  Guided(const Space& space, std::uint64_t seed)
      : space_(space), seen_(space), draws_(space, seed) {
    queue_.push_back(space.default_configuration());
  }

  std::vector<Configuration> next(std::size_t count) override {
    drop_seen();
    if (queue_.empty()) restart();
    return {queue_.begin(),
            queue_.begin() + static_cast<std::ptrdiff_t>(std::min(count, queue_.size()))};
  }

  void tell(const Result& result) override {
    seen_.add(result.configuration);
    if (result.outcome != Outcome::measured) return;
    if (best_s_ == 0 || result.seconds < best_s_) {
      best_s_ = result.seconds;
      best_ = result.configuration;
    }
    if (here_s_ != 0 && result.seconds >= here_s_) return;
    here_s_ = result.seconds;
    surround(result.configuration);
  }

 private:
  void drop_seen() {
    std::erase_if(queue_, [&](const Configuration& c) { return !seen_.fresh_and_legal(c); });
  }

  // Queues the unseen neighbours.
  void surround(const Configuration& centre) {
    queue_.clear();
    std::vector<const Parameter*> order;
    for (const Parameter& parameter : space_.parameters()) order.push_back(&parameter);
    for (std::size_t k = order.size(); k > 1; --k)
      std::swap(order[k - 1], order[static_cast<std::size_t>(draws_.below(k))]);
    std::vector<std::pair<std::size_t, Configuration>> list;
    for (const Parameter* parameter : order) add_changes(centre, *parameter, list);
    // One step of every parameter, then two steps, ...
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [distance, configuration] : list) queue_.push_back(std::move(configuration));
    drop_seen();
  }

  static void add_changes(const Configuration& centre, const Parameter& parameter,
                          std::vector<std::pair<std::size_t, Configuration>>& list) {
    const auto& values = parameter.values;
    const auto here = static_cast<std::size_t>(
        std::find(values.begin(), values.end(), centre.at(parameter.name)) - values.begin());
    for (std::size_t v = 0; v < values.size(); ++v) {
      if (v == here) continue;
      Configuration changed = centre;
      changed[parameter.name] = values[v];
      list.emplace_back(v > here ? v - here : here - v, std::move(changed));
    }
  }

  void restart() {
    here_s_ = 0;
    std::optional<Configuration> start;
    if (best_s_ > 0 && ++restarts_ % 2 == 1) start = shaken_best();
    if (!start) start = draws_.draw(seen_);
    if (start) queue_.push_back(std::move(*start));
  }

  std::optional<Configuration> shaken_best() {
    constexpr int kAttempts = 200;
    const auto& parameters = space_.parameters();
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      Configuration shaken = best_;
      const std::uint64_t changes = 2 + draws_.below(2);
      for (std::uint64_t c = 0; c < changes; ++c) {
        const Parameter& parameter = parameters[draws_.below(parameters.size())];
        shaken[parameter.name] = parameter.values[draws_.below(parameter.values.size())];
      }
      if (seen_.fresh_and_legal(shaken)) return shaken;
    }
    return {};
  }

  const Space& space_;
  Seen seen_;
  Draws draws_;
  std::deque<Configuration> queue_;
  Configuration best_;
  double best_s_ = 0, here_s_ = 0;
  std::uint64_t restarts_ = 0;
};

}  // namespace

std::string_view to_string(StrategyKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

std::unique_ptr<Strategy> make_strategy(StrategyKind kind, const Space& space, std::uint64_t seed) {
  switch (kind) {
    case StrategyKind::exhaustive:
      return std::make_unique<Exhaustive>(space);
    case StrategyKind::random:
      return std::make_unique<Random>(space, seed);
    case StrategyKind::guided:
      break;
  }
  return std::make_unique<Guided>(space, seed);
}

std::uint64_t count_legal(const Space& space, std::uint64_t most) {
  if (space.combinations() > most) return 0;
  std::uint64_t count = 0;
  for (std::uint64_t n = 0; n < space.combinations(); ++n) count += space.legal(space.at(n));
  return count;
}

}  // namespace tautline::jit
