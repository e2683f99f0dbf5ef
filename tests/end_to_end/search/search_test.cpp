// The command from a simulated file to candidates, and what it says of bad input.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/search/search_files.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

std::string simulate(const ScratchFolder& folder) {
  const std::string fil = folder / "obs.fil";
  const CommandResult made = run_command({"simulate",   "filterbank",
                                          "--nchans",   "64",
                                          "--fch1",     "1500",
                                          "--foff",     "-4",
                                          "--tsamp",    "512e-6",
                                          "--duration", "8",
                                          "--pulse",    "dm=80,time=3,width=0.004,snr=60",
                                          "--pulse",    "dm=20,time=6,width=0.002,snr=15",
                                          "--seed",     std::to_string(generator()()),
                                          "-o",         fil},
                                         folder.path().string());
  EXPECT_EQ(made.status, 0) << made.err;
  return fil;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(SearchCommand, FindsWhatWasSimulatedInEveryFormat) {
  const ScratchFolder folder;
  const std::string fil = simulate(folder);
  for (const char* ending : {"csv", "cand", "singlepulse"}) {
    const std::string output = folder / (std::string("c.") + ending);
    const CommandResult found =
        run_command({"search", fil, "-o", output, "--dms", "0:120:1", "--plot", folder / ending},
                    folder.path().string());
    ASSERT_EQ(found.status, 0) << found.err;
    EXPECT_NE(found.err.find("121 trials"), std::string::npos) << found.err;  // the plan
    EXPECT_NE(found.out.find("candidates"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(folder / (std::string(ending) + "/candidates.html")));
    const auto lines = lines_of(read_file(output));
    ASSERT_GE(lines.size(), 2u) << ending;
    if (std::string(ending) != "csv") continue;
    EXPECT_EQ(
        lines[0],
        "snr,time_s,sample,width_samples,width_s,dm,dm_index,members,first_sample,last_sample,"
        "mjd,mjd_inf,f_ref_mhz,beam,file,filled");
    std::vector<std::string> fields;
    std::istringstream row(lines[1]);
    for (std::string field; std::getline(row, field, ',');) fields.push_back(field);
    ASSERT_EQ(fields.size(), 16u);
    // Sigma 1.2: 1.0 of the noise and 0.5 of its measured deviation; the best of many boxcars adds
    // up to one, a width between two takes off up to two.
    EXPECT_NEAR(std::stod(fields[0]), 0.943 * 60, 10);
    EXPECT_NEAR(std::stod(fields[1]), 3, 0.004);
    EXPECT_NEAR(std::stod(fields[1]), std::stod(fields[2]) * 512e-6, 1e-6);
    EXPECT_NEAR(std::stod(fields[5]), 80, 8);
  }
}

// Padding in the middle and at the end, and a channel that never changes, in the summary that users read.
TEST(SearchCommand, WhatHoldsNothingIsSaid) {
  const ScratchFolder folder;
  const std::string fil = simulate(folder), whole = read_file(fil);
  constexpr std::size_t kChannels = 64, kTimes = 15'625;
  const auto first = static_cast<std::ptrdiff_t>(whole.size() - kTimes * kChannels);
  auto random = generator();
  const std::size_t middle = 4'000 + random() % 4'000, length = 200 + random() % 1'000, end = 500;
  const std::size_t constant = random() % kChannels;
  std::string bytes = whole;
  const auto fill = [&](std::size_t from, std::size_t count) {
    std::fill_n(bytes.begin() + first + static_cast<std::ptrdiff_t>(from * kChannels),
                count * kChannels, '\7');
  };
  fill(middle, length);
  fill(kTimes - end, end);
  const auto hold_channel = [&] {
    for (std::size_t t = 0; t < kTimes; ++t)
      bytes[static_cast<std::size_t>(first) + t * kChannels + constant] = '\7';
  };
  hold_channel();
  const std::string padded = bytes;
  // Shorter than 128 samples: a search fills it, and `dedisperse` fills all.
  const std::size_t early = 500 + random() % 3'000, brief = 20 + random() % 108;
  const auto samples_from = [](std::size_t count, std::size_t from) {
    return std::to_string(count) + " samples from " + std::to_string(from);
  };
  const std::string long_ones =
      samples_from(length, middle) + ", " + samples_from(end, kTimes - end) + "\n";
  for (const bool search : {true, false}) {
    const auto said = [&] {
      const CommandResult result =
          run_command({search ? "search" : "dedisperse", fil, "-o",
                       folder / (search ? "c.csv" : "s.npy"), "--overwrite", "--dms", "0:40:10"},
                      folder.path().string());
      EXPECT_EQ(result.status, 0) << result.err;
      return result.out;
    };
    write_file(fil, whole);
    EXPECT_EQ(said().find("empty:"), std::string::npos);
    const auto expect_said = [&](const std::string& stretches) {
      write_file(fil, bytes);
      const std::string text = said();
      EXPECT_NE(text.find("\n  empty: " + stretches), std::string::npos) << stretches << text;
      EXPECT_NE(text.find("\n  empty: 1 channel never changed, left out"), std::string::npos)
          << text;
    };
    bytes = padded;
    expect_said("2 stretches in which no channel changes, " +
                std::string(search ? "left out as gaps are" : "filled") + ": " + long_ones);
    fill(early, brief);
    expect_said("3 stretches in which no channel changes, " +
                std::string(search ? "1 filled, 2 left out as gaps are" : "filled") + ": " +
                samples_from(brief, early) + ", " + long_ones);
    bytes = whole;
    hold_channel();
    fill(early, brief);
    expect_said("1 stretch in which no channel changes, filled: " + samples_from(brief, early) +
                "\n");
  }
}

// Much padding and many dead channels are warnings, which --quiet leaves; little of either is in the summary alone.
TEST(SearchCommand, MuchThatHoldsNothingIsAWarning) {
  const ScratchFolder folder;
  const std::string fil = simulate(folder), whole = read_file(fil);
  constexpr std::size_t kChannels = 64, kTimes = 15'625;
  const std::size_t first = whole.size() - kTimes * kChannels;
  auto random = generator();
  for (const bool much : {false, true}) {
    std::string bytes = whole;
    const std::size_t padded = much ? 2'000 + random() % 4'000 : 500 + random() % 500;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() - padded * kChannels),
                padded * kChannels, '\7');
    for (std::size_t t = 0; t < kTimes; ++t)
      for (std::size_t c = 0; c < (much ? 8 : 2); ++c) bytes[first + t * kChannels + c] = '\7';
    write_file(fil, bytes);
    for (const bool search : {true, false}) {
      const CommandResult result =
          run_command({"--quiet", search ? "search" : "dedisperse", fil, "-o",
                       folder / (search ? "c.csv" : "s.npy"), "--overwrite", "--dms", "0:40:10"},
                      folder.path().string());
      EXPECT_EQ(result.status, 0) << result.err;
      EXPECT_EQ(result.out, "");
      const auto says = [&](const std::string& words) {
        return result.err.find(words) != std::string::npos;
      };
      EXPECT_EQ(says("warning: much of the input holds no data: of 15625 samples no channel "
                     "changes in " +
                     std::to_string(padded)),
                much)
          << result.err;
      EXPECT_EQ(says("warning: 8 of 64 channels never change"), much) << result.err;
      EXPECT_EQ(says("--keep-constant"), much) << result.err;
    }
  }
}

