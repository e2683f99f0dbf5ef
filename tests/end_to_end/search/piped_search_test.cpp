// `search` of a pipe: as the data come, with the candidates of a file.
#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>

#include "tests/end_to_end/search/piped_run.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;

class PipedSearch : public PipedRun {
 protected:
  std::vector<std::string> words(const std::string& input, const std::vector<std::string>& more) {
    std::vector<std::string> all{"--device", "cpu",    "search",      input,  "-o",         list_,
                                 "--dms",    "0:60:1", "--max-width", "0.02", "--overwrite"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // Candidates in the order of the list, without what names the file.
  std::vector<std::string> listed() const {
    std::istringstream text(read_file(list_));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(without_file(line));
    return lines;
  }

  std::string list_ = scratch_ / "list.csv";
};

// With a channel that never changes, padding, lost packets, most channels stopped for a while, and a last spectrum that
// is cut.
TEST_F(PipedSearch, CandidatesAreThoseOfTheFile) {
  for (const std::size_t times : {std::size_t{3000}, std::size_t{40'000}}) {
    auto values = noise_with_pulses(
        shape_, times, {{40, 1500, 40}, {25, times / 2 + 9000, 30}, {5, times / 3, 30}}, random_);
    for (std::size_t t = 0; t < times; ++t) values[t * 32 + 7] = 90;
    if (times > 10'000)
      for (std::size_t t = 20'000; t < 24'000; ++t)
        for (std::size_t c = 0; c < 32; ++c) values[t * 32 + c] = 0;
    // Not where so few channels go on that noise could repeat them.
    for (std::size_t first = 200; first + 8 < times; first += 700)
      if (first + 8 < 6000 || first > 12'000)
        std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(first * 32), 7 * 32, 0.0);
    if (times > 10'000)
      for (std::size_t t = 6000; t < 12'000; ++t)
        for (std::size_t c = t % 400 < 90 ? 0 : 9; c < 32; ++c) values[t * 32 + c] = 0;
    write_filterbank(scratch_ / "a.fil", shape_, values);
    std::string bytes = read_file(scratch_ / "a.fil");
    bytes.resize(bytes.size() - 5);
    write_file(scratch_ / "a.fil", bytes);
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, {"--zero-dm", "--ignorechan", "3"}, {"--latency", "1"}}) {
      const CommandResult file = run_command(words(scratch_ / "a.fil", more), scratch_ / "run");
      ASSERT_EQ(file.status, kDamaged) << file.err;
      const auto expected = listed();
      const auto of_file = nlohmann::json::parse(read_file(list_ + ".json"));
      EXPECT_GE(expected.size(), 2u);
      std::filesystem::remove(list_);
      const CommandResult piped = run_piped(words(pipe_, more), bytes);
      EXPECT_EQ(piped.status, kDamaged) << piped.err;
      EXPECT_EQ(listed(), expected) << times << (more.empty() ? "" : more.front());
      const auto record = nlohmann::json::parse(read_file(list_ + ".json"));
      for (const char* key : {"ignored_channels", "data_segments", "empty_samples", "dms"})
        EXPECT_EQ(record[key], of_file[key]) << key;
    }
  }
}

// By half a spectrum, or before as many as the header has: the status is 3, and it is said why.
TEST_F(PipedSearch, AStreamThatIsCutShortIsNamed) {
  constexpr std::size_t kTimes = 9000;
  write_filterbank(scratch_ / "a.fil", shape_,
                   noise_with_pulses(shape_, kTimes, {{40, 4000, 40}}, random_));
  std::string bytes = read_file(scratch_ / "a.fil");
  const std::size_t header = bytes.size() - kTimes * 32;
  const auto expect_said = [&](const std::string& stream, const std::string& words_said) {
    for (const bool quiet : {false, true}) {
      auto words_given = words(pipe_, {});
      if (quiet) words_given.insert(words_given.begin(), "--quiet");
      const CommandResult result = run_piped(words_given, stream);
      EXPECT_EQ(result.status, words_said.empty() ? kDone : kDamaged) << result.err;
      if (words_said.empty())
        EXPECT_EQ(result.err.find("cut short"), std::string::npos) << result.err;
      else
        EXPECT_NE(result.err.find(pipe_ + ": cut short" + words_said), std::string::npos)
            << result.err;
      EXPECT_GE(listed().size(), 2u);
    }
  };
  expect_said(bytes, "");
  const std::size_t rest = 1 + random_() % 31;
  expect_said(bytes.substr(0, bytes.size() - 32 + rest),
              ", byte " + std::to_string(header + (kTimes - 1) * 32) + ": " + std::to_string(rest) +
                  " bytes, expected whole spectra of 32 bytes");
  const auto number = [](std::int32_t value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const std::string begin = "HEADER_START";
  const auto promising = [&](std::size_t spectra) {
    return std::string(bytes).insert(
        bytes.find(begin) + begin.size(),
        number(8) + "nsamples" + number(static_cast<std::int32_t>(spectra)));
  };
  expect_said(promising(kTimes + 77),
              ": 9000 spectra came, expected 9077, as nsamples of the header says");
  expect_said(promising(kTimes), "");
  expect_said(promising(kTimes - 5), "");  // the header was wrong
}

// The level of all channels wanders within some 100 samples: in the last samples of a few trials, as in a file.
TEST_F(PipedSearch, NoiseThatIsNotWhiteIsSaid) {
  constexpr std::size_t kTimes = 150'000;
  for (const bool red : {true, false}) {
    std::vector<NoisePulse> pulses;  // a broad one, in white noise
    for (std::size_t k = 0; !red && k < 60; ++k) pulses.push_back({20, 60'000 + k, 6});
    auto values = noise_with_pulses(shape_, kTimes, pulses, random_);
    std::normal_distribution<double> normal;
    double level = 0;
    for (std::size_t t = 0; red && t < kTimes; ++t) {
      level = 0.99 * level + 0.2 * normal(random_);
      for (std::size_t c = 0; c < 32; ++c)
        values[t * 32 + c] = std::round(values[t * 32 + c] + level + 0.5 * normal(random_));
    }
    // Empty for a while: that makes no noise.
    std::fill_n(values.begin() + 32 * 90'000, 32 * 30'000, 0);
    write_filterbank(scratch_ / "a.fil", shape_, values);
    const std::string bytes = read_file(scratch_ / "a.fil");
    const auto excess_in = [&](const CommandResult& result) {
      EXPECT_EQ(result.status, kDone) << result.err;
      EXPECT_EQ(result.err.find("times as much as those of white noise") != std::string::npos, red)
          << result.err;
      const auto record = nlohmann::json::parse(read_file(list_ + ".json"));
      EXPECT_GE(record["noise_of_width"]["width_samples"], 4) << record["noise_of_width"];
      return record["noise_of_width"].value("excess", 0.0);
    };
    const double of_file = excess_in(run_command(words(scratch_ / "a.fil", {}), scratch_ / "run"));
    const double of_pipe = excess_in(run_piped(words(pipe_, {}), bytes));
    EXPECT_NEAR(of_pipe / of_file, 1, 0.5) << red << of_file;
    write_file(
        scratch_ / "live.toml",
        "[filterbank]\ntype = \"live_filterbank\"\npath = \"-\"\n[pulses]\ntype = \"search\"\n"
        "inputs = \"filterbank\"\ndms.range = \"0:60:1\"\nmax_width_s = 0.02\n[list]\n"
        "type = \"candidate_file\"\ninputs = \"pulses\"\npath = \"" +
            list_ + "\"\n");
    excess_in(run_program("/bin/sh",
                          {"-c", "exec " + command_path() + " --device cpu run --overwrite " +
                                     (scratch_ / "live.toml") + " < " + (scratch_ / "a.fil")},
                          scratch_ / "run"));
    const CommandResult by_width = run_piped(words(pipe_, {"--noise", "width"}), bytes);
    EXPECT_EQ(by_width.err.find("white noise"), std::string::npos) << by_width.err;
  }
}

// Of a file it is refused; a pipe is as long as it is.
TEST_F(PipedSearch, ABoxcarThatIsLongerThanWhatCameIsSaid) {
  write_filterbank(scratch_ / "a.fil", shape_,
                   noise_with_pulses(shape_, 9000, {{40, 4000, 40}}, random_));
  const std::string bytes = read_file(scratch_ / "a.fil");
  const auto said = [&](const std::string& width) {
    auto wide = words(pipe_, {});
    *(std::find(wide.begin(), wide.end(), "--max-width") + 1) = width;
    const CommandResult result = run_piped(wide, bytes);
    EXPECT_EQ(result.status, kDone) << result.err;
    return result.err.find("no pulse that is wider can be found") != std::string::npos;
  };
  EXPECT_FALSE(said("2.3"));  // of 2.304 s
  EXPECT_TRUE(said("2.4"));
}

// The second of two runs to one list, which would end first, is refused at its start.
TEST_F(PipedSearch, OfTwoRunsToOneListTheSecondIsRefused) {
  write_filterbank(scratch_ / "a.fil", shape_,
                   noise_with_pulses(shape_, 60'000, {{40, 1500, 40}}, random_));
  const std::string bytes = read_file(scratch_ / "a.fil");
  const pid_t first = start(words(pipe_, {}));
  const int out = open_pipe();
  feed(out, bytes, 0, bytes.size() / 2);
  const auto begin = std::chrono::steady_clock::now();
  while (!std::filesystem::exists(list_ + ".partial") &&
         std::chrono::steady_clock::now() - begin < 60s)
    std::this_thread::sleep_for(5ms);
  std::filesystem::create_directory(scratch_ / "second");
  const CommandResult second = run_command(words(scratch_ / "a.fil", {}), scratch_ / "second");
  EXPECT_EQ(second.status, kFailed) << second.err;
  EXPECT_NE(second.err.find("another run writes it"), std::string::npos) << second.err;
  feed(out, bytes, bytes.size() / 2, bytes.size());
  close(out);
  const CommandResult result = finish_command(first, scratch_ / "run");
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_TRUE(std::filesystem::exists(list_));
}

// All are added, with a warning where they are more than two, or those that are chosen.
TEST_F(PipedSearch, SeveralIfsAreAddedAsThoseOfTheFile) {
  constexpr std::size_t kTimes = 9000;
  shape_.nifs = 4;
  SigprocShape one = shape_;
  one.nifs = 1;
  const auto pulse = noise_with_pulses(one, kTimes, {{40, 4000, 40}}, random_);
  std::vector<double> values;  // [time][IF][channel]; the pulse is in IF 2
  for (std::size_t t = 0; t < kTimes; ++t)
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t c = 0; c < 32; ++c)
        values.push_back(k == 2 ? pulse[t * 32 + c] : static_cast<double>(random_() % 16));
  write_filterbank(scratch_ / "a.fil", shape_, values);
  const std::string bytes = read_file(scratch_ / "a.fil");
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--ifs", "2"}, {"--ifs", "1,2"}}) {
    const CommandResult file = run_command(words(scratch_ / "a.fil", more), scratch_ / "run");
    ASSERT_EQ(file.status, kDone) << file.err;
    const auto expected = listed();
    EXPECT_GE(expected.size(), 2u);
    const CommandResult piped = run_piped(words(pipe_, more), bytes);
    ASSERT_EQ(piped.status, kDone) << piped.err;
    EXPECT_EQ(listed(), expected) << more.size();
    const auto warns = [](const CommandResult& result) {
      return result.err.find("4 IFs are added up") != std::string::npos;
    };
    EXPECT_EQ(warns(piped), more.empty()) << piped.err;
    EXPECT_EQ(warns(file), more.empty()) << file.err;
    const std::string summed = more.empty()     ? "all 4 IFs added up"
                               : more[1] == "2" ? "IF 2 of 4"
                                                : "IFs 1, 2 of 4 added up";
    for (const CommandResult& result : {file, piped})
      EXPECT_NE(result.out.find("32 channels, " + summed), std::string::npos) << result.out;
  }
  const CommandResult twice = run_piped(words(pipe_, {"--ifs", "2,2"}), bytes);
  EXPECT_EQ(twice.status, kWrongUsage) << twice.err;
  const CommandResult refused = run_piped(words(pipe_, {"--ifs", "4"}), bytes);
  EXPECT_EQ(refused.status, kWrongUsage) << refused.err;
  EXPECT_NE(refused.err.find("0 to 3"), std::string::npos) << refused.err;
}

// A stream that does not end: events are there while it goes on; Ctrl-C writes the list of what had come.
TEST_F(PipedSearch, CandidatesComeWhileTheStreamGoesOn) {
  const std::size_t times = 60'000, at = 12'000 + random_() % 1000;
  write_filterbank(scratch_ / "a.fil", shape_,
                   noise_with_pulses(shape_, times, {{40, at, 40}}, random_));
  const std::string bytes = read_file(scratch_ / "a.fil");
  const std::string events = scratch_ / "events.jsonl";
  const pid_t pid = start(words(pipe_, {"--events", events, "--latency", "1"}));
  const int out = open_pipe();
  feed(out, bytes, 0, bytes.size());
  const auto is_there = [&] {
    for (const nlohmann::json& line : json_lines(read_file(events)))
      if (std::fabs(line["sample"].get<double>() - static_cast<double>(at)) < 5) return true;
    return false;
  };
  // Only a run that never gives it waits so long.
  for (int wait = 0; wait < 12'000 && !is_there(); ++wait) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(is_there()) << read_file(scratch_ / "run" + "/err");
  kill(pid, SIGINT);
  const CommandResult result = finish_command(pid, scratch_ / "run");
  close(out);
  EXPECT_EQ(result.status, kDamaged) << result.err;
  EXPECT_NE(result.err.find("stopped before its input ended"), std::string::npos) << result.err;
  EXPECT_GE(listed().size(), 2u);
  EXPECT_EQ(listed().size(), json_lines(read_file(events)).size() + 1);
}

// Before and after the first 16,384 spectra, with a pulse so wide that the noise of its width is measured, too.
TEST_F(PipedSearch, AStopKeepsTheListOfWhatHadCome) {
  for (const std::size_t times : {std::size_t{9000}, std::size_t{40'000}}) {
    std::vector<NoisePulse> pulses;
    const std::size_t at = 4000 + random_() % 1000;
    for (std::size_t k = 0; k < 16; ++k) pulses.push_back({20, at + k, 20});
    write_filterbank(scratch_ / "a.fil", shape_, noise_with_pulses(shape_, times, pulses, random_));
    const std::string bytes = read_file(scratch_ / "a.fil");
    const pid_t pid = start(words(pipe_, {}));
    const int out = open_pipe();
    feed(out, bytes, 0, bytes.size());
    const auto waiting = [&] {
      int left = 0;
      return ioctl(out, FIONREAD, &left) == 0 && left > 0;
    };
    for (int wait = 0; wait < 6000 && waiting(); ++wait) std::this_thread::sleep_for(10ms);
    kill(pid, random_() % 2 == 0 ? SIGINT : SIGTERM);
    const CommandResult result = finish_command(pid, scratch_ / "run");
    close(out);
    ASSERT_EQ(result.status, kDamaged) << result.err;
    EXPECT_NE(result.err.find("stopped before its input ended"), std::string::npos) << result.err;
    EXPECT_GE(listed().size(), 2u) << times;
    const auto record = nlohmann::json::parse(read_file(list_ + ".json"));
    EXPECT_EQ(record["noise_of_width"].is_null(), false) << record["noise_of_width"];
    std::filesystem::remove(list_);
  }
}

TEST_F(PipedSearch, WhatIsReadAgainIsKeptMeanwhile) {
  write_filterbank(scratch_ / "a.fil", shape_,
                   noise_with_pulses(shape_, 9000, {{40, 3000, 40}}, random_));
  const std::string bytes = read_file(scratch_ / "a.fil");
  const pid_t pid = start(words(pipe_, {"--flag-channels"}));
  const int out = open_pipe();
  feed(out, bytes, 0, bytes.size());
  close(out);
  const CommandResult result = finish_command(pid, scratch_ / "run");
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_NE(result.err.find("meanwhile"), std::string::npos) << result.err;
  EXPECT_GE(listed().size(), 2u);
}

}  // namespace
}  // namespace tautline::tests
