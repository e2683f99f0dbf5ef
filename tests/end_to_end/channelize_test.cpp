// channelize: what it writes reads back as what it says, and beside it stands what was done.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tautline/core/error.h"
#include "tautline/pipeline/voltages/measure_gains.h"
#include "tests/end_to_end/command_test.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kChannels = 16, kInputs = 4;

class Channelize : public CommandTest {
 protected:
  void SetUp() override { write_file(scratch / "in.dada", DadaFile{}.bytes()); }
  CommandResult channelize(const std::string& output, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{
        "channelize", scratch / "in.dada",       "-o",     scratch / output,
        "--channels", std::to_string(kChannels), "--taps", "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  void expect_nothing_left() {
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
      EXPECT_FALSE(entry.path().filename().string().starts_with("c.")) << entry.path();
  }
};

TEST_F(Channelize, GainsAndCountersStandBesideTheOutput) {
  for (const char* output : {"c.dada", "c.npy"}) {
    ASSERT_EQ(channelize(output, {"--requantize", "8"}).status, 0) << read_file(scratch / "err");
    const auto record = nlohmann::json::parse(read_file(scratch / (std::string(output) + ".json")));
    EXPECT_EQ(record["requantisation_gains"].size(), kChannels);
    for (const auto& row : record["requantisation_gains"]) {
      ASSERT_EQ(row.size(), kInputs);
      for (const float gain : row) EXPECT_GT(gain, 0.01f);
    }
    EXPECT_EQ(record["channel_hz"].size(), kChannels);
    EXPECT_EQ(record["samples"], 20000);
    EXPECT_NE(record["history"].get<std::string>().find("--requantize 8"), std::string::npos);
  }
}

// Spectrum 0 spans 4 x 16 samples, so its sample of 16 is centred 32 samples in: 24 from the start.
TEST_F(Channelize, VoltagesReadBackWithTheirTimesAndFrequencies) {
  ASSERT_EQ(channelize("c.dada").status, 0) << read_file(scratch / "err");
  const CommandResult result = run({"--json", "inspect", scratch / "c.dada"});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto found = nlohmann::json::parse(result.out);
  EXPECT_EQ(found["channels"], kChannels);
  EXPECT_EQ(found["samples"], (20000 - 64) / 16 + 1);
  EXPECT_EQ(found["rate_hz"], nlohmann::json::array({80000, 1}));
  EXPECT_EQ(found["start_utc"], "2026-03-20T14:00:00.000018");  // 24 / 1.28e6 s, rounded down
  EXPECT_DOUBLE_EQ(found["centre_hz"].get<double>(), 154.88e6 - 1.28e6 / 32);
  EXPECT_DOUBLE_EQ(found["bandwidth_hz"].get<double>(), 1.28e6);
}

TEST_F(Channelize, PowerHasOneFloatForEachTimeProductAndChannel) {
  ASSERT_EQ(channelize("c.fil", {"--integrate", "10", "--stokes", "IQUV"}).status, 0)
      << read_file(scratch / "err");
  const std::string file = read_file(scratch / "c.fil");
  const std::size_t header = file.find("HEADER_END") + 10;
  const std::size_t times = ((20000 - 64) / 16 + 1) / 10;
  EXPECT_EQ(file.size() - header, times * 4 * kChannels * sizeof(float));
}

TEST_F(Channelize, RefusesWhatItWouldIgnore) {
  EXPECT_EQ(channelize("c.fil", {"--requantize", "8"}).status, 2);
  EXPECT_EQ(channelize("c.txt").status, 2);
  EXPECT_EQ(channelize("c.dada", {"--stokes", "IQUV"}).status, 2);
  EXPECT_EQ(channelize("c.npy", {"--integrate", "4"}).status, 2);
  EXPECT_EQ(channelize("c.dada", {"--rate-hz", "1280000"}).status, 2);
  EXPECT_NE(read_file(scratch / "err").find("--rate-hz"), std::string::npos);
  expect_nothing_left();
}

TEST_F(Channelize, TooLittleMemoryIsRefusedWithTheNumbers) {
  const auto with = [&](std::size_t kib) {
    return channelize("c.dada", {"--memory", std::to_string(kib) + "K"});
  };
  const std::size_t needed = needed_kib(with(1).err);
  EXPECT_EQ(with(needed - 1).status, 2) << needed;
  expect_nothing_left();
  // Where there is more memory, each of a few forms takes a sixteenth of it.
  EXPECT_EQ(with(16 * needed).status, 0) << read_file(scratch / "err");
}

// With coefficients there is no window and no cutoff.
TEST_F(Channelize, RefusesAWindowBesideCoefficients) {
  std::string coefficients;
  for (std::size_t k = 0; k < 4 * kChannels; ++k) coefficients += "0.1 ";
  write_file(scratch / "h.txt", coefficients);
  const std::vector<std::pair<std::string, std::string>> useless{{"--window", "rect"},
                                                                 {"--cutoff", "0.9"}};
  for (const auto& [option, value] : useless) {
    const CommandResult result =
        channelize("c.dada", {"--coefficients", scratch / "h.txt", option, value});
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_NE(result.err.find(option), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("--coefficients"), std::string::npos) << result.err;
  }
  expect_nothing_left();
  EXPECT_EQ(channelize("c.dada", {"--coefficients", scratch / "h.txt"}).status, 0);
}

TEST_F(Channelize, CoefficientsThatCannotBeOpenedOrReadAreNamed) {
  write_file(scratch / "words.txt", "0.1 0.2 lots");
  const std::vector<std::pair<std::string, std::string>> cases{{"missing.txt", "No such file"},
                                                               {"words.txt", "not a number"}};
  for (const auto& [name, said] : cases) {
    const CommandResult result = channelize("c.dada", {"--coefficients", scratch / name});
    EXPECT_EQ(result.status, 1) << result.err;
    EXPECT_NE(result.err.find(name), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
  }
  expect_nothing_left();
}

// Too short for one spectrum, or for one power sample.
TEST_F(Channelize, RefusesToWriteNothing) {
  for (const char* output : {"c.dada", "c.npy", "c.fil"}) {
    const CommandResult result = channelize(output, {"--duration", "1us"});
    EXPECT_EQ(result.status, 1) << output << ": " << result.err;
    EXPECT_NE(result.err.find("one spectrum"), std::string::npos) << result.err;
  }
  EXPECT_EQ(channelize("c.npy", {"--duration", "1us", "--requantize", "8"}).status, 1);
  const CommandResult result = channelize("c.fil", {"--integrate", "1000000"});
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_NE(result.err.find("--integrate"), std::string::npos) << result.err;
  expect_nothing_left();
}

TEST_F(Channelize, MeasuringGainsStaysWithinTheMemory) {
  const auto device = device::open({}, {.threads = 1});
  pipeline::FilterConfig filter;
  filter.channels = kChannels;
  const auto gains = [&](std::size_t memory_bytes) {
    return pipeline::measure_gains({scratch / "in.dada"}, {}, filter, device, memory_bytes);
  };
  EXPECT_EQ(gains(std::size_t{10} << 20).size(), kChannels * kInputs);
  std::size_t needed_kib = 2;  // at least, and then what the error says
  for (const char* limit : {"1 KiB", "a KiB less than needed"}) {
    try {
      gains((needed_kib - 1) << 10);
      ADD_FAILURE() << limit << " was enough";
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::memory) << error.what();
      needed_kib = std::stoull(error.value());
    }
  }
}

// Channelized input keeps its channels: options of the filter bank would change nothing.
TEST_F(Channelize, OptionsOfTheFilterBankAreRefusedForItsOutput) {
  ASSERT_EQ(channelize("c.dada").status, 0) << read_file(scratch / "err");
  std::vector<std::string> correlate{"correlate",      scratch / "c.dada", "-o",
                                     scratch / "v.ms", "--integration",    "0.005"};
  for (const char* option : {"--channels", "--taps", "--requantize"}) {
    std::vector<std::string> with = correlate;
    with.insert(with.end(), {option, "8"});
    const CommandResult result = run(with);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_NE(result.err.find(option), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace tautline::tests
