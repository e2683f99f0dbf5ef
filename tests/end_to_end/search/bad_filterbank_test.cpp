// Ordinary bad days of dedisperse and search: what they say, how they exit, what they leave behind.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/search/search_files.h"
#include "tests/formats/sigproc/sigproc_files.h"
#include "tests/support/scratch.h"
#include "tests/support/small_disk.h"
#ifdef TAUTLINE_CFITSIO
#include "tests/formats/psrfits/psrfits_files.h"
#endif

namespace tautline::tests {
namespace {

class BadFilterbank : public ::testing::TestWithParam<std::string> {
 protected:
  CommandResult run(const std::vector<std::string>& more = {}, const std::string& dms = "0:20:1") {
    std::vector<std::string> arguments{"--json", GetParam(), input(), "-o", output(), "--dms", dms};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments, scratch.path().string());
  }
  std::string input() const { return scratch / "in.fil"; }
  std::string output() const { return scratch / (GetParam() == "search" ? "out.csv" : "out.npy"); }
  // The last object on standard output: the run's summary.
  static nlohmann::json summary(const CommandResult& result) {
    const std::size_t end = result.out.find_last_not_of('\n');
    if (end == std::string::npos) return {};
    const std::size_t before = result.out.rfind('\n', end);
    return nlohmann::json::parse(
        result.out.substr(before == std::string::npos ? 0 : before + 1, end + 1), nullptr, false);
  }
  void expect_nothing_left() {
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path())) {
      const std::string name = entry.path().filename().string();
      EXPECT_FALSE(name.starts_with("out.")) << name;
    }
  }
  void expect_refused(int status, const std::string& named,
                      const std::vector<std::string>& more = {},
                      const std::string& dms = "0:20:1") {
    const CommandResult result = run(more, dms);
    EXPECT_EQ(result.status, status) << named << ": " << result.err;
    EXPECT_NE(result.err.find(named), std::string::npos) << result.err;
    expect_nothing_left();
  }

  static SigprocShape shape(int bits = 8) {
    SigprocShape s;
    s.nchans = 16;
    s.nbits = bits;
    s.fch1 = 1500;
    s.foff = -10;
    s.tsamp = 1e-3;
    return s;
  }
  std::vector<double> noise(const SigprocShape& s, std::size_t times) {
    std::vector<double> values;
    std::normal_distribution<double> normal(s.nbits == 32 ? 10 : std::exp2(s.nbits - 1), 2);
    const double most = s.nbits == 32 ? 1e9 : std::exp2(s.nbits) - 1;
    for (std::size_t k = 0; k < times * static_cast<std::size_t>(s.nchans); ++k)
      values.push_back(s.nbits == 32 ? normal(random_)
                                     : std::clamp(std::round(normal(random_)), 0.0, most));
    return values;
  }
  void write(const SigprocShape& s, const std::vector<double>& values, std::size_t extra_bytes = 0,
             const std::string& name = "in.fil") {
    SigprocBytes header = sigproc_header(s);
    std::vector<char> data = sigproc_data(values, s.nbits);
    data.resize(data.size() + extra_bytes, 1);
    const std::vector<char>& all = header.data(data).bytes();
    write_file(scratch / name, std::string(all.begin(), all.end()));
  }

  ScratchFolder scratch;
  std::mt19937_64 random_ = generator();
};

// 16 channels of 1, 2 and 4 bits are 2, 4 and 8 bytes.
TEST_P(BadFilterbank, SubByteFilesOfUnwholeSizeGiveWhatIsWholeAndAreDamaged) {
  for (const int bits : {1, 2, 4}) {
    const SigprocShape s = shape(bits);
    const auto values = noise(s, 3000);
    write(s, values);
    ASSERT_EQ(run({"--overwrite"}).status, kDone);
    write(s, values, static_cast<std::size_t>(bits) * 2 - 1);
    const CommandResult result = run({"--overwrite"});
    EXPECT_EQ(result.status, kDamaged) << result.err;
    EXPECT_NE(result.err.find("in.fil"), std::string::npos) << result.err;
    EXPECT_EQ(summary(result)["samples"], 3000);
    EXPECT_EQ(summary(result)["trailing_bytes"], bits * 2 - 1);
    EXPECT_TRUE(std::filesystem::exists(output()));
    EXPECT_EQ(run({"--overwrite", "--strict"}).status, kFailed);
  }
}

