// What a search makes of stretches that hold nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "tautline/pipeline/search/search_filterbank.h"
#include "tautline/pipeline/simulation/simulate_filterbank.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kBands = 24;

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SearchOfPadding : public testing::TestWithParam<std::string> {
 protected:
  // Bytes of a simulated file: header, data.
  void simulate(double duration_s, double time_s) {
    SimulateFilterbankConfig config;
    config.scene.channels = kBands;
    config.scene.fch1_mhz = 1500;
    config.scene.foff_mhz = -10;
    config.scene.tsamp_s = 1e-3;
    config.scene.pulses = {{time_s, 60, 0.004, 20, 0, 0}};
    config.output = folder / "a.fil";
    config.duration_s = duration_s;
    config.seed = tests::generator()();
    config.overwrite = true;
    simulate_filterbank(config);
    const std::string file = bytes_of_file(config.output);
    const auto data = static_cast<std::size_t>(std::llround(duration_s * 1000)) * kBands;
    header = file.substr(0, file.size() - data);
    spectra = file.substr(header.size());
  }
  SearchSummary search(const std::string& data, bool keep = false) {
    return search(data, keep, GetParam());
  }
  SearchSummary search(const std::string& data, bool keep, const std::string& device) {
    const std::string path = folder / "b.fil";
    std::ofstream(path, std::ios::binary) << header << data;
    SearchConfig config;
    config.inputs = {path};
    config.output = folder / "b.csv";
    config.overwrite = true;
    config.dms.low = 0;
    config.dms.high = 150;
    config.dms.step = 2;
    config.keep_constant = keep;
    return search_filterbank(config, device::open(device::parse_selection(device), {.threads = 2}));
  }
  tests::ScratchFolder folder;
  std::string header, spectra;
};

// A pulse that ends shortly before the padding, which no trial of a high DM may mistake for the end of the band.
TEST_P(SearchOfPadding, IsThatOfTheDataWithoutIt) {
  simulate(20, 19);
  const SearchSummary alone = search(spectra);
  ASSERT_FALSE(alone.candidates.empty());
  EXPECT_NEAR(alone.candidates.front().time_s, 19, 0.01);
  EXPECT_EQ(alone.empty.samples, 0u);
  for (const char value : {'\0', '\xff'}) {
    const SearchSummary padded = search(spectra + std::string(403 * kBands, value));
    EXPECT_EQ(padded.candidates, alone.candidates);
    EXPECT_EQ(padded.empty.samples, 403u);
    ASSERT_EQ(padded.empty.list.size(), 1u);
    EXPECT_EQ(padded.empty.list[0].first_sample, 20000u);
  }
  // Taken for data it is brighter than the pulse.
  const SearchSummary kept = search(spectra + std::string(403 * kBands, '\xff'), true);
  EXPECT_GT(kept.candidates.front().time_s, 19.5);
  EXPECT_EQ(search(spectra, true).candidates, alone.candidates);
}

TEST_P(SearchOfPadding, DataBehindAStretchAreSearchedAsThoseOfAnotherFile) {
  simulate(24, 5);
  const std::size_t cut = 9000 * kBands;
  const std::string head = spectra.substr(0, cut), tail = spectra.substr(cut);
  const std::string lost(1500 * kBands, '\x10');
  std::vector<core::Candidate> expected = search(head).candidates;
  for (core::Candidate c : search(tail).candidates) {
    for (std::uint64_t* sample : {&c.sample, &c.first_sample, &c.last_sample}) *sample += 10500;
    c.time_s = static_cast<double>(c.sample) / 1000;
    expected.push_back(c);
  }
  const SearchSummary found = search(head + lost + tail);
  const auto in_time = [](const core::Candidate& a, const core::Candidate& b) {
    return std::tuple(a.sample, a.dm) < std::tuple(b.sample, b.dm);
  };
  auto candidates = found.candidates;
  std::sort(candidates.begin(), candidates.end(), in_time);
  std::sort(expected.begin(), expected.end(), in_time);
  EXPECT_EQ(candidates, expected);
  EXPECT_EQ(found.data_segments, 2u);
}

// 20 of 24 channels stop for 9 s, and all of them for a third of 6 s, a tenth of a second at a time.
TEST_P(SearchOfPadding, OfStoppedChannelsAndShortStretchesIsThatOfTheData) {
  simulate(24, 5);
  const SearchSummary without = search(spectra);
  std::string stopped = spectra;
  for (std::size_t t = 8000; t < 17'000; ++t)
    std::fill_n(stopped.begin() + static_cast<std::ptrdiff_t>(kBands * t), 20, '\0');
  for (std::size_t t = 17'300; t < 23'300; t += 300)
    std::fill_n(stopped.begin() + static_cast<std::ptrdiff_t>(kBands * t), kBands * 100, '\0');
  const SearchSummary found = search(stopped);
  EXPECT_EQ(found.empty.samples, 2000u);
  EXPECT_EQ(found.data_segments, 1u);
  ASSERT_FALSE(found.candidates.empty());
  // The ratio scatters by 0.012, since the noise is drawn again; a candidate of noise comes once in 50 searches.
  EXPECT_NEAR(found.candidates.front().snr, without.candidates.front().snr,
              0.09 * without.candidates.front().snr);
  EXPECT_LE(found.candidates.size(), without.candidates.size() + 4);
  EXPECT_EQ(found.candidates, search(stopped, false, "cpu").candidates);
}

INSTANTIATE_TEST_SUITE_P(Cpu, SearchOfPadding, testing::Values("cpu"),
                         [](const auto&) { return "cpu"; });
INSTANTIATE_TEST_SUITE_P(Gpu, SearchOfPadding, testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::pipeline
