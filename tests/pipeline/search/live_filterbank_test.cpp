// A filterbank that comes through a pipe gives what its file gives: the same pieces, filled with the same means.
#include "tautline/stream/live_filterbank.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "tautline/engine/run.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/pipeline/search/live_filterbank_node.h"
#include "tautline/pipeline/search/passing_filterbank.h"
#include "tests/formats/sigproc/sigproc_files.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

struct LivePieces {
  std::map<std::uint64_t, std::vector<std::byte>>
      pieces;                             // spectra without a gap, by their first time
  std::uint64_t samples = 0, values = 0;  // that hold nothing
  std::vector<std::pair<std::uint64_t, std::uint64_t>> stretches;
  std::vector<std::uint64_t> channels;
  std::uint64_t trailing_bytes = 0;
  bool operator==(const LivePieces&) const = default;
};

// The first difference, for the test's output.
std::string difference(const LivePieces& a, const LivePieces& b) {
  std::ostringstream text;
  text << a.samples << " and " << b.samples << " times, " << a.values << " and " << b.values
       << " values, " << a.pieces.size() << " and " << b.pieces.size() << " pieces";
  for (std::size_t k = 0; k < std::min(a.stretches.size(), b.stretches.size()); ++k)
    if (a.stretches[k] != b.stretches[k]) {
      text << ", stretch " << k << ": " << a.stretches[k].first << "+" << a.stretches[k].second
           << " and " << b.stretches[k].first << "+" << b.stretches[k].second;
      break;
    }
  for (const auto& [first, bytes] : a.pieces) {
    const auto other = b.pieces.find(first);
    if (other == b.pieces.end()) return text.str() + ", piece at " + std::to_string(first);
    const auto at =
        std::mismatch(bytes.begin(), bytes.end(), other->second.begin(), other->second.end());
    if (at.first == bytes.end() && at.second == other->second.end()) continue;
    text << ", piece at " << first << " of " << bytes.size() << " and " << other->second.size()
         << " bytes from byte " << at.first - bytes.begin() << " on";
    break;
  }
  return text.str();
}

class PieceCollector final : public engine::Node {
 public:
  explicit PieceCollector(LivePieces& given) : given_(given) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    spectrum_ = inputs.front().detail<FilterbankStream>().description().sample_bytes();
    return {};
  }
  void begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) override {
    piece_ = &given_.pieces[first.first];
  }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    const auto* from = static_cast<const std::byte*>(block.arrays.front().data);
    piece_->insert(piece_->end(), from, from + block.samples * spectrum_);
  }

 private:
  LivePieces& given_;
  std::vector<std::byte>* piece_ = nullptr;
  std::size_t spectrum_ = 0;
};

class LiveFilterbanks : public ::testing::Test {
 protected:
  template <class Source>
  static LivePieces give(std::unique_ptr<Source> source) {
    const Source& read_by = *source;
    LivePieces given;
    engine::Graph graph;
    const auto from = graph.add("source", std::move(source));
    graph.connect(from, graph.add("collector", std::make_unique<PieceCollector>(given)));
    engine::Run run(std::move(graph), {});
    run.go({});
    const EmptyFound& found = read_by.empty();
    given.samples = found.samples;
    given.values = found.values;
    given.channels = found.channels;
    given.trailing_bytes = read_by.counters().at("trailing_bytes");
    for (const EmptyTimes& one : found.list)
      given.stretches.emplace_back(one.first_sample, one.samples);
    EXPECT_EQ(found.stretches, found.list.size());
    return given;
  }
  LivePieces from_file(Empty empty, std::uint64_t samples,
                       const formats::FilterbankOptions& options = {}) const {
    FilterbankSourceConfig config{{{{{0, samples}, 0}}}, 5000};
    config.empty = empty;
    return give(std::make_unique<FilterbankSourceNode>(
        std::vector<std::shared_ptr<formats::FilterbankReader>>{
            formats::open_filterbank({scratch_ / "a.fil"}, options)},
        std::move(config)));
  }
  // In pieces of any length.
  LivePieces from_pipe(const LiveFilterbankConfig& config) {
    const std::string path = scratch_ / "pipe";
    std::filesystem::remove(path);
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    std::jthread writer([&, seed = random_()] {
      std::mt19937_64 random(seed);
      std::ofstream pipe(path, std::ios::binary);
      for (std::size_t done = 0; done < bytes_.size() && pipe;) {
        const std::size_t more = std::min(bytes_.size() - done, 1 + random() % 100'000);
        pipe.write(bytes_.data() + done, static_cast<std::streamsize>(more)).flush();
        done += more;
      }
    });
    auto filterbank = std::make_unique<stream::LiveFilterbank>(path, 1 << 16, 60, std::stop_token(),
                                                               config.reader);
    return give(std::make_unique<LiveFilterbankNode>(std::move(filterbank), config));
  }
  void write(const tests::SigprocShape& shape, const std::vector<double>& values) {
    tests::SigprocBytes file = tests::sigproc_header(shape);
    bytes_ = file.data(tests::sigproc_data(values, shape.nbits)).bytes();
    write_file();
  }
  void write_file() const {
    std::ofstream(scratch_ / "a.fil", std::ios::binary)
        .write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
  }
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }

