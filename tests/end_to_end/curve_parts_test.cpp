// Curves in parts: cut by time, by size and at SIGHUP, each file has the curves of its part of the counts alone.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tautline/formats/curves/curves.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/live_run.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;

class CurveParts : public LiveRun {
 protected:
  static constexpr std::size_t kSamples = 60'000, kPixels = 4;  // of 10 us

  void SetUp() override {
    LiveRun::SetUp();
    if (IsSkipped()) return;
    simulate("counts.u8", {"--dtype", "u8", "--shape", "2x2", "--bin", "10us"});
    bytes_ = read_file(scratch / "counts.u8");
    ASSERT_EQ(bytes_.size(), kSamples * kPixels);
  }
  void simulate(const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words{"simulate",   "photons",
                                   "--duration", "0.6",
                                   "--seed",     std::to_string(random() % 1'000'000),
                                   "--model",    "diffusion:n=2,tau=2e-4,rate=5e4",
                                   "-o",         scratch / name};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult made = run_command(words, scratch / "send");
    ASSERT_EQ(made.status, kDone) << made.err;
  }
  std::vector<std::string> sets(const std::string& output) const {
    return {"counts.path=" + (scratch / "counts.u8"), "counts.dtype=u8", "counts.shape=2x2",
            "counts.bin_s=10us", "file.path=" + output};
  }
  static std::string example() {
    return source_folder() + "/examples/pipelines/autocorrelate-live.toml";
  }
  CommandResult run(const std::vector<std::string>& all) const {
    std::vector<std::string> words{"--device", "cpu", "--json", "run", example()};
    for (const std::string& set : all) words.insert(words.end(), {"--set", set});
    return run_command(words, scratch / "run");
  }
  core::CorrelationCurves of_command(std::vector<std::string> words) const {
    words.insert(words.begin(), {"--device", "cpu", "autocorrelate"});
    words.insert(words.end(), {"-o", scratch / "alone.h5", "--overwrite", "--bin", "10us"});
    const CommandResult result = run_command(words, scratch / "correlate");
    EXPECT_EQ(result.status, kDone) << result.err;
    return formats::curves::read_set(scratch / "alone.h5");
  }
  core::CorrelationCurves of_samples(std::size_t first, std::size_t samples) const {
    write_file(scratch / "part.u8", bytes_.substr(first * kPixels, samples * kPixels));
    return of_command({scratch / "part.u8", "--dtype", "u8", "--shape", "2x2"});
  }
  static void expect_same(const core::CorrelationCurves& a, const core::CorrelationCurves& b,
                          const std::string& what) {
    EXPECT_EQ(a.samples, b.samples) << what;
    EXPECT_EQ(a.sums, b.sums) << what;
    EXPECT_EQ(a.lead_in, b.lead_in) << what;
    EXPECT_EQ(a.monitor_direct, b.monitor_direct) << what;
    EXPECT_EQ(a.monitor_delayed, b.monitor_delayed) << what;
    EXPECT_EQ(a.totals, b.totals) << what;
    EXPECT_EQ(a.counts, b.counts) << what;
    ASSERT_EQ(a.g.size(), b.g.size()) << what;
    EXPECT_EQ(std::memcmp(a.g.data(), b.g.data(), a.g.size() * sizeof(double)), 0) << what;
    // A short part has none, as a short live run.
    if (a.samples >= 10'240) {
      EXPECT_FALSE(a.standard_error.empty()) << what;
    }
  }
  static std::vector<std::string> files_of(const CommandResult& result) {
    return nlohmann::json::parse(result.out.substr(result.out.rfind("{\"schema\"")))
        .at("files")
        .at("file")
        .get<std::vector<std::string>>();
  }
  // Each file has the curves of the samples behind those of the file before. Returns how many all of them have.
  std::size_t expect_parts(const std::vector<std::string>& files) const {
    std::size_t first = 0;
    for (const std::string& file : files) {
      const core::CorrelationCurves curves = formats::curves::read_set(file);
      expect_same(curves, of_samples(first, curves.samples), file);
      const CommandResult inspected = run_command({"inspect", file}, scratch / "correlate");
      EXPECT_EQ(inspected.status, kDone) << inspected.err;
      first += curves.samples;
    }
    return first;
  }

  std::string bytes_;
};

TEST_F(CurveParts, OfTimeAndSizeAreThoseOfTheirSamplesAlone) {
  const std::size_t most = 7'000 + random() % 20'000;
  for (const std::string& limit : {"each_s=" + std::to_string(static_cast<double>(most) * 1e-5),
                                   "each_bytes=" + std::to_string(most * kPixels + 3)}) {
    SCOPED_TRACE(limit);
    for (const char* ending : {".h5", ".zip"}) {
      const std::string output = scratch / (limit.substr(0, 6) + ending);
      auto all = sets(output);
      all.insert(all.end(), {"file." + limit, "counts.block_samples=3333"});
      const CommandResult result = run(all);
      ASSERT_EQ(result.status, kDone) << result.err;
      const auto files = files_of(result);
      EXPECT_EQ(files.size(), (kSamples + most - 1) / most);
      EXPECT_FALSE(std::filesystem::exists(output));
      const CommandResult again = run(all);
      EXPECT_EQ(again.status, kFailed) << again.err;
      if (std::string(ending) != ".h5") continue;
      EXPECT_EQ(expect_parts(files), kSamples);
      for (std::size_t k = 0; k + 1 < files.size(); ++k)
        EXPECT_EQ(formats::curves::read_set(files[k]).samples, most);
      const CommandResult drawn = run_command(
          {"plot", files.front(), "-o", scratch / "x.html", "--overwrite"}, scratch / "correlate");
      EXPECT_EQ(drawn.status, kDone) << drawn.err;
    }
  }
}

