#include "cli/interrupts.h"

#include <signal.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tautline::cli {

namespace {

constexpr std::int64_t kSameSignalNs = 500'000'000;

// When the first signal came, 0: none did. Written by the handler, read by another thread.
std::atomic<std::int64_t> interrupted_ns = 0;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// Calls nothing but what a handler may call.
void handle(int signal) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t now_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  std::int64_t first_ns = 0;
  if (interrupted_ns.compare_exchange_strong(first_ns, now_ns)) return;
  if (now_ns - first_ns < kSameSignalNs) return;
  ::signal(signal, SIG_DFL);
  ::raise(signal);  // once the handler has returned
}

}  // namespace

std::jthread watch_interrupts(std::stop_source& source) {
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  // Blocking the signals instead would not do: libraries start threads before main.
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  return std::jthread([&source](const std::stop_token& done) {
    // Woken at once at the end, so that the command does not wait for its last pause.
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    while (!done.stop_requested()) {
      if (interrupted_ns != 0) source.request_stop();
      ended.wait_for(lock, done, std::chrono::milliseconds(20), [] { return false; });
    }
  });
}

}  // namespace tautline::cli
