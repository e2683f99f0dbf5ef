// PoCL 3.1 ends a process by an assertion of its own now and then (docs/design/roadmap.md). A program that this file is
// linked to is then started once more, and says so; any other assertion, and PoCL's second, ends it as ever.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr const char* kSecond = "TAUTLINE_SECOND_RUN";

void start_once_more() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  setenv(kSecond, "1", 1);
  sigset_t none;  // a thread of PoCL may have blocked some
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  execv("/proc/self/exe", argv.data());
}

}  // namespace

// The C library's function that assert() calls, which this one takes the place of.
extern "C" void __assert_fail(const char* assertion, const char* file, unsigned line,
                              const char* function) noexcept {
  std::fflush(nullptr);
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, assertion);
  if (std::strstr(function, "pocl_") != nullptr && std::getenv(kSecond) == nullptr) {
    std::fprintf(stderr, "run once more, since PoCL ended the program\n");
    start_once_more();
  }
  std::abort();
}
