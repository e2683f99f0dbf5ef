// `run` of counts and time tags that come through a pipe: the command's curves, stops, checks that do not wait.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tautline/formats/curves/curves.h"
#include "tautline/stream/http.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/live_run.h"
#include "tests/support/pipe.h"
#include "tests/support/small_disk.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;

// Ten segments of 2^n times 1,024 bins, which live runs and runs of files cut alike.
constexpr std::size_t kAllSamples = 40'960, kPixels = 4;

class LiveCountRuns : public LiveRun {
 protected:
  void SetUp() override {
    LiveRun::SetUp();
    if (IsSkipped()) return;
    signal(SIGPIPE, SIG_IGN);
    const CommandResult made = run_command(
        {"simulate", "photons", "--shape", "2x2", "--bin", "10us", "--duration", "0.4096", "--seed",
         std::to_string(random() % 1'000'000), "--model", "diffusion:n=2,tau=2e-4,rate=5e4", "-o",
         scratch / "counts.u8", "--dtype", "u8"},
        scratch / "send");
    ASSERT_EQ(made.status, kDone) << made.err;
    bytes_ = read_file(scratch / "counts.u8");
    ASSERT_EQ(bytes_.size(), kAllSamples * kPixels);
    ASSERT_EQ(mkfifo(fifo().c_str(), 0600), 0);
  }

  std::string fifo() const { return scratch / "fifo"; }
  std::string live() const { return scratch / "live.h5"; }
  static std::string example() {
    return source_folder() + "/examples/pipelines/autocorrelate-live.toml";
  }
  std::vector<std::string> sets(const std::string& path) const {
    return {"counts.path=" + path, "counts.shape=2x2", "counts.bin_s=10us", "file.path=" + live()};
  }
  std::vector<std::string> words(const std::string& path,
                                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"--device", "cpu", "--json", "run", example()};
    for (const std::string& set : sets(path)) all.insert(all.end(), {"--set", set});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // With a file or pipe as its standard input.
  CommandResult run_with_input(const std::string& input, const std::vector<std::string>& command) {
    return run_shell(command_line(command) + " < " + input, scratch / "run");
  }
  core::CorrelationCurves of_file(const std::string& counts, const std::string& output,
                                  const std::vector<std::string>& options) {
    std::vector<std::string> command{"--device", "cpu", "autocorrelate", counts, "-o", output};
    command.insert(command.end(), options.begin(), options.end());
    const CommandResult result = run_command(command, scratch / "correlate");
    EXPECT_EQ(result.status, kDone) << result.err;
    return formats::curves::read_set(output);
  }
  core::CorrelationCurves of_raw_file(std::size_t samples) {
    write_file(scratch / "part.u8", bytes_.substr(0, samples * kPixels));
    return of_file(scratch / "part.u8", scratch / "file.h5",
                   {"--dtype", "u8", "--shape", "2x2", "--bin", "10us"});
  }
  // Counts as floats, NaN included.
  template <class Value>
  static bool same_bits(const std::vector<Value>& a, const std::vector<Value>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Value)) == 0;
  }
  static void expect_same(const core::CorrelationCurves& a, const core::CorrelationCurves& b) {
    EXPECT_GT(a.samples, 0u);
    EXPECT_EQ(a.samples, b.samples);
    EXPECT_EQ(a.sums, b.sums);
    EXPECT_EQ(a.lead_in, b.lead_in);
    EXPECT_EQ(a.monitor_direct, b.monitor_direct);
    EXPECT_EQ(a.monitor_delayed, b.monitor_delayed);
    EXPECT_EQ(a.totals, b.totals);
    EXPECT_EQ(a.counts, b.counts);
    EXPECT_TRUE(same_bits(a.g, b.g));
  }
  // Opens the other end once the run has.
  int open_fifo() const { return open(fifo().c_str(), O_WRONLY | O_CLOEXEC); }
  std::uint64_t written_samples() const {
    return std::filesystem::exists(live()) ? formats::curves::read_set(live()).samples : 0;
  }
  bool wait_for_samples(std::uint64_t samples) const {
    for (int wait = 0; wait < 3000 && written_samples() < samples; ++wait)
      std::this_thread::sleep_for(10ms);
    return written_samples() == samples;
  }

  std::string bytes_;
};

TEST_F(LiveCountRuns, CurvesOfThePipelineAreTheCommandsToTheBit) {
  const CommandResult result = run_with_input(scratch / "counts.u8", words("-"));
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["counters"]["counts.samples"], kAllSamples);
  const auto a = of_raw_file(kAllSamples), b = formats::curves::read_set(live());
  expect_same(a, b);
  EXPECT_EQ(a.segments, b.segments);
  EXPECT_TRUE(same_bits(a.standard_error, b.standard_error));
  EXPECT_TRUE(same_bits(a.segment_g, b.segment_g));
}

