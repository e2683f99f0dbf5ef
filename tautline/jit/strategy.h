// Chooses the candidate to try next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tautline/jit/result.h"
#include "tautline/jit/space.h"

namespace tautline::jit {

enum class StrategyKind {
  exhaustive,  ///< every legal configuration, in order
  random,      ///< legal configurations in random order, each once
  guided,      ///< the neighbourhood of the best so far, with restarts
};

std::string_view to_string(StrategyKind kind);

/// Proposes each legal configuration of a space at most once.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to `count` configurations that come next if no new result is told; empty when there are no
  /// more. The caller tries the first and tells its result; the others may be built meanwhile.
  virtual std::vector<Configuration> next(std::size_t count) = 0;
  /// The result of the first of `next`, or of any other configuration.
  virtual void tell(const Result& result) = 0;
};

/// `space` must outlive it. `seed` decides every random choice.
std::unique_ptr<Strategy> make_strategy(StrategyKind kind, const Space& space, std::uint64_t seed);

/// The number of legal configurations, where the space has at most `most` combinations; else 0.
std::uint64_t count_legal(const Space& space, std::uint64_t most = std::uint64_t{1} << 20);

}  // namespace tautline::jit
