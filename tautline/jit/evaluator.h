// Tries candidates: builds, checks, times.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "tautline/jit/result.h"
#include "tautline/jit/tunable.h"

namespace tautline::jit {

struct Request {
  Configuration configuration;
  bool check = true;
  bool time = true;
  /// Keeps what was built for a later request, until one without this flag.
  bool keep = false;
  /// A candidate whose first run takes longer is timed once more and no oftener. 0: never.
  double hurry_over_s = 0;
};

/// Used by one thread.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// These come next: they may be built while others are timed.
  virtual void expect(std::span<const Configuration> next) = 0;
  /// What is wrong with the candidate ends in the result. Throws only when nothing can be tried at
  /// all.
  virtual Result evaluate(const Request& request) = 0;
};

/// What an evaluation is doing, for those who watch over it.
enum class Phase { building, running };

struct LocalEvaluator : Evaluator {
  /// Whether the device failed in a way that it may not recover from: further results mean little.
  virtual bool device_failed() const = 0;
};

/// In this process, which a candidate that hangs or crashes takes with it. Calls tunable.prepare.
/// Up to `builders` candidates are built ahead in threads of their own.
std::unique_ptr<LocalEvaluator> make_local_evaluator(Tunable tunable, std::size_t builders,
                                                     std::function<void(Phase)> on_phase = {});

}  // namespace tautline::jit
