// VDIF: every number of bits, real and complex, channels, threads in any order, lost, late,
// repeated, flagged, damaged and cut frames, sample rates, seeking.
#include "tautline/formats/vdif/vdif.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tautline/core/error.h"
#include "tests/formats/voltage_check.h"
#include "tests/support/seed.h"

namespace tautline::formats::vdif {
namespace {

using tests::Folder;
using tests::read_all;
using tests::Stream;

// A frame as the standard describes it, written out plainly.
struct FrameSpec {
  bool invalid = false, legacy = false, complex = false;
  std::uint32_t seconds = 1'000, epoch = 28, frame = 0, thread = 0, station = 7;
  std::uint32_t log2_channels = 0;
  int bits = 2;
  std::uint32_t extended = 0, word4 = 0;
};

void put_word(std::vector<char>& out, std::uint32_t word) {
  for (int k = 0; k < 4; ++k) out.push_back(static_cast<char>(word >> (8 * k) & 255));
}

std::vector<char> make_frame(const FrameSpec& f, const std::vector<std::uint32_t>& payload) {
  std::vector<char> out;
  const auto length = static_cast<std::uint32_t>((f.legacy ? 16 : 32) + 4 * payload.size()) / 8;
  put_word(out, std::uint32_t{f.invalid} << 31 | std::uint32_t{f.legacy} << 30 | f.seconds);
  put_word(out, f.epoch << 24 | f.frame);
  put_word(out, 1u << 29 | f.log2_channels << 24 | length);
  put_word(out, std::uint32_t{f.complex} << 31 | static_cast<std::uint32_t>(f.bits - 1) << 26 |
                    f.thread << 16 | f.station);
  if (!f.legacy) {
    put_word(out, f.extended << 24 | f.word4);
    put_word(out, f.extended != 0 ? 0xACABFEEDu : 0);
    put_word(out, 0);
    put_word(out, 0);
  }
  for (const std::uint32_t word : payload) put_word(out, word);
  return out;
}

// What a code of the standard's offset binary stands for here.
double level(std::uint32_t code, int bits) {
  if (bits == 1) return code == 0 ? -1 : 1;
  if (bits == 2) return 2.0 * code - 3;
  return static_cast<double>(static_cast<float>(code - std::ldexp(1.0, bits - 1)));
}

// The codes of a frame's complete samples, unpacked by the words of the standard: a word holds
// whole samples from its low end, or a complete sample takes several words of equally many
// components.
std::vector<std::vector<std::uint32_t>> codes_of(const std::vector<std::uint32_t>& payload,
                                                 const FrameSpec& f) {
  const auto bits = static_cast<std::size_t>(f.bits);
  const std::size_t components = (std::size_t{1} << f.log2_channels) * (f.complex ? 2 : 1);
  const auto code = [&](std::size_t word, std::size_t bit) {
    return static_cast<std::uint32_t>(std::uint64_t{payload[word]} >> bit &
                                      ((std::uint64_t{1} << bits) - 1));
  };
  std::vector<std::vector<std::uint32_t>> samples;
  if (bits * components <= 32) {
    for (std::size_t word = 0; word < payload.size(); ++word)
      for (std::size_t bit = 0; bit + bits * components <= 32; bit += bits * components) {
        samples.emplace_back();
        for (std::size_t c = 0; c < components; ++c)
          samples.back().push_back(code(word, bit + c * bits));
      }
    return samples;
  }
  std::size_t per_word = 1;
  while (per_word * 2 * bits <= 32) per_word *= 2;
  const std::size_t words = components / per_word;
  for (std::size_t word = 0; word + words <= payload.size(); word += words) {
    samples.emplace_back();
    for (std::size_t c = 0; c < components; ++c)
      samples.back().push_back(code(word + c / per_word, c % per_word * bits));
  }
  return samples;
}

// A recording of several threads, kept frame by frame so that tests can lose or move some.
class Recording {
 public:
  Recording(FrameSpec spec, std::size_t threads, std::size_t frames, std::size_t frames_per_second,
            std::size_t payload_words, std::mt19937_64& random)
      : spec_(spec), threads_(threads) {
    for (std::size_t n = 0; n < frames; ++n)
      for (std::size_t t = 0; t < threads; ++t) {
        FrameSpec f = spec;
        f.seconds += static_cast<std::uint32_t>((spec.frame + n) / frames_per_second);
        f.frame = static_cast<std::uint32_t>((spec.frame + n) % frames_per_second);
        f.thread = static_cast<std::uint32_t>(3 * t);
        std::vector<std::uint32_t> payload(payload_words);
        for (auto& word : payload) word = static_cast<std::uint32_t>(random());
        frames_.push_back(make_frame(f, payload));
        payloads_.push_back(payload);
      }
    order_.resize(frames_.size());
    for (std::size_t k = 0; k < order_.size(); ++k) order_[k] = k;
    samples_per_frame_ = codes_of(payloads_[0], spec).size();
  }

