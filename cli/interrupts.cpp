#include "cli/interrupts.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "cli/command.h"
#include "tautline/formats/partial_file.h"

namespace tautline::cli {

namespace {

constexpr std::int64_t kSameSignalNs = 500'000'000;
// So long a run may take to end in good order; plans and pulses are made without a look at the stop.
constexpr std::int64_t kGraceNs = 700'000'000;

// When the first signal and the next one that is not the same came, 0: none did; and which was the first. Written by
// the handler, read by other threads.
std::atomic<std::int64_t> interrupted_ns = 0, again_ns = 0;
std::atomic<int> first_signal = 0;
std::atomic<bool> finishes_when_stopped = false, hangups_rotate = false;
std::atomic<std::uint64_t> hangups = 0;  // since they rotate
std::mutex rotate_mutex;
std::function<void()> rotate_files;
std::mutex held_up_mutex;
std::function<std::string(double)> what_holds_up;
std::mutex ending_mutex;
std::string ending_level, ending_text = "interrupted; nothing was kept";
static_assert(std::atomic<std::int64_t>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free);

// Calls nothing but what a handler may call, as the next two do.
std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void handle(int signal) {
  if (signal == SIGHUP && hangups_rotate) {
    ++hangups;
    return;
  }
  const std::int64_t signal_ns = now_ns();
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
  std::int64_t before_ns = 0;
  if (interrupted_ns.compare_exchange_strong(before_ns, signal_ns)) return;
  if (signal_ns - before_ns < kSameSignalNs) return;
  before_ns = 0;
  if (again_ns.compare_exchange_strong(before_ns, signal_ns)) return;
  if (signal_ns - before_ns < kSameSignalNs) return;
  ::signal(signal, SIG_DFL);
  ::raise(signal);  // once the handler has returned
}

// Processes that tune has its candidates run in.
void kill_children() {
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child;)
      if (child > 0) ::kill(child, SIGKILL);
  }
}

void write_text(int descriptor, const std::string& text) {
  [[maybe_unused]] const auto written = ::write(descriptor, text.data(), text.size());
}

// Whatever the other threads are doing. With `json` on standard output, too, as other errors are said.
[[noreturn]] void end_at_once(const std::string& level, const std::string& text, bool json) {
  const int status = interrupted_status();
  const std::string object =
      json ? object_line("tautline.error", 1, {{"message", text}, {"status", status}}) : "";
  kill_children();
  formats::remove_partial_files();
  // Results that were printed before; not where a thread is in the middle of printing.
  if (::ftrylockfile(stdout) == 0) ::fflush_unlocked(stdout);
  write_text(STDERR_FILENO, "tautline: " + level + text + "\n");
  write_text(STDOUT_FILENO, object);
  ::_exit(status);
}

void end_where_held_up(std::int64_t since_ns, bool json) {
  const std::lock_guard asking(held_up_mutex);
  const std::string text = what_holds_up ? what_holds_up(1e-9 * static_cast<double>(since_ns)) : "";
  if (!text.empty())
    end_at_once("", "interrupted; not waited for " + text + "; nothing half-written was kept",
                json);
}

// Not SIG_IGN, which a program that is started would inherit.
void let_the_write_fail(int /*signal*/) {}

// Blocking the signals instead would not do: libraries start threads before main.
void install_handlers() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler == handle) continue;
    if (signal == SIGHUP && now.sa_handler == SIG_IGN && !hangups_rotate) continue;  // nohup
    struct sigaction action {};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

std::jthread watch_interrupts(std::stop_source& source, bool json) {
  install_handlers();
  struct sigaction pipe_ended {};
  pipe_ended.sa_handler = let_the_write_fail;
  pipe_ended.sa_flags = SA_RESTART;
  ::sigaction(SIGPIPE, &pipe_ended, nullptr);
  ::signal(SIGXFSZ, SIG_IGN);  // a file over the limit of its size is an error of writing
  return std::jthread([&source, json](const std::stop_token& done) {
    // Woken at once at the end, so that the command does not wait for its last pause.
    std::mutex mutex;
    std::condition_variable_any ended;
    std::unique_lock lock(mutex);
    while (!done.stop_requested()) {
      install_handlers();  // PoCL's LLVM puts its own there, for one signal each, when a device is opened
      if (interrupted_ns != 0) {
        source.request_stop();
        end_where_held_up(now_ns() - interrupted_ns, json);
      }
      if (hangups.exchange(0) > 0) {
        const std::lock_guard rotating(rotate_mutex);
        if (rotate_files) rotate_files();
      }
      if (again_ns != 0) {
        const std::lock_guard ending(ending_mutex);
        end_at_once(ending_level, "twice " + ending_text, json);
      }
      if (interrupted_ns != 0 && !finishes_when_stopped && now_ns() - interrupted_ns > kGraceNs) {
        const std::lock_guard ending(ending_mutex);
        end_at_once(ending_level, ending_text, json);
      }
      ended.wait_for(lock, done, std::chrono::milliseconds(20), [] { return false; });
    }
  });
}

void say_when_ended(const std::string& text) {
  const std::lock_guard lock(ending_mutex);
  ending_level = "warning: ";
  ending_text = text;
}

void finish_when_stopped() {
  finishes_when_stopped = true;
}

EndsWhereHeldUp::EndsWhereHeldUp(std::function<std::string(double since_s)> held_up) {
  const std::lock_guard lock(held_up_mutex);
  what_holds_up = std::move(held_up);
}

EndsWhereHeldUp::~EndsWhereHeldUp() {
  const std::lock_guard lock(held_up_mutex);
  what_holds_up = {};
}

HangupsRotate::HangupsRotate(std::function<void()> rotate) {
  const std::lock_guard lock(rotate_mutex);
  rotate_files = std::move(rotate);
  hangups_rotate = true;
  install_handlers();
}

HangupsRotate::~HangupsRotate() {
  const std::lock_guard lock(rotate_mutex);
  rotate_files = {};  // a SIGHUP that comes later asks for nothing: there may be a next observation
}

int interrupted_status() {
  return 128 + first_signal;
}

}  // namespace tautline::cli
