#include "unlocked.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace tautline::python {

namespace {

// Of the process, as the interpreter is. A thread counts until it has the lock again, or stays.
std::atomic<bool> interpreter_ends = false;
std::atomic<int> threads_inside = 0;
std::thread::id ending_thread;  // written before the flag

}  // namespace

Unlocked::Unlocked() {
  ++threads_inside;
  state_ = PyEval_SaveThread();
}

Unlocked::~Unlocked() {
  if (over()) {
    --threads_inside;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  PyEval_RestoreThread(state_);
  --threads_inside;
}

bool Unlocked::over() {
  return interpreter_ends && std::this_thread::get_id() != ending_thread;
}

void Unlocked::end() {
  ending_thread = std::this_thread::get_id();
  interpreter_ends = true;
  PyThreadState* const state = PyEval_SaveThread();
  while (threads_inside > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
}

// A forked process has none of the parent's threads.
[[maybe_unused]] const int counts_anew =
    pthread_atfork(nullptr, nullptr, [] { threads_inside = 0; });

}  // namespace tautline::python
