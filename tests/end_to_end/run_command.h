// Runs the tautline command as a user does, and small voltage files for it.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/seed.h"

namespace tautline::tests {

/// Exit statuses of the command (docs/guide/command.md).
inline constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2, kDamaged = 3,
                     kInterrupted = 128 + SIGINT, kTerminated = 128 + SIGTERM;

struct CommandResult {
  int status = -1;  ///< exit status, or 1000 + the signal that ended it
  std::string out, err;
};

inline std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Variables of the environment for a command, beside the test's own.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// The command that was built with the tests; TAUTLINE_TEST_COMMAND names another, where the tests
/// were carried to another machine.
inline std::string command_path() {
  const char* elsewhere = std::getenv("TAUTLINE_TEST_COMMAND");
  return elsewhere == nullptr ? TAUTLINE_COMMAND : elsewhere;
}

/// Starts a program with its output in FOLDER/out and FOLDER/err.
inline pid_t start_program(std::string path, const std::vector<std::string>& arguments,
                           const std::string& folder, const Variables& variables = {}) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (std::freopen((folder + "/out").c_str(), "w", stdout) == nullptr ||
      std::freopen((folder + "/err").c_str(), "w", stderr) == nullptr)
    _exit(126);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  argv.push_back(path.data());
  std::vector<std::string> copies = arguments;
  for (std::string& argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(path.c_str(), argv.data());
  _exit(127);
}

inline pid_t start_command(const std::vector<std::string>& arguments, const std::string& folder,
                           const Variables& variables = {}) {
  return start_program(command_path(), arguments, folder, variables);
}

inline CommandResult finish_command(pid_t pid, const std::string& folder) {
  int status = 0;
  waitpid(pid, &status, 0);
  CommandResult result;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  result.out = read_file(folder + "/out");
  result.err = read_file(folder + "/err");
  return result;
}

inline CommandResult run_program(const std::string& path, const std::vector<std::string>& arguments,
                                 const std::string& folder, const Variables& variables = {}) {
  return finish_command(start_program(path, arguments, folder, variables), folder);
}

/// A line for a shell: the command with these words.
inline std::string command_line(const std::vector<std::string>& words) {
  std::string line = "exec '" + command_path() + "'";
  for (const std::string& word : words) line += " '" + word + "'";
  return line;
}

inline CommandResult run_shell(const std::string& line, const std::string& folder,
                               const Variables& variables = {}) {
  return run_program("/bin/sh", {"-c", line}, folder, variables);
}

/// PoCL 3.1 ends a process by an assertion of its own now and then, where several of its devices or of its
/// processes work at once (docs/design/roadmap.md).
inline bool ended_by_pocl(const CommandResult& result) {
  return result.status == 1000 + SIGABRT && result.err.find("pocl_") != std::string::npos &&
         result.err.find("Assertion") != std::string::npos;
}

/// Runs the command; again, and says so, where PoCL ended it.
inline CommandResult run_command(const std::vector<std::string>& arguments,
                                 const std::string& folder, const Variables& variables = {}) {
  constexpr int kMostRuns = 5;
  for (int runs = 1;; ++runs) {
    const CommandResult result =
        finish_command(start_command(arguments, folder, variables), folder);
    if (runs == kMostRuns || !ended_by_pocl(result)) return result;
    std::cout << "run again, since PoCL ended the command: " << result.err << std::endl;
  }
}

/// The N of a refusal's "memory: N KiB needed". That of --memory 1K is the least on this processor:
/// blocks are then the smallest there are.
inline std::size_t needed_kib(const std::string& refusal) {
  const std::string words = "memory: ";
  const std::size_t at = refusal.find(words);
  std::istringstream text(at == std::string::npos ? "" : refusal.substr(at + words.size()));
  std::size_t kib = 0;
  std::string unit;
  if (!(text >> kib >> unit) || unit != "KiB")
    throw std::runtime_error("no memory that is needed in: " + refusal);
  return kib;
}

/// The lines of a DADA header that a test changes one at a time.
struct DadaFile {
  std::string hdr_size = "4096", nbit = "8", ndim = "2", npol = "2", nant = "2", nchan = "1",
              tsamp = "0.78125", bw = "1.28", freq = "154.88", utc = "2026-03-20-14:00:00",
              order = "TFAP", extra;
  std::size_t payload_bytes = 8 * 20000;

  std::string bytes() const {
    std::ostringstream text;
    text << "HDR_VERSION 1.0\nHDR_SIZE " << hdr_size << "\nTELESCOPE test\nINSTRUMENT test\n"
         << "SOURCE noise\nUTC_START " << utc << "\nPICOSECONDS 0\nOBS_OFFSET 0\nFREQ " << freq
         << "\nBW " << bw << "\nTSAMP " << tsamp << "\nNBIT " << nbit << "\nNDIM " << ndim
         << "\nNPOL " << npol << "\nNANT " << nant << "\nNCHAN " << nchan << "\nORDER " << order
         << "\n"
         << extra;
    std::string file = text.str();
    file.resize(4096, '\0');
    auto random = generator();
    for (std::size_t k = 0; k < payload_bytes; ++k) file += static_cast<char>(random());
    return file;
  }
};

/// A pipeline that correlates a file of voltages, with more fields of the filter bank and of the correlator.
inline std::string correlate_pipeline(const std::string& voltages, const std::string& visibilities,
                                      const std::string& bank, const std::string& correlator = "") {
  return "[voltages]\ntype = \"voltage_files\"\nfiles = \"" + voltages +
         "\"\n[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\n" + bank +
         "[x]\ntype = \"correlator\"\ninputs = \"f\"\n" + correlator +
         "[v]\ntype = \"visibility_file\"\ninputs = \"x\"\npath = \"" + visibilities + "\"\n";
}

}  // namespace tautline::tests
