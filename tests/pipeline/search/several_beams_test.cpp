// A search of several beams: each is searched as it would be alone, and what many have is marked.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/pipeline/search/search_filterbank.h"
#include "tautline/pipeline/simulation/simulate_filterbank.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr double kSampleOfBeam_s = 512e-6;
constexpr std::size_t kBeamFiles = 4;

formats::scene::FilterbankScene beam_scene() {
  formats::scene::FilterbankScene scene;
  scene.channels = 32;
  scene.fch1_mhz = 1500;
  scene.foff_mhz = -8;
  scene.tsamp_s = kSampleOfBeam_s;
  scene.start = core::parse_utc("2026-01-01-00:00:00");
  return scene;
}

class SeveralBeams : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device = device::open(device::parse_selection(GetParam()), {.threads = 2});
  }
  std::string write(const std::string& name, const formats::scene::FilterbankScene& scene,
                    double duration_s) {
    SimulateFilterbankConfig made;
    made.scene = scene;
    made.output = folder / name;
    made.duration_s = duration_s;
    made.seed = random();
    simulate_filterbank(made);
    return made.output;
  }
  // Beams that begin later and later; the third is the shortest. One pulse is in the second beam
  // alone, another, at DM 0, in all.
  std::vector<std::string> write_beams() {
    std::vector<std::string> files;
    for (std::size_t b = 0; b < kBeamFiles; ++b) {
      auto scene = beam_scene();
      const auto late = static_cast<std::int64_t>(100 * b);
      scene.start = core::advance(scene.start, late, {15625, 8});
      const double late_s = static_cast<double>(late) * kSampleOfBeam_s;
      if (b == 1) scene.pulses.push_back({.time_s = 4, .dm = 60, .width_s = 0.004, .snr = 40});
      scene.pulses.push_back({.time_s = 5.5 - late_s, .dm = 0, .width_s = 0.004, .snr = 50});
      files.push_back(write("beam" + std::to_string(b) + ".fil", scene, b == 2 ? 6.5 : 8));
    }
    return files;
  }
  SearchConfig config_for(const std::vector<std::string>& inputs, const std::string& output) {
    SearchConfig config;
    config.inputs = inputs;
    config.output = folder / output;
    config.overwrite = true;
    config.dms.high = 100;
    config.dms.step = 2;
    config.max_width_s = 0.05;
    config.threshold = 7;
    return config;
  }
  std::vector<std::string> lines_of(const std::string& name) {
    std::ifstream file(folder / name);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  nlohmann::json record_of(const std::string& name) {
    std::ifstream file(folder / (name + ".json"));
    return nlohmann::json::parse(file);
  }
  // A line without its last two columns: as of a search alone, whose beam is 0.
  static std::string alone(const std::string& line, std::size_t beam, const std::string& file) {
    const std::string end = "," + std::to_string(beam) + "," + file + ",";
    const std::size_t at = line.rfind(end);
    return at == std::string::npos ? "" : line.substr(0, at) + ",0," + file + ",0";
  }

  std::shared_ptr<const device::Device> device;
  tests::ScratchFolder folder;
  std::mt19937_64 random = tests::generator();
};

TEST_P(SeveralBeams, EachIsSearchedAsAloneAndWhatManyHaveIsMarked) {
  const auto files = write_beams();
  SearchConfig together = config_for(files, "together.csv");
  together.beams = true;
  together.plot_folder = folder / "page";
  const SearchSummary summary = search_filterbank(together, device);
  const auto lines = lines_of("together.csv");
  ASSERT_EQ(lines.size(), summary.candidates.size() + 1);
  EXPECT_TRUE(lines[0].ends_with(",beam,file,filled,beams,in_many_beams")) << lines[0];

  std::uint64_t detections = 0, samples = 0;
  for (std::size_t b = 0; b < kBeamFiles; ++b) {
    const SearchSummary one = search_filterbank(config_for({files[b]}, "alone.csv"), device);
    detections += one.detections;
    samples += one.samples;
    std::vector<std::string> found;
    for (std::size_t k = 1; k < lines.size(); ++k)
      if (const std::string line = alone(lines[k], b, files[b]); !line.empty())
        found.push_back(line);
    auto expected = lines_of("alone.csv");
    expected.erase(expected.begin());
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(found, expected) << "beam " << b;
  }
  EXPECT_EQ(summary.detections, detections);
  EXPECT_EQ(summary.samples, samples);

  // 4 beams: more than 2 are many.
  std::size_t in_all = 0, in_one = 0;
  for (const core::Candidate& c : summary.candidates) {
    if (c.dm < 10 && c.snr > 20) {
      ++in_all;
      EXPECT_EQ(c.beams, kBeamFiles);
    }
    if (c.dm > 40 && c.snr > 20) {
      ++in_one;
      EXPECT_EQ(c.beam, 1u);
      EXPECT_EQ(c.beams, 1u);
    }
  }
  EXPECT_EQ(in_all, kBeamFiles);
  EXPECT_EQ(in_one, 1u);
  EXPECT_EQ(summary.most_beams, 2u);
  EXPECT_GE(summary.in_many_beams, kBeamFiles);
  const auto marked = std::count_if(lines.begin() + 1, lines.end(), [](const std::string& line) {
    return line.ends_with(",4,1") || line.ends_with(",3,1");
  });
  EXPECT_EQ(static_cast<std::size_t>(marked), summary.in_many_beams);

  const auto record = record_of("together.csv");
  ASSERT_EQ(record["beams"].size(), kBeamFiles);
  std::size_t candidates = 0;
  for (std::size_t b = 0; b < kBeamFiles; ++b) {
    EXPECT_EQ(record["beams"][b]["file"], files[b]);
    EXPECT_EQ(record["beams"][b]["data_segments"].size(), 1u);
    candidates += record["beams"][b]["candidates"].get<std::size_t>();
  }
  EXPECT_EQ(candidates, summary.candidates.size());
  std::ifstream page(folder / "page/candidates.html");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  EXPECT_NE(text.find("in_many_beams"), std::string::npos);

  together.max_beams = 4;
  EXPECT_EQ(search_filterbank(together, device).in_many_beams, 0u);
}

