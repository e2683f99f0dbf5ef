// Stretches of filterbanks that hold nothing: what a source leaves out and fills in, and what a search makes of it.
#include "tautline/pipeline/search/empty_stretches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <tuple>

#include "tautline/engine/run.h"
#include "tautline/pipeline/search/dedisperse_filterbank.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/pipeline/search/search_filterbank.h"
#include "tautline/pipeline/simulation/simulate_filterbank.h"
#include "tests/pipeline/search/noise_in_memory.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

constexpr std::size_t kBands = 24;
constexpr std::uint64_t kStreamTimes = 30000;

// For tests to write stretches into.
class StoppingReader final : public NoiseInMemory {
 public:
  explicit StoppingReader(std::mt19937_64& random) : NoiseInMemory(kBands, kStreamTimes, random) {}
  void stop(std::uint64_t first, std::uint64_t count, std::uint8_t value) {
    std::memset(bytes.data() + first * kBands, value, count * kBands);
  }
  void stop_channel(std::size_t channel, std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t t = first; t < first + count; ++t)
      bytes[t * kBands + channel] = std::byte{7};
  }
};

// The output of a source: the spectra of each piece without a gap, by the piece's first time.
struct Given {
  std::map<std::uint64_t, std::vector<std::byte>> pieces;
  EmptyFound found;
  std::shared_ptr<const FilledValues> filled;
};

class Collector final : public engine::Node {
 public:
  explicit Collector(Given& given) : given_(given) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    given_.filled = inputs.front().detail<FilterbankStream>().filled.front();
    return {};
  }
  void begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) override {
    piece_ = &given_.pieces[first.first];
  }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    const auto* from = static_cast<const std::byte*>(block.arrays.front().data);
    piece_->insert(piece_->end(), from, from + block.samples * kBands);
  }

 private:
  Given& given_;
  std::vector<std::byte>* piece_ = nullptr;
};

Given give(StoppingReader& reader, Empty empty, std::size_t block_samples) {
  FilterbankSourceConfig config{{{{{0, kStreamTimes}, 0}}}, block_samples};
  config.empty = empty;
  auto source = std::make_unique<FilterbankSourceNode>(reader, std::move(config));
  const FilterbankSourceNode& read_by = *source;
  Given given;
  engine::Graph graph;
  const auto from = graph.add("source", std::move(source));
  graph.connect(from, graph.add("collector", std::make_unique<Collector>(given)));
  engine::Run run(std::move(graph), {});
  run.go({});
  given.found = read_by.empty();
  EXPECT_EQ(read_by.counters().at("samples"), kStreamTimes);
  return given;
}

// Whether what is told of filled values is where the source gave others than the reader's.
void expect_told(const Given& given, const StoppingReader& reader, std::mt19937_64& random) {
  std::vector<std::uint64_t> first(kBands, FilledValues::kLeftOut);
  for (const auto& [begin, bytes] : given.pieces)
    for (std::size_t k = 0; k < bytes.size(); k += 1 + random() % 8) {
      first[k % kBands] = begin + k / kBands;
      EXPECT_EQ(given.filled->fraction(first, 1),
                bytes[k] == reader.bytes[begin * kBands + k] ? 0.0 : 1.0)
          << k << " behind " << begin;
      first[k % kBands] = FilledValues::kLeftOut;
    }
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST(EmptyStretches, AreTheSameForEveryBlockSize) {
  auto random = tests::generator();
  StoppingReader reader(random);
  struct Stretch {
    std::uint64_t first, samples;
  };
  std::vector<Stretch> long_ones, all;
  // At the start, or not; then long and short ones, some with no data but a few times between them; padding at the end.
  for (std::uint64_t t = random() % 2 * 50; t + 6000 < kStreamTimes; t += 40 + random() % 3000) {
    const std::uint64_t samples = random() % 3 == 0 ? 20 + random() % 100 : 128 + random() % 3000;
    reader.stop(t, samples, static_cast<std::uint8_t>(random() % 3));
    all.push_back({t, samples});
    if (samples >= kLeastGap) long_ones.push_back(all.back());
    t += samples;
  }
  reader.stop(kStreamTimes - 403, 403, 0);
  all.push_back({kStreamTimes - 403, 403});
  long_ones.push_back(all.back());
  const Given whole = give(reader, Empty::split, kStreamTimes);
  // The definition: noise of this width repeats a spectrum of 24 channels never.
  ASSERT_EQ(whole.found.list.size(), all.size());
  std::uint64_t missing = 0, split = 0, given = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    EXPECT_EQ(whole.found.list[k].first_sample, all[k].first);
    EXPECT_EQ(whole.found.list[k].samples, all[k].samples);
    missing += all[k].samples;
  }
  for (const Stretch& stretch : long_ones) split += stretch.samples;
  for (const auto& [first, bytes] : whole.pieces) given += bytes.size() / kBands;
  EXPECT_EQ(whole.found.samples, missing);
  EXPECT_EQ(given, kStreamTimes - split);
  for (const auto& [first, bytes] : whole.pieces)
    for (std::size_t k = 0; k < bytes.size(); ++k) EXPECT_GT(bytes[k], std::byte{40});
  const Given filled = give(reader, Empty::fill, kStreamTimes);
  ASSERT_EQ(filled.pieces.size(), 1u);
  EXPECT_EQ(filled.pieces.begin()->second.size(), kBands * kStreamTimes);
  EXPECT_EQ(filled.found.samples, missing);
  for (const std::byte value : filled.pieces.begin()->second) EXPECT_GT(value, std::byte{40});
  for (const std::size_t block : {std::size_t{11}, std::size_t{100}, 1 + random() % 5000}) {
    reader.most = 1 + random() % 900;
    for (const Empty empty : {Empty::split, Empty::fill}) {
      const Given parts = give(reader, empty, block);
      const Given& expected = empty == Empty::split ? whole : filled;
      EXPECT_EQ(parts.pieces, expected.pieces) << block;
      EXPECT_EQ(parts.found.samples, expected.found.samples) << block;
      EXPECT_EQ(parts.found.stretches, expected.found.stretches) << block;
      expect_told(parts, reader, random);
    }
  }
  EXPECT_EQ(give(reader, Empty::keep, 1000).pieces.begin()->second, reader.bytes);
}

