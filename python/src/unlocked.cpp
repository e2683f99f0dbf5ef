#include "unlocked.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace tautline::python {

namespace {

// One for the process, as the interpreter is.
std::atomic<bool> interpreter_ends = false;
std::thread::id ending_thread;  // written before the flag
// A thread counts until it has the lock again, or stays: in the second while it computes, before it asks for the lock.
std::atomic<int> threads_waited_for = 0;
std::atomic<int> threads_computing = 0;

// Before destructors of the library's, which threads that are in it would meet: of those that compute, and of those
// that came after `end`.
void leave(int status, void*) {
  if (threads_waited_for == 0 && threads_computing == 0) return;
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(status);
}

}  // namespace

Unlocked::Unlocked(bool is_waited_for) : is_waited_for_(is_waited_for) {
  ++(is_waited_for ? threads_waited_for : threads_computing);
  state_ = PyEval_SaveThread();
}

Unlocked::~Unlocked() {
  if (!is_waited_for_) {
    ++threads_waited_for;  // before the look at the flag, which `end` sets before it looks at this
    --threads_computing;
  }
  if (over()) {
    --threads_waited_for;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  PyEval_RestoreThread(state_);
  --threads_waited_for;
}

bool Unlocked::over() {
  return interpreter_ends && std::this_thread::get_id() != ending_thread;
}

void Unlocked::end() {
  ending_thread = std::this_thread::get_id();
  interpreter_ends = true;
  (void)on_exit(leave, nullptr);  // the last one that is registered is called first
  PyThreadState* const state = PyEval_SaveThread();
  while (threads_waited_for > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
}

// A forked process has none of the parent's threads.
[[maybe_unused]] const int counts_anew =
    pthread_atfork(nullptr, nullptr, [] { threads_waited_for = threads_computing = 0; });

}  // namespace tautline::python
