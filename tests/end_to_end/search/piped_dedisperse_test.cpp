// `dedisperse` of a pipe: as the data come, with the series of a file.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <map>
#include <thread>

#include "tests/end_to_end/search/piped_run.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;
using SeriesFiles = std::map<std::string, std::string>;  // bytes by name

class PipedDedispersion : public PipedRun {
 protected:
  std::vector<std::string> words(const std::string& input, const std::string& output,
                                 const std::vector<std::string>& more) const {
    std::vector<std::string> all{"--device", "cpu", "dedisperse", input, "-o", output};
    all.insert(all.end(), more.begin(), more.end());
    if (std::find(more.begin(), more.end(), "--dms") == more.end())
      all.insert(all.end(), {"--dms", "0:60:15"});
    return all;
  }
  // All but the record.
  static SeriesFiles series_in(const std::string& folder) {
    SeriesFiles files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() != ".json")
        files[entry.path().filename()] = read_file(entry.path());
    return files;
  }
  static nlohmann::json record_in(const std::string& folder) {
    return nlohmann::json::parse(read_file(folder + "/dedisperse.json"));
  }
  static std::string in_words(const std::vector<std::string>& options) {
    std::string all;
    for (const std::string& option : options) all += option + " ";
    return all;
  }
  // Noise with a pulse, a channel that never changes, lost packets, padding in all channels and in one.
  std::string file_of_noise(std::size_t times) {
    auto values = noise_with_pulses(shape_, times, {{40, times / 3, 40}}, random_);
    const auto hold = [&](std::size_t first, std::size_t count, std::size_t c, std::size_t end) {
      for (std::size_t t = first; t < std::min(times, first + count); ++t)
        for (std::size_t k = c; k < end; ++k) values[t * 32 + k] = 2;
    };
    hold(0, times, 7, 8);
    hold(random_() % times, 30 + random_() % 60, 0, 32);
    hold(times / 2, times / 10, 0, 32);
    hold(times / 4, times / 8, 20, 21);
    // Steps as wide as the noise: of noise that hardly changes, a pipe's first samples and the whole file would have
    // other channels that never change.
    if (shape_.nbits < 8)
      for (double& value : values)
        value = std::clamp(std::floor((value - 84) / 8), 0.0, std::exp2(shape_.nbits) - 1);
    write_filterbank(scratch_ / "a.fil", shape_, values);
    return read_file(scratch_ / "a.fil");
  }
  std::string folder(const std::string& name) const {
    std::filesystem::remove_all(scratch_ / name);
    return scratch_ / name;
  }
};

