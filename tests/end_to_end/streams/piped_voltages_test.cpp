// Voltages that come by a pipe are processed as they come, and give what files of the same bytes give.
#include "tests/end_to_end/streams/piped_voltages.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;

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

TEST_F(PipedVoltages, ThatBeginWithZerosAreCorrelatedAsFilesAre) {
  constexpr std::size_t kTimes = 120'000, kFirst = 16 * 1024, kInputBytes = 2, kTimeBytes = 8;
  DadaFile dada;
  dada.payload_bytes = kTimeBytes * kTimes;
  std::string bytes = dada.bytes();
  std::fill_n(bytes.end() - kTimeBytes * kTimes,
              kTimeBytes * (kFirst + 2000 + random() % (2 * kFirst)), '\0');
  const std::vector<std::string> options{"--channels", "16", "--integration", "0.02"};
  expect_equal_visibilities(options, bytes, scratch / "x.dada", kDone);
  // One input: its gains are the median of the others', which are as strong.
  bytes = dada.bytes();
  for (std::size_t t = 0; t < kFirst + 2000; ++t)
    std::fill_n(bytes.end() - kTimeBytes * (kTimes - t), kInputBytes, '\0');
  write_file(scratch / "x.dada", bytes);
  const CommandResult of_file = run({"correlate", scratch / "x.dada", "-o", scratch / "file.uvh5",
                                     "--channels", "16", "--overwrite"});
  ASSERT_EQ(of_file.status, kDone) << of_file.err;
  const CommandResult piped = run_piped(
      {"correlate", pipe, "-o", scratch / "pipe.uvh5", "--channels", "16", "--overwrite"}, bytes);
  EXPECT_EQ(piped.status, kDone) << piped.err;
  const FileVisibilities is = visibilities_in(scratch / "pipe.uvh5"),
                         should = visibilities_in(scratch / "file.uvh5");
  ASSERT_EQ(is.values.size(), should.values.size());
  double power = 0;
  for (const auto& value : should.values) power = std::max<double>(power, std::abs(value));
  for (std::size_t k = 0; k < is.values.size(); ++k)
    EXPECT_LT(std::abs(is.values[k] - should.values[k]), 0.01 * power) << k;
}

// [time][input] as numpy.save of a transposed array writes it; its shape does not end the stream.
TEST_F(PipedVoltages, OfArraysAreCorrelatedAsFilesAre) {
  constexpr std::size_t kInputs = 3, kTimes = 60'000;
  std::string header = "{'descr': '<c8', 'fortran_order': True, 'shape': (3, 60000), }";
  header.resize(128 - 11, ' ');
  std::string bytes =
      std::string("\x93NUMPY\x01", 7) + '\0' + static_cast<char>(118) + '\0' + header + '\n';
  std::normal_distribution<float> normal;
  std::vector<float> samples(kTimes * kInputs * 2);
  for (float& value : samples) value = normal(random);
  bytes.append(reinterpret_cast<const char*>(samples.data()), samples.size() * sizeof(float));
  const std::vector<std::string> options{"--rate-hz",  "1.28e6", "--centre-hz",   "1420e6",
                                         "--channels", "16",     "--integration", "0.01"};
  expect_equal_visibilities(options, bytes, scratch / "x.npy", kDone);
  bytes.resize(bytes.size() - 8 * kInputs * (1 + random() % 20'000) - random() % 8);
  expect_equal_visibilities(options, bytes, scratch / "x.npy", kDamaged);
}

// Nobody writes to the pipe. A file of the same form says the rest.
TEST_F(PipedVoltages, ChecksAndPlansDoNotWaitForThem) {
  DadaFile dada;
  write_file(scratch / "x.dada", dada.bytes());
  write_file(scratch / "x.toml",
             "[voltages]\ntype = \"voltage_files\"\n"
             "[spectra]\ntype = \"filter_bank\"\ninputs = \"voltages\"\nchannels = 16\n"
             "[sums]\ntype = \"correlator\"\ninputs = \"spectra\"\nintegration_s = 0.01\n"
             "[visibilities]\ntype = \"visibility_file\"\ninputs = \"sums\"\npath = \"" +
                 (scratch / "x.uvh5") + "\"\n");
  for (const char* word : {"--check", "--plan"}) {
    const auto words = [&](const std::string& input) {
      return std::vector<std::string>{"run", scratch / "x.toml", word, "--set",
                                      "voltages.files=" + input};
    };
    const CommandResult refused = run(words(pipe));
    EXPECT_EQ(refused.status, kWrongUsage) << refused.err;
    EXPECT_NE(refused.err.find(pipe + ", of which nothing is known before the run reads it"),
              std::string::npos)
        << refused.err;
    EXPECT_NE(refused.err.find("voltages.files"), std::string::npos) << refused.err;
    EXPECT_EQ(run(words(scratch / "x.dada")).status, kDone);
  }
}

TEST_F(PipedVoltages, OfGuppiAreCorrelatedAsFilesAre) {
  expect_equal_visibilities({"--integration", "0.01"}, guppi(), scratch / "x.raw", kDamaged);
  expect_equal_visibilities({"--fine", "8", "--integration", "0.01"}, guppi(), scratch / "x.raw",
                            kDamaged);
}

// Two threads of real samples of 8 bits, 640 frames of 2,000 a second, which ends inside; frames are lost and moved.
std::string vdif(std::mt19937_64& random) {
  constexpr std::uint32_t kFrames = 300, kFirst = 560, kPerSecond = 640, kSamples = 2000;
  std::vector<std::string> frames;
  for (std::uint32_t n = 0; n < kFrames; ++n)
    for (std::uint32_t thread = 0; thread < 2; ++thread) {
      std::string frame;
      const auto word = [&](std::uint32_t value) {
        for (int k = 0; k < 4; ++k) frame += static_cast<char>(value >> (8 * k) & 255);
      };
      word(1000 + (kFirst + n) / kPerSecond);
      word(28u << 24 | (kFirst + n) % kPerSecond);
      word(1u << 29 | (kSamples + 32) / 8);
      word(7u << 26 | thread << 16 | 7);
      for (int k = 0; k < 4; ++k) word(0);
      for (std::uint32_t k = 0; k < kSamples; ++k) frame += static_cast<char>(random());
      frames.push_back(frame);
    }
  std::string bytes;
  for (int k = 0; k < 10; ++k) {
    const std::size_t at = 10 + random() % (frames.size() - 30);
    std::swap(frames[at], frames[at + random() % 10]);
    frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(at));
  }
  for (const std::string& frame : frames) bytes += frame;
  return bytes;
}

TEST_F(PipedVoltages, OfVdifAreCorrelatedAsFilesAre) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--channels", "16", "--integration", "0.02"},
        {"--channels", "32", "--integration", "0.03", "--start", "0.2", "--threads-are", "antennas",
         "--rate-hz", "1.28e6"}})
    expect_equal_visibilities(options, vdif(random), scratch / "x.vdif", kDamaged);
}

