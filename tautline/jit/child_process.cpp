#include "tautline/jit/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "tautline/core/error.h"

extern char** environ;

namespace tautline::jit {

namespace {

using core::Error;
using core::ErrorKind;
using namespace std::chrono_literals;

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error(ErrorKind::io, what, std::generic_category().message(error), {});
}

// Above the descriptors that the child is given, so that no such descriptor is overwritten too
// early.
int above_the_childs(int descriptor) {
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 16);
  const int error = errno;
  ::close(descriptor);
  if (moved < 0) fail("helper process: file descriptors", error);
  return moved;
}

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("helper process: pipe", errno);
    read_end = above_the_childs(ends[0]);
    write_end = above_the_childs(ends[1]);
  }
  ~Pipe() {
    if (read_end >= 0) ::close(read_end);
    if (write_end >= 0) ::close(write_end);
  }
};

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> list;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!changes.contains(text.substr(0, text.find('=')))) list.push_back(text);
  }
  for (const auto& [name, value] : changes) list.push_back(name + "=" + value);
  return list;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// Writing to a process that has ended raises SIGPIPE, which the library must not handle: the signal
// is blocked in this thread and removed again.
class WithoutBrokenPipeSignal {
 public:
  WithoutBrokenPipeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGPIPE);
    sigset_t before;
    sigpending(&before);
    pending_before_ = sigismember(&before, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &set_, &mask_);
  }
  ~WithoutBrokenPipeSignal() {
    const timespec at_once{};
    const int saved = errno;
    if (!pending_before_)
      while (sigtimedwait(&set_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    errno = saved;
  }

 private:
  sigset_t set_{}, mask_{};
  bool pending_before_ = false;
};

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments,
                           const std::map<std::string, std::string>& environment) {
  Pipe requests, answers;
  errors_ = ::memfd_create("errors", MFD_CLOEXEC);
  if (errors_ < 0) fail("helper process: memory for its messages", errno);
  errors_ = above_the_childs(errors_);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, errors_, 1);
  posix_spawn_file_actions_adddup2(&actions, errors_, 2);
  posix_spawn_file_actions_adddup2(&actions, requests.read_end, kChildIn);
  posix_spawn_file_actions_adddup2(&actions, answers.write_end, kChildOut);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> words = arguments, variables = merged_environment(environment);
  auto argv = pointers(words), envp = pointers(variables);
  const int error = posix_spawn(&pid_, argv[0], &actions, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    pid_ = -1;
    ::close(errors_);
    fail("helper process " + arguments[0], error);
  }
  requests_ = std::exchange(requests.write_end, -1);
  answers_ = std::exchange(answers.read_end, -1);
}

ChildProcess::~ChildProcess() {
  kill();
  end();
  ::close(requests_);
  ::close(answers_);
  ::close(errors_);
}

bool ChildProcess::write_line(const std::string& line) {
  const WithoutBrokenPipeSignal guard;
  const std::string bytes = line + "\n";
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t done = ::write(requests_, bytes.data() + at, bytes.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += static_cast<std::size_t>(done);
  }
  return true;
}

ChildProcess::Read ChildProcess::read_line(std::string& line, Clock::time_point deadline,
                                           const std::stop_token& stop) {
  while (true) {
    if (const std::size_t end = pending_.find('\n'); end != std::string::npos) {
      line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return Read::line;
    }
    if (stop.stop_requested()) return Read::stopped;
    const auto left = deadline - Clock::now();
    if (left <= 0s) return Read::timeout;
    // Short waits, so that a stop is noticed.
    const auto wait = std::min<Clock::duration>(left, 100ms) + 1ms;
    pollfd one{answers_, POLLIN, 0};
    if (::poll(&one, 1, static_cast<int>(wait / 1ms)) <= 0) continue;
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(answers_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Read::end;
    pending_.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

void ChildProcess::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

std::optional<int> ChildProcess::status_within(std::chrono::seconds limit) {
  const auto deadline = Clock::now() + limit;
  for (auto pause = 1ms;; pause = std::min(2 * pause, 50ms)) {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == pid_ || (ended < 0 && errno != EINTR)) return status;
    if (Clock::now() >= deadline) return {};
    std::this_thread::sleep_for(pause);
  }
}

std::string ChildProcess::end() {
  if (pid_ <= 0) return {};
  auto status = status_within(10s);
  if (!status) {
    kill();
    // A process inside a driver that hangs cannot be ended at all.
    status = status_within(30s);
  }
  pid_ = -1;
  if (!status) return "does not end, though it was killed: the device may need a reset";
  std::string text = WIFSIGNALED(*status)
                         ? "ended by signal " + std::to_string(WTERMSIG(*status)) + " (" +
                               ::sigdescr_np(WTERMSIG(*status)) + ")"
                         : "ended with status " + std::to_string(WEXITSTATUS(*status));
  if (const std::string words = last_words(); !words.empty()) text += ": " + words;
  return text;
}

std::string ChildProcess::last_words() const {
  std::array<char, 1000> bytes{};
  const off_t size = ::lseek(errors_, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(bytes.size()));
  const ssize_t count = ::pread(errors_, bytes.data(), bytes.size(), from);
  std::string text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace tautline::jit