// The last spectrum is cut: whole spectra are dedispersed, and the rest is counted.
TEST_F(PipedDedispersion, SeriesAreThoseOfTheFile) {
  const std::vector<std::vector<std::string>> options{
      {},
      {"--zero-dm", "--ignorechan", "3", "--format", "tim"},
      {"--iqrm", "--duration", "2.5"},
      {"--keep-constant", "--memory", "24M"},
      {"--dms", "0:200", "--dm-tolerance", "1.2", "--downsample-tolerance", "1.5"}};
  for (const int bits : {8, 2, 32}) {
    shape_.nbits = bits;
    std::string bytes = file_of_noise(4000 + random_() % 36'000);
    bytes.resize(bytes.size() - 5);
    write_file(scratch_ / "a.fil", bytes);
    for (const auto& more : options) {
      const std::string of_file = folder("file"), of_pipe = folder("pipe");
      const CommandResult file =
          run_command(words(scratch_ / "a.fil", of_file, more), scratch_ / "run");
      const bool cut = in_words(more).find("--duration") == std::string::npos;
      ASSERT_TRUE(file.status == kDamaged || (!cut && file.status == kDone)) << file.err;
      const CommandResult piped = run_piped(words(pipe_, of_pipe, more), bytes);
      const std::string what = std::to_string(bits) + " bits, " + in_words(more) + piped.err;
      ASSERT_TRUE(piped.status == kDamaged || (!cut && piped.status == kDone)) << what;
      const SeriesFiles expected = series_in(of_file), given = series_in(of_pipe);
      ASSERT_GT(expected.size(), 4u) << what;
      for (const auto& [name, series] : expected) {
        ASSERT_TRUE(given.contains(name)) << name << ": " << what;
        EXPECT_TRUE(given.at(name) == series) << name << ": " << what;
      }
      EXPECT_EQ(given.size(), expected.size()) << what;
      const nlohmann::json a = record_in(of_file), b = record_in(of_pipe);
      for (const char* key :
           {"dms", "data_segments", "samples", "ignored_channels", "constant_channels",
            "gap_samples", "empty_samples", "empty_values", "empty_stretches", "start_mjd"})
        EXPECT_EQ(a[key], b[key]) << key << ": " << what;
      ASSERT_EQ(a["segments"].size(), b["segments"].size()) << what;
      for (std::size_t k = 0; k < a["segments"].size(); ++k)  // blocks may differ
        for (const char* key : {"samples", "delays_samples", "downsample", "trials"})
          EXPECT_EQ(a["segments"][k][key], b["segments"][k][key]) << key << ": " << what;
      if (cut) {
        EXPECT_EQ(b["trailing_bytes"], a["trailing_bytes"]) << what;
        EXPECT_NE(b["trailing_bytes"], 0) << what;
      }
    }
  }
}

// At its start, before it touches what the first one writes; a run that was killed keeps nobody out.
TEST_F(PipedDedispersion, OfTwoRunsToOneFolderTheSecondIsRefused) {
  const std::string bytes = file_of_noise(30'000);
  const std::size_t most = bytes.size() - 1000;
  std::filesystem::create_directory(scratch_ / "second");
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--format", "tim", "--overwrite"}}) {
    const std::string of_file = folder("file"), of_pipe = folder("pipe");
    const auto dedisperse_file = [&](const std::string& output, std::vector<std::string> options) {
      return run_command(words(scratch_ / "a.fil", output, options), scratch_ / "second");
    };
    const CommandResult file = dedisperse_file(of_file, more);
    ASSERT_EQ(file.status, kDone) << file.err;
    const auto begin = [&](int& out) {
      const pid_t pid = start(words(pipe_, of_pipe, more));
      out = open_pipe();
      feed(out, bytes, 0, most);  // files are made once the first 16,384 spectra are there
      const std::string first =
          of_pipe + "/a_DM0.00." + (more.empty() ? "dat" : "tim") + ".partial";
      for (int wait = 0; wait < 12'000 && !std::filesystem::exists(first); ++wait)
        std::this_thread::sleep_for(5ms);
      return pid;
    };
    int out = -1;
    const pid_t first = begin(out);
    std::vector<std::string> overwriting = more;
    if (more.empty()) overwriting.push_back("--overwrite");
    for (const auto& options : {more, overwriting}) {
      const CommandResult second = dedisperse_file(of_pipe, options);
      EXPECT_EQ(second.status, kFailed) << second.err;
      EXPECT_NE(second.err.find(of_pipe + ": output: another run writes into it"),
                std::string::npos)
          << second.err;
    }
    feed(out, bytes, most, bytes.size());
    close(out);
    const CommandResult result = finish_command(first, scratch_ / "run");
    EXPECT_EQ(result.status, kDone) << result.err;
    EXPECT_TRUE(series_in(of_pipe) == series_in(of_file));

    std::filesystem::remove_all(of_pipe);
    const pid_t killed = begin(out);
    kill(killed, SIGKILL);
    finish_command(killed, scratch_ / "run");
    close(out);
    EXPECT_FALSE(series_in(of_pipe).empty());
    const CommandResult next = dedisperse_file(of_pipe, more);
    EXPECT_EQ(next.status, kDone) << next.err;
    EXPECT_TRUE(series_in(of_pipe) == series_in(of_file));
  }
}

// A stream that does not end: files grow while it goes on, and Ctrl-C gives the series of what had come.
TEST_F(PipedDedispersion, SeriesGrowWhileTheStreamGoesOn) {
  const std::string bytes = file_of_noise(60'000);
  const std::string of_file = folder("file"), of_pipe = folder("pipe");
  ASSERT_EQ(run_command(words(scratch_ / "a.fil", of_file, {}), scratch_ / "run").status, kDone);
  const pid_t pid = start(words(pipe_, of_pipe, {}));
  const int out = open_pipe();
  feed(out, bytes, 0, bytes.size());
  const std::string growing = of_pipe + "/a_DM15.00.dat.partial";
  const auto written = [&] {
    std::error_code none;
    const auto size = std::filesystem::file_size(growing, none);
    return none ? 0 : size;
  };
  // Two blocks. Only a run that never writes waits so long.
  for (int wait = 0; wait < 12'000 && written() < 4 * 16'000; ++wait)
    std::this_thread::sleep_for(10ms);
  EXPECT_GE(written(), 4 * 16'000u) << read_file(scratch_ / "run" + "/err");
  kill(pid, SIGINT);
  const CommandResult result = finish_command(pid, scratch_ / "run");
  close(out);
  EXPECT_EQ(result.status, kDamaged) << result.err;
  EXPECT_NE(result.err.find("stopped before its input ended"), std::string::npos) << result.err;
  EXPECT_TRUE(series_in(of_pipe) == series_in(of_file));
}

// However much comes.
TEST_F(PipedDedispersion, MemoryIsBounded) {
  shape_.nchans = 128;
  shape_.foff = -1;
  shape_.tsamp = 50e-6;
  write_filterbank(scratch_ / "a.fil", shape_, noise_with_pulses(shape_, 20'000, {}, random_));
  const std::string first = read_file(scratch_ / "a.fil");
  const std::string more = first.substr(first.size() - 20'000 * 128);
  long peaks_kib[2] = {0, 0};
  for (const int large : {0, 1}) {
    const pid_t pid = start({"--device", "cpu", "--threads", "2", "dedisperse", pipe_, "-o",
                             folder("pipe"), "--dms", "0:40:2", "--memory", "96M"});
    const int out = open_pipe();
    feed(out, first, 0, first.size());
    for (int k = 0; k < (large == 1 ? 60 : 5); ++k) feed(out, more, 0, more.size());
    EXPECT_TRUE(std::filesystem::is_empty(scratch_ / "meanwhile"));
    close(out);
    int status = 0;
    rusage usage{};
    wait4(pid, &status, 0, &usage);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << read_file(scratch_ / "run/err");
    peaks_kib[large] = usage.ru_maxrss;
  }
  std::cout << "peak: " << peaks_kib[0] << " KiB for 6 s, " << peaks_kib[1] << " KiB for 61 s\n";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(peaks_kib[1], (96 + 64) * 1024);
#endif
  EXPECT_LT(peaks_kib[1], peaks_kib[0] * 11 / 10 + 8 * 1024);
}

// As of a file, but nobody could know before the end.
TEST_F(PipedDedispersion, StreamsShorterThanTheDelayAreRefused) {
  const std::string bytes = file_of_noise(4000);
  const std::string output = folder("pipe");
  const auto highest = [](const std::string& said) {
    const std::size_t at = said.find("the highest DM may be");
    return at == std::string::npos ? said : said.substr(at);
  };
  const CommandResult piped = run_piped(words(pipe_, output, {"--dms", "0:1800:200"}), bytes);
  const CommandResult file = run_command(
      words(scratch_ / "a.fil", folder("file"), {"--dms", "0:1800:200"}), scratch_ / "run");
  EXPECT_EQ(piped.status, kWrongUsage) << piped.err;
  EXPECT_EQ(file.status, kWrongUsage) << file.err;
  EXPECT_EQ(highest(piped.err), highest(file.err));
  EXPECT_FALSE(std::filesystem::exists(output));
  const CommandResult header =
      run_piped(words(pipe_, output, {}), bytes.substr(0, bytes.size() - 4000 * 32));
  EXPECT_EQ(header.status, kWrongUsage);
  EXPECT_NE(header.err.find("no samples"), std::string::npos) << header.err;
  EXPECT_FALSE(std::filesystem::exists(output));
}

// Nobody knows how long they become: the header is written at the end, or with Ctrl-C.
TEST_F(PipedDedispersion, ArraysGrowAsTheStreamComes) {
  const std::string bytes = file_of_noise(20'000 + random_() % 40'000);
  ASSERT_EQ(
      run_command(words(scratch_ / "a.fil", scratch_ / "file.npy", {}), scratch_ / "run").status,
      kDone);
  const std::string array = read_file(scratch_ / "file.npy");
  const CommandResult piped = run_piped(words(pipe_, scratch_ / "pipe.npy", {}), bytes);
  EXPECT_EQ(piped.status, kDone) << piped.err;
  EXPECT_TRUE(read_file(scratch_ / "pipe.npy") == array);

  const pid_t pid = start(words(pipe_, scratch_ / "stopped.npy", {}));
  const int out = open_pipe();
  feed(out, bytes, 0, bytes.size());
  std::error_code none;
  const std::string growing = scratch_ / "stopped.npy.partial";
  // Only a run that never writes waits so long.
  for (int wait = 0; wait < 12'000 && std::filesystem::file_size(growing, none) + 1 < 16'000;
       ++wait)
    std::this_thread::sleep_for(10ms);
  kill(pid, SIGINT);
  const CommandResult stopped = finish_command(pid, scratch_ / "run");
  close(out);
  EXPECT_EQ(stopped.status, kDamaged) << stopped.err;
  EXPECT_TRUE(read_file(scratch_ / "stopped.npy") == array);

  write_file(scratch_ / "p.toml",
             "[a]\ntype = \"live_filterbank\"\nfill_gaps = true\nleave_out_constant = "
             "true\n[d]\ntype = \"dedisperse\"\n"
             "inputs = \"a\"\ndms.range = \"0:60:15\"\n[t]\ntype = \"trial_files\"\n"
             "inputs = \"d\"\npath = \"" +
                 (scratch_ / "run.npy") + "\"\n");
  const CommandResult of_pipeline = run_shell(
      "cat '" + (scratch_ / "a.fil") + "' | " + command_line({"run", scratch_ / "p.toml"}),
      scratch_ / "run");
  EXPECT_EQ(of_pipeline.status, kDone) << of_pipeline.err;
  EXPECT_TRUE(read_file(scratch_ / "run.npy") == array);
}

}  // namespace
}  // namespace tautline::tests
