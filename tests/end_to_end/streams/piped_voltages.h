// Commands whose voltages come by a pipe, in pieces of any length.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/end_to_end/file_visibilities.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {

// Writes to a pipe in pieces of any length, with pauses; stops where nobody reads any more.
inline void write_in_pieces(const std::string& pipe, const std::string& bytes,
                            std::mt19937_64 random) {
  signal(SIGPIPE, SIG_IGN);
  const int out = open(pipe.c_str(), O_WRONLY);
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t some = std::min<std::size_t>(
        bytes.size() - done, std::size_t{1} + random() % (std::size_t{1} << random() % 20));
    const ssize_t n = write(out, bytes.data() + done, some);
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
    if (random() % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  close(out);
}

class PipedVoltages : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef TAUTLINE_HDF5
    GTEST_SKIP() << "a build without HDF5";
#endif
    for (const char* name : {"meanwhile", "run"}) std::filesystem::create_directory(scratch / name);
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  }
  std::vector<std::string> whole(const std::vector<std::string>& words) const {
    std::vector<std::string> all{"--quiet", "--device", "cpu"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  CommandResult run(const std::vector<std::string>& words) {
    return run_command(whole(words), scratch / "run");
  }
  // The command whose input is the pipe, which is given these bytes; nothing is kept in files.
  CommandResult run_piped(const std::vector<std::string>& words, const std::string& bytes) {
    const pid_t pid =
        start_command(whole(words), scratch / "run", {{"TMPDIR", scratch / "meanwhile"}});
    write_in_pieces(pipe, bytes, random);
    EXPECT_TRUE(std::filesystem::is_empty(scratch / "meanwhile"));
    return finish_command(pid, scratch / "run");
  }
  // GUPPI RAW of 2 channels and 2 polarisations, 8 bits: blocks of 4,096 times, of which one is lost.
  std::string guppi() {
    constexpr std::size_t kTimes = 4096;
    std::string bytes;
    for (std::size_t block = 0; block < 12; ++block) {
      if (block == 5) continue;
      const auto card = [&](std::string keyword, const std::string& value) {
        keyword.resize(8, ' ');
        keyword += "= " + value;
        keyword.resize(80, ' ');
        bytes += keyword;
      };
      card("BACKEND", "'GUPPI   '");
      card("OBSFREQ", "1378.125");
      card("OBSBW", "2.0");
      card("OBSNCHAN", "2");
      card("NPOL", "4");
      card("NBITS", "8");
      card("TBIN", "1e-6");
      card("PKTSIZE", "8192");
      card("PKTIDX", std::to_string(block * kTimes * 8 / 8192));
      card("STT_IMJD", "59000");
      card("STT_SMJD", "3600");
      card("STT_OFFS", "0");
      card("BLOCSIZE", std::to_string(8 * kTimes));
      std::string end = "END";
      end.resize(80, ' ');
      bytes += end;
      for (std::size_t k = 0; k < 8 * kTimes; ++k) bytes += static_cast<char>(random());
    }
    return bytes;
  }
  void expect_equal_visibilities(const std::vector<std::string>& options, const std::string& bytes,
                                 const std::string& file, int status) {
    const auto words = [&](const std::string& input, const std::string& output) {
      std::vector<std::string> all{"correlate", input, "-o", output, "--overwrite"};
      all.insert(all.end(), options.begin(), options.end());
      return all;
    };
    write_file(file, bytes);
    const CommandResult of_file = run(words(file, scratch / "file.uvh5"));
    ASSERT_EQ(of_file.status, status) << of_file.err;
    const CommandResult of_pipe = run_piped(words(pipe, scratch / "pipe.uvh5"), bytes);
    ASSERT_EQ(of_pipe.status, status) << of_pipe.err;
    const FileVisibilities expected = visibilities_in(scratch / "file.uvh5");
    EXPECT_GT(expected.values.size(), 0u);
    EXPECT_TRUE(visibilities_in(scratch / "pipe.uvh5") == expected);
  }

  ScratchFolder scratch;
  std::string pipe = scratch / "pipe";
  std::mt19937_64 random = generator();
};

}  // namespace tautline::tests
