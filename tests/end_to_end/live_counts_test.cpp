// Counts through a pipe: written again and again, stopped, broken off, killed.
#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "tests/end_to_end/piped_photons.h"
#include "tests/support/small_disk.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kSensors = 3;

class LiveCounts : public PipedPhotons {
 protected:
  std::string counts(std::size_t samples) {
    std::string bytes(samples * kSensors, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 7);
    return bytes;
  }
  std::vector<std::string> command(const std::string& input, const std::string& output,
                                   const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{"--device", "cpu",      "--json", "autocorrelate", input, "-o",
                                 output,     "--dtype",  "u8",     "--sensors",     "3",   "--bin",
                                 "1e-5",     "--levels", "5"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(LiveCounts, ThroughAPipeAreThoseOfTheFile) {
  NEEDS_HDF5;
  const std::string bytes = counts(50'000);
  write_file(scratch / "x.u8", bytes);
  ASSERT_EQ(run(command(scratch / "x.u8", scratch / "file.h5")).status, kDone);
  const CommandResult live = run_through_pipe(bytes, command("-", scratch / "live.h5"));
  EXPECT_EQ(live.status, kDone) << live.err;
  EXPECT_EQ(json_of(live)["samples"], 50'000);
  EXPECT_EQ(json_of(live)["live"], true);
  EXPECT_EQ(json_of(live)["interrupted"], false);
  EXPECT_GE(json_of(live)["segments"], 10);
  EXPECT_LT(json_of(live)["segments"], 20);
  expect_same_sums(scratch / "file.h5", scratch / "live.h5");

  // A part, behind a header.
  const std::vector<std::string> part{"--start", "0.1", "--duration", "0.2"};
  std::vector<std::string> words = command(scratch / "x.u8", scratch / "part.h5", part);
  ASSERT_EQ(run(words).status, kDone);
  words = command("-", scratch / "live_part.h5", part);
  words.insert(words.end(), {"--header", "5"});
  const CommandResult behind = run_through_pipe("12345" + bytes, words);
  EXPECT_EQ(behind.status, kDone) << behind.err;
  EXPECT_EQ(json_of(behind)["samples"], 20'000);
  expect_same_sums(scratch / "part.h5", scratch / "live_part.h5");
}

// They stay in a stream's sums, at its end, too, since nobody knows that it is one.
TEST_F(LiveCounts, SensorsThatStopAreNamed) {
  std::string bytes = counts(50'000);
  for (std::size_t t = 20'000; t < 30'000; ++t) bytes[t * kSensors + 1] = '\0';
  std::fill(bytes.end() - 10'000 * kSensors, bytes.end(), '\0');
  std::vector<std::string> words = command("-", scratch / "live.zip");
  for (const bool keep : {false, true}) {
    if (keep) words.insert(words.end(), {"--keep-constant", "--overwrite"});
    const CommandResult live = run_through_pipe(bytes, words);
    EXPECT_EQ(live.status, kDone) << live.err;
    const auto json = json_of(live);
    EXPECT_EQ(json["samples"], 50'000);
    EXPECT_EQ(live.err.find("counts stop") == std::string::npos, keep) << live.err;
    ASSERT_EQ(json["empty_stretches"].size(), keep ? 0u : 2u) << live.out;
    if (keep) continue;
    const auto& one = json["empty_stretches"][0];
    EXPECT_EQ(one["names"], nlohmann::json({"sensor 1"}));
    EXPECT_NEAR(one["first_sample"].get<double>(), 20'000, 200);
    EXPECT_NEAR(one["samples"].get<double>(), 10'000, 400);
    const auto& all = json["empty_stretches"][1];
    EXPECT_EQ(all["sensors"], kSensors);
    EXPECT_EQ(all["left_out"], false);
    EXPECT_NEAR(all["first_sample"].get<double>(), 40'000, 200);
  }
}

TEST_F(LiveCounts, APartialRowIsNamedAndCounted) {
  const CommandResult live =
      run_through_pipe(counts(1000) + "ab", command("-", scratch / "live.zip"));
  EXPECT_EQ(live.status, kDamaged) << live.err;
  EXPECT_EQ(json_of(live)["samples"], 1000);
  EXPECT_EQ(json_of(live)["trailing_bytes"], 2);
  EXPECT_NE(live.err.find("standard input: last 2 bytes, from byte 3000"), std::string::npos)
      << live.err;
  EXPECT_EQ(
      run_through_pipe(counts(1000) + "ab", command("-", scratch / "strict.zip", {"--strict"}))
          .status,
      kFailed);
}

TEST_F(LiveCounts, NothingAndFloatsThatAreNoCounts) {
  // An existing file stays.
  write_file(scratch / "nothing.zip", "kept");
  for (const std::string& bytes : {std::string(), std::string("ab")}) {
    const CommandResult nothing =
        run_through_pipe(bytes, command("-", scratch / "nothing.zip", {"--overwrite"}));
    EXPECT_EQ(nothing.status, kFailed) << nothing.err;
    EXPECT_NE(nothing.err.find("standard input: no samples came"), std::string::npos)
        << nothing.err;
    EXPECT_EQ(read_file(scratch / "nothing.zip"), "kept");
  }
  // No option is to blame.
  const CommandResult empty =
      run_through_pipe("", {"autocorrelate", "-", "-o", scratch / "empty.zip", "--bin", "1"});
  EXPECT_EQ(empty.status, kFailed) << empty.err;
  EXPECT_NE(empty.err.find("standard input: empty, expected counts or time tags"),
            std::string::npos)
      << empty.err;
  EXPECT_EQ(empty.err.find("--dtype"), std::string::npos) << empty.err;

  std::vector<float> values(900, 2.0f);
  values[600 + 1] = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::string> words = command("-", scratch / "floats.zip");
  *(std::find(words.begin(), words.end(), "u8")) = "f32";
  const CommandResult floats = run_through_pipe(
      {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)}, words);
  EXPECT_EQ(floats.status, kDamaged) << floats.err;
  EXPECT_EQ(json_of(floats)["samples"], 200);
  EXPECT_EQ(json_of(floats)["dropped_samples"], 300);
  EXPECT_NE(floats.err.find("count at time 200, sensor 1"), std::string::npos) << floats.err;
}

TEST_F(LiveCounts, HeadersOfFilesAndMissingOptionsAreRefused) {
  const auto expect_refused = [&](const std::string& bytes, std::vector<std::string> words,
                                  int status, const std::string& said) {
    const CommandResult result = run_through_pipe(bytes, words);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << said << "\n" << result.err;
    EXPECT_FALSE(std::filesystem::exists(scratch / "x.zip"));
  };
  const auto words = command("-", scratch / "x.zip");
  expect_refused("\x93NUMPY\1" + std::string(200, ' '), words, kWrongUsage, "--sensors");
  expect_refused(std::string("II*\0\x8\0\0\0", 8) + std::string(100, '\0'), words, kFailed,
                 "a TIFF stack");
  const std::string sigproc = std::string("\x0c\0\0\0HEADER_START", 16) + counts(40);
  expect_refused(sigproc, words, kFailed, "a sigproc filterbank");
  expect_refused("SIMPLE  =" + counts(40), words, kFailed, "FITS");
  // Behind a header that is skipped, and where the counts only begin so, they are counts.
  EXPECT_EQ(run_through_pipe(sigproc, command("-", scratch / "y.zip", {"--header", "16"})).status,
            kDone);
  EXPECT_EQ(
      run_through_pipe(std::string("\x0c\0\0", 3) + counts(40), command("-", scratch / "z.zip"))
          .status,
      kDone);
  expect_refused(counts(10), {"autocorrelate", "-", "-o", scratch / "x.zip", "--bin", "1"},
                 kWrongUsage, "give --dtype");
  expect_refused(counts(10), command("-", scratch / "x.zip", {"--gate", "0:1"}), kWrongUsage,
                 "--gate");
  expect_refused(std::string("PQTTTR\0\0", 8) + std::string(100, ' '),
                 {"autocorrelate", "-", "-o", scratch / "x.zip", "--bin", "1"}, kWrongUsage,
                 "--detectors");
}

TEST_F(LiveCounts, ArraysOfNumpyThroughAPipe) {
  NEEDS_HDF5;
  ASSERT_EQ(
      run({"simulate", "photons", "--shape", "2x3", "--duration", "0.1", "--bin", "1e-5", "--dtype",
           "u16", "--model", "diffusion:n=1,tau=1e-4,rate=1e5", "-o", scratch / "x.npy"})
          .status,
      kDone);
  const auto words = [&](const std::string& input, const std::string& output) {
    return std::vector<std::string>{"--json", "autocorrelate", input,        "-o",
                                    output,   "--bin",         "1e-5",       "--levels",
                                    "4",      "--overwrite",   "--segments", "1"};
  };
  const std::string bytes = read_file(scratch / "x.npy");
  ASSERT_EQ(run(words(scratch / "x.npy", scratch / "a.h5")).status, kDone);
  const CommandResult live = run_through_pipe(bytes, words("-", scratch / "b.h5"));
  EXPECT_EQ(live.status, kDone) << live.err;
  EXPECT_EQ(json_of(live)["format"], "NPY");
  expect_same_sums(scratch / "a.h5", scratch / "b.h5");
  EXPECT_EQ(curves(scratch / "b.h5").first.back().row, 1);
  EXPECT_EQ(curves(scratch / "b.h5").first.back().column, 2);
  // 12 bytes a time: two times and a half are missing.
  const CommandResult cut =
      run_through_pipe(bytes.substr(0, bytes.size() - 30), words("-", scratch / "b.h5"));
  EXPECT_EQ(cut.status, kDamaged) << cut.err;
  EXPECT_EQ(json_of(cut)["samples"], 9997);
  EXPECT_EQ(json_of(cut)["trailing_bytes"], 6);
  EXPECT_EQ(json_of(cut)["lost_samples"], 18);
}

// The output is there, whole, and of what came by then, while more is still to come.
TEST_F(LiveCounts, AreWrittenAgainAndAgainUntilTheInputEnds) {
  NEEDS_HDF5;
  const std::string bytes = counts(30'000), fifo = make_fifo(), output = scratch / "live.h5";
  const pid_t pid =
      start_command(command(fifo, output, {"--every", "0.05", "--save-state", scratch / "state"}),
                    scratch.path().string());
  const int writer = open_fifo(fifo);
  for (std::size_t part = 1; part <= 3; ++part) {
    put(writer, bytes.substr((part - 1) * 10'000 * kSensors, 10'000 * kSensors));
    EXPECT_TRUE(wait_for([&] {
      return std::filesystem::exists(output) && curves(output).samples == part * 10'000;
    }));
  }
  close(writer);
  const CommandResult result = finish_command(pid, scratch.path().string());
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_GE(json_of(result)["writes"], 4);
  write_file(scratch / "x.u8", bytes);
  ASSERT_EQ(run(command(scratch / "x.u8", scratch / "file.h5")).status, kDone);
  expect_same_sums(scratch / "file.h5", output);
}

TEST_F(LiveCounts, StoppedTheyAreWrittenAndTheStatusSaysSo) {
  NEEDS_HDF5;
  const std::string fifo = make_fifo();
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string output = scratch / ("stopped" + std::to_string(signal) + ".h5");
    const pid_t pid = start_command(command(fifo, output), scratch.path().string());
    const int writer = open_fifo(fifo);
    put(writer, counts(5000) + "a");
    wait_until_read(writer);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(pid, signal);
    kill(pid, signal);  // as `timeout` does, to the process and to its group
    const CommandResult result = finish_command(pid, scratch.path().string());
    close(writer);
    EXPECT_EQ(result.status, kDamaged) << result.err;
    EXPECT_EQ(json_of(result)["interrupted"], true);
    EXPECT_EQ(json_of(result)["samples"], 5000);
    EXPECT_EQ(json_of(result)["trailing_bytes"], 1);
    EXPECT_NE(result.err.find("stopped before its input ended; 5000 samples"), std::string::npos)
        << result.err;
    EXPECT_EQ(curves(output).samples, 5000u);
  }
}

// Killed, a run leaves the outputs of its last writing, and goes on from its state.
TEST_F(LiveCounts, KilledTheyGoOnFromTheirState) {
  NEEDS_HDF5;
  const std::string bytes = counts(20'000), fifo = make_fifo();
  const std::string output = scratch / "live.h5", state = scratch / "state";
  const pid_t pid = start_command(command(fifo, output, {"--every", "0.05", "--save-state", state}),
                                  scratch.path().string());
  const int writer = open_fifo(fifo);
  put(writer, bytes.substr(0, 12'000 * kSensors));
  // Said when both are written.
  ASSERT_TRUE(wait_for([&] {
    return read_file(scratch / "err").find("written after 12000 samples") != std::string::npos;
  }));
  kill(pid, SIGKILL);
  EXPECT_NE(finish_command(pid, scratch.path().string()).status, kDone);
  close(writer);
  EXPECT_EQ(curves(output).samples, 12'000u);
  const CommandResult second = run_through_pipe(
      bytes.substr(12'000 * kSensors), command("-", scratch / "second.h5", {"--resume", state}));
  EXPECT_EQ(second.status, kDone) << second.err;
  EXPECT_EQ(json_of(second)["resumed_samples"], 12'000);
  const CommandResult one = run_through_pipe(bytes, command("-", scratch / "one.h5"));
  ASSERT_EQ(one.status, kDone);
  expect_same_sums(scratch / "one.h5", scratch / "second.h5");
  const auto a = curves(scratch / "one.h5"), b = curves(scratch / "second.h5");
  EXPECT_EQ(a.segments, b.segments);
  EXPECT_EQ(a.segment_g, b.segment_g);
  EXPECT_EQ(a.segment_counts, b.segment_counts);
}

TEST_F(LiveCounts, StatesThatDoNotFitAreRefused) {
  const std::string state = scratch / "state", output = scratch / "x.zip";
  ASSERT_EQ(run_through_pipe(counts(3000), command("-", output, {"--save-state", state})).status,
            kDone);
  const std::string kept = read_file(output);
  const auto resume = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--resume", state, "--overwrite"});
    return run_through_pipe(counts(100), command("-", output, more));
  };
  const CommandResult other = resume({"--lags", "standard"});
  EXPECT_EQ(other.status, kWrongUsage) << other.err;
  EXPECT_NE(other.err.find("state of another problem: lags: chain, expected standard"),
            std::string::npos)
      << other.err;
  EXPECT_EQ(resume({"--save-state", state}).status, kWrongUsage);  // it is read
  std::filesystem::resize_file(state, std::filesystem::file_size(state) - 1);
  const CommandResult damaged = resume({});
  EXPECT_EQ(damaged.status, kFailed) << damaged.err;
  EXPECT_NE(damaged.err.find("checksum"), std::string::npos) << damaged.err;
  EXPECT_EQ(read_file(output), kept);
}

TEST_F(LiveCounts, AFullDiskIsSaidAndLeavesNothingHalf) {
  const std::string fifo = make_fifo();
  std::filesystem::create_directory(scratch / "disk");
  const int status = on_small_disk(scratch / "disk", 16 * 1024, [&] {
    const pid_t pid =
        start_command(command(fifo, scratch / "x.zip",
                              {"--every", "0.05", "--save-state", scratch / "disk/state"}),
                      scratch.path().string());
    const int writer = open_fifo(fifo);
    put(writer, counts(20'000));
    // More than one writing fails, and the run goes on.
    wait_for([&] {
      const std::string said = read_file(scratch / "err");
      const std::size_t first = said.find("the run goes on");
      if (first != std::string::npos) put(writer, counts(10));
      return first != std::string::npos &&
             said.find("the run goes on", first + 1) != std::string::npos;
    });
    close(writer);
    const CommandResult result = finish_command(pid, scratch.path().string());
    return std::filesystem::is_empty(scratch / "disk") ? result.status : 50;
  });
  if (status == kNoSmallDisk) GTEST_SKIP() << "this machine lets nobody mount a small disk";
  EXPECT_EQ(status, kFailed) << read_file(scratch / "err");
  const std::string said = read_file(scratch / "err");
  EXPECT_NE(said.find("disk/state"), std::string::npos) << said;
  EXPECT_NE(said.find("the run goes on"), std::string::npos) << said;
}

// Memory does not grow with what comes.
TEST_F(LiveCounts, MemoryIsBounded) {
  const auto peak_kib = [&](long mebibytes) {
    const std::string line = "head -c " + std::to_string(mebibytes) + "M /dev/zero | exec " +
                             command_path() + " --device cpu --quiet autocorrelate - -o " +
                             (scratch / "zeros.zip") +
                             " --overwrite --dtype u8 --sensors 64 --bin 1e-6 --memory 300M";
    const pid_t pid = start_program("/bin/sh", {"-c", line}, scratch.path().string());
    int status = 0;
    rusage usage{};
    wait4(pid, &status, 0, &usage);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kDone) << read_file(scratch / "err");
    return usage.ru_maxrss;
  };
  const long small = peak_kib(200), large = peak_kib(600);
  std::cout << "peak: " << small << " KiB for 200 MiB, " << large << " KiB for 600\n";
  // How full the buffer, an eighth of --memory, gets depends on who is faster.
  EXPECT_LT(large, small * 11 / 10 + 48 * 1024);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(large, 300 * 1024);
#endif
}

}  // namespace
}  // namespace tautline::tests
