// Searches of data that are still arriving: candidates come within the latency, and are those of a file.
#include "tests/end_to_end/search/live_search.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;

constexpr double kTsamp = 256e-6;

TEST_F(LiveSearch, CandidatesComeWithinTheLatencyAndAreThoseOfTheFile) {
  const double latency_s = 1,
               longest_s = 4148.808 * 60 * (1 / (1252.0 * 1252) - 1 / (1500.0 * 1500));
  const std::vector<std::size_t> at{12000 + random_() % 500, 20000 + random_() % 500};
  const std::size_t times = 30000;
  write_filterbank(scratch_ / "a.fil", shape_,
                   noise_with_pulses(shape_, times, {{40, at[0], 40}, {25, at[1], 30}}, random_));
  const std::string bytes = read_file(scratch_ / "a.fil");
  const std::size_t header = bytes.size() - times * 32;
  ASSERT_EQ(mkfifo((scratch_ / "pipe").c_str(), 0600), 0);
  write_pipeline(std::string(kPipe) + "path = \"" + (scratch_ / "pipe") + "\"\n");
  pid_ = start_command(words(), scratch_ / "run");
  const int pipe = open_pipe();
  ASSERT_GE(pipe, 0) << read_file(scratch_ / "run" + "/err");
  std::size_t fed = 0;
  const auto feed = [&](std::size_t until) {
    ASSERT_TRUE(put(pipe, std::string_view(bytes).substr(fed, until - fed)));
    fed = until;
  };
  for (const std::size_t pulse : at) {
    // All that may be needed, and not a sample more until the candidate is there.
    const double until = static_cast<double>(pulse + 1) + (longest_s + latency_s) / kTsamp;
    feed(header + 32 * static_cast<std::size_t>(std::ceil(until)));
    const auto is_there = [&] {
      for (const nlohmann::json& line : events())
        if (std::fabs(line["sample"].get<double>() - static_cast<double>(pulse)) < 5) return true;
      return false;
    };
    // Only a run that never gives it waits so long.
    for (int wait = 0; wait < 12'000 && !is_there(); ++wait) std::this_thread::sleep_for(10ms);
    EXPECT_TRUE(is_there()) << read_file(scratch_ / "run" + "/err");
  }
  feed(bytes.size());
  close(pipe);
  const CommandResult result = finish_command(*pid_, scratch_ / "run");
  pid_.reset();
  EXPECT_EQ(result.status, kDone) << result.err;
  const auto found = events();
  for (const nlohmann::json& line : found) {
    if (line["sample"] < 8000) continue;  // the first running mean is waited for
    EXPECT_LE(line["latency_s"].get<double>(), latency_s + longest_s) << line.dump();
    EXPECT_GE(line["latency_s"].get<double>(), 0) << line.dump();
  }
  const auto record = nlohmann::json::parse(read_file(scratch_ / "list.csv.json"));
  EXPECT_LE(record["latency_s"].get<double>(), latency_s);
  EXPECT_EQ(record["candidates"], found.size());
  EXPECT_EQ(record["data_segments"][0]["samples"], times);
  const auto live = listed();
  EXPECT_EQ(live.size(), found.size() + 1);
  EXPECT_GE(found.size(), 2u);

  write_pipeline(
      "[filterbank]\ntype = \"filterbank_files\"\nfiles = [\"" + (scratch_ / "a.fil") + "\"]\n",
      "latency_s = 1\n");
  const CommandResult file = run_command(words(), scratch_ / "run");
  EXPECT_EQ(file.status, kDone) << file.err;
  EXPECT_EQ(listed(), live);
}

// A pulse of a low DM is given when its own range of DMs has been searched; one that lies in two ranges is given once.
TEST_F(LiveSearch, PulsesOfLowDmsDoNotWaitForHighOnes) {
  const auto delay_s = [](double dm) {
    return 4148.808 * dm * (1 / (1252.0 * 1252) - 1 / (1500.0 * 1500));
  };
  const double latency_s = 1, of_range_s = latency_s / 2, longest_s = delay_s(2000);
  ASSERT_GT(longest_s, 3 * of_range_s);
  const double between = std::round(of_range_s / delay_s(1) / 2) * 2;  // two ranges meet there
  const std::size_t low = 12'000 + random_() % 500, both = 20'000 + random_() % 500, times = 40'000;
  write_filterbank(scratch_ / "a.fil", shape_,
                   noise_with_pulses(shape_, times, {{60, low, 40}, {between, both, 60}}, random_));
  const std::string bytes = read_file(scratch_ / "a.fil");
  const std::size_t header = bytes.size() - times * 32;
  ASSERT_EQ(mkfifo((scratch_ / "pipe").c_str(), 0600), 0);
  write_pipeline(std::string(kPipe) + "path = \"" + (scratch_ / "pipe") + "\"\n");
  pid_ = start_command(words({"--set", "pulses.dms.range=0:2000:2"}), scratch_ / "run");
  const int pipe = open_pipe();
  ASSERT_GE(pipe, 0) << read_file(scratch_ / "run" + "/err");
  const auto until =
      header + 32 * static_cast<std::size_t>(std::ceil(static_cast<double>(low + 1) +
                                                       (of_range_s + latency_s) / kTsamp));
  std::size_t fed = 0;
  const auto feed = [&](std::size_t to) {
    ASSERT_TRUE(put(pipe, std::string_view(bytes).substr(fed, to - fed)));
    fed = to;
  };
  const auto near = [&](std::size_t sample, double dm) {
    std::size_t count = 0;
    for (const nlohmann::json& line : events())
      if (std::fabs(line["sample"].get<double>() - static_cast<double>(sample)) < 40 &&
          std::fabs(line["dm"].get<double>() - dm) < 30)
        ++count;
    return count;
  };
  feed(until);
  // Only a run that never gives it waits so long.
  for (int wait = 0; wait < 12'000 && near(low, 60) == 0; ++wait) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(near(low, 60), 1u) << read_file(scratch_ / "run" + "/err");
  feed(bytes.size());
  close(pipe);
  const CommandResult result = finish_command(*pid_, scratch_ / "run");
  pid_.reset();
  ASSERT_EQ(result.status, kDone) << result.err;
  EXPECT_EQ(near(both, between), 1u);
  EXPECT_EQ(events().size() + 1, listed().size());
}

// Padding that is longer than any look ahead, lost packets, a channel that stops: left out or filled as in the file.
TEST_F(LiveSearch, WhatHoldsNothingIsThatOfTheFile) {
  const std::size_t times = 40000, padding = 14000 + random_() % 1000;
  auto values = noise_with_pulses(
      shape_, times, {{40, 10000, 40}, {25, padding + 8000, 30}, {30, 25500, 30}, {20, 35000, 30}},
      random_);
  const auto stop = [&](std::size_t first, std::size_t count, std::size_t c, std::size_t end) {
    for (std::size_t t = first; t < first + count; ++t)
      for (std::size_t k = c; k < end; ++k) values[t * 32 + k] = 0;
  };
  stop(padding, 4000, 0, 32);
  stop(8000, 60, 0, 32);
  stop(9000, 6, 0, 32);
  stop(24500, 2000, 9, 10);
  write_filterbank(scratch_ / "a.fil", shape_, values);
  write_pipeline(std::string(kPipe));
  const std::vector<std::string> bright{"--set", "pulses.threshold=8"};  // none of noise alone
  const CommandResult piped = run_from_file(words(bright));
  ASSERT_EQ(piped.status, kDone) << piped.err;
  const auto live = listed();
  EXPECT_GE(live.size(), 5U);
  // Each candidate says what of its sweep was filled, in the list and in the events: the channel that stopped.
  std::size_t among = 0;
  for (const nlohmann::json& one : events()) {
    const bool there = std::fabs(one["sample"].get<double>() - 25500) < 20 && one["snr"] > 15;
    if (there) {
      EXPECT_EQ(one["filled"], 1.0 / 32) << one.dump();
    }
    if (std::fabs(one["sample"].get<double>() - 35000) < 20) {
      EXPECT_EQ(one["filled"], 0.0);
    }
    among += there ? 1 : 0;
  }
  EXPECT_EQ(among, 1u);
  EXPECT_EQ(std::count_if(live.begin(), live.end(),
                          [](const std::string& row) { return row.ends_with(",0.03125"); }),
            1);
  const auto record = nlohmann::json::parse(read_file(scratch_ / "list.csv.json"));
  EXPECT_EQ(record["data_segments"].size(), 2U);
  write_pipeline(
      "[filterbank]\ntype = \"filterbank_files\"\nfiles = [\"" + (scratch_ / "a.fil") + "\"]\n",
      "latency_s = 1\n");
  const CommandResult file = run_command(words(bright), scratch_ / "run");
  ASSERT_EQ(file.status, kDone) << file.err;
  EXPECT_EQ(listed(), live);
  const auto of_file = nlohmann::json::parse(read_file(scratch_ / "list.csv.json"));
  for (const char* key : {"empty_samples", "empty_values", "empty_stretches", "empty_channels"})
    EXPECT_EQ(record[key], of_file[key]) << key;
  EXPECT_EQ(record["empty_samples"], 4066);
  EXPECT_EQ(record["data_segments"], of_file["data_segments"]);
}

// It is left out of a file; of a stream, its means take its place, or it is left out as of the file.
TEST_F(LiveSearch, AChannelThatNeverChangesIsNamed) {
  const std::size_t times = 30'000;
  auto values = noise_with_pulses(shape_, times, {{40, 10'000, 40}, {25, 22'000, 30}}, random_);
  for (std::size_t t = 0; t < times; ++t) values[t * 32 + 20] = 77;
  write_filterbank(scratch_ / "a.fil", shape_, values);
  write_pipeline(std::string(kPipe));
  // Their S/N differ a little: none may come close to the threshold.
  const std::vector<std::string> bright{"--set", "pulses.threshold=8"};
  const CommandResult piped = run_from_file(words(bright));
  ASSERT_EQ(piped.status, kDone) << piped.err;
  EXPECT_NE(piped.err.find("channel 20 for 30000 samples, of 30000 samples"), std::string::npos)
      << piped.err;
  EXPECT_EQ(nlohmann::json::parse(read_file(scratch_ / "list.csv.json"))["empty_channels"],
            nlohmann::json({{{"channel", 20}, {"samples", times}}}));
  const auto live = listed();
  write_pipeline(
      "[filterbank]\ntype = \"filterbank_files\"\nfiles = [\"" + (scratch_ / "a.fil") + "\"]\n",
      "latency_s = 1\n");
  const CommandResult file = run_command(words(bright), scratch_ / "run");
  ASSERT_EQ(file.status, kDone) << file.err;
  const auto of_file = listed();
  ASSERT_EQ(of_file.size(), live.size());
  EXPECT_GE(live.size(), 3u);
  for (std::size_t k = 1; k < live.size(); ++k)
    EXPECT_NEAR(std::stod(live[k]), std::stod(of_file[k]), 1e-3) << live[k] << "\n" << of_file[k];
  write_pipeline(std::string(kPipe) + "leave_out_constant = true\n");
  const CommandResult waited = run_from_file(words(bright));
  ASSERT_EQ(waited.status, kDone) << waited.err;
  EXPECT_EQ(listed(), of_file);
  const auto record = nlohmann::json::parse(read_file(scratch_ / "list.csv.json"));
  EXPECT_EQ(record["ignored_channels"], nlohmann::json({20}));
  EXPECT_EQ(record["empty_values"], 0);
}

TEST_F(LiveSearch, MasksAsTheDataPass) {
  auto values = noise_with_pulses(shape_, 16000, {{40, 9000, 40}}, random_);
  for (std::size_t t = 10000; t < 14000; ++t) values[t * 32 + 9] = (t / 10) % 2 ? 255 : 0;
  write_filterbank(scratch_ / "a.fil", shape_, values);
  std::vector<std::string> example{"--json", "--device", "cpu", "run",
                                   source_folder() + "/examples/pipelines/search-live.toml"};
  for (const std::string& set :
       {"list.path=" + (scratch_ / "list.csv"), "events.path=" + (scratch_ / "events.jsonl"),
        std::string("clean.threshold=30"), std::string("clean.every_s=0.256"),
        std::string("pulses.dms.range=0:60:1"), std::string("pulses.max_width_s=0.02"),
        std::string("pulses.latency_s=1"),
        std::string("pulses.threshold=8")})  // noise alone has no candidate
    example.insert(example.end(), {"--set", set});
  const CommandResult result = run_from_file(example);
  EXPECT_EQ(result.status, kDone) << result.err;
  const auto record = nlohmann::json::parse(read_file(scratch_ / "list.csv.json"));
  EXPECT_EQ(record["iqrm"]["windows"], 16);
  // Windows of 1,000 samples. Noise is 10 robust standard deviations away in one of 60,000, 30 in none; the channel is
  // some hundreds away.
  EXPECT_EQ(record["iqrm"]["channels"],
            nlohmann::json::parse(R"([{"channel": 9, "samples": 4000}])"));
  const auto found = events();
  ASSERT_GE(found.size(), 1u);
  for (const nlohmann::json& one : found) {
    EXPECT_LT(one["sample"].get<double>(), 9500) << "the interference passed: " << one.dump();
    EXPECT_LE(one["latency_s"].get<double>(), 1.05);
  }
}

// As the guide has it, of 128 channels each 512 us.
TEST_F(LiveSearch, ExampleTakesUsualSampling) {
  SigprocShape shape;
  shape.nchans = 128;
  shape.fch1 = 1500;
  shape.foff = -2;
  shape.tsamp = 512e-6;
  write_filterbank(scratch_ / "a.fil", shape, noise_with_pulses(shape, 16'000, {}, random_));
  const CommandResult result =
      run_from_file({"run", source_folder() + "/examples/pipelines/search-live.toml", "--set",
                     "list.path=" + (scratch_ / "list.csv"), "--set",
                     "events.path=" + (scratch_ / "events.jsonl")});
  EXPECT_EQ(result.status, kDone) << result.err;
}

TEST_F(LiveSearch, RefusesWhatCannotBe) {
  const auto refuse = [&](const std::vector<std::string>& more, const std::string& text,
                          int status = kWrongUsage) {
    const CommandResult result = run_command(words(more), scratch_ / "run");
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(scratch_ / "list.csv"));
  };
  write_filterbank(scratch_ / "a.fil", shape_, noise_with_pulses(shape_, 9000, {}, random_));
  write_pipeline("[filterbank]\ntype = \"filterbank_files\"\nfiles = [\"" + (scratch_ / "a.fil") +
                 "\"]\n");
  refuse({"--set", "pulses.latency_s=0.3"}, "latency_s");
  write_pipeline(std::string(kPipe) + "wait_s = 0.2\npath = \"" + (scratch_ / "pipe") + "\"\n");
  ASSERT_EQ(mkfifo((scratch_ / "pipe").c_str(), 0600), 0);
  for (const char* word : {"--check", "--plan"})  // nobody writes, and nobody is waited for
    refuse({word}, "of which nothing is known before the run reads it");
  const CommandResult checked = run_command(
      words({"--check", "--set", "filterbank.path=" + (scratch_ / "a.fil")}), scratch_ / "run");
  EXPECT_EQ(checked.status, kDone) << checked.err;
  refuse({}, "0 bytes came within", kFailed);
  write_file(scratch_ / "text", std::string(500, 'x'));
  const CommandResult result =
      run_from_file({"run", scratch_ / "live.toml", "--set", "filterbank.path=-"}, "text");
  EXPECT_EQ(result.status, kFailed);
  EXPECT_NE(result.err.find("no header of sigproc's"), std::string::npos) << result.err;
}

// Voltages, channelized and detected in the graph, give the candidates of the filterbank that `channelize` writes.
TEST_F(LiveSearch, VoltagesAreSearchedAsTheirFilterbank) {
  DadaFile voltages;
  voltages.payload_bytes = 8 * 400'000;
  write_file(scratch_ / "v.dada", voltages.bytes());
  const CommandResult made =
      run_command({"channelize", scratch_ / "v.dada", "-o", scratch_ / "v.fil", "--channels", "16",
                   "--integrate", "4"},
                  scratch_ / "run");
  ASSERT_EQ(made.status, kDone) << made.err;
  const std::vector<std::string> noise{"--set", "pulses.threshold=3.4",
                                       "--set", "pulses.dms.range=0:5:1",
                                       "--set", "pulses.max_width_s=0.001"};
  // Samples, S/N, widths and DMs: the file's start is rounded to its header's.
  const auto rows = [&] {
    std::vector<std::string> lines;
    for (const std::string& line : listed()) {
      std::size_t at = 0;
      for (int column = 0; column < 10; ++column) at = line.find(',', at) + 1;
      lines.push_back(line.substr(0, at));
    }
    return lines;
  };
  write_pipeline("[voltages]\ntype = \"voltage_files\"\nfiles = [\"" + (scratch_ / "v.dada") +
                 "\"]\n[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\nchannels = 16\n"
                 "requantise = \"off\"\n[filterbank]\ntype = \"power\"\ninputs = \"f\"\n"
                 "integrate = 4\n");
  const CommandResult live = run_command(words(noise), scratch_ / "run");
  ASSERT_EQ(live.status, kDone) << live.err;
  const auto from_voltages = rows();
  EXPECT_GE(from_voltages.size(), 3u);
  EXPECT_EQ(events().size() + 1, from_voltages.size());
  write_pipeline("[filterbank]\ntype = \"filterbank_files\"\nfiles = [\"" + (scratch_ / "v.fil") +
                 "\"]\n");
  const CommandResult file = run_command(words(noise), scratch_ / "run");
  ASSERT_EQ(file.status, kDone) << file.err;
  EXPECT_EQ(rows(), from_voltages);
}

}  // namespace
}  // namespace tautline::tests
