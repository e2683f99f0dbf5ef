// run: pipelines from files give what the commands give; what cannot run is refused with its place.
#include <gtest/gtest.h>

#include <complex>
#include <nlohmann/json.hpp>

#include "tautline/formats/visibility_reader.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

struct Contents {
  std::vector<std::complex<float>> values;
  std::vector<std::int64_t> counts;
  std::vector<core::Instant> middles;
};

Contents contents_of(const std::string& path) {
  Contents all;
  const auto reader = formats::open_visibilities(path);
  for (std::size_t k = 0; k < reader->integrations(); ++k) {
    const formats::Integration one = reader->read(k);
    all.middles.push_back(one.middle);
    for (std::size_t c = 0; c < one.visibilities.extent(0); ++c)
      for (std::size_t b = 0; b < one.visibilities.extent(1); ++b) {
        all.values.push_back(one.visibilities(c, b));
        all.counts.push_back(one.counts(c, b));
      }
  }
  return all;
}

class RunPipeline : public ::testing::Test {
 protected:
  void SetUp() override { write_file(scratch / "in.dada", DadaFile{}.bytes()); }
  CommandResult run(const std::vector<std::string>& arguments) {
    return run_command(arguments, scratch.path().string());
  }
  std::string example(const std::string& name) {
    return source_folder() + "/examples/pipelines/" + name;
  }
  std::vector<std::string> of_example(const std::string& name, const std::string& output) {
    return {"run",   example(name),
            "--set", "voltages.files=" + (scratch / "in.dada"),
            "--set", "visibilities.path=" + (scratch / output),
            "--set", "f.channels=16",
            "--set", "f.taps=4",
            "--set", "x.integration_s=0.004"};
  }
  Contents of_command(const std::string& device = "cpu") {
    const CommandResult result =
        run({"--device", device, "correlate", scratch / "in.dada", "-o", scratch / "command.uvh5",
             "--channels", "16", "--taps", "4", "--integration", "0.004"});
    EXPECT_EQ(result.status, 0) << result.err;
    return contents_of(scratch / "command.uvh5");
  }
  void expect_same(const Contents& a, const Contents& b) {
    ASSERT_FALSE(a.values.empty());
    EXPECT_TRUE(a.values == b.values);
    EXPECT_EQ(a.counts, b.counts);
    EXPECT_TRUE(a.middles == b.middles);
  }
  ScratchFolder scratch;
};

TEST_F(RunPipeline, CorrelatesAsTheCommandDoes) {
  for (const char* device : {"cpu", "reference"}) {
    std::vector<std::string> arguments = of_example("correlate.toml", "run.uvh5");
    arguments.insert(arguments.begin(), {"--device", device, "--json", "--profile"});
    arguments.push_back("--overwrite");
    const CommandResult result = run(arguments);
    ASSERT_EQ(result.status, 0) << result.err;
    expect_same(contents_of(scratch / "run.uvh5"), of_command(device));
    std::filesystem::remove(scratch / "command.uvh5");
    const auto summary = nlohmann::json::parse(result.out);
    EXPECT_EQ(keys_of(summary), documented_object("`tautline.run` 1"));
    EXPECT_EQ(summary["counters"]["voltages.samples"], 20000);
    EXPECT_GT(summary["efficiency"].get<double>(), 0);
    EXPECT_NE(result.err.find("bound by " + summary["bound_by"].get<std::string>()),
              std::string::npos)
        << result.err;
  }
}

TEST_F(RunPipeline, AForkGivesBothFilesWhatTheCommandsGive) {
  std::vector<std::string> arguments = of_example("correlate-and-record.toml", "run.uvh5");
  arguments.insert(arguments.end(), {"--set", "spectra.path=" + (scratch / "run.npy")});
  const CommandResult result = run(arguments);
  ASSERT_EQ(result.status, 0) << result.err;
  expect_same(contents_of(scratch / "run.uvh5"), of_command());
  const CommandResult bank = run({"channelize", scratch / "in.dada", "-o", scratch / "command.npy",
                                  "--channels", "16", "--taps", "4", "--requantize", "8"});
  ASSERT_EQ(bank.status, 0) << bank.err;
  EXPECT_TRUE(read_file(scratch / "run.npy") == read_file(scratch / "command.npy"));
}

TEST_F(RunPipeline, PlansAndChecksWithoutWriting) {
  std::vector<std::string> arguments = of_example("correlate.toml", "run.uvh5");
  arguments.push_back("--plan");
  const CommandResult plan = run(arguments);
  ASSERT_EQ(plan.status, 0) << plan.err;
  for (const char* said : {"voltages", "f on", "x on", "visibilities", "channel 16", "memory: "})
    EXPECT_NE(plan.out.find(said), std::string::npos) << said << "\n" << plan.out;
  arguments.back() = "--check";
  EXPECT_EQ(run(arguments).status, 0);
  EXPECT_FALSE(std::filesystem::exists(scratch / "run.uvh5"));
  EXPECT_NE(run({"run", "--types"}).out.find("filter_bank"), std::string::npos);
}

TEST_F(RunPipeline, SaysWhereAPipelineIsWrong) {
  write_file(scratch / "bad.toml",
             "[voltages]\ntype = \"voltage_files\"\nfiles = [\"" + (scratch / "in.dada") +
                 "\"]\n[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\nchannels = 1\n");
  CommandResult result = run({"run", scratch / "bad.toml", "--check"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("bad.toml: [f]: channels (line 7): 1, expected 2 to 65536"),
            std::string::npos)
      << result.err;
  result = run({"run", scratch / "none.toml"});
  EXPECT_EQ(result.status, 1);
  result =
      run({"run", example("correlate.toml"), "--set", "voltages.files=" + (scratch / "none.dada")});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("none.dada"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace tautline::tests
