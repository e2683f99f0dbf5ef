// The time that a thread of Python's spends in the library.
#pragma once

#include <nanobind/nanobind.h>

namespace tautline::python {

/// Releases the interpreter's lock, and takes it again. A thread that comes back when the interpreter ends (others than
/// daemons have ended before) stays here for ever: taking the lock would end it in the middle of C++, and that the
/// process.
class Unlocked {
 public:
  Unlocked() : Unlocked(true) {}
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

  /// Whether another thread ends the interpreter: what can be stopped stops.
  static bool over();
  /// From here on this thread, which may go on to call the library, ends the interpreter; waits until no thread is in
  /// the library but those that compute. With the lock.
  static void end();

 protected:
  explicit Unlocked(bool is_waited_for);

 private:
  bool is_waited_for_;
  PyThreadState* state_;
};

/// The same of what neither writes files nor calls Python, and cannot be stopped: the process ends while it goes on.
class UnlockedComputation : public Unlocked {
 public:
  UnlockedComputation() : Unlocked(false) {}
};

}  // namespace tautline::python
