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
  /// Keeps the built candidate for a later request, until a request without this flag.
  bool keep = false;
  /// A candidate whose first run takes longer is timed only once more. 0: never.
  double hurry_over_s = 0;
};

/// Used by one thread.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// The next candidates: they may be built while others are timed.
  virtual void expect(std::span<const Configuration> next) = 0;
  /// Faults of the candidate are reported in the result. Throws only when no candidate can be
  /// tried.
  virtual Result evaluate(const Request& request) = 0;
};

/// The phase of an evaluation, for the process that watches over it.
enum class Phase { building, running };

struct LocalEvaluator : Evaluator {
  /// Whether the device failed in a way that it may not recover from: further results mean little.
  virtual bool device_failed() const = 0;
};

/// Evaluates in this process: a candidate that hangs or crashes ends the process. Calls
/// tunable.prepare. Up to `builders` candidates are built ahead in threads of their own.
std::unique_ptr<LocalEvaluator> make_local_evaluator(Tunable tunable, std::size_t builders,
                                                     std::function<void(Phase)> on_phase = {});

}  // namespace tautline::jit