// Where a search runs: a device, and the most that the processor may be.
struct Place {
  std::string device, cap;
};
class SearchOn : public ::testing::TestWithParam<Place> {};

std::vector<Place> places() {
  std::vector<Place> all;
  for (const char* cap : {"portable:1", "portable", "avx2", "avx512", "vnni", "amx"})
    all.push_back({"cpu", cap});
  for (const std::string& gpu : gpu_names()) all.push_back({gpu, ""});
  return all;
}

// The instruction set whose code a search runs under a cap: that of AVX-512 above it, too.
std::string code_under(const std::string& cap) {
  const std::string set = cap.substr(0, cap.find(':'));
  return set == "vnni" || set == "amx" ? "avx512" : set;
}

// The default search, and one of many weak candidates, give the same bytes on every device and processor.
TEST_P(SearchOn, GivesTheListOfTheReference) {
  const auto& [device, cap] = GetParam();
  SKIP_WITHOUT_GPU(device);
  if (cap.empty()) {
    if (compiles_slowly(device))
      GTEST_SKIP() << "compiling for a CPU's OpenCL takes minutes: set TAUTLINE_FULL";
  } else {
    try {
      device::parse_selection("cpu:" + cap.substr(0, cap.find(':')));
    } catch (const core::Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  const ScratchFolder folder;
  const std::string fil = simulate(folder), output = folder / "c.csv";
  for (const char* threshold : {"", "4"}) {
    const auto list = [&](const std::string& on, const std::string& code,
                          const Variables& variables) {
      std::vector<std::string> words{"--device", on,     "--json", "search", fil,
                                     "-o",       output, "--dms",  "0:120",  "--overwrite"};
      if (*threshold != 0) words.insert(words.end(), {"--threshold", threshold});
      const CommandResult found = run_command(words, folder.path().string(), variables);
      EXPECT_EQ(found.status, 0) << found.err;
      const auto summary = json_lines(found.out).back();
      for (const char* kernels : {"kernels", "search_kernels"})
        EXPECT_EQ(summary[kernels].get<std::string>().substr(0, code.size()), code) << kernels;
      return read_file(output);
    };
    const std::string expected = list("reference", "reference", {});
    EXPECT_GE(lines_of(expected).size(), *threshold == 0 ? 3u : 10u);
    if (cap.empty())
      EXPECT_EQ(list(device, device.substr(0, device.find(':')), {}), expected);
    else
      EXPECT_EQ(list(device, code_under(cap), {{"TAUTLINE_CPU", cap}}), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SearchOn, ::testing::ValuesIn(places()), [](const auto& info) {
  return test_name(info.param.device + (info.param.cap.empty() ? "" : "_" + info.param.cap));
});

TEST(SearchCommand, JsonLinesHoldEveryCandidate) {
  const ScratchFolder folder;
  const CommandResult found = run_command(
      {"--json", "search", simulate(folder), "-o", folder / "c.csv", "--dms", "0:120:1"},
      folder.path().string());
  ASSERT_EQ(found.status, 0) << found.err;
  const auto lines = lines_of(found.out);
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines[0].find("{\"schema\":\"tautline.candidate\",\"version\":1,\"snr\":"), 0u)
      << lines[0];
  EXPECT_EQ(lines.back().find("{\"schema\":\"tautline.search\",\"version\":1,"), 0u);
}

TEST(SearchCommand, SaysWhatTheGuideLists) {
  const ScratchFolder folder;
  const std::string fil = simulate(folder), csv = folder / "c.csv", npy = folder / "s.npy";
  const CommandResult found =
      run_command({"--json", "search", fil, "-o", csv, "--dms", "0:120:1"}, folder.path().string());
  ASSERT_EQ(found.status, 0) << found.err;
  const auto lines = json_lines(found.out);
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(keys_of(lines[0]), documented_object("`tautline.candidate` 1"));
  EXPECT_EQ(keys_of(lines.back()), documented_object("`tautline.search` 1"));
  EXPECT_EQ(keys_of(nlohmann::json::parse(read_file(csv + ".json"))),
            documented_object("`tautline.search.record` 1"));
  // A candidate's line and its row of the list are one.
  const auto rows = lines_of(read_file(csv));
  ASSERT_EQ(rows.size(), lines.size());
  std::istringstream names(rows[0]), values(rows[1]);
  std::string value;
  for (std::string name; std::getline(names, name, ',') && std::getline(values, value, ',');) {
    ASSERT_TRUE(lines[0].contains(name)) << name;
    if (lines[0][name].is_string()) {
      EXPECT_EQ(lines[0][name], value) << name;
    } else {
      const double number = lines[0][name];
      EXPECT_NEAR(number, std::stod(value), 1e-5 * std::fabs(number)) << name;
    }
  }
  const CommandResult summed = run_command(
      {"--json", "dedisperse", fil, "-o", npy, "--dms", "0:120:1"}, folder.path().string());
  ASSERT_EQ(summed.status, 0) << summed.err;
  EXPECT_EQ(keys_of(json_lines(summed.out).back()), documented_object("`tautline.dedisperse` 1"));
  EXPECT_EQ(keys_of(nlohmann::json::parse(read_file(npy + ".json"))),
            documented_object("`tautline.dedisperse.record` 1"));
}

TEST(SearchCommand, WrongUsageAndBadInput) {
  const ScratchFolder folder;
  const std::string fil = simulate(folder), output = folder / "c.csv";
  const auto expect = [&](std::vector<std::string> arguments, int status, const std::string& text) {
    arguments.insert(arguments.begin(), {"search", fil, "-o", output});
    const CommandResult result = run_command(arguments, folder.path().string());
    EXPECT_EQ(result.status, status) << text << ": " << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(output));
  };
  expect({}, 2, "--dms");
  expect({"--dms", "0:20000:100"}, 2, "of data");  // longer than the file
  expect({"--dms", "0:10:1", "--ignorechan", "0:63"}, 2, "all 64 channels");
  expect({"--dms", "0:10:1", "--threshold", "-1"}, 2, "threshold");
  expect({"--dms", "0:10:1", "--max-width", "1e-9"}, 2, "--max-width");
  expect({"--dms", "0:10:1", "--memory", "1K"}, 2, "memory");
  expect({"--dms", "0:10:1", "--noise", "none"}, 2, "--noise");
}

TEST(SearchCommand, BeamsTogether) {
  const ScratchFolder folder;
  std::vector<std::string> arguments{"--json", "search", "--beams"};
  for (const char* name : {"a.fil", "b.fil", "c.fil"}) {
    const CommandResult made = run_command(
        {"simulate", "filterbank", "--nchans", "32", "--fch1", "1500", "--foff", "-8", "--tsamp",
         "512e-6", "--duration", "6", "--pulse", "dm=0,time=4,width=0.004,snr=60", "--seed",
         std::to_string(generator()()), "-o", folder / name},
        folder.path().string());
    ASSERT_EQ(made.status, 0) << made.err;
    arguments.push_back(folder / name);
  }
  arguments.insert(arguments.end(), {"-o", folder / "c.csv", "--dms", "0:60:2"});
  const CommandResult found = run_command(arguments, folder.path().string());
  ASSERT_EQ(found.status, 0) << found.err;
  const auto lines = json_lines(found.out);
  ASSERT_GE(lines.size(), 4u);
  Keys keys = documented_object("`tautline.candidate` 1");
  keys.insert({"beams", "in_many_beams"});
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(keys_of(lines[k]), keys);
    EXPECT_EQ(lines[k]["beams"], 3);
    EXPECT_EQ(lines[k]["in_many_beams"], true);  // more than 2
    EXPECT_EQ(lines[k]["file"], arguments[3 + lines[k]["beam"].get<std::size_t>()]);
  }
  EXPECT_EQ(lines.back()["schema"], "tautline.search");
  EXPECT_EQ(lines.back()["beams"], 3);
  EXPECT_GE(lines.back()["in_many_beams"].get<int>(), 3);
  const auto list = lines_of(read_file(folder / "c.csv"));
  EXPECT_TRUE(list.at(0).ends_with(",file,filled,beams,in_many_beams")) << list.at(0);
  EXPECT_EQ(list.size(), lines.size());
  arguments.erase(arguments.begin());  // --json
  arguments.push_back("--overwrite");
  const auto printed = lines_of(run_command(arguments, folder.path().string()).out);
  ASSERT_GE(printed.size(), 3u);
  EXPECT_TRUE(printed[1].ends_with("   beam  beams")) << printed[1];
  EXPECT_TRUE(printed[2].ends_with("      3")) << printed[2];

  // Beams that differ are refused by name, and a list that has no place for them by its option.
  const CommandResult made =
      run_command({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff", "-8",
                   "--tsamp", "512e-6", "--duration", "1", "-o", folder / "d.fil"},
                  folder.path().string());
  ASSERT_EQ(made.status, 0) << made.err;
  const auto refusal = [&](const std::string& input, const std::string& output) {
    const CommandResult result = run_command(
        {"search", "--beams", folder / "a.fil", input, "-o", folder / output, "--dms", "0:60:2"},
        folder.path().string());
    EXPECT_EQ(result.status, 2) << result.err;
    return result.err;
  };
  std::string said = refusal(folder / "d.fil", "d.csv");
  EXPECT_NE(said.find("d.fil: channels: 16, expected 32"), std::string::npos) << said;
  EXPECT_NE(said.find("--beams"), std::string::npos) << said;
  said = refusal(folder / "b.fil", "d.cand");
  EXPECT_NE(said.find(".csv"), std::string::npos) << said;
}

}  // namespace
}  // namespace tautline::tests
