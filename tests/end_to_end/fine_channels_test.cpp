// --fine: a stream of coarse channels gives what each of its channels gives as voltages of its own.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tautline/formats/visibility_reader.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

constexpr std::size_t kCoarse = 5, kFine = 16, kTimes = 9000, kCoarseInputs = 4;
constexpr std::size_t kSampleBytes = 2 * kCoarseInputs;  // of a time of a coarse channel
constexpr double kCentre_mhz = 154.88, kWidth_mhz = 1.28;

class FineOfCoarse : public ::testing::TestWithParam<double> {
 protected:
  void SetUp() override {
    DadaFile all;
    all.nchan = std::to_string(kCoarse);
    all.bw = std::to_string(GetParam() * kWidth_mhz * kCoarse);
    all.payload_bytes = kTimes * kCoarse * kSampleBytes;
    const std::string bytes = all.bytes();
    write_file(scratch / "in.dada", bytes);
    const std::size_t header = bytes.size() - all.payload_bytes;
    for (std::size_t c = 0; c < kCoarse; ++c) {
      DadaFile one;
      one.freq =
          std::to_string(kCentre_mhz + GetParam() * kWidth_mhz * (static_cast<double>(c) - 2));
      one.payload_bytes = 0;
      std::string file = one.bytes();
      for (std::size_t t = 0; t < kTimes; ++t)
        file += bytes.substr(header + (t * kCoarse + c) * kSampleBytes, kSampleBytes);
      write_file(scratch / name(c, ".dada"), file);
    }
  }
  /// Of the coarse channel that is `place` in order of frequency.
  std::size_t coarse_at(std::size_t place) const {
    return GetParam() > 0 ? place : kCoarse - 1 - place;
  }
  static std::string name(std::size_t coarse, const std::string& ending) {
    return "coarse" + std::to_string(coarse) + ending;
  }
  CommandResult run(std::vector<std::string> arguments, const std::vector<std::string>& more = {}) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  }
  std::vector<std::string> correlate(const std::string& in, const std::string& out) {
    return {"correlate", scratch / in,    "-o",   scratch / out, "--taps",
            "4",         "--integration", "0.002"};
  }
  // The file's channels are those of the coarse channels' own files, one after the other.
  void expect_visibilities_of_each(const std::string& path) {
    const auto all = formats::open_visibilities(path);
    ASSERT_EQ(all->description().channel_hz.size(), kCoarse * kFine);
    for (std::size_t place = 0; place < kCoarse; ++place) {
      const auto one = formats::open_visibilities(scratch / name(coarse_at(place), ".uvh5"));
      ASSERT_EQ(all->integrations(), one->integrations());
      ASSERT_GT(one->integrations(), 2u);
      EXPECT_NEAR(all->description().channel_width_hz, one->description().channel_width_hz, 1e-6);
      for (std::size_t f = 0; f < kFine; ++f)
        EXPECT_NEAR(all->description().channel_hz[place * kFine + f],
                    one->description().channel_hz[f], 1e-4);
      for (std::size_t k = 0; k < one->integrations(); ++k) {
        const formats::Integration a = all->read(k), b = one->read(k);
        EXPECT_TRUE(a.middle == b.middle);
        for (std::size_t f = 0; f < kFine; ++f)
          for (std::size_t p = 0; p < b.visibilities.extent(1); ++p) {
            ASSERT_EQ(a.visibilities(place * kFine + f, p), b.visibilities(f, p));
            ASSERT_EQ(a.counts(place * kFine + f, p), b.counts(f, p));
          }
      }
    }
  }
  ScratchFolder scratch;
};

TEST_P(FineOfCoarse, CorrelatesAsEachCoarseChannelAlone) {
  for (const char* requantise : {"8", "off"}) {
    for (std::size_t c = 0; c < kCoarse; ++c)
      run(correlate(name(c, ".dada"), name(c, ".uvh5")),
          {"--channels", std::to_string(kFine), "--requantize", requantise, "--overwrite"});
    run(correlate("in.dada", "fine.uvh5"),
        {"--fine", std::to_string(kFine), "--requantize", requantise, "--overwrite"});
    expect_visibilities_of_each(scratch / "fine.uvh5");
  }
}

TEST_P(FineOfCoarse, ThePipelineFileGivesWhatTheCommandGives) {
  for (std::size_t c = 0; c < kCoarse; ++c)
    run(correlate(name(c, ".dada"), name(c, ".uvh5")), {"--channels", std::to_string(kFine)});
  run({"run", source_folder() + "/examples/pipelines/coarse-channels.toml", "--set",
       "voltages.files=" + (scratch / "in.dada"), "--set",
       "visibilities.path=" + (scratch / "run.uvh5"), "--set", "f.fine=" + std::to_string(kFine),
       "--set", "f.taps=4", "--set", "x.integration_s=0.002"});
  expect_visibilities_of_each(scratch / "run.uvh5");
}

TEST_P(FineOfCoarse, VoltagesAndPowerAreThoseOfEachCoarseChannel) {
  std::string expected;
  for (std::size_t place = 0; place < kCoarse; ++place) {
    const std::string one = name(coarse_at(place), ".npy");
    run({"channelize", scratch / name(coarse_at(place), ".dada"), "-o", scratch / one, "--taps",
         "4", "--requantize", "8", "--channels", std::to_string(kFine)});
    const std::string bytes = read_file(scratch / one);
    expected += bytes.substr(bytes.size() - (kTimes / kFine - 3) * kFine * kSampleBytes);
  }
  run({"channelize", scratch / "in.dada", "-o", scratch / "fine.npy", "--taps", "4", "--requantize",
       "8", "--fine", std::to_string(kFine)});
  EXPECT_TRUE(read_file(scratch / "fine.npy").ends_with(expected));

  run({"channelize", scratch / "in.dada", "-o", scratch / "fine.dada", "--fine", "16"});
  const auto found = nlohmann::json::parse(run({"--json", "inspect", scratch / "fine.dada"}).out);
  EXPECT_EQ(found["channels"], kCoarse * kFine);
  EXPECT_EQ(found["rate_hz"], nlohmann::json::array({80000, 1}));
  EXPECT_NEAR(found["centre_hz"].get<double>(), 154.88e6 - 1.28e6 / 32, 1e-3);
  EXPECT_NEAR(found["bandwidth_hz"].get<double>(), 6.4e6, 1e-3);

  run({"channelize", scratch / "in.dada", "-o", scratch / "fine.fil", "--fine", "16"});
  const auto power = nlohmann::json::parse(run({"--json", "inspect", scratch / "fine.fil"}).out);
  EXPECT_EQ(power["channels"], kCoarse * kFine);
}

INSTANTIATE_TEST_SUITE_P(Orders, FineOfCoarse, ::testing::Values(1.0, -1.0), [](const auto& info) {
  return info.param > 0 ? "ascending" : "descending";
});

TEST(FineOfVoltages, IsRefusedWithTheOption) {
  const ScratchFolder scratch;
  write_file(scratch / "in.dada", DadaFile{}.bytes());
  const CommandResult result =
      run_command({"correlate", scratch / "in.dada", "-o", scratch / "v.uvh5", "--fine", "8"},
                  scratch.path().string());
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_NE(result.err.find("--fine"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("--channels"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace tautline::tests