TEST_P(BadFilterbank, ZeroChannelStepIsRefusedAndEitherSignIsRead) {
  SigprocShape s = shape();
  s.foff = 0;
  write(s, noise(s, 500));
  expect_refused(kFailed, "foff");
  for (const double step : {-10.0, 10.0}) {
    s.foff = step;
    write(s, noise(s, 3000));
    const CommandResult result = run({"--overwrite"});
    EXPECT_EQ(result.status, kDone) << result.err;
    EXPECT_EQ(summary(result)["f_ref_mhz"], step < 0 ? 1500 : 1650);
  }
}

TEST_P(BadFilterbank, ADmRangeLongerThanTheFileIsRefusedWithTheNumbers) {
  const SigprocShape s = shape();
  write(s, noise(s, 2000));
  expect_refused(kWrongUsage, "the 2 s of data; the highest DM may be 4620", {}, "0:100000:1000");
  expect_refused(kWrongUsage, "the 0.5 s of data; the highest DM may be 1150",
                 {"--duration", "0.5"}, "0:5000:50");
  expect_refused(kWrongUsage, "expected the lower DM before the higher one, as 0:20:1", {},
                 "20:0:1");
  expect_refused(kWrongUsage, "lowest DM", {}, "-5:10:1");
}

TEST_P(BadFilterbank, AllChannelsLeftOutIsRefused) {
  const SigprocShape s = shape();
  write(s, noise(s, 2000));
  expect_refused(kWrongUsage, "all 16 channels", {"--ignorechan", "0:15"});
  // The file has none of that number.
  expect_refused(kWrongUsage, "--ignorechan: channel 16, expected channels 0 to 15",
                 {"--ignorechan", "3:16"});
  expect_refused(kWrongUsage, "--ignorechan: channel 500", {"--ignorechan", "0:500"});
  expect_refused(kWrongUsage, "--ignorechan: channel 500",
                 {"--ignorechan", "0:500", "--flag-channels"});
  // By a mask: it is what has to be named, alone or beside others.
  MaskFile mask{1500 - 10 * 15, 10, 1e-3, 16, 2, 1000, {}, {}};
  for (int c = 0; c < 16; ++c) mask.zapped_channels.push_back(c);
  write_file(scratch / "x_rfifind.mask", mask.bytes());
  expect_refused(kWrongUsage, "--mask " + (scratch / "x_rfifind.mask") + ": all 16 channels",
                 {"--mask", scratch / "x_rfifind.mask"});
  mask.zapped_channels.pop_back();  // leaves the file's first
  write_file(scratch / "x_rfifind.mask", mask.bytes());
  EXPECT_EQ(run({"--mask", scratch / "x_rfifind.mask"}).status, kDone);
  std::filesystem::remove(output());
  std::filesystem::remove(output() + ".json");
  expect_refused(kWrongUsage, "--ignorechan, --mask",
                 {"--ignorechan", "0", "--mask", scratch / "x_rfifind.mask"});
  // All channels at all times of the range.
  mask = MaskFile{1500 - 10 * 15, 10, 1e-3, 16, 2, 1000, {3}, {0, 1}};
  write_file(scratch / "x_rfifind.mask", mask.bytes());
  expect_refused(kWrongUsage,
                 "--mask " + (scratch / "x_rfifind.mask") + ": all 2000 samples are masked",
                 {"--mask", scratch / "x_rfifind.mask"});
  mask.zapped_intervals = {1};
  write_file(scratch / "x_rfifind.mask", mask.bytes());
  expect_refused(kWrongUsage, "all 900 samples are masked",
                 {"--mask", scratch / "x_rfifind.mask", "--start", "1.1"});
  EXPECT_EQ(run({"--mask", scratch / "x_rfifind.mask"}).status, kDone);
  std::filesystem::remove(output());
  std::filesystem::remove(output() + ".json");
  // Nothing moves in them.
  write(s, std::vector<double>(16 * 2000, 7));
  expect_refused(kWrongUsage, "all 16 channels", {"--flag-channels"});
}

