// Runs that cannot end: on a full disk, killed half-way, and of an input that shrinks. For each kind of input and
// output.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/interrupted.h"
#include "tests/end_to_end/run_command.h"
#include "tests/formats/sigproc/sigproc_files.h"
#include "tests/support/scratch.h"
#include "tests/support/small_disk.h"

namespace tautline::tests {
namespace {

constexpr const char* kSeries = "out.series";  // a folder of .dat

struct Output {
  const char* name;
  const char* command;
  const char* file;       // -o
  const char* page = "";  // --report
  std::vector<std::string> more;
  const char* input = "in.dada";
};

void PrintTo(const Output& output, std::ostream* out) {
  *out << output.name;
}

// Without the output's own `more`.
std::vector<std::string> words_of(const std::string& command, const std::string& input,
                                  const std::string& file) {
  const std::string examples = source_folder() + "/examples/";
  if (command == "run")
    return {"run",   examples + "pipelines/correlate.toml",
            "--set", "voltages.files=" + input,
            "--set", "visibilities.path=" + file};
  if (command == "simulate")
    return {"simulate", "voltages",
            "--array",  examples + "demo/array.toml",
            "--scene",  examples + "demo/scene.toml",
            "-o",       file};
  return {command, input, "-o", file};
}

class BrokenOff : public ::testing::TestWithParam<Output> {
 protected:
  void SetUp() override {
    const std::string file = GetParam().file;
#ifndef TAUTLINE_HDF5
    if (file.ends_with("h5")) GTEST_SKIP() << "a build without HDF5";
#endif
#ifndef TAUTLINE_ZIP
    if (file.ends_with(".zip")) GTEST_SKIP() << "a build without libzip";
#endif
#ifndef TAUTLINE_CASACORE
    if (file.ends_with(".ms")) GTEST_SKIP() << "a build without casacore";
#endif
  }
  std::string input() const {
    return scratch / GetParam().input;
  }
  // A file of voltages, of counts of 64 sensors or a filterbank of 16 channels.
  std::size_t sample_bytes() const {
    return input().ends_with(".dada") ? 8 : input().ends_with(".u8") ? 64 : 16;
  }
  // Random samples, behind the format's header.
  void write_input(std::size_t samples) {
    DadaFile file;
    file.payload_bytes = sample_bytes() * samples;
    std::string bytes = file.bytes(), header = bytes.substr(0, bytes.size() - file.payload_bytes);
    if (!input().ends_with(".dada")) {
      bytes.erase(0, header.size());
      header.clear();
    }
    if (input().ends_with(".fil")) {
      SigprocShape shape;
      shape.nchans = 16;
      shape.foff = -10;
      SigprocBytes sigproc = sigproc_header(shape);
      header.assign(sigproc.bytes().begin(), sigproc.bytes().end());
      bytes.insert(0, header);
    }
    write_file(input(), bytes);
    header_bytes = header.size();
  }
  // With zeros, which take no room, behind the first samples; or with fewer of these.
  void set_samples(std::uintmax_t samples) {
    std::filesystem::resize_file(input(), header_bytes + sample_bytes() * samples);
  }
  // The last file written, the page where there is one, goes into `folder`.
  std::vector<std::string> arguments(const std::string& folder = "") {
    const Output& output = GetParam();
    const std::string page = output.page;
    const std::string file = (page.empty() ? folder : "") + output.file;
    std::vector<std::string> words = words_of(output.command, input(), scratch / file);
    words.insert(words.begin(), "--json");
    if (!page.empty()) words.insert(words.end(), {"--report", scratch / (folder + page)});
    words.insert(words.end(), output.more.begin(), output.more.end());
    return words;
  }
  // Files whose names begin as the outputs' do, and those of a folder of series.
  std::vector<std::string> left(const std::string& folder = "") {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch / folder)) {
      const std::string name = entry.path().filename().string();
      if (name == kSeries && !std::filesystem::is_empty(entry))
        for (const auto& series : std::filesystem::directory_iterator(entry))
          names.push_back(name + "/" + series.path().filename().string());
      else if (name.starts_with("out."))
        names.push_back(name);
    }
    return names;
  }
  bool has_begun(pid_t pid) const;
  pid_t start_long_run(std::uintmax_t samples = 40'000'000);
  ScratchFolder scratch;
  std::size_t header_bytes = 0;
};