  tests::ScratchFolder scratch_;
  std::mt19937_64 random_ = tests::generator();
  std::vector<char> bytes_;
};

// [time][channel]; none of it repeats by itself.
std::vector<double> stopping_noise(std::size_t times, std::size_t channels,
                                   std::mt19937_64& random) {
  std::normal_distribution<double> normal(100, 6);
  std::vector<double> values(times * channels);
  for (double& value : values) value = std::round(normal(random));
  // Stretches of one channel differ, so that none is taken for another's continuation by a probe that meets it.
  int stretches = 0;
  const auto stop = [&](std::size_t first, std::size_t count, std::size_t c, std::size_t end) {
    const double value = end - c == 1 ? 7 + ++stretches % 50 : 3;
    for (std::size_t t = first; t < std::min(times, first + count); ++t)
      for (std::size_t k = c; k < end; ++k) values[t * channels + k] = value;
  };
  // Single channels first: stretches of all channels lie over them.
  for (const std::size_t c : {std::size_t{1}, channels - 1})
    for (std::size_t t = random() % 4000; t + 4000 < times; t += 2000) {
      const std::size_t count = 150 + random() % 2000;
      stop(t, count, c, c + 1);
      t += count;
    }
  // More than half of the channels.
  for (std::size_t t = random() % 4000; t + 4000 < times; t += 3000 + random() % 5000) {
    for (std::size_t c = 2; c + 2 < channels; ++c)
      stop(t + random() % 300, 300 + random() % 2000, c, c + 1);
    t += 2600;
  }
  // Half of them together, for short times.
  for (std::size_t t = random() % 300; t + 600 < times; t += 300 + random() % 2000)
    for (std::size_t k = 0, count = 70 + random() % 40; k < count; ++k)
      for (std::size_t c = 3; c < 9; ++c) values[(t + k) * channels + c] = 5;
  // All channels: perhaps from the start; short, long, and longer than any look ahead; to the end.
  for (std::size_t t = random() % 2 * 70; t < times / 2; t += 40 + random() % 3000) {
    const std::size_t count = random() % 3 == 0 ? 10 + random() % 110 : 128 + random() % 3000;
    stop(t, count, 0, channels);
    t += count;
  }
  stop(times / 2 + random() % 1000, 11'000 + random() % 9000, 0, channels);
  stop(times - 700, random() % 2 == 0 ? 700 : 300, 0, channels);
  return values;
}

TEST_F(LiveFilterbanks, HoldNothingWhereTheirFilesDo) {
  constexpr std::size_t kTimes = 44'000, kChannels = 12;
  for (const int bits : {8, 32}) {
    tests::SigprocShape shape;
    shape.nchans = kChannels;
    shape.nbits = bits;
    shape.tsamp = 1e-3;
    write(shape, stopping_noise(kTimes, kChannels, random_));
    for (const Empty empty : {Empty::split, Empty::fill, Empty::keep}) {
      const LivePieces expected = from_file(empty, kTimes);
      if (empty != Empty::keep) {
        EXPECT_GT(expected.stretches.size(), 4U);
        EXPECT_GT(expected.values, 300U);
      }
      LiveFilterbankConfig config;
      config.fill_gaps = empty == Empty::fill;
      config.keep_constant = empty == Empty::keep;
      for (const std::size_t block : {std::size_t{0}, std::size_t{11}, 1 + random_() % 3000}) {
        config.block_samples = block;
        const LivePieces given = from_pipe(config);
        EXPECT_TRUE(given == expected)
            << bits << " bits, blocks of " << block << ", " << difference(given, expected);
      }
    }
  }
}

// Zeros of a few spectra in a part of the band, or in all of it.
TEST_F(LiveFilterbanks, LackThePacketsThatTheirFilesDo) {
  constexpr std::size_t kTimes = 20'000, kChannels = 64;
  tests::SigprocShape shape;
  shape.nchans = kChannels;
  shape.tsamp = 1e-3;
  std::normal_distribution<double> normal(100, 6);
  std::vector<double> values(kTimes * kChannels);
  for (double& value : values) value = std::round(normal(random_));
  std::uint64_t lost = 0;
  for (std::size_t t = 20 + random_() % 50; t + 30 < kTimes; t += 20 + random_() % 60) {
    const std::size_t samples = 1 + random_() % 3, first = 16 * (random_() % 5),
                      count = first == 64 ? 64 : 16;
    for (std::size_t k = t; k < t + samples; ++k)
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(k * kChannels + first % 64), count,
                  0.0);
    lost += count == 16 ? samples * count : 0;
  }
  write(shape, values);
  const LivePieces expected = from_file(Empty::split, kTimes);
  EXPECT_EQ(expected.values, lost);
  for (const std::size_t block : {std::size_t{0}, std::size_t{11}, 1 + random_() % 3000}) {
    LiveFilterbankConfig config;
    config.block_samples = block;
    const LivePieces given = from_pipe(config);
    EXPECT_TRUE(given == expected) << block << ", " << difference(given, expected);
  }
}

