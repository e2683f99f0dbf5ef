// Long runs of every command end soon after a signal, and leave nothing.
#include "tests/end_to_end/interrupted.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <random>
#include <sstream>
#include <thread>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class Interrupted : public ::testing::Test {
 protected:
  // 0.6 s after the command hears signals and after each other; the time is from the first on.
  void expect_end(std::vector<std::string> words, const std::vector<int>& signals) {
    const std::string folder = scratch.path().string(), command = words.front();
    const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(600)); };
    words.insert(words.begin(), "--json");
    EndsWithinASecond ends;
    while (ends.wants_another()) {
      const pid_t pid = start_command(words, folder);
      for (int wait = 0; wait < 6000 && !catches(pid, signals.front()); ++wait)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      pause();
      double took_s = 0, before_s = 0;
      for (std::size_t k = 0; k + 1 < signals.size(); ++k, before_s += 0.6) {
        kill(pid, signals[k]);
        pause();
      }
      const CommandResult result = interrupt(pid, signals.back(), folder, took_s);
      ends.add(before_s + took_s);
      ASSERT_EQ(result.status, 128 + signals.back()) << command << ": " << result.err;
      expect_error_object(result);
      for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
        EXPECT_FALSE(entry.path().filename().string().starts_with("out.")) << entry.path();
    }
    std::cout << command << " ended " << ends.best_s() << " s after the signal" << std::endl;
    EXPECT_LT(ends.best_s(), EndsWithinASecond::kMost_s) << command;
  }
  // A file of noisy curves that share their time.
  std::vector<std::string> fit_of_many() {
    std::ostringstream text;
    std::normal_distribution<double> noise(0, 0.01);
    auto random = generator();
    for (int k = 1; k <= 1000; ++k) {
      const double lag_s = 1e-5 * k;
      text << lag_s << '\t' << 1 / (1 + lag_s / 1e-3) + noise(random) << '\n';
    }
    std::vector<std::string> words{"fit"};
    for (int k = 0; k < 1000; ++k) {
      words.push_back(scratch / ("g" + std::to_string(k) + ".csv"));
      write_file(words.back(), text.str());
    }
    words.insert(words.end(), {"-o", scratch / "out.csv", "--model", "3d", "--share", "tau_d_s"});
    return words;
  }
  static constexpr std::uintmax_t kLongBytes = std::uintmax_t{1} << 36;

  ScratchFolder scratch;
};

TEST_F(Interrupted, RunsEndWithinASecond) {
  const std::string fil = scratch / "x.fil";
  const CommandResult made =
      run_command({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff", "-10",
                   "--tsamp", "0.001", "--duration", "4", "-o", fil},
                  scratch.path().string());
  ASSERT_EQ(made.status, kDone) << made.err;
  // A file of zeros, which take no room.
  const std::string long_fil = scratch / "long.fil", raw = scratch / "counts.raw";
  std::filesystem::copy_file(fil, long_fil);
  std::filesystem::resize_file(long_fil, kLongBytes);
  write_file(raw, "");
  std::filesystem::resize_file(raw, kLongBytes);
  const std::string voltages = scratch / "in.dada";
  DadaFile file;
  file.nant = "8";  // of one receiver
  file.payload_bytes = 32 * 2000;
  write_file(voltages, file.bytes());
  const std::vector<std::vector<std::string>> runs = {
      {"simulate", "filterbank", "--nchans", "1024", "--fch1", "1465", "--foff", "-0.3", "--tsamp",
       "1e-4", "--duration", "500", "--random-pulses",
       "count=1000,dm=1:2000,width=0.001:0.02,snr=8:30", "-o", scratch / "out.fil"},
      {"search", fil, "-o", scratch / "out.csv", "--dms", "0:900:0.01", "--method", "subband"},
      {"dedisperse", fil, "-o", scratch / "out.npy", "--dms", "0:900:0.01", "--method", "subband"},
      {"autocorrelate", raw, "-o", scratch / "out.csv", "--dtype", "u8", "--sensors", "16", "--bin",
       "1e-6"},
      fit_of_many(),
      {"plot", long_fil, "-o", scratch / "out.html"},
      // Nobody listens there.
      {"send", voltages, "--to", "tcp://127.0.0.1:1", "--connect", "100"},
      {"bench"}};
  for (std::size_t k = 0; k < runs.size(); ++k)
    expect_end(runs[k], {k % 2 == 0 ? SIGINT : SIGTERM});
  expect_end(runs[1], {SIGINT});
  // Again, before the run is ended for it.
  expect_end(runs[1], {SIGINT, SIGINT});
}

}  // namespace
}  // namespace tautline::tests