TEST_P(BrokenOff, AFullDiskLeavesNothing) {
  write_input(100000);
  std::filesystem::create_directory(scratch / "disk");
  const int status = on_small_disk(scratch / "disk", 64 * 1024, [&] {
    const CommandResult result = run_command(arguments("disk/"), scratch.path().string());
    return left("disk").empty() ? result.status : 50;
  });
  if (status == kNoSmallDisk) GTEST_SKIP() << "this machine lets nobody mount a small disk";
  EXPECT_EQ(status, kFailed) << read_file(scratch / "err");
  // Where the page alone cannot be written, the file is whole.
  const bool page = *GetParam().page != '\0';
  EXPECT_EQ(left(), page ? std::vector<std::string>{GetParam().file} : std::vector<std::string>{});
  EXPECT_EQ(read_file(scratch / "err").find("is complete, its page was not") != std::string::npos,
            page);
  EXPECT_NE(read_file(scratch / "err").find("disk/out."), std::string::npos)
      << read_file(scratch / "err");
}

TEST(BrokenOffPages, OfAFitLeaveTheTable) {
  const ScratchFolder scratch;
  const auto run = [&](const std::vector<std::string>& words) {
    return run_command(words, scratch.path().string());
  };
  auto random = generator();
  std::string counts(20'000, '\0');
  for (char& count : counts) count = static_cast<char>(random() % 4);
  write_file(scratch / "in.u8", counts);
  ASSERT_EQ(run({"autocorrelate", scratch / "in.u8", "-o", scratch / "curves.csv", "--dtype", "u8",
                 "--sensors", "1", "--bin", "1e-5"})
                .status,
            kDone);
  std::filesystem::create_directory(scratch / "disk");
  const std::string table = scratch / "table.csv", page = scratch / "disk/page.html";
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"fit", scratch / "curves.csv", "-o", table, "--report", page, "--model", "3d"},
           {"run", source_folder() + "/examples/pipelines/fit.toml", "--set",
            "counts.path=" + (scratch / "in.u8"), "--set", "counts.dtype=u8", "--set",
            "counts.sensors=1", "--set", "file.path=" + (scratch / "again.csv"), "--set",
            "fit.path=" + table, "--set", "fit.page=" + page, "--overwrite"}}) {
    std::filesystem::remove(table);
    const int status = on_small_disk(scratch / "disk", 4096, [&] { return run(words).status; });
    if (status == kNoSmallDisk) GTEST_SKIP() << "this machine lets nobody mount a small disk";
    const std::string said = read_file(scratch / "err");
    EXPECT_EQ(status, kFailed) << said;
    EXPECT_NE(said.find("No space left"), std::string::npos) << said;
    EXPECT_NE(read_file(table).find("tau_d"), std::string::npos) << words.front();
  }
}

// To write; autocorrelate, which writes at its end, and search, which claims the name of its list before it opens its
// input, to read the samples.
bool BrokenOff::has_begun(pid_t pid) const {
  const std::string file = GetParam().file;
  if (!input().ends_with(".u8") && !std::filesystem::exists(scratch / (file + ".partial")) &&
      !std::filesystem::exists(scratch / (file + "/dedisperse.json.partial")))
    return false;
  if (input().ends_with(".dada")) return true;
  constexpr std::uintmax_t kMoreThanLibraries = 32 << 20;
  std::ifstream counts("/proc/" + std::to_string(pid) + "/io");
  std::string name;
  std::uintmax_t read_bytes = 0;
  return counts >> name >> read_bytes && name == "rchar:" && read_bytes > kMoreThanLibraries;
}

