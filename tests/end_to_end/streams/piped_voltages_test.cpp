// Voltages that come by a pipe are processed as they come, and give what files of the same bytes give.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "tautline/core/constant_run.h"
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

// 4 channels of 4 inputs: channel 2 of input 1 never changes, channel 3 of input 0 stops for a while.
class PipedChannels : public PipedVoltages {
 protected:
  static constexpr std::size_t kTimes = 60'000, kChannels = 4, kInputs = 4;

  void make_bytes(const std::string& bandwidth) {
    DadaFile dada;
    dada.nchan = std::to_string(kChannels);
    dada.bw = bandwidth;
    dada.payload_bytes = kTimes * kChannels * kInputs * 2;
    bytes = dada.bytes();
    stops = 10'000 + random() % 5'000, stopped = 5'000 + random() % 30'000;
    for (std::size_t t = 0; t < kTimes; ++t) {
      put(t, 2, 1, '\7');
      if (t >= stops && t < stops + stopped) put(t, 3, 0, '\0');
    }
    put(stops - 1, 3, 0, '\1');
    put(stops + stopped, 3, 0, '\1');
    write_file(scratch / "x.dada", bytes);
  }
  void put(std::size_t t, std::size_t channel, std::size_t input, char value) {
    const std::size_t at = 4096 + ((t * kChannels + channel) * kInputs + input) * 2;
    bytes[at] = bytes[at + 1] = value;
  }
  // The empty times of a channel and input.
  std::pair<std::size_t, std::size_t> empty_of(std::size_t channel, std::size_t input) const {
    if (channel == 2 && input == 1) return {repeats, kTimes};
    if (channel == 3 && input == 0) return {stops + repeats, stops + stopped};
    return {0, 0};
  }
  // Spectra of `hop` samples that need none of the empty times of either input.
  std::int64_t whole_spectra(std::size_t channel, std::size_t i, std::size_t j, std::size_t hop,
                             std::size_t taps) const {
    std::int64_t count = 0;
    for (std::size_t first = 0; first + taps * hop <= kTimes; first += hop) {
      const auto touches = [&](std::size_t input) {
        const auto [begin, end] = empty_of(channel, input);
        return begin < end && first < end && first + taps * hop > begin;
      };
      count += touches(i) || touches(j) ? 0 : 1;
    }
    return count;
  }
  // The summary of a command.
  nlohmann::json json_of(const CommandResult& result) const {
    EXPECT_EQ(result.status, kDone) << result.err;
    return nlohmann::json::parse(result.out.empty() ? "{}" : result.out);
  }

  std::string bytes;
  std::size_t stops = 0, stopped = 0;
  const std::size_t repeats = core::repeats_of_nothing(1, 1.28e6 * kChannels * kInputs);
};

