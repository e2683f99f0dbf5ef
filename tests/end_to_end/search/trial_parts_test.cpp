// Series in parts: cut by time, by size and at SIGHUP, each is whole, and together they are the one file. What of the
// trials was lost is in their record.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include "tautline/core/dispersion.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/search/piped_run.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

class TrialParts : public PipedRun {
 protected:
  static constexpr std::size_t kTrials = 5;

  void write_noise(std::size_t times) {
    write_filterbank(scratch_ / "a.fil", shape_,
                     noise_with_pulses(shape_, times, {{40, times / 3, 60}}, random_));
  }
  std::vector<std::string> words(const std::string& format, const std::string& output,
                                 const std::vector<std::string>& sets = {}) const {
    std::vector<std::string> all{"--device", "cpu", "--json", "run",
                                 source_folder() + "/examples/pipelines/dedisperse.toml"};
    std::vector<std::string> set{"filterbank.files=" + (scratch_ / "a.fil"),
                                 "filterbank.block_samples=777", "trials.dms.range=0:60:15",
                                 "series.format=" + format, "series.path=" + output};
    set.insert(set.end(), sets.begin(), sets.end());
    for (const std::string& one : set) all.insert(all.end(), {"--set", one});
    return all;
  }
  CommandResult run(const std::vector<std::string>& command) const {
    return run_command(command, scratch_ / "run");
  }
  static std::string record_path(const std::string& format, const std::string& output) {
    return format == "npy" ? output + ".json" : output + "/dedisperse.json";
  }
  // The samples of each trial, by its file or row.
  static std::vector<std::string> series_in(const std::string& format, const std::string& output) {
    std::vector<std::string> series;
    if (format == "npy") {
      const std::string file = read_file(output);
      const std::size_t header = 10 + static_cast<unsigned char>(file.at(8)) +
                                 256 * std::size_t{static_cast<unsigned char>(file.at(9))},
                        bytes = (file.size() - header) / kTrials;
      for (std::size_t trial = 0; trial < kTrials; ++trial)
        series.push_back(file.substr(header + trial * bytes, bytes));
      return series;
    }
    for (const char* dm : {"0.00", "15.00", "30.00", "45.00", "60.00"}) {
      const std::string file = read_file(output + "/a_DM" + dm + "." + format);
      series.push_back(format == "dat" ? file : file.substr(file.find("HEADER_END") + 10));
    }
    return series;
  }
  // The parts follow each other from the whole's first sample on, and are inspected and searched. Returns their lengths.
  std::vector<std::size_t> expect_parts_of(const std::string& format,
                                           const std::vector<std::string>& whole,
                                           const std::vector<std::string>& parts) const {
    std::vector<std::size_t> lengths;
    std::size_t at = 0;
    const Json first = Json::parse(read_file(record_path(format, parts.front())));
    for (const std::string& part : parts) {
      const auto series = series_in(format, part);
      EXPECT_EQ(series.front().size() % 4, 0U);
      for (std::size_t trial = 0; trial < kTrials; ++trial) {
        EXPECT_EQ(series[trial].size(), series.front().size());
        EXPECT_TRUE(whole[trial].substr(std::min(at, whole[trial].size()), series[trial].size()) ==
                    series[trial])
            << part << " trial " << trial;
      }
      const Json record = Json::parse(read_file(record_path(format, part)));
      EXPECT_EQ(record.at("dms").size(), kTrials);
      const std::size_t samples = series.front().size() / 4;
      EXPECT_NEAR(record.at("segments").at(0).at("samples").get<double>(),
                  static_cast<double>(samples), format == "dat" ? 1 : 0);
      EXPECT_NEAR(
          (record.at("start_mjd").get<double>() - first.at("start_mjd").get<double>()) * 86'400,
          static_cast<double>(at / 4) * shape_.tsamp, 2e-6)
          << part;
      const std::string file = format == "npy" ? part : part + "/a_DM30.00." + format;
      const CommandResult inspected = run({"--json", "inspect", file});
      EXPECT_EQ(inspected.status, kDone) << inspected.err;
      const std::string utc = Json::parse(inspected.out).at("start_utc");
      EXPECT_NEAR(std::stod(utc.substr(17)),
                  std::fmod(std::stod(first.at("start").get<std::string>().substr(17)) +
                                static_cast<double>(at / 4) * shape_.tsamp,
                            60),
                  1e-4)
          << part;
      lengths.push_back(samples);
      at += series.front().size();
    }
    return lengths;
  }
  static std::vector<std::string> files_of(const CommandResult& result) {
    return Json::parse(result.out.substr(result.out.rfind("{\"schema\"")))
        .at("files")
        .at("series")
        .get<std::vector<std::string>>();
  }
};

