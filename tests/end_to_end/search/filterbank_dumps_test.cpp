// A live search that has the filterbank around its pulses written: the example, and the bytes of the stream.
#include <gtest/gtest.h>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/search/search_files.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

class FilterbankDumps : public ::testing::Test {
 protected:
  FilterbankDumps() {
    shape_.nchans = 32;
    shape_.fch1 = 1500;
    shape_.foff = -8;
    shape_.tsamp = 256e-6;
    std::filesystem::create_directory(scratch_ / "run");
  }
  // The example, of the file that lies there as a pipe.
  CommandResult run(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{
        "--json", "--device", "cpu", "run",
        source_folder() + "/examples/pipelines/search-live-and-dump.toml"};
    std::vector<std::string> sets{
        "events.path=" + (scratch_ / "events.jsonl"), "event.path=" + (scratch_ / "event.fil"),
        "pulses.dms.range=0:60:1", "triggers.threshold=15", "pulses.threshold=8"};
    sets.insert(sets.end(), more.begin(), more.end());
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    return run_shell("cat '" + (scratch_ / "a.fil") + "' | " + command_line(words),
                     scratch_ / "run");
  }
  static std::string samples_in(const std::string& bytes) {
    return bytes.substr(bytes.find("HEADER_END") + 10);
  }

  SigprocShape shape_;
  ScratchFolder scratch_;
  std::mt19937_64 random_ = generator();
};

// One pulse early, and one with a stretch that holds nothing behind it, which the source leaves out: the file has zeros
// there as the stream had, and its record says so.
TEST_F(FilterbankDumps, HaveTheBytesOfTheStream) {
  constexpr std::size_t kTimes = 60'000;
  const std::size_t early = 9000 + random_() % 3000, late = 40'000 + random_() % 5000;
  auto values = noise_with_pulses(shape_, kTimes, {{30, early, 40}, {50, late, 40}}, random_);
  for (std::size_t t = late + 700; t < late + 1300; ++t)
    for (std::size_t c = 0; c < 32; ++c) values[t * 32 + c] = 0;
  write_filterbank(scratch_ / "a.fil", shape_, values);
  const std::string stream = samples_in(read_file(scratch_ / "a.fil"));
  const CommandResult result = run();
  ASSERT_EQ(result.status, kDone) << result.err;
  const auto summary = nlohmann::json::parse(result.out);
  ASSERT_EQ(summary.at("counters").at("event.dumps"), 2) << summary.dump(1);
  const std::size_t at[2] = {early, late};
  for (std::size_t k = 0; k < 2; ++k) {
    const std::string path = scratch_ / ("event-000" + std::to_string(k + 1) + ".fil");
    const auto record = nlohmann::json::parse(read_file(path + ".json"));
    const auto first = record.at("start_sample").get<std::size_t>(),
               samples = record.at("samples").get<std::size_t>();
    EXPECT_NEAR(static_cast<double>(first), static_cast<double>(at[k]) - 0.5 / shape_.tsamp, 60);
    EXPECT_GT(static_cast<double>(samples), 1 / shape_.tsamp);
    const std::string dump = samples_in(read_file(path));
    ASSERT_EQ(dump.size(), samples * 32);
    EXPECT_TRUE(dump == stream.substr(first * 32, samples * 32)) << record.dump(1);
    EXPECT_EQ(record.at("trigger").at("kind"), "candidate");
    std::uint64_t missed = 0;
    for (const auto& one : record.at("missed")) {
      EXPECT_EQ(one.at("why"), "gap");
      const auto from = first + one.at("first_sample").get<std::size_t>();
      EXPECT_GE(from, late + 699);
      missed += one.at("samples").get<std::uint64_t>();
    }
    if (k == 0)
      EXPECT_EQ(missed, 0U);
    else
      EXPECT_NEAR(static_cast<double>(missed), 600, 1);
  }
}

TEST_F(FilterbankDumps, AreForFilterbanksAlone) {
  write_filterbank(scratch_ / "a.fil", shape_, noise_with_pulses(shape_, 3000, {}, random_));
  const CommandResult result = run({"event.path=" + (scratch_ / "event.dada")});
  EXPECT_EQ(result.status, kWrongUsage) << result.err;
  EXPECT_NE(result.err.find("a name ending in .fil"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "events.jsonl"));
}

}  // namespace
}  // namespace tautline::tests