// Of any depth: all, or those that are chosen.
TEST_F(LiveFilterbanks, AddTheirIfsAsTheirFilesDo) {
  constexpr std::size_t kChannels = 8;
  for (const int bits : {1, 2, 8, 16, 32})
    for (const int ifs : {2, 4})
      for (const bool is_signed : {false, true}) {
        if (is_signed && bits != 8) continue;
        tests::SigprocShape shape;
        shape.nchans = kChannels;
        shape.nbits = bits;
        shape.nifs = ifs;
        shape.is_signed = is_signed;
        const std::size_t times = 2000 + random_() % 9000;
        std::vector<double> values(times * static_cast<std::size_t>(ifs) * kChannels);
        const double most = std::exp2(std::min(bits, 16));
        for (double& value : values) value = std::floor(most * std::ldexp(random_() >> 11, -53));
        write(shape, values);
        for (const std::vector<std::size_t>& chosen :
             {std::vector<std::size_t>{}, std::vector<std::size_t>{1}, {0, 1}}) {
          LiveFilterbankConfig config;
          config.keep_constant = true;
          config.reader.ifs = chosen;
          const LivePieces given = from_pipe(config),
                           expected = from_file(Empty::keep, times, config.reader);
          EXPECT_TRUE(given == expected) << bits << " bits, " << ifs << " IFs, " << chosen.size()
                                         << " chosen, " << difference(given, expected);
        }
      }
}

// Their end is the stream's, for what is looked at ahead of a block too.
TEST_F(LiveFilterbanks, EndAfterTheirDuration) {
  constexpr std::size_t kTimes = 30'000, kChannels = 12, kWanted = 9000;
  tests::SigprocShape shape;
  shape.nchans = kChannels;
  shape.tsamp = 1e-3;
  write(shape, stopping_noise(kTimes, kChannels, random_));
  LiveFilterbankConfig config;
  config.duration_s = kWanted * shape.tsamp;
  const LivePieces given = from_pipe(config), expected = from_file(Empty::split, kWanted);
  EXPECT_TRUE(given == expected) << difference(given, expected);
}