TEST_F(LiveCountRuns, DamageIsSaidOnce) {
  write_file(scratch / "cut.u8", bytes_ + "a");
  const std::string said = "last 1 byte, from byte " + std::to_string(bytes_.size());
  const auto expect_once = [&](const CommandResult& result) {
    EXPECT_EQ(result.status, kDamaged) << result.err;
    const std::size_t at = result.err.find(said);
    EXPECT_NE(at, std::string::npos) << result.err;
    EXPECT_EQ(result.err.rfind(said), at) << result.err;
  };
  expect_once(run_with_input(scratch / "cut.u8", words("-")));
  expect_once(run_command(words(scratch / "cut.u8", {"--overwrite"}), scratch / "run"));
  expect_once(run_command({"autocorrelate", scratch / "cut.u8", "-o", scratch / "file.h5",
                           "--dtype", "u8", "--shape", "2x2", "--bin", "10us"},
                          scratch / "run"));
}

// While they come, and when the run is stopped.
TEST_F(LiveCountRuns, StoppedTheLastCurvesAreWritten) {
  for (const std::string& rest : {std::string(), std::string("a")}) {
    std::filesystem::remove(live());
    std::vector<std::string> all = sets(fifo());
    all.emplace_back("curves.every_s=0.05");
    start_pipeline(example(), all);
    const int writer = open_fifo();
    put(writer, bytes_.substr(0, 10'000 * kPixels));
    EXPECT_TRUE(wait_for_samples(10'000)) << run_said();
    put(writer, bytes_.substr(10'000 * kPixels, 7'000 * kPixels) + rest);
    wait_until_read(writer);
    std::this_thread::sleep_for(300ms);
    kill(*run_pid, SIGINT);
    const CommandResult result = end_run();
    close(writer);
    expect_stopped(result);
    expect_same(of_raw_file(17'000), formats::curves::read_set(live()));
    std::filesystem::remove(scratch / "file.h5");
  }
}

TEST_F(LiveCountRuns, StoppedBeforeAnythingCameNothingIsWritten) {
  start_pipeline(example(), sets(fifo()));
  const int writer = open_fifo();
  std::this_thread::sleep_for(200ms);
  kill(*run_pid, SIGINT);
  const CommandResult result = end_run();
  close(writer);
  EXPECT_EQ(result.status, kInterrupted) << result.err;
  EXPECT_FALSE(std::filesystem::exists(live()));
}

// An observation that is over by the clock is no signal.
TEST_F(LiveCountRuns, AnObservationsEndWritesTheCurves) {
  write_file(scratch / "timed.toml", read_file(example()) + "[[observation]]\nduration_s = 2\n");
  start_pipeline(scratch / "timed.toml", sets(fifo()));
  const int writer = open_fifo();
  put(writer, bytes_.substr(0, 17'000 * kPixels));
  const CommandResult result = end_run();
  close(writer);
  EXPECT_EQ(result.status, kDone) << result.err;
  expect_same(of_raw_file(17'000), formats::curves::read_set(scratch / "live-0001.h5"));
}

// Not before its start by the clock, whatever lies in the pipe by then; a stop while it waits is none of a run.
TEST_F(LiveCountRuns, AnObservationWaitsForItsStart) {
  using Clock = std::chrono::system_clock;
  constexpr std::time_t kLater_s = 15;
  const std::time_t start = Clock::to_time_t(Clock::now()) + kLater_s;
  std::tm utc{};
  gmtime_r(&start, &utc);
  std::ostringstream text;
  text << std::put_time(&utc, "%Y-%m-%dT%H:%M:%S");
  write_file(scratch / "timed.toml", read_file(example()) + "[[observation]]\nstart = \"" +
                                         text.str() + "\"\nduration_s = 10\n");
  start_pipeline(scratch / "timed.toml", sets(fifo()));
  const std::string begins_at = "observation 1 of 1 begins at " + text.str();
  for (int wait = 0; wait < 3000 && run_said().find(begins_at) == std::string::npos; ++wait)
    std::this_thread::sleep_for(10ms);
  EXPECT_NE(run_said().find(begins_at), std::string::npos) << run_said();
  const int writer = open_fifo();  // waits until the run reads
  EXPECT_GE(Clock::now(), Clock::from_time_t(start));
  put(writer, bytes_.substr(0, 17'000 * kPixels));
  const CommandResult result = end_run();
  EXPECT_GE(Clock::now(), Clock::from_time_t(start + 10));
  close(writer);
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_NE(result.err.find("observation 1 of 1 begins\n"), std::string::npos) << result.err;
  expect_same(of_raw_file(17'000), formats::curves::read_set(scratch / "live-0001.h5"));

  // However far off: the machine's clock ends in 2262.
  std::filesystem::remove(scratch / "live-0001.h5");
  write_file(
      scratch / "late.toml",
      read_file(example()) +
          "[[observation]]\nstart = \"2999-01-01T00:00:00\"\nstop = \"2999-01-02T00:00:00\"\n");
  start_pipeline(scratch / "late.toml", sets(fifo()));
  for (int wait = 0; wait < 3000 && run_said().find(" begins at 2999") == std::string::npos; ++wait)
    std::this_thread::sleep_for(10ms);
  kill(*run_pid, SIGINT);
  const CommandResult stopped = end_run();
  EXPECT_EQ(stopped.status, kInterrupted) << stopped.err;
  EXPECT_NE(stopped.err.find("observation 1 of 1 was not begun"), std::string::npos) << stopped.err;
}

TEST_F(LiveCountRuns, TagsThroughAPipeAreThoseOfTheFile) {
  const std::string tags = scratch / "tags.ptu";
  ASSERT_EQ(run_command({"simulate", "photons", "--duration", "0.5", "--tags", "t2", "--model",
                         "diffusion:n=1,tau=1e-4,rate=20000", "-o", tags},
                        scratch / "send")
                .status,
            kDone);
  const CommandResult held = run_command({"--json", "inspect", tags}, scratch / "send");
  const std::string detector =
      std::to_string(nlohmann::json::parse(held.out)["detectors"][0]["detector"].get<int>());
  write_file(scratch / "tags.toml",
             "[counts]\ntype = \"count_file\"\npath = \"" + fifo() +
                 "\"\nbin_s = 1e-5\ndetectors = [" + detector +
                 "]\n[curves]\ntype = \"autocorrelator\"\ninputs = \"counts\"\n[file]\n"
                 "type = \"curve_file\"\ninputs = \"curves\"\npath = \"" +
                 live() + "\"\n");
  start_pipeline(scratch / "tags.toml", {}, {"--plan"});
  const CommandResult plan = end_run();
  EXPECT_EQ(plan.status, kDone) << plan.err;
  EXPECT_EQ(nlohmann::json::parse(plan.out)["nodes"][0]["outputs"][0]["kind"], "photons");
  start_pipeline(scratch / "tags.toml", {});
  const int writer = open_fifo();
  put(writer, read_file(tags));
  close(writer);
  const CommandResult result = end_run();
  EXPECT_EQ(result.status, kDone) << result.err;
  expect_same(of_file(tags, scratch / "tags.h5",
                      {"--bin", "1e-5", "--tags", "direct", "--detectors", detector}),
              formats::curves::read_set(live()));
}

// Nobody writes, and what somebody has written stays for the run.
TEST_F(LiveCountRuns, ChecksAndPlansDoNotWaitForPipes) {
  const int pipe = open(fifo().c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  for (const std::size_t before : {0, 400}) {
    put(pipe, bytes_.substr(0, before));
    const auto expect_untouched = [&](const CommandResult& result) {
      EXPECT_EQ(result.status, kDone) << result.err;
      int waiting = -1;
      ioctl(pipe, FIONREAD, &waiting);
      EXPECT_EQ(waiting, static_cast<int>(before));
    };
    expect_untouched(run_command(words(fifo(), {"--check"}), scratch / "run"));
    expect_untouched(run_with_input(fifo(), words("-", {"--check"})));
    const CommandResult plan = run_command(words(fifo(), {"--plan"}), scratch / "run");
    expect_untouched(plan);
    const auto output = nlohmann::json::parse(plan.out)["nodes"][0]["outputs"][0];
    EXPECT_EQ(output["kind"], "counts");
    EXPECT_EQ(output["arrays"][0]["extents"][1], kPixels);
  }
  close(pipe);
  EXPECT_FALSE(std::filesystem::exists(live()));
}

// A disk that gets full under a run is a problem of the monitor's status soon: the best of three, since the machine may
// be busy. The run goes on, and has written its curves when there is room again.
TEST_F(LiveCountRuns, AFullDiskIsInTheStatusSoon) {
#ifndef TAUTLINE_BOOST
  GTEST_SKIP() << "a build without Boost";
#endif
  constexpr std::size_t kDisk = std::size_t{260} << 20;  // more than the status calls full
  std::filesystem::create_directory(scratch / "disk");
  const int status = on_small_disk(scratch / "disk", kDisk, [&] {
    const std::string filler = scratch / "disk/filler", output = scratch / "disk/live.h5";
    start_pipeline(example(),
                   {"counts.path=" + fifo(), "counts.shape=2x2", "counts.bin_s=10us",
                    "curves.every_s=0.1", "file.path=" + output},
                   {"--monitor", "127.0.0.1:0"});
    const int writer = open_fifo();
    put(writer, bytes_.substr(0, 5'000 * kPixels));
    const std::string words = "watched at ";
    std::size_t at = std::string::npos;
    for (int wait = 0; wait < 3000 && at == std::string::npos; ++wait) {
      std::this_thread::sleep_for(10ms);
      at = run_said().find("/\n") == std::string::npos ? at : run_said().find(words);
    }
    if (at == std::string::npos) return 50;
    const std::string said = run_said().substr(at + words.size()),
                      url = said.substr(0, said.find('\n')) + "status.json";
    // Seconds until the status says whether the disk is full.
    const auto seconds_until = [&](bool full) {
      const auto begun = std::chrono::steady_clock::now();
      const auto passed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
      };
      while (passed() < 60) {
        const auto now = nlohmann::json::parse(stream::http_get(url, 10s));
        const bool is_full = now["files"][0]["free_bytes"] == 0,
                   is_named = now["problems"].dump().find("0 MiB left on the disk of " + output) !=
                              std::string::npos;
        if (is_full == full && is_named == full) return passed();
        std::this_thread::sleep_for(20ms);
      }
      return 60.0;
    };
    double best_s = 60;
    for (int k = 0; k < 3; ++k) {
      if (seconds_until(false) >= 60) return 51;
      const int file = open(filler.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
      const std::string mebibyte(1 << 20, '.');
      while (write(file, mebibyte.data(), mebibyte.size()) > 0) {
      }
      close(file);
      best_s = std::min(best_s, seconds_until(true));
      put(writer, bytes_.substr(0, 100 * kPixels));  // which cannot be written
      std::this_thread::sleep_for(300ms);
      std::filesystem::remove(filler);
    }
    write_file(scratch / "best_s", std::to_string(best_s));
    close(writer);
    const CommandResult result = end_run();
    if (formats::curves::read_set(output).samples != 5'300) return 52;
    return result.status;
  });
  if (status == kNoSmallDisk) GTEST_SKIP() << "this machine lets nobody mount a small disk";
  EXPECT_EQ(status, kDone) << run_said();
  EXPECT_NE(run_said().find("the run goes on"), std::string::npos) << run_said();
  const double best_s = std::stod("0" + read_file(scratch / "best_s"));
  std::cout << "a full disk was in the status after " << best_s << " s\n";
  EXPECT_GT(best_s, 0);
  EXPECT_LT(best_s, 10);  // 2 on a machine that does nothing else
}

TEST_F(LiveCountRuns, RefusesWhatCannotBe) {
  const auto refuse = [&](const std::vector<std::string>& more, const std::string& text) {
    const CommandResult result = run_command(words(fifo(), more), scratch / "run");
    EXPECT_EQ(result.status, kWrongUsage) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  };
  refuse({"--set", "counts.rate=2"}, "give no rate");
  refuse({"--as-live"}, "give no rate");
  write_file(scratch / "npy.toml",
             "[counts]\ntype = \"count_file\"\npath = \"" + fifo() +
                 "\"\nbin_s = 1e-5\n[curves]\n" +
                 "type = \"autocorrelator\"\ninputs = \"counts\"\n[file]\ntype = \"curve_file\"\n" +
                 "inputs = \"curves\"\npath = \"" + live() + "\"\n");
  const CommandResult unknown =
      run_command({"run", scratch / "npy.toml", "--check"}, scratch / "run");
  EXPECT_EQ(unknown.status, kWrongUsage) << unknown.err;
  EXPECT_NE(unknown.err.find("dtype and sensors"), std::string::npos) << unknown.err;
  write_file(scratch / "two.toml", read_file(example()) +
                                       "[[observation]]\nduration_s = 1\n[[observation]]\n"
                                       "duration_s = 1\n");
  const CommandResult twice =
      run_command({"run", scratch / "two.toml", "--set", "counts.path=" + fifo()}, scratch / "run");
  EXPECT_EQ(twice.status, kWrongUsage) << twice.err;
  EXPECT_NE(twice.err.find("in several observations"), std::string::npos) << twice.err;
}

}  // namespace
}  // namespace tautline::tests
