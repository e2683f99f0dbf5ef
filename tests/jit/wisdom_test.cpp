// Wisdom, and the log of a search: files that several processes write and any of them may damage.
#include "tautline/jit/wisdom.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tautline/core/error.h"
#include "tautline/jit/line_file.h"
#include "tautline/jit/result_log.h"
#include "tests/jit/fake_device.h"
#include "tests/support/scratch.h"

namespace {

using namespace tautline;
using jit::Choice;
using jit::Configuration;
using tests::Environment;
using tests::FakeDevice;

jit::Space wisdom_space() {
  return jit::Space({{"tile", {1, 2, 4, 8}, 2, ""}},
                    [](const Configuration& c) { return c.at("tile") != 4; });
}

jit::TuningKey key(jit::Sizes problem) {
  return {"cuda", "Fake 1", "580", "nvrtc 13", "abc", "correlate", "ci8", std::move(problem)};
}

jit::WisdomEntry entry(jit::Sizes problem, std::int64_t tile) {
  return {key(std::move(problem)), {{"tile", tile}}, 0.25, 0.01, 0.5, {}, {}};
}

TEST(Wisdom, ComesBackAsItWasWritten) {
  const tests::ScratchFolder folder;
  const std::filesystem::path path = folder / "deep/wisdom.jsonl";
  jit::append_wisdom(path, entry({{"inputs", 64}, {"samples", 3072}}, 8));
  const auto wisdom = jit::read_wisdom(path);
  ASSERT_EQ(wisdom.entries.size(), 1u);
  EXPECT_EQ(wisdom.damaged_lines, 0u);
  const jit::WisdomEntry& back = wisdom.entries[0];
  EXPECT_EQ(back.key.compiler, "nvrtc 13");
  EXPECT_EQ(back.key.problem, (jit::Sizes{{"inputs", 64}, {"samples", 3072}}));
  EXPECT_EQ(back.configuration, (Configuration{{"tile", 8}}));
  EXPECT_EQ(back.seconds, 0.25);
  EXPECT_EQ(back.default_seconds, 0.5);
  EXPECT_EQ(back.date.size(), 20u);
  EXPECT_FALSE(back.version.empty());
}

TEST(Wisdom, TakesTheExactProblemThenTheNearestThenTheDefault) {
  jit::Wisdom wisdom;
  EXPECT_EQ(jit::choose(wisdom, key({{"inputs", 64}}), wisdom_space()).source,
            Choice::Source::default_configuration);
  wisdom.entries = {entry({{"inputs", 64}}, 1), entry({{"inputs", 1024}}, 8)};
  const auto exact = jit::choose(wisdom, key({{"inputs", 64}}), wisdom_space());
  EXPECT_EQ(exact.source, Choice::Source::tuned);
  EXPECT_EQ(exact.configuration.at("tile"), 1);
  EXPECT_EQ(exact.note, "tuned");
  // 91 is nearer to 128 than to 64 by their ratio, and 90 to 64.
  wisdom.entries.push_back(entry({{"inputs", 128}}, 8));
  const auto nearest = jit::choose(wisdom, key({{"inputs", 91}}), wisdom_space());
  EXPECT_EQ(nearest.source, Choice::Source::nearest);
  EXPECT_EQ(nearest.configuration.at("tile"), 8);
  EXPECT_EQ(nearest.note, "tuned for inputs=128");
  EXPECT_EQ(jit::choose(wisdom, key({{"inputs", 90}}), wisdom_space()).configuration.at("tile"), 1);
  // The latest of equals.
  wisdom.entries.push_back(entry({{"inputs", 64}}, 2));
  EXPECT_EQ(jit::choose(wisdom, key({{"inputs", 64}}), wisdom_space()).configuration.at("tile"), 2);
}

TEST(Wisdom, ServesOnlyProblemsOfWhichEverySizeIsWithinAFactorOfTwo) {
  jit::Wisdom wisdom;
  wisdom.entries = {entry({{"channels", 100}, {"samples", 1000}}, 8)};
  const auto source = [&](std::uint64_t channels, std::uint64_t samples) {
    const Choice choice =
        jit::choose(wisdom, key({{"channels", channels}, {"samples", samples}}), wisdom_space());
    const bool is_default = choice.source == Choice::Source::default_configuration;
    EXPECT_EQ(choice.configuration, is_default ? wisdom_space().default_configuration()
                                               : wisdom.entries[0].configuration);
    EXPECT_EQ(choice.too_far, is_default ? "channels=100 samples=1000" : "");
    return choice.source;
  };
  for (const std::uint64_t channels : {50, 100, 200})
    for (const std::uint64_t samples : {500, 2000})
      EXPECT_EQ(source(channels, samples), Choice::Source::nearest) << channels << ' ' << samples;
  for (const auto& [channels, samples] :
       {std::pair{49, 1000}, {201, 1000}, {100, 499}, {100, 2001}, {32, 200000}, {1, 1}})
    EXPECT_EQ(source(channels, samples), Choice::Source::default_configuration)
        << channels << ' ' << samples;
  // One that is near comes before any that is not, and a later one that is far changes nothing.
  wisdom.entries.push_back(entry({{"channels", 50}, {"samples", 4100}}, 1));
  EXPECT_EQ(jit::choose(wisdom, key({{"channels", 50}, {"samples", 2000}}), wisdom_space())
                .configuration.at("tile"),
            8);
}

TEST(Wisdom, IsNotBorrowedFromOtherCodeDevicesOrKindsOfProblem) {
  const auto differs = [](const auto& change) {
    jit::Wisdom wisdom;
    wisdom.entries = {entry({{"inputs", 64}}, 1)};
    change(wisdom.entries[0]);
    return jit::choose(wisdom, key({{"inputs", 64}}), wisdom_space()).source ==
           Choice::Source::default_configuration;
  };
  EXPECT_TRUE(differs([](auto& e) { e.key.kernel_hash = "abd"; }));
  EXPECT_TRUE(differs([](auto& e) { e.key.product = "Fake 2"; }));
  EXPECT_TRUE(differs([](auto& e) { e.key.api = "opencl"; }));
  EXPECT_TRUE(differs([](auto& e) { e.key.stage = "channelize"; }));
  EXPECT_TRUE(differs([](auto& e) { e.key.variant = "cf32"; }));
  EXPECT_TRUE(differs([](auto& e) { e.key.problem["samples"] = 1; }));
  EXPECT_TRUE(differs([](auto& e) { e.configuration["tile"] = 4; }));   // illegal here
  EXPECT_TRUE(differs([](auto& e) { e.configuration["tile"] = 16; }));  // not in the space any more
  EXPECT_FALSE(differs([](auto& e) { e.key.driver = "590"; }));
  EXPECT_FALSE(differs([](auto&) {}));
}

TEST(Wisdom, PassesOverDamagedLinesAndCountsThem) {
  const tests::ScratchFolder folder;
  const std::filesystem::path path = folder / "wisdom.jsonl";
  jit::append_wisdom(path, entry({{"inputs", 64}}, 1));
  {
    std::ofstream file(path, std::ios::app);
    file << "{\"schema\":\"tautline.wisdom\",\"version\":1}\nnot "
            "json\n\n{\"schema\":\"other\"}\n[1]\n{\"cut";
  }
  // The next line does not stick to the one that was cut.
  jit::append_wisdom(path, entry({{"inputs", 128}}, 2));
  const auto wisdom = jit::read_wisdom(path);
  EXPECT_EQ(wisdom.damaged_lines, 5u);
  ASSERT_EQ(wisdom.entries.size(), 2u);
  EXPECT_EQ(wisdom.entries[1].configuration.at("tile"), 2);
}

TEST(Wisdom, IsSafeAmongProcesses) {
  const tests::ScratchFolder folder;
  const std::filesystem::path path = folder / "wisdom.jsonl";
  std::vector<pid_t> children;
  for (std::size_t p = 0; p < 6; ++p) {
    const pid_t pid = fork();
    if (pid == 0) {
      for (std::size_t k = 0; k < 50; ++k)
        jit::append_wisdom(path, entry({{"inputs", 100 * p + k + 1}}, 1));
      _exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const auto wisdom = jit::read_wisdom(path);
  EXPECT_EQ(wisdom.entries.size(), 300u);
  EXPECT_EQ(wisdom.damaged_lines, 0u);
}

TEST(Wisdom, SaysInTheLogWhichItTook) {
  const tests::ScratchFolder folder;
  const Environment cache("TAUTLINE_CACHE", folder.path().string());
  const FakeDevice device;
  std::vector<std::pair<core::LogLevel, std::string>> news;
  device.shared().set_log(
      [&](core::LogLevel level, const std::string& text) { news.emplace_back(level, text); });
  jit::choose(device, key({{"inputs", 64}}), wisdom_space());
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].first, core::LogLevel::debug);
  EXPECT_NE(news[0].second.find("default"), std::string::npos) << news[0].second;
  jit::append_wisdom(jit::wisdom_path(), entry({{"inputs", 32}}, 8));
  jit::append_line(jit::wisdom_path(), "damage");
  EXPECT_EQ(jit::choose(device, key({{"inputs", 64}}), wisdom_space()).configuration.at("tile"), 8);
  ASSERT_EQ(news.size(), 3u);
  EXPECT_EQ(news[1].first, core::LogLevel::warning);
  EXPECT_NE(news[2].second.find("inputs=32"), std::string::npos) << news[2].second;
  EXPECT_EQ(jit::choose(device, key({{"inputs", 32}}), wisdom_space()).source,
            Choice::Source::tuned);
  EXPECT_EQ(news.size(), 4u);  // the damage is named once
  EXPECT_EQ(news[3].first, core::LogLevel::debug);
  EXPECT_EQ(jit::choose(device, key({{"inputs", 65}}), wisdom_space()).source,
            Choice::Source::default_configuration);
  ASSERT_EQ(news.size(), 6u);  // the default's time was twice the winner's
  EXPECT_EQ(news[4].first, core::LogLevel::debug);
  EXPECT_NE(news[4].second.find("default"), std::string::npos) << news[4].second;
  EXPECT_NE(news[4].second.find("inputs=32 is too far"), std::string::npos) << news[4].second;
  EXPECT_EQ(news[5].first, core::LogLevel::advice);
}

TEST(Wisdom, AdvisesTuningOnceAndWhereItIsKnownToGain) {
  const tests::ScratchFolder folder;
  const Environment cache("TAUTLINE_CACHE", folder.path().string());
  const auto advice = [](std::initializer_list<std::uint64_t> inputs) {
    const FakeDevice device;
    std::vector<std::string> texts;
    device.shared().set_log([&](core::LogLevel level, const std::string& text) {
      if (level == core::LogLevel::advice) texts.push_back(text);
    });
    for (const std::uint64_t n : inputs) jit::choose(device, key({{"inputs", n}}), wisdom_space());
    return texts;
  };
  EXPECT_EQ(advice({64, 1000}).size(), 0u);  // nobody has tuned anything
  jit::WisdomEntry found = entry({{"inputs", 64}}, 8);
  found.default_seconds = 1.04 * found.seconds;
  jit::append_wisdom(jit::wisdom_path(), found);
  EXPECT_EQ(advice({1000}).size(), 0u);
  // The nearest counts, although its kernels have changed and its configuration is not taken.
  found.key = key({{"inputs", 2000}});
  found.key.kernel_hash = "abd";
  found.default_seconds = 1.06 * found.seconds;
  jit::append_wisdom(jit::wisdom_path(), found);
  const auto said = advice({1000, 4000, 10000});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("`tautline tune correlate`"), std::string::npos) << said[0];
  EXPECT_EQ(advice({64, 80, 10}).size(), 0u);  // tuned, near, and near one without a gain
}