  std::size_t index(std::size_t frame, std::size_t thread) const {
    return frame * threads_ + thread;
  }
  std::vector<std::size_t>& order() { return order_; }
  std::vector<char>& bytes_of(std::size_t index) { return frames_[index]; }
  std::size_t samples_per_frame() const { return samples_per_frame_; }
  std::size_t total() const { return frames_.size() / threads_ * samples_per_frame_; }

  std::vector<char> bytes() const {
    std::vector<char> all;
    for (const std::size_t k : order_) all.insert(all.end(), frames_[k].begin(), frames_[k].end());
    return all;
  }

  // Everything that the stream has must be right, and just the frames in `lost` missing.
  void expect(const Stream& stream, const std::vector<std::size_t>& lost = {},
              std::size_t first_sample = 0) const {
    const std::size_t channels = std::size_t{1} << spec_.log2_channels;
    ASSERT_EQ(stream.samples(), total() - first_sample);
    for (std::size_t k = 0; k < frames_.size(); ++k) {
      const bool missing = std::find(lost.begin(), lost.end(), k) != lost.end();
      const auto codes = codes_of(payloads_[k], spec_);
      for (std::size_t s = 0; s < samples_per_frame_; ++s) {
        const std::size_t t = k / threads_ * samples_per_frame_ + s;
        if (t < first_sample) continue;
        ASSERT_EQ(stream.valid(k % threads_, t - first_sample), !missing) << "frame " << k;
        if (missing) continue;
        for (std::size_t c = 0; c < channels; ++c) {
          const std::complex<double> want =
              spec_.complex ? std::complex<double>(level(codes[s][2 * c], spec_.bits),
                                                   level(codes[s][2 * c + 1], spec_.bits))
                            : std::complex<double>(level(codes[s][c], spec_.bits), 0);
          ASSERT_EQ(stream.at(c, k % threads_, t - first_sample), want)
              << "frame " << k << " sample " << s << " channel " << c;
        }
      }
    }
  }