TEST_F(TrialParts, OfTimeAndSizeAreTheWholeToTheBit) {
  write_noise(20'000 + random_() % 5'000);
  for (const std::string format : {"npy", "dat", "tim"}) {
    const std::string ending = format == "npy" ? ".npy" : "";
    const CommandResult one = run(words(format, scratch_ / ("whole-" + format + ending)));
    ASSERT_EQ(one.status, kDone) << one.err;
    const auto whole = series_in(format, scratch_ / ("whole-" + format + ending));
    const std::size_t most = 1'000 + random_() % 4'000, all = whole.front().size() / 4;
    for (const bool by_time : {true, false}) {
      const std::string limit =
          by_time ? "each_s=" + std::to_string(static_cast<double>(most) * shape_.tsamp)
                  : "each_bytes=" + std::to_string(4 * kTrials * most + 3);
      SCOPED_TRACE(format + " " + limit);
      const std::string output = scratch_ / ((by_time ? "t-" : "s-") + format + ending);
      const CommandResult result = run(words(format, output, {"series." + limit}));
      ASSERT_EQ(result.status, kDone) << result.err;
      const auto parts = files_of(result);
      const auto lengths = expect_parts_of(format, whole, parts);
      // PRESTO's have an even number of samples.
      const std::size_t each = format == "dat" ? most / 2 * 2 : most;
      EXPECT_EQ(lengths.size(), (all + each - 1) / each);
      std::size_t sum = 0;
      for (std::size_t k = 0; k < lengths.size(); ++k) {
        EXPECT_EQ(lengths[k], std::min(each, all - sum));
        sum += lengths[k];
      }
      EXPECT_EQ(sum, all);
      const CommandResult again = run(words(format, output, {"series." + limit}));
      EXPECT_EQ(again.status, kFailed) << again.err;
      EXPECT_NE(again.err.find("-0001"), std::string::npos) << again.err;
      auto overwriting = words(format, output, {"series." + limit});
      overwriting.emplace_back("--overwrite");
      const CommandResult anew = run(overwriting);
      ASSERT_EQ(anew.status, kDone) << anew.err;
      EXPECT_EQ(expect_parts_of(format, whole, files_of(anew)), lengths);
      // The pulse, which is a third of the way, in the part that has it.
      const std::size_t pulse = 1 + (all / 3 + 300) / each;
      const CommandResult found =
          run({"--device", "cpu", "--json", "search",
               format == "npy" ? parts.at(pulse - 1) : parts.at(pulse - 1) + "/a_DM45.00." + format,
               "-o", scratch_ / "found.csv", "--overwrite"});
      EXPECT_EQ(found.status, kDone) << found.err;
      if (format != "npy") continue;
      const CommandResult drawn =
          run({"plot", parts.front(), "-o", scratch_ / "x.html", "--overwrite"});
      EXPECT_EQ(drawn.status, kDone) << drawn.err;
    }
  }
}