TEST(Wisdom, ThatCannotBeReadIsAWarning) {
  const tests::ScratchFolder folder;
  const Environment cache("TAUTLINE_CACHE", folder.path().string());
  std::filesystem::create_directory(folder / "wisdom.jsonl");
  const FakeDevice device;
  int warnings = 0;
  device.shared().set_log([&](core::LogLevel level, const std::string&) {
    warnings += level == core::LogLevel::warning;
  });
  EXPECT_EQ(jit::choose(device, key({{"inputs", 64}}), wisdom_space()).source,
            Choice::Source::default_configuration);
  EXPECT_THROW(jit::append_wisdom(jit::wisdom_path(), entry({{"inputs", 64}}, 1)), core::Error);
  EXPECT_LE(warnings, 1);
}

TEST(ResultLog, GivesBackEveryKindOfResult) {
  const tests::ScratchFolder folder;
  const std::filesystem::path path = folder / "results.jsonl";
  const std::vector<jit::Result> results{
      {{{"tile", 1}}, jit::Outcome::measured, {}, 1.5e-3, 0.02, 7},
      {{{"tile", 2}}, jit::Outcome::wrong, "3 of 4 \"values\" \xff differ\nreally", 0, 0, 0},
      {{{"tile", 8}}, jit::Outcome::hung, "still running after 30 s", 0, 0, 0}};
  {
    const jit::ResultLog log(path, key({{"inputs", 64}}), wisdom_space());
    EXPECT_TRUE(log.earlier().empty());
    for (const auto& result : results) log.append(result);
    std::ofstream(path, std::ios::app) << "{\"configur";
  }
  const jit::ResultLog again(path, key({{"inputs", 64}}), wisdom_space());
  ASSERT_EQ(again.earlier().size(), 3u);
  EXPECT_EQ(again.damaged_lines(), 1u);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(again.earlier()[k].configuration, results[k].configuration);
    EXPECT_EQ(again.earlier()[k].outcome, results[k].outcome);
    EXPECT_EQ(again.earlier()[k].seconds, results[k].seconds);
  }
  EXPECT_EQ(again.earlier()[2].reason, results[2].reason);
}

TEST(ResultLog, PutsAsideWhatBelongsToAnotherSearch) {
  const tests::ScratchFolder folder;
  const std::filesystem::path path = folder / "results.jsonl";
  jit::ResultLog(path, key({{"inputs", 64}}), wisdom_space())
      .append({{{"tile", 1}}, jit::Outcome::measured, {}, 1, 0, 7});
  const jit::ResultLog other(path, key({{"inputs", 65}}), wisdom_space());
  EXPECT_TRUE(other.earlier().empty());
  EXPECT_TRUE(std::filesystem::exists(path.string() + ".old"));
  EXPECT_TRUE(jit::ResultLog(path, key({{"inputs", 65}}), jit::Space({{"tile", {1, 2}, 2, ""}}))
                  .earlier()
                  .empty());
}

}  // namespace
