// MWA receivers: both modes, wraps, gaps, repeats, lost boundaries, alignment, early ends.
#include "tautline/formats/mwa32t/mwa32t.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/core/sample_decode.h"
#include "tautline/formats/mwa32t/counters.h"
#include "tautline/formats/mwa32t/writer.h"
#include "tests/formats/voltage_check.h"
#include "tests/support/seed.h"

namespace tautline::formats::mwa32t {
namespace {

using tests::Folder;
using tests::read_all;
using tests::Stream;

using Samples = std::vector<core::ci8>;  // [time][16]

Samples random_samples(std::mt19937_64& random, std::size_t times, Mode mode) {
  const int least = mode == Mode::one_byte ? -8 : -16, span = -2 * least;
  Samples samples(times * kInputsPerReceiver);
  for (core::ci8& s : samples)
    s = {static_cast<std::int8_t>(least + static_cast<int>(random() % span)),
         static_cast<std::int8_t>(least + static_cast<int>(random() % span))};
  return samples;
}

void write_file(const std::string& path, Mode mode, std::uint16_t first, const Samples& samples) {
  Writer writer(path, mode, first);
  writer.write(samples);
  writer.finish();
}

// The expected value at one time of one receiver: the index into its samples, or missing.
constexpr std::ptrdiff_t kMissing = -1;

void expect_times(const Stream& stream, std::size_t receiver, const Samples& samples,
                  const std::vector<std::ptrdiff_t>& times) {
  ASSERT_EQ(stream.samples(), times.size());
  for (std::size_t t = 0; t < times.size(); ++t)
    for (std::size_t k = 0; k < kInputsPerReceiver; ++k) {
      const std::size_t input = receiver * kInputsPerReceiver + k;
      ASSERT_EQ(stream.valid(input, t), times[t] != kMissing) << "time " << t << " input " << input;
      if (times[t] == kMissing) continue;
      const core::ci8& want = samples[static_cast<std::size_t>(times[t]) * kInputsPerReceiver + k];
      ASSERT_EQ(stream.at(0, input, t), std::complex<double>(want.re, want.im))
          << "time " << t << " input " << input;
    }
}

std::vector<std::ptrdiff_t> range(std::ptrdiff_t first, std::ptrdiff_t end) {
  std::vector<std::ptrdiff_t> times;
  for (; first < end; ++first) times.push_back(first);
  return times;
}

std::vector<std::ptrdiff_t> join(std::initializer_list<std::vector<std::ptrdiff_t>> parts) {
  std::vector<std::ptrdiff_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<std::ptrdiff_t> missing(std::size_t count) {
  return std::vector<std::ptrdiff_t>(count, kMissing);
}

class BothModes : public testing::TestWithParam<Mode> {
 protected:
  Folder folder_;
  std::mt19937_64 random_ = tests::generator();
  std::size_t record() const { return record_bytes(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Mwa32t, BothModes, testing::Values(Mode::two_byte, Mode::one_byte));

TEST_P(BothModes, RoundTripThroughTheWrapInAnySplit) {
  const Samples samples = random_samples(random_, 70'000, GetParam());
  const std::string path = folder_ / "one.mwa32t";
  write_file(path, GetParam(), 65'000, samples);
  for (const std::size_t block : {1'000u, 4'097u, 100'000u}) {
    const auto reader = open(path, {});
    EXPECT_EQ(reader->description().inputs(), 16u);
    EXPECT_EQ(reader->total_samples(), 70'000u);
    EXPECT_FALSE(reader->foreseen_damage().any());
    expect_times(read_all(*reader, block), 0, samples, range(0, 70'000));
    EXPECT_FALSE(reader->damage().any());
    EXPECT_EQ(reader->damage().lost_samples, 0u);
  }
}

TEST_P(BothModes, EveryValueSurvives) {
  const int low = GetParam() == Mode::one_byte ? -8 : -16;
  Samples samples;
  for (int re = low; re < -low; ++re)
    for (int im = low; im < -low; ++im)
      samples.push_back({static_cast<std::int8_t>(re), static_cast<std::int8_t>(im)});
  const std::string path = folder_ / "values";
  write_file(path, GetParam(), 9, samples);
  const auto reader = open(path, {});
  expect_times(read_all(*reader, 7), 0, samples,
               range(0, static_cast<std::ptrdiff_t>(samples.size() / 16)));
}

TEST_P(BothModes, GapsKeepTheirPlaceAndAreCounted) {
  for (const std::size_t gap : {1u, 2u, 1'000u, 30'000u, 60'000u}) {
    const Samples samples = random_samples(random_, 200, GetParam());
    const std::string path = folder_ / "gap";
    Writer writer(path, GetParam(), 65'530, true);
    const auto all = std::span<const core::ci8>(samples);
    writer.write(all.first(100 * 16));
    writer.skip(gap);
    writer.write(all.subspan(100 * 16));
    writer.finish();
    const auto reader = open(path, {});
    EXPECT_EQ(reader->total_samples(), 200 + gap);
    EXPECT_EQ(reader->foreseen_damage().lost_samples, gap * 16);
    expect_times(read_all(*reader, 64), 0, samples,
                 join({range(0, 100), missing(gap), range(100, 200)}));
    EXPECT_EQ(reader->damage().lost_samples, gap * 16);
    ASSERT_EQ(reader->damage().messages.size(), 1u);
    EXPECT_NE(reader->damage().messages[0].find(std::to_string(100 * record())), std::string::npos)
        << reader->damage().messages[0];
  }
}

// Together they are longer than the counter's period.
TEST_P(BothModes, TheLengthHasAllGapsOfALongFile) {
  const Samples samples(40'000 * kInputsPerReceiver);
  const std::string path = folder_ / "long";
  Writer writer(path, GetParam(), static_cast<std::uint16_t>(random_()));
  std::uint64_t missing = 0;
  for (int part = 0; part < 4; ++part) {
    const std::uint64_t gap = part == 0 ? 0 : 1 + random_() % 60'000;
    writer.skip(gap);
    missing += gap;
    writer.write(samples);
  }
  writer.finish();
  const auto reader = open(path, {});
  EXPECT_EQ(reader->total_samples(), 160'000 + missing);
  const Damage foreseen = reader->foreseen_damage();
  EXPECT_EQ(foreseen.lost_samples, missing * 16);
  EXPECT_EQ(read_all(*reader, 100'000).samples(), 160'000 + missing);
  EXPECT_EQ(reader->damage().lost_samples, foreseen.lost_samples);
}

TEST_P(BothModes, GapsAmongTheFirstAndLastRecords) {
  const Samples samples = random_samples(random_, 40, GetParam());
  const auto all = std::span<const core::ci8>(samples);
  const std::string path = folder_ / "edges";
  Writer writer(path, GetParam(), 0);
  writer.write(all.first(2 * 16));
  writer.skip(3);
  writer.write(all.subspan(2 * 16, 3 * 16));
  writer.skip(1);
  writer.write(all.subspan(5 * 16, 33 * 16));
  writer.skip(5);
  writer.write(all.subspan(38 * 16));
  writer.finish();
  const auto reader = open(path, {});
  expect_times(read_all(*reader, 1'000), 0, samples,
               join({range(0, 2), missing(3), range(2, 5), missing(1), range(5, 38), missing(5),
                     range(38, 40)}));
  EXPECT_EQ(reader->damage().lost_samples, 9u * 16);
}

TEST_P(BothModes, RepeatedAndBackwardRecordsAreDroppedAndCounted) {
  const Samples samples = random_samples(random_, 100, GetParam());
  const std::string path = folder_ / "repeat";
  write_file(path, GetParam(), 65'500, samples);
  auto bytes = tests::read_bytes(path);
  const std::vector<char> repeat(bytes.begin() + 47 * static_cast<std::ptrdiff_t>(record()),
                                 bytes.begin() + 50 * static_cast<std::ptrdiff_t>(record()));
  bytes.insert(bytes.begin() + 50 * static_cast<std::ptrdiff_t>(record()), repeat.begin(),
               repeat.end());
  tests::write_bytes(path, bytes);
  const auto reader = open(path, {});
  expect_times(read_all(*reader, 33), 0, samples, range(0, 100));
  EXPECT_EQ(reader->damage().dropped_samples, 3u * 16);
  EXPECT_EQ(reader->damage().lost_samples, 0u);
  EXPECT_EQ(reader->damage().messages.size(), 1u);
}

TEST_P(BothModes, ABrokenCounterCostsOneSample) {
  const Samples samples = random_samples(random_, 100, GetParam());
  const std::string path = folder_ / "flip";
  write_file(path, GetParam(), 100, samples);
  auto bytes = tests::read_bytes(path);
  bytes[50 * record() + 1] ^= 0x40;
  tests::write_bytes(path, bytes);
  const auto reader = open(path, {});
  expect_times(read_all(*reader, 33), 0, samples, join({range(0, 50), missing(1), range(51, 100)}));
  EXPECT_EQ(reader->damage().lost_samples, 16u);
}

TEST_P(BothModes, LostBoundariesAreFoundAgainWithTheirOffset) {
  const Samples samples = random_samples(random_, 3'000, GetParam());
  for (const int change : {-1, -5, -17, +1, +3, +40}) {
    const std::string path = folder_ / "misaligned";
    std::filesystem::remove(path);
    write_file(path, GetParam(), 65'000, samples);
    auto bytes = tests::read_bytes(path);
    const auto at = bytes.begin() + 1'000 * static_cast<std::ptrdiff_t>(record()) + 4;
    if (change < 0)
      bytes.erase(at, at - change);
    else
      bytes.insert(at, static_cast<std::size_t>(change), 'x');
    // Once in 65,536 times the next record's place has the counter that belongs there, and nobody
    // could tell that the boundary was lost.
    const char* const next = bytes.data() + 1'001 * record();
    if (counter_at(reinterpret_cast<const std::byte*>(next)) == (65'000 + 1'001) % 65'536) continue;
    tests::write_bytes(path, bytes);
    const auto reader = open(path, {});
    const Stream stream = read_all(*reader, 500);
    // The record that was cut is lost; everything else keeps its place.
    ASSERT_EQ(stream.samples(), 3'000u);
    std::size_t lost = 0;
    for (std::size_t t = 0; t < 3'000; ++t) {
      if (!stream.valid(3, t)) {
        ++lost;
        continue;
      }
      ASSERT_EQ(stream.at(0, 3, t),
                std::complex<double>(samples[t * 16 + 3].re, samples[t * 16 + 3].im));
    }
    // And the next, where its counter was cut, too.
    const std::size_t cut = change < 0 ? 1 + static_cast<std::size_t>(3 - change) / record() : 1;
    EXPECT_EQ(lost, cut) << change;
    EXPECT_FALSE(stream.valid(0, 1'000));
    EXPECT_EQ(reader->damage().lost_samples, lost * 16);
    EXPECT_NE(reader->damage().messages[0].find("boundary lost"), std::string::npos);
  }
}

// What is foreseen is what is read: constant bytes and a part of a record behind the last one.
TEST_P(BothModes, BytesBehindTheRecordsAreForeseen) {
  for (const std::size_t samples : {200, 3'000, 100'000})
    for (const std::size_t behind : {7UL, 50 * record(), 500 * record() + 5, 90'000 * record()}) {
      const std::string path = folder_ / "longer";
      std::filesystem::remove(path);
      write_file(path, GetParam(), 65'000, random_samples(random_, samples, GetParam()));
      auto bytes = tests::read_bytes(path);
      bytes.insert(bytes.end(), behind, random_() % 2 == 0 ? '\0' : '\xff');
      tests::write_bytes(path, bytes);
      const auto reader = open(path, {});
      EXPECT_EQ(reader->total_samples(), samples) << behind;
      EXPECT_EQ(reader->foreseen_damage().trailing_bytes, behind) << samples;
      EXPECT_EQ(read_all(*reader, 10'000).samples(), samples);
      EXPECT_EQ(reader->damage().trailing_bytes, behind) << samples;
    }
}

TEST_P(BothModes, TruncatedTailsKeepWholeSamples) {
  const Samples samples = random_samples(random_, 50, GetParam());
  const std::string path = folder_ / "cut";
  write_file(path, GetParam(), 0, samples);
  std::filesystem::resize_file(path, 50 * record() - 3);
  const auto reader = open(path, {});
  expect_times(read_all(*reader, 20), 0, samples, range(0, 49));
  EXPECT_EQ(reader->damage().trailing_bytes, record() - 3);
  EXPECT_TRUE(reader->damage().any());
}

TEST_P(BothModes, ManyGapsAreFewMessages) {
  const Samples samples = random_samples(random_, 4'000, GetParam());
  const auto all = std::span<const core::ci8>(samples);
  const std::string path = folder_ / "gaps";
  Writer writer(path, GetParam(), static_cast<std::uint16_t>(random_()), true);
  std::size_t gaps = 0, lost = 0;
  for (std::size_t t = 0; t < 4'000; t += 100, ++gaps) {
    writer.write(all.subspan(t * 16, 100 * 16));
    if (t + 100 == 4'000) break;
    const std::size_t skipped = 1 + random_() % 50;
    writer.skip(skipped);
    lost += skipped;
  }
  writer.finish();
  for (const std::size_t block : {64, 100'000}) {
    const auto reader = open(path, {});
    read_all(*reader, block);
    EXPECT_EQ(reader->damage().lost_samples, lost * 16);
    const std::vector<std::string>& messages = reader->damage().messages;
    ASSERT_EQ(messages.size(), 4u);
    EXPECT_TRUE(messages.back().ends_with(
        ": missing samples at " + std::to_string(gaps - 3) + " more places, from byte " +
        std::to_string(400 * record()) + " to byte " + std::to_string(3'900 * record())))
        << messages.back();
  }
  const auto late = open(path, {});
  late->seek(late->total_samples() - 250);
  read_all(*late, 64);
  EXPECT_LE(late->damage().messages.size(), 3u);
}

TEST_P(BothModes, FourReceiversAreAlignedByCounter) {
  const std::vector<int> starts{65'400, 65'535, 200, 65'000};  // on one clock: 0 is 65536
  std::vector<std::string> paths;
  std::vector<Samples> samples;
  for (std::size_t r = 0; r < 4; ++r) {
    samples.push_back(random_samples(random_, 3'000, GetParam()));
    paths.push_back(folder_ / ("receiver" + std::to_string(r)));
    write_file(paths[r], GetParam(), static_cast<std::uint16_t>(starts[r]), samples[r]);
  }
  const auto reader = open_receivers(paths, {}, GetParam());
  EXPECT_EQ(reader->description().inputs(), 64u);
  EXPECT_EQ(reader->total_samples(), 3'000u);
  const Stream stream = read_all(*reader, 128);
  for (std::size_t r = 0; r < 4; ++r) {
    // Sample 0 is counter 200, the latest start; the others end that much earlier.
    const int skipped = 65'536 + 200 - (starts[r] == 200 ? 65'736 : starts[r]);
    expect_times(stream, r, samples[r],
                 join({range(skipped, 3'000), missing(static_cast<std::size_t>(skipped))}));
  }
  EXPECT_EQ(reader->damage().lost_samples, (336u + 201 + 736) * 16);
  EXPECT_EQ(reader->damage().messages.size(), 3u);
}

TEST_P(BothModes, SeekLandsOnTheSample) {
  const Samples samples = random_samples(random_, 5'000, GetParam());
  const auto all = std::span<const core::ci8>(samples);
  const std::string path = folder_ / "seek";
  Writer writer(path, GetParam(), 60'000);
  writer.write(all.first(1'000 * 16));
  writer.skip(500);
  writer.write(all.subspan(1'000 * 16));
  writer.finish();
  for (const std::size_t to : {0u, 999u, 1'100u, 1'500u, 4'321u}) {
    const auto reader = open(path, {});
    reader->seek(to);
    const auto times = join({range(0, 1'000), missing(500), range(1'000, 5'000)});
    const Stream stream = read_all(*reader, 333);
    EXPECT_EQ(stream.first_sample(), to);
    EXPECT_EQ(reader->damage().any(), to < 1'500);
    EXPECT_EQ(reader->damage().lost_samples, stream.invalid_samples());
    expect_times(stream, 0, samples,
                 {times.begin() + static_cast<std::ptrdiff_t>(to), times.end()});
  }
  const auto beyond = open(path, {});
  beyond->seek(1'000'000);
  EXPECT_EQ(read_all(*beyond, 10).samples(), 0u);
}

TEST_P(BothModes, ModeIsDetectedAndCanBeForced) {
  const std::string path = folder_ / "mode";
  write_file(path, GetParam(), 5, random_samples(random_, 500, GetParam()));
  const auto bytes = tests::read_bytes(path);
  EXPECT_TRUE(recognise(std::as_bytes(std::span(bytes)), "anything"));
  const Mode other = GetParam() == Mode::one_byte ? Mode::two_byte : Mode::one_byte;
  EXPECT_EQ(open_receivers({path}, {}, Mode::detect)->description().format,
            GetParam() == Mode::one_byte ? core::kCi4 : core::kCi8);
  EXPECT_NO_THROW(open_receivers({path}, {}, GetParam()));
  EXPECT_EQ(open_voltages(path)->description().instrument, "mwa32t");
  EXPECT_THROW(open_receivers({path}, {}, other), core::Error);
}

TEST_P(BothModes, RandomMutationsNeverBreakTheReader) {
  const std::string path = folder_ / "fuzz";
  write_file(path, GetParam(), 65'300, random_samples(random_, 400, GetParam()));
  const auto good = tests::read_bytes(path);
  for (int trial = 0; trial < 2'000; ++trial) {
    tests::write_bytes(path, tests::mutate(good, random_));
    try {
      const auto reader = open(path, {});
      EXPECT_LT(reader->total_samples(), 8u * 65'536);
      EXPECT_LT(reader->foreseen_damage().lost_samples, 16u * 8 * 65'536);
      const Stream stream = read_all(*reader, 1 + random_() % 600);
      EXPECT_LT(stream.samples(), 8u * 65'536);
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format) << error.what();
    }
  }
}

TEST(Mwa32t, DefaultsAndOptions) {
  Folder folder;
  auto random = tests::generator();
  write_file(folder / "f", Mode::two_byte, 0, random_samples(random, 100, Mode::two_byte));
  const auto plain = open(folder / "f", {});
  EXPECT_EQ(plain->description().rate_hz, core::make_rational(1'280'000, 1));
  EXPECT_EQ(plain->description().centre_hz, kDefaultCentreHz);
  EXPECT_EQ(plain->description().bandwidth_hz, 1.28e6);
  ReaderOptions options;
  options.assumed.rate_hz = core::make_rational(2'000'000, 1);
  options.assumed.centre_hz = 2e8;
  options.assumed.start = core::parse_utc("2010-03-01-00:00:00");
  const auto told = open(folder / "f", options);
  EXPECT_EQ(told->description().rate_hz, core::make_rational(2'000'000, 1));
  EXPECT_EQ(told->description().centre_hz, 2e8);
  EXPECT_EQ(told->description().start, options.assumed.start);
}

TEST(Mwa32t, ReceiversThatDisagreeAreRefused) {
  Folder folder;
  auto random = tests::generator();
  const auto make = [&](const char* name, Mode mode, std::uint16_t first) {
    write_file(folder / name, mode, first, random_samples(random, 100, mode));
    return folder / name;
  };
  const std::string a = make("a", Mode::two_byte, 0), b = make("b", Mode::one_byte, 0);
  const std::string c = make("c", Mode::two_byte, 32'768), d = make("d", Mode::two_byte, 25'000);
  const std::string e = make("e", Mode::two_byte, 45'000);
  EXPECT_THROW(open_receivers({a, b}, {}), core::Error);     // modes
  EXPECT_THROW(open_receivers({a, c}, {}), core::Error);     // exactly half a period
  EXPECT_THROW(open_receivers({a, d, e}, {}), core::Error);  // +25,000 and -20,536
  EXPECT_THROW(open_receivers({a, a}, {}), core::Error);     // one file twice
  EXPECT_THROW(open_receivers({}, {}), core::Error);
  EXPECT_NO_THROW(open_receivers({a, d}, {}));
}

TEST(Mwa32t, FilesWithoutRecordsAreRefusedByName) {
  Folder folder;
  EXPECT_THROW(open(folder / "absent", {}), core::Error);
  for (const std::size_t size : {0u, 1u, 33u, 5'000u}) {
    tests::write_bytes(folder / "zeros", std::vector<char>(size, 0));
    try {
      open(folder / "zeros", {});
      FAIL() << size;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format);
      EXPECT_NE(std::string(error.what()).find("zeros"), std::string::npos);
    }
  }
}

TEST(Mwa32tWriter, ClipsCountsAndLeavesNothingHalfWritten) {
  Folder folder;
  Samples samples(16, core::ci8{-16, 15});
  samples[3] = {-17, 100};
  {
    Writer writer(folder / "w", Mode::two_byte);
    writer.write(samples);
    EXPECT_EQ(writer.clipped(), 2u);
    EXPECT_FALSE(std::filesystem::exists(folder / "w"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  Writer writer(folder / "w", Mode::two_byte);
  writer.write(samples);
  writer.write(samples);
  writer.finish();
  EXPECT_THROW(Writer(folder / "w", Mode::two_byte), core::Error);
  const auto reader = open(folder / "w", {});
  EXPECT_EQ(read_all(*reader, 10).at(0, 3, 1), std::complex<double>(-15, 15));
  EXPECT_EQ(reader->damage().messages.size(), 0u);
  EXPECT_THROW(Writer(folder / "absent" + "/x", Mode::two_byte), core::Error);
}

}  // namespace
}  // namespace tautline::formats::mwa32t