// A run that has begun and goes on for long.
pid_t BrokenOff::start_long_run(std::uintmax_t samples) {
  write_input(1000);
  set_samples(samples);
  for (const std::string& name : left()) std::filesystem::remove_all(scratch / name);
  const pid_t pid = start_command(arguments(), scratch.path().string());
  for (int wait = 0; wait < 60'000 && !has_begun(pid); ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(has_begun(pid));
  return pid;
}

TEST_P(BrokenOff, KilledHalfWayLeavesNothingUnderTheFinalName) {
  const pid_t pid = start_long_run();
  kill(pid, SIGKILL);
  EXPECT_EQ(finish_command(pid, scratch.path().string()).status, 1000 + SIGKILL);
  for (const std::string& name : left()) EXPECT_TRUE(name.ends_with(".partial")) << name;
}

TEST_P(BrokenOff, InterruptedLeavesNothingWithinASecond) {
  for (const int signal : {SIGTERM, SIGINT}) {
    EndsWithinASecond ends;
    while (ends.wants_another()) {
      double took_s = 0;
      const CommandResult result =
          interrupt(start_long_run(), signal, scratch.path().string(), took_s);
      ends.add(took_s);
      ASSERT_EQ(result.status, 128 + signal) << result.err;
      EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
      expect_error_object(result);
      EXPECT_EQ(left(), std::vector<std::string>{});
    }
    std::cout << "ended " << ends.best_s() << " s after the signal\n";
    EXPECT_LT(ends.best_s(), EndsWithinASecond::kMost_s);
  }
}

// The process is held up, so that the second signal comes before the run has ended by the first. Either may end it;
// HeldUp.IsEndedByASecondSignal has a run that only the second one ends.
TEST_P(BrokenOff, InterruptedTwiceLeavesNothing) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const pid_t pid = start_long_run();
    kill(pid, signal);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    kill(pid, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    kill(pid, signal);
    kill(pid, SIGCONT);
    const CommandResult result = finish_command(pid, scratch.path().string());
    EXPECT_EQ(result.status, 128 + signal) << result.err;
    EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
    expect_error_object(result);
    EXPECT_EQ(left(), std::vector<std::string>{});
  }
}

// Whichever part of it had been read: what is there counts, or the run fails; no signal ends it.
TEST_P(BrokenOff, AnInputThatShrinksIsNamed) {
  if (std::string(GetParam().command) == "simulate") GTEST_SKIP() << "simulate has no input";
  const pid_t pid = start_long_run(10'000'000);
  set_samples(1000);
  const CommandResult result = finish_command(pid, scratch.path().string());
  EXPECT_TRUE(result.status == kDamaged || result.status == kFailed) << result.status;
  EXPECT_NE(result.err.find(GetParam().input), std::string::npos) << result.err;
  if (result.status == kFailed) {
    EXPECT_EQ(left(), std::vector<std::string>{});
  }
}

const std::vector<std::string> kCorrelate{"--channels", "128", "--integration", "0.001"};
// Slow enough to be caught.
const std::vector<std::string> kChannelize{"--channels", "16", "--taps", "4096"};
const std::vector<std::string> kCounts{"--dtype", "u8", "--sensors", "64", "--bin", "5e-5"};
const std::vector<std::string> kTrials{"--dms", "0:40:2"};
// So low a threshold that a list of the noise fills the disk.
const std::vector<std::string> kCandidates{"--dms",       "0:40:2", "--threshold", "3",
                                           "--link-time", "0",      "--link-dm",   "0"};

INSTANTIATE_TEST_SUITE_P(
    Outputs, BrokenOff,
    ::testing::Values(Output{"uvh5", "correlate", "out.uvh5", "", kCorrelate},
                      Output{"measurement_set", "correlate", "out.ms", "", kCorrelate},
                      Output{"run", "run", "out.uvh5", "", {"--set", "x.integration_s=0.001"}},
                      Output{"simulated", "simulate", "out.dada", "", {"--duration", "20"}},
                      Output{"report", "correlate", "out.uvh5", "out.html", kCorrelate},
                      Output{"dada", "channelize", "out.dada", "", kChannelize},
                      Output{"npy", "channelize", "out.npy", "", kChannelize},
                      Output{"fil", "channelize", "out.fil", "", kChannelize},
                      Output{"curves_zip", "autocorrelate", "out.zip", "", kCounts, "in.u8"},
                      Output{"curves_h5", "autocorrelate", "out.h5", "", kCounts, "in.u8"},
                      Output{"series", "dedisperse", "out.npy", "", kTrials, "in.fil"},
                      Output{"folder_of_series", "dedisperse", kSeries, "", kTrials, "in.fil"},
                      Output{"candidates", "search", "out.csv", "", kCandidates, "in.fil"}),
    [](const auto& output) { return std::string(output.param.name); });

}  // namespace
}  // namespace tautline::tests