// PRESTO's have an even number of samples: one that is left at the end is no file, and the counts of the run are in the
// record of the last one.
TEST_F(TrialParts, OfASampleThatIsLeftAreNoFile) {
  std::size_t all = 0, times = 8'000;
  while (all % 4 != 1) {
    write_noise(++times);
    auto whole = words("npy", scratch_ / "whole.npy");
    whole.emplace_back("--overwrite");
    const CommandResult one = run(whole);
    ASSERT_EQ(one.status, kDone) << one.err;
    all = series_in("npy", scratch_ / "whole.npy").front().size() / 4;
  }
  const std::size_t most = (all - 1) / 2;
  const CommandResult result =
      run(words("dat", scratch_ / "x",
                {"series.each_s=" + std::to_string(static_cast<double>(most) * shape_.tsamp)}));
  ASSERT_EQ(result.status, kDone) << result.err;
  const auto parts = files_of(result);
  EXPECT_EQ(parts, (std::vector<std::string>{scratch_ / "x-0001", scratch_ / "x-0002"}));
  for (const std::string& part : parts) {
    const Json record = Json::parse(read_file(record_path("dat", part)));
    EXPECT_EQ(record.at("segments").at(0).at("samples"), most);
    EXPECT_EQ(record.contains("counters"), part == parts.back()) << part;
  }
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "x-0003"));
}