TEST_F(CurveParts, OfTimeTagsAreThoseOfTheirBinsAlone) {
  simulate("tags.ptu", {});
  const std::size_t most = 7'000 + random() % 20'000;
  const auto seconds = [](std::size_t samples) {
    return std::to_string(static_cast<double>(samples) * 1e-5);
  };
  for (const std::string& limit : {"each_s=" + seconds(most), std::string("each_bytes=20000")}) {
    SCOPED_TRACE(limit);
    write_file(scratch / "p.toml",
               "[counts]\ntype = \"count_file\"\npath = \"" + (scratch / "tags.ptu") +
                   "\"\nbin_s = 1e-5\ntag_method = \"direct\"\nblock_samples = 2048\n[curves]\n"
                   "type = \"autocorrelator\"\ninputs = \"counts\"\n[file]\n"
                   "type = \"curve_file\"\ninputs = \"curves\"\npath = \"" +
                   (scratch / (limit.substr(0, 6) + ".h5")) + "\"\n");
    const CommandResult result = run_command(
        {"--device", "cpu", "--json", "run", scratch / "p.toml", "--set", "file." + limit},
        scratch / "run");
    ASSERT_EQ(result.status, kDone) << result.err;
    const auto files = files_of(result);
    EXPECT_GT(files.size(), 2U);
    std::size_t first = 0;
    for (const std::string& file : files) {
      const core::CorrelationCurves curves = formats::curves::read_set(file);
      std::vector<std::string> words{scratch / "tags.ptu", "--tags", "direct", "--start",
                                     seconds(first)};
      // The last part is as long as the file.
      if (file != files.back()) words.insert(words.end(), {"--duration", seconds(curves.samples)});
      expect_same(curves, of_command(words), file);
      if (limit.starts_with("each_b")) {
        EXPECT_LE(curves.totals.at(0), 20'000 / 8);
      }
      first += curves.samples;
    }
  }
}

TEST_F(CurveParts, BeginNewFilesOnHangUpAndStayWhenTheRunIsKilled) {
  for (const bool killed : {false, true}) {
    const std::string name = killed ? "killed" : "night";
    auto all = sets(scratch / (name + ".h5"));
    all.insert(all.end(), {"counts.rate=0.06", "counts.block_samples=200", "file.each_s=1000",
                           "curves.every_s=0.05"});  // 10 s
    start_pipeline(example(), all);
    const auto part = [&](int number) {
      return scratch / (name + "-000" + std::to_string(number) + ".h5");
    };
    const auto wait_for = [&](const std::string& path) {
      for (int wait = 0; wait < 60'000 && !std::filesystem::exists(path); ++wait)
        std::this_thread::sleep_for(1ms);
      ASSERT_TRUE(std::filesystem::exists(path)) << path << run_said();
    };
    for (const int number : {1, 2}) {
      wait_for(part(number));  // written every 0.05 s
      kill(*run_pid, SIGHUP);
    }
    wait_for(part(3));
    if (killed) kill(*run_pid, SIGKILL);
    const CommandResult result = end_run();
    EXPECT_EQ(result.status, killed ? 1000 + SIGKILL : kDone) << result.err;
    std::vector<std::string> files{part(1), part(2), part(3)};
    const std::size_t samples = expect_parts(files);
    if (killed) continue;
    EXPECT_EQ(files_of(result), files);
    EXPECT_EQ(samples, kSamples);
  }
}

TEST_F(CurveParts, ThatOthersReadAreRefused) {
  auto all = sets(scratch / "x.h5");
  all.insert(all.end(), {"file.each_s=1", "curves.save_state=" + (scratch / "x.state")});
  const CommandResult state = run(all);
  EXPECT_EQ(state.status, kWrongUsage) << state.err;
  EXPECT_NE(state.err.find("save_state"), std::string::npos) << state.err;
  for (const bool fit_first : {true, false}) {
    const std::string file = "[file]\ntype = \"curve_file\"\ninputs = \"curves\"\npath = \"" +
                             (scratch / "x.h5") + "\"\neach_s = 1\n",
                      fit = "[fit]\ntype = \"fit_file\"\ninputs = \"curves\"\npath = \"" +
                            (scratch / "x.csv") + "\"\n";
    write_file(scratch / "p.toml",
               "[counts]\ntype = \"count_file\"\npath = \"" + (scratch / "counts.u8") +
                   "\"\ndtype = \"u8\"\nshape = \"2x2\"\nbin_s = 1e-5\n"
                   "[curves]\ntype = \"autocorrelator\"\ninputs = \"counts\"\n" +
                   (fit_first ? fit + file : file + fit));
    const CommandResult both =
        run_command({"--device", "cpu", "run", scratch / "p.toml"}, scratch / "run");
    EXPECT_EQ(both.status, kWrongUsage) << both.err;
    EXPECT_NE(both.err.find("autocorrelator"), std::string::npos) << both.err;
  }
}

}  // namespace
}  // namespace tautline::tests