// Before the run: it would be refused at its end.
TEST_P(BadFilterbank, AFolderIsNotReplaced) {
  const SigprocShape s = shape();
  write(s, noise(s, 2000));
  std::filesystem::create_directory(output());
  const CommandResult result = run({"--overwrite"});
  EXPECT_EQ(result.status, kFailed);
  EXPECT_NE(result.err.find(output() + ": output: it is a folder, expected the name of a file"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_TRUE(std::filesystem::is_directory(output()));
}

TEST_P(BadFilterbank, ConstantDataHoldNothingAndDivideByNothing) {
  for (const int bits : {1, 8, 32})
    for (const std::string more : {"--strict", "--zero-dm"}) {
      const SigprocShape s = shape(bits);
      write(s, std::vector<double>(16 * 3000, 1));
      const CommandResult result = run({"--overwrite", more});
      EXPECT_EQ(result.status, more == "--strict" ? kFailed : kDamaged) << result.err;
      EXPECT_EQ(run({"--overwrite", more, "--keep-constant"}).status, kDone) << more;
      if (GetParam() == "search") {
        EXPECT_EQ(summary(result)["candidates"], 0) << bits;
      }
    }
}

TEST_P(BadFilterbank, FloatsThatAreNoNumbersAreCountedAndTakenAsZero) {
  const SigprocShape s = shape(32);
  auto values = noise(s, 3000);
  values[5] = std::numeric_limits<double>::quiet_NaN();
  values[16 * 700] = std::numeric_limits<double>::infinity();
  values[16 * 2999 + 3] = -std::numeric_limits<double>::infinity();
  write(s, values);
  const CommandResult result = run();
  EXPECT_EQ(result.status, kDamaged) << result.err;
  EXPECT_EQ(summary(result)["not_finite"], 3);
  EXPECT_EQ(run({"--overwrite", "--strict"}).status, kFailed);
}

// Long enough to be taken for channels, or a receiver, that stopped.
TEST_P(BadFilterbank, FloatsThatAreNoNumbersForAWhileAreCountedAndNamed) {
  const SigprocShape s = shape(32);
  constexpr std::size_t kChannels = 16, kTimes = 6000;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  auto values = noise(s, kTimes);
  const auto put = [&](double value, std::size_t channel, std::size_t first, std::size_t times) {
    for (std::size_t t = first; t < first + times; ++t) values[t * kChannels + channel] = value;
  };
  put(10, 1, 3000, 900);    // it stops
  put(kNan, 5, 0, kTimes);  // it is left out
  put(kNan, 3, 1000, 700);
  put(-kInfinite, 7, 4500, 300);
  const std::size_t all = 100 + random_() % 200, single = 5500;
  for (std::size_t c = 0; c < kChannels; ++c) put(c == 6 ? kInfinite : kNan, c, 2000, all);
  put(kNan, 9, single, 1);
  write(s, values);
  const CommandResult result = run();
  EXPECT_EQ(result.status, kDamaged) << result.err;
  const nlohmann::json found = summary(result);
  EXPECT_EQ(found["not_finite"], kTimes + 700 + 300 + 1 + (kChannels - 1) * all);
  EXPECT_EQ(found["empty_values"], 900);
  EXPECT_EQ(found["empty_samples"], all);
  for (const nlohmann::json& one : found["not_finite_channels"]) {
    const std::size_t c = one["channel"];
    EXPECT_EQ(one["samples"], c == 3 ? 700 + all : c == 7 ? 300 + all : all) << c;
  }
  EXPECT_EQ(found["not_finite_channels"].size(), kChannels);
  EXPECT_NE(result.err.find(std::to_string(found["not_finite"].get<std::size_t>()) +
                            " values were not finite"),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("channel 3 for " + std::to_string(700 + all) + " samples"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(run({"--overwrite", "--strict"}).status, kFailed);
  // All are counted, whatever becomes of them.
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--keep-constant"}, {"--ignorechan", "5,7"}}) {
    std::vector<std::string> options{"--overwrite"};
    options.insert(options.end(), more.begin(), more.end());
    EXPECT_EQ(summary(run(options))["not_finite"], found["not_finite"]) << more.front();
  }
  if (GetParam() == "dedisperse") return;  // whose series have means
  // Two of sixteen together, and none that repeats a value.
  values = noise(s, kTimes);
  for (const std::size_t channel : {3, 4}) put(kNan, channel, 1000, 700);
  write(s, values);
  const CommandResult in_words = run_command(
      {"search", input(), "-o", output(), "--overwrite", "--dms", "0:20:1"}, scratch.path());
  EXPECT_NE(in_words.out.find("\n  empty: noise for 700 samples in which"), std::string::npos)
      << in_words.out;
}

TEST_P(BadFilterbank, HeadersThatLieAreRefusedByField) {
  const auto lie = [&](const std::string& field, const std::function<void(SigprocShape&)>& tell) {
    SigprocShape s = shape();
    tell(s);
    write(shape(), noise(shape(), 100));
    SigprocBytes header = sigproc_header(s);
    const std::vector<char>& all = header.data(std::vector<char>(1600, 1)).bytes();
    write_file(input(), std::string(all.begin(), all.end()));
    expect_refused(kFailed, field);
  };
  lie("nbits", [](SigprocShape& s) { s.nbits = 7; });
  lie("nchans", [](SigprocShape& s) { s.nchans = 0; });
  lie("nchans: -4, expected 1 or more", [](SigprocShape& s) { s.nchans = -4; });
  lie("fch1: 1500000000 MHz, expected at most 1000000 MHz; sigproc's frequencies are in MHz",
      [](SigprocShape& s) { s.fch1 = 1.5e9; });
  lie("foff: ", [](SigprocShape& s) { s.foff = 1e6; });
  lie("tsamp", [](SigprocShape& s) { s.tsamp = 0; });
  lie("tsamp", [](SigprocShape& s) { s.tsamp = std::nan(""); });
  lie("fch1", [](SigprocShape& s) { s.fch1 = -1500; });
  write_file(input(), "");
  expect_refused(kFailed, "in.fil");
  std::filesystem::remove(input());
  expect_refused(kFailed, "in.fil");
}

TEST_P(BadFilterbank, MicrosecondsForSecondsAreNamed) {
  SigprocShape s = shape();
  s.tsamp = 64;
  write(s, noise(s, 2000));
  const CommandResult result = run();
  EXPECT_EQ(result.status, GetParam() == "search" ? kWrongUsage : kDone) << result.err;
  EXPECT_NE(result.err.find("in.fil: header keyword tsamp: 64 s looks like microseconds"),
            std::string::npos)
      << result.err;
  if (GetParam() != "search") return;
  EXPECT_NE(result.err.find("one sample (64 s) or more; where samples are not so long, the input's "
                            "sample time is in microseconds"),
            std::string::npos)
      << result.err;
}

TEST_P(BadFilterbank, WrongUsageIsNamed) {
  const SigprocShape s = shape();
  write(s, noise(s, 2000));
  expect_refused(kWrongUsage, "--start", {"--start", "99"});
  expect_refused(kWrongUsage, "above 0, or all", {"--duration", "0"});
  expect_refused(kWrongUsage, "--duration: 1e-12, expected one sample (", {"--duration", "1ps"});
  expect_refused(kWrongUsage, "--start", {"--start", "nan"});
  expect_refused(kWrongUsage, "--duration", {"--duration", "nan"});
  expect_refused(kWrongUsage, "memory", {"--memory", "lots"});
  expect_refused(kWrongUsage, "memory", {"--memory", "1K"});
  expect_refused(kFailed, "nowhere.mask", {"--mask", scratch / "nowhere.mask"});
  expect_refused(kWrongUsage, "--method", {"--method", "magic"});
  expect_refused(kWrongUsage, "--downsample-tolerance", {"--downsample-tolerance", "0.5"});
  expect_refused(kWrongUsage, "--dm-tolerance", {"--dm-tolerance", "1"}, "0:20");
  for (const std::string dms : {"5", "0:20:1", "0:20"})
    for (const std::string width : {"-4", "nan", "wide"})
      expect_refused(kWrongUsage, "--pulse-width", {"--pulse-width", width}, dms);
  const std::string nowhere = scratch / (GetParam() == "search" ? "no/c.csv" : "no/c.npy");
  const CommandResult unwritable =
      run_command({GetParam(), input(), "-o", nowhere, "--dms", "0:20:1"}, scratch.path().string());
  EXPECT_EQ(unwritable.status, kFailed) << unwritable.err;
  EXPECT_NE(unwritable.err.find(nowhere), std::string::npos) << unwritable.err;
  write_file(output(), "precious");
  EXPECT_EQ(run().status, kFailed);
  EXPECT_EQ(read_file(output()), "precious");
}

// Files without .partial in a folder and the folders in it.
std::vector<std::string> final_names(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code not_there;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, not_there))
    if (entry.is_regular_file() && !entry.path().string().ends_with(".partial"))
      names.push_back(entry.path().filename().string());
  return names;
}

// A folder of PRESTO's files for dedisperse, a list and a page for search.
class ManyOutputs : public BadFilterbank {
 protected:
  std::vector<std::string> arguments(const std::string& list, const std::string& folder) const {
    if (GetParam() == "dedisperse") return {"dedisperse", input(), "-o", folder, "--format", "dat"};
    return {"search", input(), "-o", list + "/c.csv", "--plot", folder};
  }
  // On a disk of `pages`, which holds the list too, or only that.
  void expect_none_named(std::size_t pages, bool page_elsewhere = false) {
    std::filesystem::create_directories(scratch / "disk");
    const int status = on_small_disk(scratch / "disk", pages * 4096, [&] {
      auto words = arguments(scratch / "disk", scratch / (page_elsewhere ? "page" : "disk/x"));
      words.insert(words.end(), {"--dms", "0:20:1"});
      if (GetParam() == "search")
        words.insert(words.end(), {"--threshold", "2.5", "--link-time", "0", "--link-dm", "0"});
      const CommandResult result = run_command(words, scratch.path().string());
      std::size_t named = final_names(scratch / "disk").size();
      if (page_elsewhere) named += final_names(scratch / "page").size();
      return named > 0 ? 50 : result.status;
    });
    if (status == kNoSmallDisk) GTEST_SKIP() << "this machine lets nobody mount a small disk";
    EXPECT_EQ(status, kFailed) << pages << ": " << read_file(scratch / "err");
    EXPECT_NE(read_file(scratch / "err").find("disk"), std::string::npos);
  }
};

// 21 series of 2,000 floats take 42 pages, their .inf files one each: the disk is full while the
// series are written, or when half the .inf files are.
TEST_P(ManyOutputs, AFullDiskLeavesNoneOfThemUnderItsFinalName) {
  const SigprocShape s = shape();
  if (GetParam() == "search") {
    write(s, noise(s, 30000));
    expect_none_named(10);        // not even the list
    expect_none_named(10, true);  // the page is whole, the list is not
  } else {
    write(s, noise(s, 2009));
    expect_none_named(20);
    expect_none_named(52);
  }
}

TEST_P(ManyOutputs, KilledHalfWayLeavesNoneOfThemUnderItsFinalName) {
  const SigprocShape s = shape();
  write(s, std::vector<double>(16 * 2'000'000, 100));
  const std::string folder = scratch / "x";
  // Held up, a run has no time to end in good order, and ends at once.
  for (const auto& [signal, held_up] :
       {std::pair{SIGTERM, false}, {SIGTERM, true}, {SIGKILL, false}}) {
    auto words = arguments(scratch.path().string(), folder);
    words.insert(words.end(), {"--dms", "0:300:1"});
    const pid_t pid = start_command(words, scratch.path().string());
    const auto begun = [&] {
      std::error_code ignored;
      for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
        if (entry.path().string().ends_with(".partial")) return true;
      return false;
    };
    for (int wait = 0; wait < 60'000 && !begun(); ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(begun());
    kill(pid, signal);
    if (held_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      kill(pid, SIGSTOP);
      std::this_thread::sleep_for(std::chrono::milliseconds(800));
      kill(pid, SIGCONT);
    }
    EXPECT_NE(finish_command(pid, scratch.path().string()).status, kDone);
    EXPECT_EQ(final_names(folder), std::vector<std::string>{});
    EXPECT_FALSE(std::filesystem::exists(scratch / "c.csv"));
    // Asked to stop, it cleans up, the folder it made included.
    if (signal == SIGTERM) {
      EXPECT_FALSE(std::filesystem::exists(folder));
    }
  }
}

TEST_P(BadFilterbank, FilesThatOverlapOrDisagreeAreErrors) {
  SigprocShape s = shape();
  write(s, noise(s, 2000));
  write(s, noise(s, 2000), 0, "second.fil");
  expect_refused(kFailed, "overlap", {scratch / "second.fil"});
  s.tstart += 1;
  s.foff = -5;
  write(s, noise(s, 2000), 0, "second.fil");
  expect_refused(kFailed, "second.fil", {scratch / "second.fil"});
}

#ifdef TAUTLINE_CFITSIO
TEST_P(BadFilterbank, PsrfitsRowsOfTheWrongSizeAreRefused) {
  PsrfitsShape s;
  s.nchan = 16;
  s.nsblk = 512;
  s.rows = 8;
  s.foff = -10;
  s.tbin = 1e-3;
  std::vector<double> codes;
  for (int k = 0; k < s.nchan * s.nsblk * s.rows; ++k)
    codes.push_back(static_cast<double>(random_() % 16));
  write_psrfits(input(), s, codes);
  const CommandResult good = run({"--overwrite"});
  EXPECT_EQ(good.status, kDone) << good.err;
  EXPECT_EQ(summary(good)["samples"], 4096);
  std::filesystem::remove(output());
  std::filesystem::remove(output() + ".json");
  s.wrong_data = 7;
  write_psrfits(input(), s, codes);
  expect_refused(kFailed, "DATA");
  s.wrong_data = 0;
  s.wrong_scales = 3;
  write_psrfits(input(), s, codes);
  expect_refused(kFailed, "DAT_SCL");
  // Cut inside a row: the whole ones are read.
  s.wrong_scales = 0;
  write_psrfits(input(), s, codes);
  std::filesystem::resize_file(input(), std::filesystem::file_size(input()) - 16 * 512 * 2);
  const CommandResult cut = run();
  EXPECT_EQ(cut.status, kDamaged) << cut.err;
  EXPECT_NE(cut.err.find("in.fil"), std::string::npos) << cut.err;
}
#endif

INSTANTIATE_TEST_SUITE_P(Commands, BadFilterbank, ::testing::Values("dedisperse", "search"),
                         [](const auto& info) { return info.param; });

INSTANTIATE_TEST_SUITE_P(Commands, ManyOutputs, ::testing::Values("dedisperse", "search"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tautline::tests
