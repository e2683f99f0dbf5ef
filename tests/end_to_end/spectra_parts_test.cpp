// Files of spectra in parts: cut by time, by size and at SIGHUP, each is whole, and together they are the one file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/end_to_end/file_visibilities.h"
#include "tests/end_to_end/live_run.h"
#include "tests/end_to_end/run_command.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

class SpectraParts : public LiveRun {
 protected:
  static constexpr std::size_t kChannels = 32, kInputs = 4, kIntegrate = 3;
  static constexpr std::size_t kSpectra = 100'000 / kChannels - 3;  // of in.dada with 4 taps
  const std::vector<std::string> kEndings{"dada", "npy", "fil"};

  void SetUp() override {
    LiveRun::SetUp();
    if (IsSkipped()) return;
    DadaFile file;
    file.payload_bytes = 8 * 100'000;
    write_file(scratch / "in.dada", file.bytes());
    std::string text = "[voltages]\ntype = \"voltage_files\"\nfiles = [\"" + (scratch / "in.dada") +
                       "\"]\nblock_samples = " + std::to_string(700 + random() % 5'000) +
                       "\n[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\nchannels = 32\n"
                       "taps = 4\nrequantise = \"off\"\n";
    for (const std::string& ending : kEndings)
      text += "[" + ending + "]\ntype = \"spectra_file\"\ninputs = \"f\"\npath = \"" +
              (scratch / "x." + ending) + "\"\n" +
              (ending == "fil" ? "integrate = " + std::to_string(kIntegrate) + "\n" : "");
    write_file(scratch / "p.toml", text);
  }
  CommandResult run(const std::vector<std::string>& words) const {
    std::vector<std::string> all{"--device", "cpu"};
    all.insert(all.end(), words.begin(), words.end());
    return run_command(all, scratch.path().string());
  }
  // Names of the files of each ending.
  static std::vector<std::string> files_of(const CommandResult& result, const std::string& ending) {
    return Json::parse(result.out.substr(result.out.rfind("{\"schema\"")))
        .at("files")
        .at(ending)
        .get<std::vector<std::string>>();
  }
  // Spectra [channel][input] or samples of power of a file, one behind the other.
  static std::vector<std::string> times_in(const std::string& path) {
    const std::string file = read_file(path);
    std::size_t header = 4096, bytes = kChannels * kInputs * 8;
    if (path.ends_with(".fil")) {
      header = file.find("HEADER_END") + 10;
      bytes = kChannels * 4;
    } else if (path.ends_with(".npy")) {
      header = 10 + static_cast<unsigned char>(file.at(8)) +
               256 * std::size_t{static_cast<unsigned char>(file.at(9))};
    }
    EXPECT_EQ((file.size() - header) % bytes, 0U) << path;
    const std::size_t times = (file.size() - header) / bytes;
    std::vector<std::string> all(times);
    for (std::size_t t = 0; t < times; ++t)
      if (path.ends_with(".npy"))
        for (std::size_t row = 0; row < kChannels * kInputs; ++row)
          all[t] += file.substr(header + (row * times + t) * 8, 8);
      else
        all[t] = file.substr(header + t * bytes, bytes);
    return all;
  }
  // Files in order are `whole` from its first time on; returns how many times each has.
  std::vector<std::size_t> expect_parts_of(const std::vector<std::string>& whole,
                                           const std::vector<std::string>& files) const {
    std::vector<std::size_t> lengths;
    std::size_t at = 0;
    for (const std::string& file : files) {
      const auto times = times_in(file);
      lengths.push_back(times.size());
      EXPECT_LE(at + times.size(), whole.size());
      for (std::size_t t = 0; t < times.size() && at + t < whole.size(); ++t)
        if (times[t] != whole[at + t]) {
          ADD_FAILURE() << file << " differs at " << t;
          break;
        }
      const Json record = Json::parse(read_file(file + ".json"));
      const std::size_t spectra = file.ends_with(".fil") ? kIntegrate : 1;
      EXPECT_EQ(record.at("spectra").get<std::size_t>() / spectra, times.size()) << file;
      // The first spectrum's time: its middle, 4 x 32 samples less the hop, at 1.28 MHz.
      const double start_s = static_cast<double>(at * spectra) * 32 / 1.28e6 + 1.5 * 32 / 1.28e6;
      const Json& fraction = record.at("start_fraction_s");
      EXPECT_NEAR(fraction.at(0).get<double>() / fraction.at(1).get<double>(), start_s, 1e-9);
      const CommandResult inspected = run({"--json", "inspect", file});
      EXPECT_EQ(inspected.status, kDone) << inspected.err;
      const Json described = Json::parse(inspected.out);
      const std::string utc = described.at("start_utc");
      EXPECT_NEAR(std::stod(utc.substr(17)), start_s, 2e-6) << file << " " << utc;
      at += times.size();
    }
    return lengths;
  }
};

TEST_F(SpectraParts, OfTimeAndSizeAreTheWholeToTheBit) {
  const CommandResult whole = run({"--json", "run", scratch / "p.toml"});
  ASSERT_EQ(whole.status, kDone) << whole.err;
  // Files of 104 samples of power leave 2 spectra, which are too little for another file.
  const std::size_t some = 200 + random() % 1'000, leaving_2 = 104 * kIntegrate;
  static_assert(kSpectra % (104 * kIntegrate) == 2);
  for (const auto& [most, by_time] :
       std::vector<std::pair<std::size_t, bool>>{{some, true}, {some, false}, {leaving_2, true}}) {
    const std::size_t bytes = most * kChannels * kInputs * 8 + 17;
    const std::string limit = by_time
                                  ? "each_s=" + std::to_string(static_cast<double>(most) * 25e-6)
                                  : "each_bytes=" + std::to_string(bytes);
    SCOPED_TRACE(limit);
    std::vector<std::string> words{"--json", "run", scratch / "p.toml"};
    for (const std::string& ending : kEndings)
      words.insert(words.end(), {"--set", ending + "." + limit, "--set",
                                 ending + ".path=" + (scratch / "night." + ending)});
    const CommandResult result = run(words);
    ASSERT_EQ(result.status, kDone) << result.err;
    for (const std::string& ending : kEndings) {
      const auto files = files_of(result, ending);
      const auto lengths = expect_parts_of(times_in(scratch / "x." + ending), files);
      std::size_t each = most, all = kSpectra;
      if (ending == "fil") {
        all /= kIntegrate;
        // 25 us a spectrum: the whole samples of power nearest to the limit.
        each = by_time
                   ? static_cast<std::size_t>(std::llround(static_cast<double>(most) / kIntegrate))
                   : bytes / (kChannels * 4);
      }
      EXPECT_EQ(lengths.size(), (all + each - 1) / each) << ending;
      for (std::size_t k = 0; k < lengths.size(); ++k)
        EXPECT_EQ(lengths[k], std::min(each, all - k * each)) << ending;
      // The run's counts are in the last one's record.
      for (const std::string& file : files)
        EXPECT_EQ(Json::parse(read_file(file + ".json")).contains("clipped"), file == files.back());
    }
    // As one stream to whoever reads them.
    const auto correlate_all = [&](std::vector<std::string> files) {
      files.insert(files.begin(), "correlate");
      files.insert(files.end(), {"-o", scratch / "x.uvh5", "--integration", "1", "--overwrite"});
      const CommandResult correlated = run(files);
      EXPECT_EQ(correlated.status, kDone) << correlated.err;
      return visibilities_in(scratch / "x.uvh5");
    };
    for (const char* ending : {"dada", "npy"})
      EXPECT_TRUE(correlate_all(files_of(result, ending)) ==
                  correlate_all({scratch / "x." + ending}))
          << ending;
    const CommandResult again = run(words);
    EXPECT_EQ(again.status, kFailed);
    EXPECT_NE(again.err.find("night-0001."), std::string::npos) << again.err;
    for (const std::string& ending : kEndings)
      for (const std::string& file : files_of(result, ending)) {
        std::filesystem::remove(file);
        std::filesystem::remove(file + ".json");
      }
  }
}

// Gaps that are too long for one file begin another; shorter ones are zeros, also where a file ends in them.
TEST_F(SpectraParts, BeginAtLongGaps) {
  DadaFile later;
  later.payload_bytes = 8 * 50'000;
  const std::size_t gap = 64 + random() % 20'000, samples = 100'000 + gap;
  std::string bytes = later.bytes();
  const std::string zero = "PICOSECONDS 0\n",
                    value = "PICOSECONDS " + std::to_string(samples * 781'250) + "\n";
  bytes.replace(bytes.find(zero), zero.size(), value);
  bytes.erase(4096, value.size() - zero.size());
  write_file(scratch / "later.dada", bytes);
  const std::size_t place = (samples + kChannels / 2) / kChannels, missing = place - kSpectra,
                    behind = 50'000 / kChannels - 3, most = 300 + random() % 500;
  for (const bool filled : {true, false}) {
    const CommandResult result =
        run({"--json", "run", scratch / "p.toml", "--overwrite", "--set",
             "voltages.files=" + (scratch / "in.dada") + "," + (scratch / "later.dada"), "--set",
             "dada.each_s=" + std::to_string(static_cast<double>(most) * 25e-6), "--set",
             std::string("dada.longest_gap_s=") + (filled ? "60" : "0")});
    ASSERT_EQ(result.status, kDone) << result.err;
    std::size_t times = 0, gaps = 0, files = 0;
    for (const std::string& file : files_of(result, "dada")) {
      const Json record = Json::parse(read_file(file + ".json"));
      EXPECT_EQ(record.at("spectra"), times_in(file).size());
      times += record.at("spectra").get<std::size_t>();
      gaps += record.at("gap_spectra").get<std::size_t>();
      for (const Json& span : record.at("invalid"))
        EXPECT_LE(
            span.at("first_sample").get<std::size_t>() + span.at("samples").get<std::size_t>(),
            most);
      ++files;
    }
    EXPECT_EQ(gaps, filled ? missing : 0);
    EXPECT_EQ(times, kSpectra + behind + gaps);
    const auto of = [&](std::size_t length) { return (length + most - 1) / most; };
    EXPECT_EQ(files, filled ? of(times) : of(kSpectra) + of(behind));
  }
}

TEST_F(SpectraParts, BeginNewFilesOnHangUpAndStayWhenTheRunIsKilled) {
  const CommandResult whole = run({"--json", "run", scratch / "p.toml"});
  ASSERT_EQ(whole.status, kDone) << whole.err;
  std::vector<std::string> sets{"voltages.rate=0.005", "voltages.block_samples=320"};  // 16 s
  for (const std::string& ending : kEndings) {
    sets.push_back(ending + ".each_s=1000");
    sets.push_back(ending + ".path=" + (scratch / "night." + ending));
  }
  const auto wait_for = [&](const std::string& path) {
    for (int wait = 0; wait < 60'000 && !std::filesystem::exists(path); ++wait)
      std::this_thread::sleep_for(1ms);
    ASSERT_TRUE(std::filesystem::exists(path)) << path << run_said();
  };
  for (const bool killed : {false, true}) {
    start_pipeline(scratch / "p.toml", sets, {"--overwrite"});
    for (const char* number : {"0001", "0002"}) {
      for (const std::string& ending : kEndings)
        wait_for(scratch / "night-" + number + "." + ending + ".partial");
      std::this_thread::sleep_for(200ms);
      kill(*run_pid, SIGHUP);
    }
    for (const std::string& ending : kEndings) wait_for(scratch / "night-0002." + ending);
    if (killed) kill(*run_pid, SIGKILL);
    const CommandResult result = end_run();
    EXPECT_EQ(result.status, killed ? 1000 + SIGKILL : kDone) << result.err;
    for (const std::string& ending : kEndings) {
      std::vector<std::string> files;
      for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
        if (const std::string name = entry.path().string();
            name.find("night-") != std::string::npos && name.ends_with("." + ending))
          files.push_back(name);
      std::sort(files.begin(), files.end());
      EXPECT_EQ(files.size(), killed ? 2U : 3U) << ending;
      const auto all = times_in(scratch / "x." + ending);
      std::size_t times = 0;
      for (const std::size_t length : expect_parts_of(all, files)) {
        EXPECT_GT(length, 0U);
        times += length;
      }
      if (!killed) {
        EXPECT_EQ(times, all.size()) << ending;
      }
      for (const std::string& file : files) {
        std::filesystem::remove(file);
        std::filesystem::remove(file + ".json");
      }
    }
  }
}

}  // namespace
}  // namespace tautline::tests