// Channels that are left out in one beam alone, and a beam too short for some trials.
TEST_P(SeveralBeams, BeamsWithChannelsAndLengthsOfTheirOwn) {
  auto scene = beam_scene();
  scene.pulses.push_back({.time_s = 4.5, .dm = 20, .width_s = 0.004, .snr = 40});
  const std::string whole = write("whole.fil", scene, 8);
  auto noisy = scene;
  noisy.carriers.push_back(
      {.frequency_mhz = 1500 - 8 * 5, .amplitude = 30, .period_s = 0.1, .duty = 0.5});
  const std::string loud = write("loud.fil", noisy, 8);
  SearchConfig config = config_for({whole, loud}, "together.csv");
  config.flag_channels = true;
  config.bandpass = true;
  SearchConfig together = config;
  together.beams = true;
  const SearchSummary summary = search_filterbank(together, device);
  const auto record = record_of("together.csv");
  EXPECT_NE(record["beams"][0]["flagged_channels"], record["beams"][1]["flagged_channels"]);
  const auto lines = lines_of("together.csv");
  for (std::size_t b = 0; b < 2; ++b) {
    config.inputs = {together.inputs[b]};
    config.output = folder / "alone.csv";
    search_filterbank(config, device);
    std::vector<std::string> found;
    for (std::size_t k = 1; k < lines.size(); ++k)
      if (const std::string line = alone(lines[k], b, together.inputs[b]); !line.empty())
        found.push_back(line);
    auto expected = lines_of("alone.csv");
    expected.erase(expected.begin());
    EXPECT_EQ(found, expected) << "beam " << b;
    const auto own = record_of("alone.csv");
    EXPECT_EQ(record["beams"][b]["ignored_channels"], own["ignored_channels"]);
    EXPECT_EQ(record["beams"][b]["bandpass"], own["bandpass"]);
  }
  // 0.05 s: shorter than the delays of the higher trials.
  together.inputs = {whole, write("short.fil", beam_scene(), 0.05)};
  together.flag_channels = false;
  search_filterbank(together, device);
  const auto trials = record_of("together.csv")["beams"][1]["data_segments"][0]["trials"];
  EXPECT_GT(trials.get<std::size_t>(), 0u);
  EXPECT_LT(trials.get<std::size_t>(), 51u);
}

INSTANTIATE_TEST_SUITE_P(Devices, SeveralBeams, ::testing::ValuesIn(tests::gpu_names_and_cpu()),
                         [](const auto& info) { return tests::test_name(info.param); });

using SeveralBeamFiles = SeveralBeams;
INSTANTIATE_TEST_SUITE_P(Cpu, SeveralBeamFiles, ::testing::Values("cpu"));

TEST_P(SeveralBeamFiles, ThatDifferAreRefusedByName) {
  const std::string first = write("first.fil", beam_scene(), 1);
  const auto refusal = [&](const std::string& other, const std::string& output = "x.csv") {
    SearchConfig config = config_for({first, other}, output);
    config.beams = true;
    config.overwrite = false;
    try {
      search_filterbank(config, device);
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::config);
      return std::string(error.what());
    }
    return std::string("searched");
  };
  auto scene = beam_scene();
  scene.channels = 16;
  EXPECT_NE(refusal(write("few.fil", scene, 1)).find("few.fil: channels: 16"), std::string::npos);
  scene = beam_scene();
  scene.fch1_mhz = 1499;
  std::string text = refusal(write("low.fil", scene, 1));
  EXPECT_NE(text.find("low.fil: frequencies"), std::string::npos) << text;
  EXPECT_NE(text.find("first.fil"), std::string::npos) << text;
  scene = beam_scene();
  scene.tsamp_s = 256e-6;
  EXPECT_NE(refusal(write("fast.fil", scene, 1)).find("fast.fil: sample time"), std::string::npos);
  scene = beam_scene();
  scene.bits = 16;
  EXPECT_NE(refusal(write("wide.fil", scene, 1)).find("wide.fil: bits"), std::string::npos);
  for (const char* output : {"x.cand", "x.singlepulse"}) {
    text = refusal(first, output);
    EXPECT_NE(text.find(".csv"), std::string::npos) << text;
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "x.csv"));
}

}  // namespace
}  // namespace tautline::pipeline