TEST_F(TrialParts, OfSeveralSampleTimesAreRefusedTogether) {
  write_noise(40'000);
  const std::vector<std::string> downsampled{"trials.dms.range=0:400", "trials.dms.tolerance=1.2",
                                             "trials.dms.downsample_tolerance=1.5",
                                             "series.each_s=1"};
  const CommandResult refused = run(words("dat", scratch_ / "x", downsampled));
  EXPECT_EQ(refused.status, kWrongUsage) << refused.err;
  EXPECT_NE(refused.err.find("trials.0"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "x-0001"));
}

TEST_F(TrialParts, BeginNewFilesOnHangUpAndStayWhenTheRunIsKilled) {
  write_noise(64'000);  // 16 s
  for (const std::string format : {"npy", "dat"}) {
    const std::string ending = format == "npy" ? ".npy" : "";
    const CommandResult one = run(words(format, scratch_ / ("whole-" + format + ending)));
    ASSERT_EQ(one.status, kDone) << one.err;
    const auto whole = series_in(format, scratch_ / ("whole-" + format + ending));
    for (const bool killed : {false, true}) {
      const std::string name = format + (killed ? "-killed" : "-night");
      const std::string output = scratch_ / (name + ending);
      const auto part = [&](int number) {
        return scratch_ / (name + "-000" + std::to_string(number) + ending);
      };
      const auto wait_for = [&](const std::string& path) {
        for (int wait = 0; wait < 60'000 && !std::filesystem::exists(path); ++wait)
          std::this_thread::sleep_for(1ms);
        ASSERT_TRUE(std::filesystem::exists(path)) << path;
      };
      const pid_t pid =
          start(words(format, output,
                      {"filterbank.rate=1", "filterbank.block_samples=111", "series.each_s=1000"}));
      for (const int number : {1, 2}) {
        wait_for(format == "npy" ? part(number) + ".partial"
                                 : part(number) + "/dedisperse.json.partial");
        std::this_thread::sleep_for(300ms);
        kill(pid, SIGHUP);
      }
      wait_for(record_path(format, part(2)));
      if (format == "npy") wait_for(part(2));
      if (killed) kill(pid, SIGKILL);
      const CommandResult result = finish_command(pid, scratch_ / "run");
      EXPECT_EQ(result.status, killed ? 1000 + SIGKILL : kDone) << result.err;
      std::vector<std::string> parts;
      for (int number = 1; std::filesystem::exists(record_path(format, part(number))); ++number)
        parts.push_back(part(number));
      EXPECT_EQ(parts.size(), killed ? 2U : 3U);
      std::size_t sum = 0;
      for (const std::size_t length : expect_parts_of(format, whole, parts)) {
        EXPECT_GT(length, 0U);
        sum += length;
      }
      if (!killed) {
        EXPECT_EQ(sum, whole.front().size() / 4) << format;
      }
    }
  }
}

// Lost packets of a live filterbank, in all channels: exactly the trials and times that sum over them say so.
TEST_F(TrialParts, SayWhatWasLostOfEachTrial) {
  constexpr std::size_t kTimes = 40'000;
  auto values = noise_with_pulses(shape_, kTimes, {}, random_);
  const std::size_t first = 20'000 + random_() % 5'000, count = 100 + random_() % 900;
  for (std::size_t t = first; t < first + count; ++t)
    for (std::size_t c = 0; c < 32; ++c) values[t * 32 + c] = 0;
  write_filterbank(scratch_ / "a.fil", shape_, values);
  const std::string bytes = read_file(scratch_ / "a.fil");
  write_file(scratch_ / "live.toml",
             "[filterbank]\ntype = \"live_filterbank\"\npath = \"" + pipe_ +
                 "\"\nfill_gaps = true\n[trials]\ntype = \"dedisperse\"\ninputs = \"filterbank\"\n"
                 "dms.range = \"0:60:15\"\n[series]\ntype = \"trial_files\"\ninputs = \"trials\"\n"
                 "path = \"" +
                 (scratch_ / "live.npy") + "\"\n");
  for (const bool in_parts : {false, true}) {
    std::vector<std::string> command{"--device", "cpu", "--json", "run", scratch_ / "live.toml"};
    if (in_parts) command.insert(command.end(), {"--set", "series.each_s=1.9"});
    const CommandResult result = run_piped(command, bytes);
    ASSERT_EQ(result.status, kDone) << result.err;
    std::size_t before = 0, touched = 0;
    for (const std::string& file : files_of(result)) {
      const Json record = Json::parse(read_file(file + ".json"));
      const Json& segment = record.at("segments").at(0);
      const auto samples = segment.at("samples").get<std::size_t>(),
                 step_samples = segment.at("filled").at("step_samples").get<std::size_t>();
      EXPECT_EQ(step_samples, 391U);  // 0.1 s
      std::map<std::size_t, Json> steps;
      for (const Json& step : segment.at("filled").at("steps"))
        steps[step.at("step").get<std::size_t>()] = step.at("fraction");
      for (std::size_t step = 0; step * step_samples < samples; ++step)
        for (std::size_t trial = 0; trial < kTrials; ++trial) {
          const std::size_t from = before + step * step_samples,
                            length = std::min(step_samples, samples - step * step_samples);
          std::size_t lost = 0;
          for (std::size_t c = 0; c < 32; ++c) {
            const auto delay = static_cast<std::size_t>(core::dispersion_delay_samples(
                15.0 * static_cast<double>(trial), 1500 - 8.0 * static_cast<double>(c), 1500,
                shape_.tsamp, core::kDispersionConstant));
            const std::size_t begin = std::max(first, from + delay),
                              end = std::min(first + count, from + delay + length);
            if (begin < end) lost += end - begin;
          }
          const double expected = static_cast<double>(lost) / static_cast<double>(32 * length);
          const double given = steps.contains(step) ? steps[step].at(trial).get<double>() : 0.0;
          EXPECT_NEAR(given, expected, 1e-3 * expected)
              << file << " step " << step << " trial " << trial;
          touched += expected > 0;
        }
      before += samples;
      const CommandResult said = run({"inspect", file}), json = run({"--json", "inspect", file}),
                          drawn = run({"plot", file, "-o", scratch_ / "x.html", "--overwrite"});
      EXPECT_NE(said.out.find(steps.empty() ? "filled nothing" : "filled in "), std::string::npos)
          << said.out;
      EXPECT_EQ(Json::parse(json.out).at("filled"), segment.at("filled"));
      EXPECT_EQ(drawn.status, kDone) << drawn.err;
      EXPECT_EQ(read_file(scratch_ / "x.html").find("Lost data") != std::string::npos,
                !steps.empty());
    }
    EXPECT_GT(touched, 4U);
  }
}

}  // namespace
}  // namespace tautline::tests