TEST_F(PipedVoltages, OfAnMwaReceiverAreCorrelatedAsFilesAre) {
  std::string bytes;
  auto counter = static_cast<std::uint16_t>(random());
  for (std::size_t n = 0; n < 100'000; ++n, ++counter) {
    if (n == 40'000) counter = static_cast<std::uint16_t>(counter + 1 + random() % 1000);
    bytes += static_cast<char>(counter & 255);
    bytes += static_cast<char>(counter >> 8);
    for (int k = 0; k < 32; ++k) bytes += static_cast<char>(random());
  }
  expect_equal_visibilities({"--channels", "16", "--integration", "0.02"}, bytes,
                            scratch / "x.mwa32t", kDamaged);
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
  write_file(scratch / "p.toml", correlate_pipeline("-", scratch / "pipe.uvh5", "channels = 16\n",
                                                    "integration_s = 0.02\n"));
  ASSERT_EQ(run({"correlate", scratch / "x.dada", "-o", scratch / "file.uvh5", "--channels", "16",
                 "--integration", "0.02"})
                .status,
            kDone);
  const CommandResult piped =
      run_shell("cat '" + (scratch / "x.dada") + "' | " +
                    command_line({"--quiet", "--device", "cpu", "run", scratch / "p.toml"}),
                scratch / "run");
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

// More samples than FILE_SIZE says are taken; a second header there is no samples.
TEST_F(PipedVoltages, OfSeveralDadaFilesAreRefused) {
  DadaFile dada;
  dada.payload_bytes = 8 * (20'000 + random() % 20'000);
  dada.extra = "FILE_SIZE " + std::to_string(dada.payload_bytes) + "\n";
  const std::string bytes = dada.bytes(), second = (dada.extra = "", dada.bytes());
  const std::vector<std::string> words{"correlate",  pipe, "-o",         scratch / "v.uvh5",
                                       "--channels", "16", "--overwrite"};
  const CommandResult longer = run_piped(words, bytes + second.substr(4096));
  EXPECT_EQ(longer.status, kDone) << longer.err;
  const CommandResult result = run_piped(words, bytes + second);
  EXPECT_EQ(result.status, kFailed) << result.err;
  EXPECT_NE(result.err.find("byte " + std::to_string(bytes.size()) +
                            ": another DADA header, expected one header, and samples behind it; "
                            "give the files by their names"),
            std::string::npos)
      << result.err;
}

TEST_F(PipedVoltages, ThatBreakOffAreNamed) {
  const std::vector<std::string> words{"correlate",        pipe,         "-o",
                                       scratch / "v.uvh5", "--channels", "16"};
  const std::string bytes = DadaFile{}.bytes();
  for (const std::size_t length : {std::size_t{0}, std::size_t{100}, std::size_t{4096}}) {
    // What is no whole header may be kept in a file for a moment, to see what it is.
    const pid_t reader = start_command(whole(words), scratch / "run");
    write_in_pieces(pipe, bytes.substr(0, length), random);
    const CommandResult result = finish_command(reader, scratch / "run");
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