TEST(EmptyStretches, ChannelsThatStopAreReplacedByTheirMeans) {
  auto random = tests::generator();
  StoppingReader reader(random);
  const std::vector<std::byte> before = reader.bytes;
  std::uint64_t values = 0;
  std::vector<std::uint64_t> of_channel(kBands, 0);
  for (const std::size_t channel : {0, 5, 6, 23})
    for (std::uint64_t t = channel == 6 ? 0 : random() % 4000; t + 3000 < kStreamTimes; t += 2000) {
      const std::uint64_t samples = 150 + random() % 2000;
      reader.stop_channel(channel, t, samples);
      values += samples;
      of_channel[channel] += samples;
      t += samples;
    }
  const Given whole = give(reader, Empty::split, kStreamTimes);
  ASSERT_EQ(whole.pieces.size(), 1u);
  EXPECT_EQ(whole.found.samples, 0u);
  EXPECT_EQ(whole.found.values, values);
  EXPECT_EQ(whole.found.channels, of_channel);
  const std::vector<std::byte>& given = whole.pieces.begin()->second;
  std::uint64_t changed = 0;
  for (std::size_t k = 0; k < given.size(); ++k) {
    EXPECT_GT(given[k], std::byte{40});
    changed += given[k] != reader.bytes[k] ? 1 : 0;
    if (of_channel[k % kBands] == 0) {
      EXPECT_EQ(given[k], before[k]);
    }
  }
  EXPECT_EQ(changed, values);
  for (const std::size_t block : {std::size_t{64}, 1 + random() % 5000}) {
    reader.most = 1 + random() % 900;
    const Given parts = give(reader, Empty::split, block);
    EXPECT_EQ(parts.pieces, whole.pieces) << block;
    EXPECT_EQ(parts.found.values, values) << block;
    EXPECT_EQ(parts.found.channels, of_channel) << block;
    expect_told(parts, reader, random);
  }
}

// Noise of a channel that repeats itself shortly before, with too few samples to hold nothing, is not longer for a
// block's end between the two.
TEST(EmptyStretches, OfAllChannelsEndTheRunOfOneInEveryBlockSize) {
  auto random = tests::generator();
  StoppingReader reader(random);
  std::uint64_t stopped = 0;
  for (std::uint64_t t = 300; t + 700 < kStreamTimes; t += 500 + random() % 200) {
    const std::uint64_t before = 1 + random() % 250, samples = 20 + random() % 60;
    reader.stop_channel(random() % kBands, t - before, before);
    reader.stop(t, samples, 7);
    stopped += before;
  }
  const Given whole = give(reader, Empty::fill, kStreamTimes);
  EXPECT_GT(whole.found.values, 0u);
  EXPECT_LT(whole.found.values, stopped);
  for (const std::size_t block : {std::size_t{11}, std::size_t{100}, 1 + random() % 5000}) {
    const Given parts = give(reader, Empty::fill, block);
    EXPECT_EQ(parts.pieces, whole.pieces) << block;
    EXPECT_EQ(parts.found.channels, whole.found.channels) << block;
  }
}

namespace {

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
    return search_filterbank(config,
                             device::open(device::parse_selection(GetParam()), {.threads = 2}));
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

INSTANTIATE_TEST_SUITE_P(Cpu, SearchOfPadding, testing::Values("cpu"),
                         [](const auto&) { return "cpu"; });
INSTANTIATE_TEST_SUITE_P(Gpu, SearchOfPadding, testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::pipeline
