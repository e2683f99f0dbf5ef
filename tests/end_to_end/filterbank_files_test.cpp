// simulate filterbank and inspect, as a user runs them, on good files and on bad ones.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/command_test.h"
#include "tests/formats/sigproc/sigproc_files.h"

namespace tautline::tests {
namespace {

class FilterbankFiles : public CommandTest {
 protected:
  CommandResult simulate(const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"simulate", "filterbank", "-o",      scratch / "x.fil",
                                       "--nchans", "64",         "--fch1",  "1500",
                                       "--foff",   "-1",         "--tsamp", "0.001"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  // The JSON of `inspect` about a file.
  nlohmann::json inspect(const std::string& path, int status = kDone) {
    const CommandResult result = run({"--json", "inspect", path});
    EXPECT_EQ(result.status, status) << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  }
  void expect_refused(const std::string& path, const std::string& word) {
    const CommandResult result = run({"inspect", path});
    EXPECT_EQ(result.status, kFailed) << result.err;
    EXPECT_NE(result.err.find(path), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(word), std::string::npos) << result.err;
  }
};

TEST_F(FilterbankFiles, SimulatedAndInspected) {
  const CommandResult made =
      simulate({"--duration", "2", "--nbits", "4", "--seed", "7", "--name", "burst", "--utc-start",
                "2024-01-02-03:04:05", "--pulse", "dm=10,time=0.5,width=0.01,snr=20", "--pulse",
                "dm=20,time=1,width=0.01,snr=20", "--carrier", "frequency=1480,amplitude=3"});
  ASSERT_EQ(made.status, kDone) << made.err;
  const auto said = inspect(scratch / "x.fil");
  EXPECT_EQ(said["schema"], "tautline.inspect.filterbank");
  EXPECT_EQ(said["samples"], 2000);
  EXPECT_EQ(said["bits"], 4);
  EXPECT_EQ(said["source"], "burst");
  EXPECT_EQ(said["start_utc"], "2024-01-02T03:04:05.000000");
  EXPECT_EQ(said["rate_hz"], (nlohmann::json{1000, 1}));
  const auto truth = nlohmann::json::parse(read_file(scratch / "x.truth.json"));
  EXPECT_EQ(truth["pulses"].size(), 2u);
  EXPECT_NE(truth["history"].get<std::string>().find("simulate filterbank"), std::string::npos);
  EXPECT_NE(run({"inspect", scratch / "x.fil"}).out.find("steps of -1 MHz"), std::string::npos);
  // An existing file is kept.
  EXPECT_EQ(simulate({"--duration", "2"}).status, kFailed);
  EXPECT_EQ(simulate({"--duration", "1", "--overwrite"}).status, kDone);
}

TEST_F(FilterbankFiles, SceneFilesWithOptionsOnTop) {
  write_file(scratch / "s.toml",
             "nchans = 16\nfch1_mhz = 1400\nfoff_mhz = 1\ntsamp_s = 0.002\nnbits = 16\n"
             "[[pulse]]\ndm = 5\ntime_s = 0.2\nwidth_s = 0.01\nsnr = 20\n");
  const CommandResult made = run({"simulate", "filterbank", "--scene", scratch / "s.toml",
                                  "--nbits", "32", "--duration", "1", "-o", scratch / "y.fil"});
  ASSERT_EQ(made.status, kDone) << made.err;
  const auto said = inspect(scratch / "y.fil");
  EXPECT_EQ(said["bits"], 32);
  EXPECT_EQ(said["channels"], 16);
  EXPECT_EQ(said["highest_mhz"], 1415);
}

TEST_F(FilterbankFiles, WrongUsageIsNamedAndLeavesNothing) {
  const auto refuses = [&](const std::vector<std::string>& more, const std::string& word) {
    const CommandResult result = simulate(more);
    EXPECT_EQ(result.status, kWrongUsage) << result.err;
    EXPECT_NE(result.err.find(word), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(scratch / "x.fil"));
  };
  refuses({"--duration", "0"}, "--duration");
  refuses({"--duration", "1", "--nbits", "5"}, "--nbits");
  refuses({"--duration", "1", "--pulse", "dm=3"}, "--pulse");
  refuses({"--duration", "1", "--pulse", "dm=3,time=x,width=1,snr=2"}, "time=x");
  refuses({"--duration", "1", "--random-pulses", "count=-3"}, "--random-pulses");
  refuses({"--duration", "1", "--bandpass", "1,-1"}, "--bandpass");
}

TEST_F(FilterbankFiles, BadHeadersAreRefusedByFieldAndCutFilesAreDamage) {
  const std::string path = scratch / "bad.fil";
  const auto write = [&](const SigprocShape& shape, std::size_t bytes) {
    SigprocBytes header = sigproc_header(shape);
    const auto& all = header.data(std::vector<char>(bytes, 1)).bytes();
    write_file(path, std::string(all.begin(), all.end()));
  };
  SigprocShape shape;
  shape.foff = 0;
  write(shape, 30);
  expect_refused(path, "foff");
  shape = {};
  shape.nbits = 5;
  write(shape, 30);
  expect_refused(path, "nbits");
  shape = {};
  shape.tsamp = -1;
  write(shape, 30);
  expect_refused(path, "tsamp");
  // 16 channels of 2 bits are 4 bytes.
  shape = {};
  shape.nbits = 2;
  shape.nchans = 16;
  write(shape, 4 * 10 + 3);
  EXPECT_EQ(inspect(path, kDamaged)["samples"], 10);
  EXPECT_EQ(run({"inspect", "--strict", path}).status, kFailed);
  write_file(path, "");
  expect_refused(path, "");
}

TEST_F(FilterbankFiles, SeriesMasksAndCandidates) {
  write_file(scratch / "c.cand", "12.5\t1000\t0.512\t2\t227\t56.75\t3\t990\t1010\n");
  const auto candidates = inspect(scratch / "c.cand");
  EXPECT_EQ(candidates["candidates"], 1);
  EXPECT_EQ(candidates["best"]["width_samples"], 4);
  write_file(scratch / "m.mask", "a text");
  expect_refused(scratch / "m.mask", "expected a .mask of rfifind");
  write_file(scratch / "m.mask", "\x01\x02\x03");
  expect_refused(scratch / "m.mask", "sigma");
  write_file(scratch / "s.inf", "nothing");
  expect_refused(scratch / "s.inf", "line 1");
}

}  // namespace
}  // namespace tautline::tests
