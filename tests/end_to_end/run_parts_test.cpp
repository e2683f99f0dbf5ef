// Outputs in several files, observations in a row and dumps of a search: together they are what one run gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/command_test.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/file_visibilities.h"

namespace tautline::tests {
namespace {

class RunParts : public CommandTest {
 protected:
  void SetUp() override {
#ifndef TAUTLINE_HDF5
    GTEST_SKIP() << "a build without HDF5";
#endif
    DadaFile file;
    file.payload_bytes = 8 * 100'000;
    write_file(scratch / "in.dada", file.bytes());
  }
  std::vector<std::string> correlate(const std::string& output,
                                     const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"--device", "cpu", "--json", "run",
                                   source_folder() + "/examples/pipelines/correlate.toml"};
    std::vector<std::string> sets{"voltages.files=" + (scratch / "in.dada"),
                                  "visibilities.path=" + (scratch / output), "f.channels=16",
                                  "f.taps=4", "x.integration_s=0.004"};
    sets.insert(sets.end(), more.begin(), more.end());
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    return words;
  }
};

TEST_F(RunParts, OfVisibilitiesAreTheWholeToTheBit) {
  ASSERT_EQ(run(correlate("whole.uvh5")).status, kDone);
  const FileVisibilities whole = visibilities_in(scratch / "whole.uvh5");
  ASSERT_GE(whole.middles.size(), 15U);
  const std::size_t each_bytes = 16 * 10 * sizeof(std::complex<float>);  // of an integration
  for (const auto& [limit, most] : std::vector<std::pair<std::string, std::size_t>>{
           {"visibilities.each_s=0.013", 3},
           {"visibilities.each_bytes=" + std::to_string(5 * each_bytes + 7), 5},
           {"visibilities.each_s=1e-9", 1}}) {
    const CommandResult result = run(correlate("night.uvh5", {limit}));
    ASSERT_EQ(result.status, kDone) << result.err;
    const auto files = nlohmann::json::parse(result.out).at("files").at("visibilities");
    EXPECT_EQ(files.size(), (whole.middles.size() + most - 1) / most);
    FileVisibilities parts;
    for (std::size_t k = 0; k < files.size(); ++k) {
      const auto name = files[k].get<std::string>();
      EXPECT_EQ(name, scratch / ("night-" + std::string(k < 9 ? "000" : "00") +
                                 std::to_string(k + 1) + ".uvh5"));
      const std::size_t before = parts.middles.size();
      append_visibilities(parts, name);
      EXPECT_LE(parts.middles.size() - before, most);
    }
    EXPECT_TRUE(parts == whole);
    EXPECT_FALSE(std::filesystem::exists(scratch / "night.uvh5"));
    const CommandResult again = run(correlate("night.uvh5", {limit}));
    EXPECT_EQ(again.status, kFailed);
    EXPECT_NE(again.err.find("night-0001.uvh5"), std::string::npos) << again.err;
    for (const auto& name : files) std::filesystem::remove(name.get<std::string>());
  }
}

TEST_F(RunParts, OfVoltagesAreTheWholeToTheBit) {
  for (const auto& [limit, samples] : std::vector<std::pair<std::string, std::size_t>>{
           {"each_s=0.01", 12'800}, {"each_bytes=80K", 10'240}, {"each_s=0", 100'000}}) {
    write_file(scratch / "record.toml",
               "[voltages]\ntype = \"voltage_files\"\nfiles = [\"in.dada\"]\nblock_samples = 777\n"
               "[record]\ntype = \"voltage_record\"\ninputs = \"voltages\"\n");
    const CommandResult result =
        run({"--json", "run", scratch / "record.toml", "--set", "record." + limit, "--set",
             "voltages.files=" + (scratch / "in.dada"), "--set",
             "record.path=" + (scratch / "again.dada")});
    ASSERT_EQ(result.status, kDone) << result.err;
    std::vector<std::string> files{scratch / "again.dada"};
    if (samples < 100'000)
      files = nlohmann::json::parse(result.out)
                  .at("files")
                  .at("record")
                  .get<std::vector<std::string>>();
    EXPECT_EQ(files.size(), (100'000 + samples - 1) / samples);
    std::string payload;
    for (const std::string& file : files) {
      const std::string bytes = read_file(file);
      EXPECT_LE(bytes.size(), 4096 + 8 * samples);
      payload += bytes.substr(4096);
      const auto record = nlohmann::json::parse(read_file(file + ".json"));
      EXPECT_EQ(record.at("samples").get<std::size_t>() * 8, bytes.size() - 4096);
    }
    EXPECT_TRUE(payload == read_file(scratch / "in.dada").substr(4096));
    // As one stream to whoever reads them.
    std::vector<std::string> words{"--device", "cpu", "correlate"};
    words.insert(words.end(), files.begin(), files.end());
    words.insert(words.end(), {"-o", scratch / "parts.uvh5", "--channels", "16", "--taps", "4",
                               "--integration", "0.004", "--overwrite"});
    ASSERT_EQ(run(words).status, kDone);
    const FileVisibilities parts = visibilities_in(scratch / "parts.uvh5");
    std::vector<std::string> of_whole = correlate("whole.uvh5");
    of_whole.emplace_back("--overwrite");
    ASSERT_EQ(run(of_whole).status, kDone);
    EXPECT_TRUE(parts == visibilities_in(scratch / "whole.uvh5"));
    for (const std::string& file : files) {
      std::filesystem::remove(file);
      std::filesystem::remove(file + ".json");
    }
  }
}

// An antenna that stops: what a recording lists as invalid is lost to whoever reads it, without being looked for again.
TEST_F(RunParts, OfVoltagesKeepWhatIsInvalid) {
  std::string bytes = read_file(scratch / "in.dada");
  constexpr std::size_t kFirst = 40'000, kStopped = 15'000;
  const auto set = [&](std::size_t first, std::size_t times, char value) {
    for (std::size_t t = first; t < first + times; ++t)
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(4096 + 8 * t + 4), 4, value);
  };
  set(kFirst - 1, kStopped + 2, 1);
  set(kFirst, kStopped, 0);
  write_file(scratch / "in.dada", bytes);
  ASSERT_EQ(run(correlate("whole.uvh5")).status, kDone);
  const FileVisibilities whole = visibilities_in(scratch / "whole.uvh5");
  for (const bool in_parts : {false, true}) {
    write_file(scratch / "record.toml",
               "[voltages]\ntype = \"voltage_files\"\nfiles = [\"in.dada\"]\nblock_samples = 777\n"
               "[record]\ntype = \"voltage_record\"\ninputs = \"voltages\"\n");
    const CommandResult recorded = run({"--json", "run", scratch / "record.toml", "--set",
                                        in_parts ? "record.each_s=0.01" : "record.each_s=0",
                                        "--set", "voltages.files=" + (scratch / "in.dada"), "--set",
                                        "record.path=" + (scratch / "again.dada")});
    ASSERT_EQ(recorded.status, kDone) << recorded.err;
    std::vector<std::string> files{scratch / "again.dada"};
    if (in_parts)
      files = nlohmann::json::parse(recorded.out)
                  .at("files")
                  .at("record")
                  .get<std::vector<std::string>>();
    std::vector<std::string> words{"--json", "--device", "cpu", "correlate"};
    words.insert(words.end(), files.begin(), files.end());
    words.insert(words.end(), {"-o", scratch / "parts.uvh5", "--channels", "16", "--taps", "4",
                               "--integration", "0.004", "--overwrite", "--keep-constant"});
    const CommandResult result = run(words);
    EXPECT_EQ(result.status, kDamaged) << result.err;
    EXPECT_NE(result.err.find("of invalid or missing samples"), std::string::npos) << result.err;
    EXPECT_EQ(nlohmann::json::parse(result.out).at("lost_samples"), 2 * kStopped) << in_parts;
    EXPECT_TRUE(visibilities_in(scratch / "parts.uvh5") == whole) << in_parts;
  }
}

// A run that fails leaves the files that were complete.
TEST_F(RunParts, ThatWereCompleteStayWhenTheRunFails) {
  std::filesystem::create_directory(scratch / "night-0003.uvh5");
  const CommandResult result = run(correlate("night.uvh5", {"visibilities.each_s=0.013"}));
  EXPECT_EQ(result.status, kWrongUsage) << result.err;
  std::vector<std::string> words = correlate("night.uvh5", {"visibilities.each_s=0.013"});
  words.emplace_back("--overwrite");
  const CommandResult failed = run(words);  // a folder is not replaced
  EXPECT_EQ(failed.status, kFailed) << failed.err;
  FileVisibilities parts;
  for (const char* name : {"night-0001.uvh5", "night-0002.uvh5"})
    append_visibilities(parts, scratch / name);
  EXPECT_EQ(parts.middles.size(), 6U);
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
    EXPECT_FALSE(entry.path().string().ends_with(".partial")) << entry.path();
}

TEST_F(RunParts, ObservationsInARowAreRunsOfTheirOwn) {
  std::string file = read_file(source_folder() + "/examples/pipelines/correlate.toml");
  file +=
      "[[observation]]\nset.voltages.start_s = 0\nset.voltages.duration_s = 0.03\n"
      "[[observation]]\nset = { \"voltages.start_s\" = 0.03, \"voltages.duration_s\" = 0.02, "
      "\"visibilities.path\" = \"" +
      (scratch / "named.uvh5") + "\" }\n";
  write_file(scratch / "schedule.toml", file);
  std::vector<std::string> words = correlate("night.uvh5");
  words[4] = scratch / "schedule.toml";
  const CommandResult result = run(words);
  ASSERT_EQ(result.status, kDone) << result.err;
  EXPECT_NE(result.err.find("observation 2 of 2 begins"), std::string::npos) << result.err;
  const auto lines = std::count(result.out.begin(), result.out.end(), '\n');
  EXPECT_EQ(lines, 2) << result.out;
  for (const auto& [start, length, output] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"0", "0.03", "night-0001.uvh5"}, {"0.03", "0.02", "named.uvh5"}}) {
    ASSERT_EQ(
        run(correlate("alone.uvh5", {"voltages.start_s=" + start, "voltages.duration_s=" + length}))
            .status,
        kDone);
    const FileVisibilities alone = visibilities_in(scratch / "alone.uvh5");
    EXPECT_FALSE(alone.values.empty());
    EXPECT_TRUE(visibilities_in(scratch / output) == alone) << output;
    std::filesystem::remove(scratch / "alone.uvh5");
  }
}

TEST_F(RunParts, SchedulesThatCannotBeAreRefused) {
  const std::string file = read_file(source_folder() + "/examples/pipelines/correlate.toml");
  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {"duration_s = 10", "live sources alone"},
           {"stop = \"2999-01-01T00:00:00\"", "live sources alone"},
           {"duration_s = -1", "expected above 0"},
           {"length_s = 1", "length_s"},
           {"start = \"soon\"", "start"},
           {"stop = \"2999-01-01T00:00:00\"\nduration_s = 3", "one of them"},
           {"start = \"2999-01-01T00:00:00\"\nstop = \"2998-01-01T00:00:00\"", "behind start"},
           {"set.voltages.sart_s = 1", "unknown field"},
           {"set.nobody.start_s = 1", "one of the nodes"},
           {"start = \"2999-01-01T00:00:00\"\n[[observation]]\nstart = \"2998-01-01T00:00:00\"",
            "behind the start before it"}}) {
    write_file(scratch / "schedule.toml", file + "[[observation]]\n" + text + "\n");
    std::vector<std::string> words = correlate("night.uvh5");
    words[4] = scratch / "schedule.toml";
    const CommandResult result = run(words);
    EXPECT_EQ(result.status, kWrongUsage) << text << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << text << ": " << result.err;
    EXPECT_FALSE(std::filesystem::exists(scratch / "night-0001.uvh5"));
  }
}

// The voltages around a pulse that the search of the same time finds.
TEST_F(RunParts, SearchesHaveVoltagesDumped) {
  ASSERT_EQ(run({"simulate",    "filterbank",
                 "--nchans",    "64",
                 "--fch1",      "1500",
                 "--foff",      "-1",
                 "--tsamp",     "0.001",
                 "--nbits",     "8",
                 "--duration",  "6",
                 "--utc-start", "2026-03-20-14:00:00",
                 "--pulse",     "dm=100,time=2,width=0.004,snr=40",
                 "-o",          scratch / "night.fil"})
                .status,
            kDone);
  DadaFile voltages;
  voltages.tsamp = "100";
  voltages.bw = "0.01";
  voltages.freq = "1468";
  voltages.payload_bytes = 8 * 60'000;
  const std::string bytes = voltages.bytes();
  write_file(scratch / "night.dada", bytes);
  const CommandResult result =
      run({"--device", "cpu", "--json", "run",
           source_folder() + "/examples/pipelines/search-and-dump.toml", "--set",
           "voltages.files=" + (scratch / "night.dada"), "--set", "voltages.block_samples=1000",
           "--set", "filterbank.files=" + (scratch / "night.fil"), "--set",
           "event.path=" + (scratch / "event.dada"), "--set", "event.listen=udp://127.0.0.1:0"});
  ASSERT_EQ(result.status, kDone) << result.err;
  const auto summary = nlohmann::json::parse(result.out);
  ASSERT_EQ(summary.at("counters").at("event.dumps"), 1) << summary.dump(1);
  EXPECT_EQ(summary.at("files").at("event"), nlohmann::json::array({scratch / "event-0001.dada"}));
  const auto record = nlohmann::json::parse(read_file(scratch / "event-0001.dada.json"));
  EXPECT_EQ(record.at("trigger").at("kind"), "candidate");
  EXPECT_NEAR(record.at("trigger").at("dm").get<double>(), 100, 5);
  EXPECT_GT(record.at("trigger").at("snr").get<double>(), 20);
  const double at_s = 2 + 4148.808 * 100 * (1 / (1468.0 * 1468) - 1 / (1500.0 * 1500));
  const auto first = record.at("start_sample").get<std::size_t>();
  EXPECT_NEAR(static_cast<double>(first), (at_s - 0.5) * 1e4, 60);
  EXPECT_TRUE(record.at("missed").empty());
  const std::string dump = read_file(scratch / "event-0001.dada");
  const auto samples = record.at("samples").get<std::size_t>();
  EXPECT_NEAR(static_cast<double>(samples), 1e4, 10);
  ASSERT_GT(dump.size(), samples * 8);
  EXPECT_TRUE(dump.substr(dump.size() - samples * 8) ==
              bytes.substr(4096 + first * 8, samples * 8));
}

}  // namespace
}  // namespace tautline::tests