 private:
  FrameSpec spec_;
  std::size_t threads_, samples_per_frame_ = 0;
  std::vector<std::vector<char>> frames_;
  std::vector<std::vector<std::uint32_t>> payloads_;
  std::vector<std::size_t> order_;
};

class Vdif : public testing::Test {
 protected:
  std::unique_ptr<VoltageReader> open_bytes(const std::vector<char>& bytes,
                                            ReaderOptions options = {}) {
    tests::write_bytes(path_, bytes);
    options.decoding_pieces = 1 + random_() % 4;  // whatever the length
    return open(path_, options);
  }
  // Ten frames in a second unless a test says otherwise.
  Recording record(std::size_t threads, std::size_t frames, FrameSpec spec = {}) {
    return {spec, threads, frames, 10, 8, random_};
  }
  Folder folder_;
  std::string path_ = folder_ / "test.vdif";
  std::mt19937_64 random_ = tests::generator();
};

TEST_F(Vdif, EveryNumberOfBitsRealAndComplexWithChannels) {
  for (int bits = 1; bits <= 32; ++bits)
    for (const bool complex : {false, true})
      for (const std::uint32_t log2_channels : {0u, 1u, 3u, 5u}) {
        SCOPED_TRACE(testing::Message()
                     << bits << " bits, complex " << complex << ", channels 2^" << log2_channels);
        FrameSpec spec;
        spec.bits = bits;
        spec.complex = complex;
        spec.log2_channels = log2_channels;
        const Recording recording(spec, 2, 3, 2, 128, random_);
        const auto reader = open_bytes(recording.bytes());
        const core::VoltageDescription& d = reader->description();
        ASSERT_EQ(d.channels, std::size_t{1} << log2_channels);
        EXPECT_EQ(d.format.complex, complex);
        EXPECT_EQ(d.format.bits, bits <= 8 ? 8 : bits <= 16 ? 16 : 32);
        EXPECT_EQ(d.rate_hz, core::make_rational(
                                 static_cast<std::int64_t>(2 * recording.samples_per_frame()), 1));
        EXPECT_EQ(d.bandwidth_hz,
                  d.rate_hz.value() * static_cast<double>(d.channels) / (complex ? 1 : 2));
        recording.expect(read_all(*reader, 1 + random_() % (2 * recording.samples_per_frame())));
        EXPECT_FALSE(reader->damage().any());
      }
}

TEST_F(Vdif, ThreadsInAnyOrderAndLegacyHeaders) {
  for (const bool legacy : {false, true}) {
    FrameSpec spec;
    spec.legacy = legacy;
    spec.frame = 7;
    Recording recording = record(4, 40, spec);
    auto& order = recording.order();
    for (std::size_t n = 0; n < 40; ++n)
      std::shuffle(order.begin() + static_cast<std::ptrdiff_t>(4 * n),
                   order.begin() + static_cast<std::ptrdiff_t>(4 * n + 4), random_);
    const auto reader = open_bytes(recording.bytes());
    EXPECT_EQ(reader->description().inputs(), 4u);
    EXPECT_EQ(reader->description().start,
              core::advance(core::parse_utc("2014-01-01-00:16:40"), 7, core::make_rational(10, 1)));
    EXPECT_EQ(reader->total_samples(), recording.total());
    recording.expect(read_all(*reader, 77));
    EXPECT_FALSE(reader->damage().any());
  }
}

TEST_F(Vdif, SecondsOfAnOldEpochCountLeapSeconds) {
  FrameSpec spec;
  spec.epoch = 0;
  // From 2000 to 2016-04-01 there were 5,935 days and leap seconds in 2005, 2008, 2012 and 2015.
  spec.seconds = 5'935 * 86'400 + 4;
  const auto reader = open_bytes(record(1, 40, spec).bytes());
  EXPECT_EQ(reader->description().start, core::parse_utc("2016-04-01-00:00:00"));
}

TEST_F(Vdif, StationsAndThreadsMakeAntennasAndPolarisations) {
  std::vector<char> bytes;
  for (std::uint32_t n = 0; n < 4; ++n)
    for (const std::uint32_t station : {9u, 5u})
      for (const std::uint32_t thread : {1u, 0u}) {
        FrameSpec f;
        f.seconds += n / 2;
        f.frame = n % 2;
        f.station = station;
        f.thread = thread;
        f.bits = 8;
        const auto frame = make_frame(f, {(station * 10 + thread) * 0x01010101u, 0});
        bytes.insert(bytes.end(), frame.begin(), frame.end());
      }
  const auto reader = open_bytes(bytes);
  EXPECT_EQ(reader->description().antennas, 2u);
  EXPECT_EQ(reader->description().polarisations, 2u);
  const Stream stream = read_all(*reader, 100);
  const double expected[] = {50 - 128., 51 - 128., 90 - 128., 91 - 128.};
  for (std::size_t input = 0; input < 4; ++input)
    EXPECT_EQ(stream.at(0, input, 0).real(), expected[input]);
}

// Stations Wz (0x577a) and On (0x4f6e), two threads each.
std::vector<char> two_stations(std::uint32_t threads_of_the_second = 2) {
  std::vector<char> bytes;
  for (std::uint32_t n = 0; n < 4; ++n)
    for (const std::uint32_t station : {0x577au, 0x4f6eu})
      for (std::uint32_t thread = 0; thread < (station == 0x4f6eu ? threads_of_the_second : 2);
           ++thread) {
        FrameSpec f;
        f.seconds += n / 2;
        f.frame = n % 2;
        f.station = station;
        f.thread = thread;
        f.bits = 8;
        f.complex = true;
        const auto frame =
            make_frame(f, {(thread + (station == 0x577au ? 2 : 0)) * 0x01010101u, 0});
        bytes.insert(bytes.end(), frame.begin(), frame.end());
      }
  return bytes;
}

TEST_F(Vdif, ThreadsAreWhatTheyAreSaidToBe) {
  using Names = std::vector<std::string>;
  const auto guessed = open_bytes(two_stations());
  EXPECT_EQ(guessed->description().polarisations, 2u);
  EXPECT_EQ(guessed->description().antenna_names, (Names{"On", "Wz"}));
  EXPECT_NE(guessed->description().assumed.find("taken for polarisations"), std::string::npos);
  ReaderOptions options;
  options.threads_are = ThreadsAre::polarisations;
  const auto polarisations = open_bytes(two_stations(), options);
  EXPECT_EQ(polarisations->description().antennas, 2u);
  EXPECT_EQ(polarisations->description().polarisations, 2u);
  EXPECT_EQ(polarisations->description().assumed, "");
  options.threads_are = ThreadsAre::antennas;
  const auto antennas = open_bytes(two_stations(), options);
  EXPECT_EQ(antennas->description().antennas, 4u);
  EXPECT_EQ(antennas->description().polarisations, 1u);
  EXPECT_EQ(antennas->description().antenna_names, (Names{"On.0", "On.1", "Wz.0", "Wz.1"}));
  options.threads_are = ThreadsAre::bands;
  const auto bands = open_bytes(two_stations(), options);
  EXPECT_EQ(bands->description().antennas, 2u);
  EXPECT_EQ(bands->description().polarisations, 1u);
  EXPECT_EQ(bands->description().channels, 2u);
  EXPECT_EQ(bands->description().bandwidth_hz, 2 * guessed->description().bandwidth_hz);
  EXPECT_EQ(bands->description().antenna_names, (Names{"On", "Wz"}));
  const Stream stream = read_all(*bands, 3);
  for (std::size_t input = 0; input < 2; ++input)
    for (std::size_t channel = 0; channel < 2; ++channel)
      EXPECT_EQ(stream.at(channel, input, 0).real(), 2. * input + channel - 128.);
}

TEST_F(Vdif, ALostFrameOfABandIsItsStations) {
  std::vector<char> bytes = two_stations();
  const std::size_t frame = bytes.size() / 16;  // 4 frame numbers of 4 threads
  // The second frame of thread 1 of On, the last of its number.
  bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(7 * frame),
              bytes.begin() + static_cast<std::ptrdiff_t>(8 * frame));
  ReaderOptions options;
  options.threads_are = ThreadsAre::bands;
  const auto reader = open_bytes(bytes, options);
  const Stream stream = read_all(*reader, 100);
  for (std::size_t t = 0; t < 16; ++t) {
    EXPECT_EQ(stream.valid(0, t), t < 4 || t >= 8) << t;
    EXPECT_TRUE(stream.valid(1, t)) << t;
  }
  EXPECT_EQ(reader->damage().lost_samples, 4u);
}

TEST_F(Vdif, StationsWithOtherThreadsAreRefusedByName) {
  for (const ThreadsAre asked : {ThreadsAre::polarisations, ThreadsAre::bands}) {
    ReaderOptions options;
    options.threads_are = asked;
    try {
      open_bytes(two_stations(1), options);
      FAIL() << "expected core::Error";
    } catch (const core::Error& error) {
      EXPECT_EQ(error.field(), "threads_are");
      EXPECT_NE(std::string(error.what()).find("Wz"), std::string::npos) << error.what();
    }
  }
  const auto guessed = open_bytes(two_stations(1));
  EXPECT_EQ(guessed->description().antennas, 3u);
}

TEST_F(Vdif, LostFramesKeepTheirPlaceAndAreCounted) {
  Recording recording = record(3, 50);
  const std::vector<std::size_t> lost{recording.index(4, 1),  recording.index(20, 0),
                                      recording.index(20, 1), recording.index(20, 2),
                                      recording.index(21, 2), recording.index(48, 0)};
  auto& order = recording.order();
  for (const std::size_t k : lost) order.erase(std::find(order.begin(), order.end(), k));
  const auto reader = open_bytes(recording.bytes());
  EXPECT_EQ(reader->total_samples(), recording.total());
  recording.expect(read_all(*reader, 100), lost);
  EXPECT_EQ(reader->damage().lost_samples, lost.size() * recording.samples_per_frame());
  EXPECT_TRUE(reader->damage().any());
}

TEST_F(Vdif, LongGapsOfAllThreads) {
  Recording recording = record(2, 600);
  std::vector<std::size_t> lost;
  for (std::size_t n = 100; n < 400; ++n)
    for (std::size_t t = 0; t < 2; ++t) lost.push_back(recording.index(n, t));
  auto& order = recording.order();
  order.erase(order.begin() + 200, order.begin() + 800);
  const auto reader = open_bytes(recording.bytes());
  recording.expect(read_all(*reader, 1'000), lost);
  EXPECT_EQ(reader->damage().lost_samples, lost.size() * recording.samples_per_frame());
}

TEST_F(Vdif, ReorderedFramesWithinTheWindowAreWhole) {
  Recording recording = record(2, 60);
  auto& order = recording.order();
  for (int swaps = 0; swaps < 200; ++swaps) {
    const std::size_t a = random_() % order.size();
    const std::size_t b = std::min(order.size() - 1, a + random_() % 10);
    std::swap(order[a], order[b]);
  }
  const auto reader = open_bytes(recording.bytes());
  recording.expect(read_all(*reader, 64));
  EXPECT_FALSE(reader->damage().any());
}

TEST_F(Vdif, RepeatedFramesAreDroppedAndCounted) {
  Recording recording = record(2, 30);
  auto& order = recording.order();
  order.insert(order.begin() + 11, order[10]);
  order.insert(order.begin() + 30, order[2]);
  const auto reader = open_bytes(recording.bytes());
  recording.expect(read_all(*reader, 64));
  EXPECT_EQ(reader->damage().dropped_samples, 2 * recording.samples_per_frame());
  EXPECT_EQ(reader->damage().lost_samples, 0u);
}

TEST_F(Vdif, FramesMarkedInvalidAreLost) {
  Recording recording = record(2, 30);
  const std::size_t bad = recording.index(12, 1);
  recording.bytes_of(bad)[3] = static_cast<char>(recording.bytes_of(bad)[3] | 0x80);
  const auto reader = open_bytes(recording.bytes());
  recording.expect(read_all(*reader, 64), {bad});
  EXPECT_EQ(reader->damage().lost_samples, recording.samples_per_frame());
  EXPECT_EQ(reader->damage().messages.size(), 1u);
}

TEST_F(Vdif, DamagedHeadersCostTheirFrame) {
  for (const std::size_t byte : {3u, 5u, 8u, 11u, 15u}) {
    SCOPED_TRACE(byte);
    Recording recording = record(2, 30);
    const std::size_t bad = recording.index(12, 1);
    recording.bytes_of(bad)[byte] ^= 0x14;
    const auto reader = open_bytes(recording.bytes());
    recording.expect(read_all(*reader, 64), {bad});
    EXPECT_EQ(reader->damage().lost_samples, recording.samples_per_frame());
    EXPECT_EQ(reader->damage().dropped_samples, recording.samples_per_frame());
    EXPECT_TRUE(reader->damage().any());
  }
}

// Of a recording of any length, however few frames there are to compare.
TEST_F(Vdif, DamagedThreadNumbersMakeNoAntennas) {
  for (const std::size_t frames : {4u, 11u, 60u})
    for (const std::size_t threads : {1u, 2u, 3u}) {
      SCOPED_TRACE(testing::Message() << frames << " frames of " << threads);
      Recording recording({}, threads, frames, frames - 1, 8, random_);
      std::vector<std::size_t> bad;
      for (std::size_t n = 1; n + 1 < frames; n += 2 + random_() % 7) {
        bad.push_back(recording.index(n, random_() % threads));
        recording.bytes_of(bad.back())[12] = static_cast<char>(100 + n);  // station
        recording.bytes_of(bad.back())[14] = static_cast<char>(20 + n);   // thread
      }
      const auto reader = open_bytes(recording.bytes());
      EXPECT_EQ(reader->description().inputs(), threads);
      recording.expect(read_all(*reader, 64), bad);
      EXPECT_EQ(reader->damage().dropped_samples, bad.size() * recording.samples_per_frame());
    }
  Recording recording = record(1, 25);
  for (std::size_t n = 0; n < 25; ++n) recording.bytes_of(n)[12] = static_cast<char>(n);
  EXPECT_THROW(open_bytes(recording.bytes()), core::Error);
}

// Fewer frames of the last time than of those before it.
TEST_F(Vdif, AFileThatEndsBetweenThreadsHasAllOfThem) {
  for (const std::size_t left : {1u, 2u, 3u, 4u}) {
    Recording recording({}, 4, 2, 1, 8, random_);
    auto bytes = recording.bytes();
    bytes.resize(bytes.size() / 8 * (4 + left));
    EXPECT_EQ(open_bytes(bytes)->description().inputs(), 4u) << left;
  }
}

TEST_F(Vdif, AnUnknownRateNamesThoseThatTheFramesAllow) {
  FrameSpec spec;
  spec.frame = 4000;
  const Recording recording(spec, 1, 5, 100'000, 250, random_);  // 4,000 samples of 2 bits a frame
  try {
    open_bytes(recording.bytes());
    FAIL();
  } catch (const core::Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("4005 frames or more"), std::string::npos) << what;
    EXPECT_NE(what.find("such as 32000000, 64000000"), std::string::npos) << what;
  }
}

TEST_F(Vdif, LostBoundariesCostTheFrameThatWasCut) {
  for (const int change : {-3, -20, +5, +1'000}) {
    Recording recording = record(2, 30);
    const std::size_t bad = recording.index(12, 1);
    auto& frame = recording.bytes_of(bad);
    if (change < 0)
      frame.erase(frame.begin() + 40, frame.begin() + 40 - change);
    else
      frame.insert(frame.begin() + 40, static_cast<std::size_t>(change), 'x');
    const auto reader = open_bytes(recording.bytes());
    recording.expect(read_all(*reader, 64), {bad});
    EXPECT_EQ(reader->damage().lost_samples, recording.samples_per_frame());
  }
}

TEST_F(Vdif, TruncatedTailsKeepWholeSamples) {
  Recording recording = record(1, 25);
  auto bytes = recording.bytes();
  bytes.resize(bytes.size() - 10);  // two words and a half of eight
  const auto reader = open_bytes(bytes);
  const Stream stream = read_all(*reader, 64);
  EXPECT_EQ(stream.samples(), recording.total() - 3 * 16);
  EXPECT_EQ(reader->total_samples(), stream.samples());
  EXPECT_EQ(stream.invalid_samples(), 0u);
  EXPECT_EQ(reader->damage().trailing_bytes, 2u);
  EXPECT_TRUE(reader->damage().any());

  bytes.resize(bytes.size() - 22 - 5);  // the last header is cut, too
  const auto shorter = open_bytes(bytes);
  EXPECT_EQ(read_all(*shorter, 64).samples(), recording.total() - 8 * 16);
  EXPECT_EQ(shorter->damage().trailing_bytes, 27u);
}

TEST_F(Vdif, ACutFrameOfOneThreadLeavesTheOthersWhole) {
  Recording recording = record(2, 25);
  auto bytes = recording.bytes();
  bytes.resize(bytes.size() - 4);
  const auto reader = open_bytes(bytes);
  const Stream stream = read_all(*reader, 64);
  ASSERT_EQ(stream.samples(), recording.total());
  EXPECT_TRUE(stream.valid(0, recording.total() - 1));
  EXPECT_FALSE(stream.valid(1, recording.total() - 1));
  EXPECT_TRUE(stream.valid(1, recording.total() - 17));
  EXPECT_EQ(reader->damage().lost_samples, 16u);
}

TEST_F(Vdif, SeekLandsOnTheSampleAndSkipsInSilence) {
  Recording recording = record(2, 500);
  const std::size_t lost = recording.index(3, 1);
  auto& order = recording.order();
  order.erase(std::find(order.begin(), order.end(), lost));
  const auto bytes = recording.bytes();
  for (const std::size_t to : {0u, 1u, 127u, 128u, 5'000u, 40'001u, 63'999u}) {
    const auto reader = open_bytes(bytes);
    reader->seek(to);
    const Stream stream = read_all(*reader, 1'000);
    EXPECT_EQ(stream.first_sample(), to);
    recording.expect(stream, {lost}, to);
    EXPECT_EQ(reader->damage().any(), to < 4 * recording.samples_per_frame());
  }
  const auto reader = open_bytes(bytes);
  reader->seek(~std::uint64_t{0});
  EXPECT_EQ(read_all(*reader, 10).samples(), 0u);
}

TEST_F(Vdif, SampleRatesFromOptionsHeadersAndData) {
  const Recording plain = record(1, 5);  // no second ends
  EXPECT_THROW(open_bytes(plain.bytes()), core::Error);
  ReaderOptions options;
  options.assumed.rate_hz = core::make_rational(1'280, 1);
  options.assumed.centre_hz = 1.4e9;
  const auto told = open_bytes(plain.bytes(), options);
  EXPECT_EQ(told->description().rate_hz, core::make_rational(1'280, 1));
  EXPECT_EQ(told->description().centre_hz, 1.4e9);
  EXPECT_EQ(told->description().bandwidth_hz, 640);
  plain.expect(read_all(*told, 64));
  options.assumed.bandwidth_hz = -1;
  EXPECT_EQ(open_bytes(plain.bytes(), options)->description().bandwidth_hz, -640);
  options.assumed.rate_hz = core::make_rational(1'281, 1);  // no whole frames
  EXPECT_THROW(open_bytes(plain.bytes(), options), core::Error);
  options.assumed.rate_hz = core::make_rational(std::int64_t{1} << 62, 1);  // too many
  EXPECT_THROW(open_bytes(plain.bytes(), options), core::Error);

  FrameSpec spec;
  spec.extended = 3;
  spec.word4 = 64;  // kHz of bandwidth: 128,000 real samples a second
  EXPECT_EQ(open_bytes(record(1, 5, spec).bytes())->description().rate_hz,
            core::make_rational(128'000, 1));
  spec.word4 = 1u << 23 | 2;  // MHz
  spec.complex = true;
  EXPECT_EQ(open_bytes(record(1, 5, spec).bytes())->description().rate_hz,
            core::make_rational(2'000'000, 1));
}

TEST_F(Vdif, OneFrameASecond) {
  const Recording recording({}, 2, 5, 1, 8, random_);
  const auto reader = open_bytes(recording.bytes());
  EXPECT_EQ(reader->description().rate_hz, core::make_rational(128, 1));
  recording.expect(read_all(*reader, 64));
}

TEST_F(Vdif, HeadersThatLieAreRefusedByName) {
  const auto expect_refused = [&](std::vector<char> bytes, const char* field) {
    try {
      open_bytes(bytes);
      FAIL() << field;
    } catch (const core::Error& error) {
      EXPECT_NE(std::string(error.what()).find(field), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("test.vdif"), std::string::npos) << error.what();
    }
  };
  const auto good = record(1, 20).bytes();
  auto zero = good, huge = good, channels = good, mark5b = good;
  zero[8] = zero[9] = zero[10] = 0;
  huge[10] = 0x7f;
  channels[11] = static_cast<char>(channels[11] | 31);
  mark5b[19] = static_cast<char>(0xab);
  expect_refused({}, "file size");
  expect_refused({good.begin(), good.begin() + 31}, "file size");
  expect_refused(zero, "frame length");
  expect_refused(huge, "frame length");
  expect_refused(channels, "channels");
  expect_refused(mark5b, "0xab");
  expect_refused({good.begin(), good.begin() + 50}, "frame length");
  EXPECT_THROW(open(folder_ / "absent.vdif", {}), core::Error);
}

TEST_F(Vdif, IsRecognised) {
  const auto bytes = record(2, 20).bytes();
  tests::write_bytes(folder_ / "unnamed", bytes);
  EXPECT_EQ(open_voltages(folder_ / "unnamed")->description().instrument, "VDIF");
  EXPECT_TRUE(recognise(std::as_bytes(std::span(bytes)), "data"));
  EXPECT_FALSE(recognise(std::as_bytes(std::span(bytes).first(40)), "data"));
  EXPECT_TRUE(recognise({}, "data.VDIF"));
  const std::vector<char> zeros(1'000, 0), text(1'000, 'A');
  EXPECT_FALSE(recognise(std::as_bytes(std::span(zeros)), "data"));
  EXPECT_FALSE(recognise(std::as_bytes(std::span(text)), "data"));
}

TEST_F(Vdif, RandomMutationsNeverBreakTheReader) {
  FrameSpec spec;
  spec.log2_channels = 1;
  spec.bits = 4;
  const auto good = record(2, 40, spec).bytes();
  ReaderOptions options;
  for (int trial = 0; trial < 1'000; ++trial) {
    try {
      const auto reader = open_bytes(tests::mutate(good, random_), options);
      const std::size_t block = 1 + random_() % 500;
      if (reader->block_bytes(block) > 10'000'000) continue;
      EXPECT_LT(reader->total_samples(), std::uint64_t{1} << 40);
      if (random_() % 4 == 0) reader->seek(random_() % 2'000);
      core::RawBlock raw;
      std::uint64_t samples = 0;
      while (const std::size_t got = reader->read(block, raw)) samples += got;
      EXPECT_LT(samples, std::uint64_t{1} << 32);
    } catch (const core::Error& error) {
      EXPECT_NE(error.kind(), core::ErrorKind::io) << error.what();
    }
  }
}

}  // namespace
}  // namespace tautline::formats::vdif