// The bytes of an incomplete last spectrum are counted, as of a file that is cut.
TEST_F(LiveFilterbanks, ThatStopInsideASpectrumSaySo) {
  constexpr std::size_t kChannels = 12;
  for (const int bits : {8, 16, 32}) {
    const std::size_t times = 30'000 + random_() % 10'000, spectrum = kChannels * bits / 8;
    tests::SigprocShape shape;
    shape.nchans = kChannels;
    shape.nbits = bits;
    shape.tsamp = 1e-3;
    write(shape, stopping_noise(times, kChannels, random_));
    const std::size_t left = 1 + random_() % (spectrum - 1);
    bytes_.resize(bytes_.size() - spectrum + left);
    write_file();
    LiveFilterbankConfig config;
    config.block_samples = random_() % 3000;
    const LivePieces given = from_pipe(config), expected = from_file(Empty::split, times - 1);
    EXPECT_TRUE(given == expected) << bits << " bits, " << difference(given, expected);
    EXPECT_EQ(given.trailing_bytes, left) << bits << " bits";
    EXPECT_FALSE(given.pieces.empty());
  }
}

// Up to the end of the stream or shortly before it, and farther than is read ahead: measured behind where that is a
// whole piece, else before, else in what there is behind.
TEST_F(LiveFilterbanks, StretchesNearTheStartAreMeasuredAsInTheirFiles) {
  constexpr std::size_t kChannels = 12;
  tests::SigprocShape shape;
  shape.nchans = kChannels;
  shape.tsamp = 1e-3;
  struct Stretch {
    std::size_t first, samples, behind;
  };
  const std::size_t near = 500 + random_() % 3000;
  for (const Stretch& stretch : {Stretch{near, 2000, 0},
                                 {near, 9000, 3},
                                 {near, 9000, 1000},
                                 {0, 10'000, 1000},
                                 {near, 18'000, 9000},
                                 {0, 3000, 6000},
                                 {0, 60'000, 9000},
                                 {0, 60'000, 1000}}) {
    const std::size_t times = stretch.first + stretch.samples + stretch.behind;
    std::normal_distribution<double> normal(100, 6);
    std::vector<double> values(times * kChannels);
    for (double& value : values) value = std::round(normal(random_));
    for (std::size_t t = stretch.first; t < stretch.first + stretch.samples; ++t)
      for (std::size_t c = 0; c < kChannels; ++c) values[t * kChannels + c] = 3;
    write(shape, values);
    const LivePieces expected = from_file(Empty::fill, times);
    const std::string what = std::to_string(stretch.first) + "+" + std::to_string(stretch.samples) +
                             "+" + std::to_string(stretch.behind);
    ASSERT_EQ(expected.stretches.size(), 1u) << what;
    for (const std::byte value : expected.pieces.begin()->second)
      ASSERT_GT(value, std::byte{40}) << what;
    LiveFilterbankConfig config;
    config.fill_gaps = true;
    for (const std::size_t block : {std::size_t{11}, std::size_t{15'000}, 1 + random_() % 5000}) {
      config.block_samples = block;
      const LivePieces given = from_pipe(config);
      EXPECT_TRUE(given == expected)
          << what << ", blocks of " << block << ", " << difference(given, expected);
    }
  }
}

// What lies beyond the spectra that are kept for a block is not waited for.
TEST_F(LiveFilterbanks, ReadNothingTooFarAhead) {
  constexpr std::size_t kChannels = 12, kTimes = 300'000, kBlock = 100;
  tests::SigprocShape shape;
  shape.nchans = kChannels;
  write(shape, stopping_noise(kTimes, kChannels, random_));
  const std::string path = scratch_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::atomic<std::size_t> written = 0;
  std::jthread writer([&] {
    std::ofstream pipe(path, std::ios::binary);
    for (; written + 1000 < bytes_.size() && pipe; written += 1000)
      pipe.write(bytes_.data() + written, 1000).flush();
  });
  {
    PassingFilterbank reader(
        std::make_unique<stream::LiveFilterbank>(path, 1 << 16, 60, std::stop_token()), kTimes,
        kBlock);
    reader.look_around(1, 1);
    reader.begin_block({});
    std::vector<std::byte> spectra(100 * kChannels);
    EXPECT_EQ(reader.read(0, 100, spectra), 100u);
    EXPECT_EQ(reader.read(290'000, 100, spectra), 0u);
    EXPECT_EQ(reader.read(kFirstAhead + kBlock - 40, 100, spectra), 40u);
    EXPECT_LT(written, 200'000 * kChannels);
  }
}

}  // namespace
}  // namespace tautline::pipeline
