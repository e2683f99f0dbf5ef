// Voltages that come by a pipe are processed as they come, and give what files of the same bytes give.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <thread>

#include "tests/end_to_end/file_visibilities.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;

// Writes to a pipe in pieces of any length, with pauses; stops where nobody reads any more.
void write_in_pieces(const std::string& pipe, const std::string& bytes, std::mt19937_64 random) {
  signal(SIGPIPE, SIG_IGN);
  const int out = open(pipe.c_str(), O_WRONLY);
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t some = std::min<std::size_t>(
        bytes.size() - done, std::size_t{1} + random() % (std::size_t{1} << random() % 20));
    const ssize_t n = write(out, bytes.data() + done, some);
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
    if (random() % 50 == 0) std::this_thread::sleep_for(2ms);
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

TEST_F(PipedVoltages, OfDadaAreCorrelatedAsFilesAre) {
  const std::vector<std::vector<std::string>> options{
      {"--channels", "16", "--integration", "0.02"},
      {"--channels", "32", "--integration", "0.03", "--requantize", "off", "--start", "0.01"},
      {"--channels", "16", "--integration", "0.02", "--requantize", "4"}};
  for (const auto& chosen : options) {
    DadaFile dada;
    dada.payload_bytes = 8 * 120'000 + random() % 8;  // and a part of a time
    const bool cut = dada.payload_bytes % 8 != 0;
    expect_equal_visibilities(chosen, dada.bytes(), scratch / "x.dada", cut ? kDamaged : kDone);
  }
}

TEST_F(PipedVoltages, OfGuppiAreCorrelatedAsFilesAre) {
  expect_equal_visibilities({"--integration", "0.01"}, guppi(), scratch / "x.raw", kDamaged);
  expect_equal_visibilities({"--fine", "8", "--integration", "0.01"}, guppi(), scratch / "x.raw",
                            kDamaged);
}

TEST_F(PipedVoltages, AreChannelizedAsFilesAre) {
  DadaFile dada;
  dada.payload_bytes = 8 * 50'000;
  const std::string bytes = dada.bytes();
  write_file(scratch / "x.dada", bytes);
  for (const std::string ending : {".dada", ".fil"}) {
    const auto words = [&](const std::string& input, const std::string& output) {
      std::vector<std::string> all{"channelize", input, "--channels", "16", "-o", output + ending};
      if (ending == ".dada") all.insert(all.end(), {"--requantize", "8"});
      return all;
    };
    ASSERT_EQ(run(words(scratch / "x.dada", scratch / "file")).status, kDone);
    const CommandResult piped = run_piped(words(pipe, scratch / "pipe_out"), bytes);
    ASSERT_EQ(piped.status, kDone) << piped.err;
    const std::string a = read_file(scratch / "file" + ending),
                      b = read_file(scratch / "pipe_out" + ending);
    // Headers name the input and the command line.
    const auto samples = [&](const std::string& file) {
      return file.substr(ending == ".dada" ? 4096 : file.find("HEADER_END"));
    };
    EXPECT_GT(samples(a).size(), 100'000u);
    EXPECT_TRUE(samples(a) == samples(b)) << ending;
  }
}

// The same as a source of a pipeline, by standard input.
TEST_F(PipedVoltages, AreSourcesOfPipelines) {
  DadaFile dada;
  dada.payload_bytes = 8 * 100'000;
  write_file(scratch / "x.dada", dada.bytes());
  write_file(scratch / "p.toml",
             "[voltages]\ntype = \"voltage_files\"\nfiles = [\"-\"]\n[f]\ntype = \"filter_bank\"\n"
             "inputs = \"voltages\"\nchannels = 16\n[x]\ntype = \"correlator\"\ninputs = \"f\"\n"
             "integration_s = 0.02\n[v]\ntype = \"visibility_file\"\ninputs = \"x\"\npath = \"" +
                 (scratch / "pipe.uvh5") + "\"\n");
  ASSERT_EQ(run({"correlate", scratch / "x.dada", "-o", scratch / "file.uvh5", "--channels", "16",
                 "--integration", "0.02"})
                .status,
            kDone);
  const std::string line = "cat '" + (scratch / "x.dada") + "' | exec '" + command_path() +
                           "' --quiet --device cpu run '" + (scratch / "p.toml") + "'";
  const CommandResult piped =
      finish_command(start_program("/bin/sh", {"-c", line}, scratch / "run"), scratch / "run");
  ASSERT_EQ(piped.status, kDone) << piped.err;
  EXPECT_TRUE(visibilities_in(scratch / "pipe.uvh5") == visibilities_in(scratch / "file.uvh5"));
}

// A stream that never ends: integrations are written while it goes on, and Ctrl-C keeps what came.
TEST_F(PipedVoltages, ThatGoOnGiveResultsMeanwhile) {
  DadaFile dada;
  dada.payload_bytes = 8 * 1'280'000;  // a second
  const std::string bytes = dada.bytes();
  const std::string output = scratch / "live.uvh5";
  const pid_t pid = start_command(
      whole({"correlate", pipe, "-o", output, "--channels", "256", "--integration", "0.01"}),
      scratch / "run");
  const int out = open(pipe.c_str(), O_WRONLY);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = write(out, bytes.data() + done, bytes.size() - done);
    ASSERT_GT(n, 0);
    done += static_cast<std::size_t>(n);
  }
  const std::string partial = output + ".partial";
  const auto written = [&] {
    std::error_code none;
    const auto size = std::filesystem::file_size(partial, none);
    return none ? 0 : size;
  };
  // 20 of 100 integrations; they reach the file in pieces of 256 KiB. Only a run that never writes waits so long.
  const std::size_t wanted = 20 * 3 * 256 * 4 * 8;
  for (int wait = 0; wait < 6000 && written() < wanted; ++wait) std::this_thread::sleep_for(10ms);
  EXPECT_GE(written(), wanted) << read_file(scratch / "run" + "/err");
  EXPECT_FALSE(std::filesystem::exists(output));
  kill(pid, SIGINT);
  const CommandResult result = finish_command(pid, scratch / "run");
  close(out);
  EXPECT_EQ(result.status, kDamaged) << result.err;
  EXPECT_NE(result.err.find("stopped before its input ended"), std::string::npos) << result.err;
  EXPECT_GE(visibilities_in(output).middles.size(), 20u);
}

TEST_F(PipedVoltages, ThatBreakOffAreNamed) {
  const std::vector<std::string> words{"correlate",        pipe,         "-o",
                                       scratch / "v.uvh5", "--channels", "16"};
  const std::string bytes = DadaFile{}.bytes();
  for (const std::size_t length : {std::size_t{0}, std::size_t{100}, std::size_t{4096}}) {
    const CommandResult result = run_piped(words, bytes.substr(0, length));
    EXPECT_EQ(result.status, kFailed) << length << result.err;
    EXPECT_NE(result.err.find("tautline: "), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(scratch / "v.uvh5")) << length;
  }
  // Ctrl-C before a header has come.
  const pid_t pid = start_command(whole(words), scratch / "run");
  const int out = open(pipe.c_str(), O_WRONLY);
  ASSERT_EQ(write(out, bytes.data(), 100), 100);
  std::this_thread::sleep_for(100ms);
  kill(pid, SIGINT);
  EXPECT_EQ(finish_command(pid, scratch / "run").status, kInterrupted);
  close(out);
}

}  // namespace
}  // namespace tautline::tests