TEST_F(PipedChannels, ThatStopAreFlaggedAsTheyCome) {
  for (const std::string bandwidth : {"5.12", "-5.12"})
    for (const std::size_t fine : {1, 8}) {
      make_bytes(bandwidth);
      const std::size_t taps = fine > 1 ? 8 : 1;
      const auto words = [&](const std::string& input, const std::string& output) {
        std::vector<std::string> all{"--json",      "correlate",     input,  "-o",         output,
                                     "--overwrite", "--integration", "0.01", "--keep-edge"};
        if (fine > 1) all.insert(all.end(), {"--fine", std::to_string(fine)});
        return all;
      };
      const auto summary = json_of(run_piped(words(pipe, scratch / "pipe.uvh5"), bytes));
      EXPECT_EQ(summary["empty_values"], kTimes - repeats + stopped - repeats);
      EXPECT_EQ(summary["empty_channels"],
                nlohmann::json({{{"channel", 2}, {"input", 1}, {"samples", kTimes - repeats}},
                                {{"channel", 3}, {"input", 0}, {"samples", stopped - repeats}}}));
      EXPECT_EQ(summary["empty_samples"], 0);
      auto of_file = words(scratch / "x.dada", scratch / "file.uvh5");
      of_file.emplace_back("--keep-constant");
      json_of(run(of_file));
      const FileVisibilities live = visibilities_in(scratch / "pipe.uvh5"),
                             all = visibilities_in(scratch / "file.uvh5");
      ASSERT_EQ(live.counts.size(), all.counts.size());
      const std::size_t channels = kChannels * fine, baselines = kInputs * (kInputs + 1) / 2;
      for (std::size_t c = 0; c < channels; ++c) {
        const bool mirrored = fine > 1 && bandwidth[0] == '-';
        const std::size_t coarse = mirrored ? kChannels - 1 - c / fine : c / fine;
        for (std::size_t i = 0, baseline = 0; i < kInputs; ++i)
          for (std::size_t j = 0; j <= i; ++j, ++baseline) {
            std::int64_t count = 0;
            for (std::size_t k = c * baselines + baseline; k < live.counts.size();
                 k += channels * baselines) {
              count += live.counts[k];
              if (live.counts[k] == all.counts[k]) {
                EXPECT_EQ(live.values[k], all.values[k]);
              }
            }
            EXPECT_EQ(count, whole_spectra(coarse, i, j, fine, taps))
                << bandwidth << ", " << fine << ": " << c << " " << i << " " << j;
          }
      }
      // Of files, a channel that never changes is flagged as a whole.
      of_file.pop_back();
      json_of(run(of_file));
      const FileVisibilities flagged = visibilities_in(scratch / "file.uvh5");
      for (std::size_t k = 0; k < flagged.counts.size(); ++k) {
        const std::size_t c = k / baselines % channels, baseline = k % baselines;
        const bool mirrored = fine > 1 && bandwidth[0] == '-';
        const std::size_t coarse = mirrored ? kChannels - 1 - c / fine : c / fine;
        const bool of_input_1 = baseline == 1 || baseline == 2 || baseline == 4 || baseline == 7;
        EXPECT_EQ(flagged.counts[k], coarse == 2 && of_input_1 ? 0 : all.counts[k]) << c;
      }
    }
}

TEST_F(PipedChannels, ThatStopAreInvalidInWhatChannelizeWrites) {
  constexpr std::size_t kFine = 8, kTaps = 8;
  make_bytes("5.12");
  const auto words = [&](const std::string& input, std::vector<std::string> more = {}) {
    std::vector<std::string> all{
        "--json", "channelize",          input,        "-o", scratch / "channels.dada",
        "--fine", std::to_string(kFine), "--overwrite"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto spectra = static_cast<std::int64_t>(kTimes / kFine - kTaps + 1);
  const auto invalid = [&](std::size_t channel, std::size_t input) {
    return spectra - whole_spectra(channel, input, input, kFine, kTaps);
  };
  // In one of four channels; rounded up in every block.
  const double of_pipe = static_cast<double>(invalid(2, 1) + invalid(3, 0)) / 4;
  const auto piped = json_of(run_piped(words(pipe), bytes));
  EXPECT_NEAR(piped["invalid_spectra"].get<double>(), of_pipe, 0.02 * of_pipe);
  const auto record = nlohmann::json::parse(read_file(scratch / "channels.dada.json"));
  EXPECT_EQ(record["empty_channels"].size(), 2u);
  // Spans are of whole inputs: the values of single channels are counted, and readers say so.
  EXPECT_EQ(record["invalid"], nlohmann::json::array());
  EXPECT_EQ(record["invalid_values"], kFine * (invalid(2, 1) + invalid(3, 0)));
  const CommandResult read =
      run({"correlate", scratch / "channels.dada", "-o", scratch / "v.uvh5"});
  EXPECT_EQ(read.status, kDamaged);
  EXPECT_NE(read.err.find(" invalid values of single channels are not listed"), std::string::npos)
      << read.err;
  const auto filed = json_of(run(words(scratch / "x.dada")));
  EXPECT_EQ(filed["constant_channels"], nlohmann::json({{{"channel", 2}, {"inputs", {1}}}}));
  EXPECT_NEAR(filed["invalid_spectra"].get<double>(), static_cast<double>(spectra) / 4,
              0.02 * static_cast<double>(spectra));
  EXPECT_EQ(json_of(run(words(scratch / "x.dada", {"--keep-constant"})))["invalid_spectra"], 0);
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
