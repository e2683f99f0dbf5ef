// VDIF: sample rates from options, headers and frame numbers.
#include <cstdio>
#include <fstream>
#include <optional>

#include "tautline/core/error.h"
#include "tests/formats/vdif/vdif_frames.h"
#include "tests/support/error_of.h"

namespace tautline::formats::vdif {
namespace {

TEST_F(Vdif, AnUnknownRateNamesThoseThatTheFramesAllow) {
  FrameSpec spec;
  spec.frame = 4000;
  const Recording recording(spec, 1, 5, 100'000, 250, random_);  // 4,000 samples of 2 bits a frame
  const core::Error error = tests::error_of([&] { open_bytes(recording.bytes()); });
  const std::string what = error.what();
  EXPECT_NE(what.find("4005 frames or more"), std::string::npos) << what;
  EXPECT_NE(what.find("such as 32000000, 64000000, 128000000, 256000000, 512000000, 1024000000 "
                      "(powers of two MHz, as most recorders have), or 20000000, 25000000, "
                      "25600000, 40000000, 50000000, 51200000 (powers of two times 0.1, 10 or 100 "
                      "MHz)"),
            std::string::npos)
      << what;
}

TEST_F(Vdif, RatesThatTheFramesAllowBeginWithPowersOfTwo) {
  FrameSpec spec;
  spec.frame = 395;
  const Recording recording(spec, 1, 5, 100'000, 250, random_);  // 4,000 samples of 2 bits a frame
  const core::Error error = tests::error_of([&] { open_bytes(recording.bytes()); });
  const std::string what = error.what();
  EXPECT_NE(what.find("400 frames or more a second: 1600000 Hz or more, such as 2000000, 4000000, "
                      "8000000, 16000000, 32000000, 64000000 (powers of two MHz, as most recorders "
                      "have), or 1600000, 2500000, 3200000, 5000000, 6400000, 10000000 (powers"),
            std::string::npos)
      << what;
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

// Ten frames of 128 samples a second.
TEST_F(Vdif, AGivenRateIsComparedWithTheFramesNumbers) {
  const auto open_at = [&](const Recording& recording, std::int64_t rate) {
    ReaderOptions options;
    options.assumed.rate_hz = core::make_rational(rate, 1);
    return open_bytes(recording.bytes(), options);
  };
  const auto expect_refused = [&](const Recording& recording, std::int64_t rate,
                                  const char* words) {
    try {
      open_at(recording, rate);
      FAIL() << rate;
    } catch (const core::Error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  const Recording recording = record(2, 35);
  EXPECT_EQ(open_at(recording, 1'280)->description().assumed.find("frame numbers"),
            std::string::npos);
  expect_refused(recording, 640, "1280 Hz: frames of 128 samples have numbers up to 9");
  const std::string remark = open_at(recording, 2'560)->description().assumed;
  EXPECT_NE(remark.find("frame numbers end with 9 in a second, as at 1280 Hz"), std::string::npos)
      << remark;
  // No second ends: only higher rates are possible.
  const Recording part = record(1, 8);
  EXPECT_EQ(open_at(part, 2'560)->description().assumed.find("frame numbers"), std::string::npos);
  expect_refused(part, 640, "8 frames or more a second: 1024 Hz or more");
  // A damaged number is none.
  Recording damaged = record(2, 400);
  damaged.bytes_of(damaged.index(200, 1))[6] = 1;
  EXPECT_EQ(open_at(damaged, 1'280)->description().assumed.find("frame numbers"),
            std::string::npos);
}

// Numbers that go beyond those of the headers' rate, though not in the first frame.
TEST_F(Vdif, ARateInTheHeadersIsComparedWithTheFramesNumbers) {
  FrameSpec spec;
  spec.extended = 3;
  spec.word4 = 8;  // kHz of bandwidth: 125 frames of 128 real samples a second
  spec.frame = 100;
  const auto open_of = [&](std::size_t frames_per_second) {
    return open_bytes(Recording(spec, 1, 300, frames_per_second, 8, random_).bytes());
  };
  EXPECT_EQ(open_of(125)->description().rate_hz, core::make_rational(16'000, 1));
  const core::Error error = tests::error_of([&] { open_of(1000); });
  const std::string words =
      "16000 Hz in the headers, 125 frames a second, expected 128 samples "
      "a frame, 400 frames or more a second";
  EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
}

// The system calls that have read something so far; none where the kernel does not count them.
std::optional<std::uint64_t> reads_so_far() {
  std::ifstream file("/proc/self/io");
  std::string name;
  for (std::uint64_t value = 0; file >> name >> value;)
    if (name == "syscr:") return value;
  return std::nullopt;
}

// Many frames a second: of a long file, the headers around the ends of two seconds tell the rate.
TEST_F(Vdif, TheRateOfALongFileIsFoundInFewReads) {
  constexpr std::size_t kThreads = 2, kFrames = 50'000, kPerSecond = 20'000;
  FrameSpec spec;
  spec.frame = static_cast<std::uint32_t>(random_() % kPerSecond);
  Recording recording(spec, kThreads, kFrames, kPerSecond, 2, random_);
  const auto rate = static_cast<std::int64_t>(kPerSecond * recording.samples_per_frame());
  auto& order = recording.order();
  for (std::size_t k = 0; k + 20 < order.size(); ++k)  // frames are late
    if (random_() % 8 == 0) std::swap(order[k], order[k + random_() % 20]);
  for (std::size_t k = 0; k < 5; ++k) order.erase(order.begin() + 1 + random_() % 1000);
  const std::vector<char> bytes = recording.bytes();
  const auto open_at = [&](std::int64_t told) {
    ReaderOptions options;
    options.assumed.rate_hz = core::make_rational(told, 1);
    return open(path_, options);
  };
  tests::write_bytes(path_, bytes);
  const auto before = reads_so_far();
  EXPECT_EQ(open(path_, {})->description().rate_hz, core::make_rational(rate, 1));
  EXPECT_EQ(open_at(rate)->description().assumed.find("frame numbers"), std::string::npos);
  const auto after = reads_so_far();
  if (before && after) {
    EXPECT_LT(*after - *before, kThreads * kFrames / 2);
  } else {
    std::puts("reads are not counted: this kernel has no /proc/self/io");
  }
  EXPECT_NE(open_at(2 * rate)->description().assumed.find("frame numbers end with " +
                                                          std::to_string(kPerSecond - 1)),
            std::string::npos);
  // A hundredth too low, which is fewer frames than may be damaged.
  for (const std::int64_t low : {rate / 2, rate / 100 * 99}) {
    try {
      open_at(low);
      FAIL() << low;
    } catch (const core::Error& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(rate) + " Hz: frames of "),
                std::string::npos)
          << error.what();
    }
  }
  // Damaged headers, of seconds far away, end no second.
  for (const std::size_t k : recording.order())
    if (const std::size_t bit = 4 + random_() % 26; random_() % 20 == 0)
      recording.bytes_of(k)[bit / 8] ^= static_cast<char>(1 << bit % 8);
  EXPECT_EQ(open_bytes(recording.bytes())->description().rate_hz, core::make_rational(rate, 1));
}

// Five in a hundred frame numbers are random, several of each second.
TEST_F(Vdif, DamagedFrameNumbersMakeNoRate) {
  Recording recording({}, 2, 700, 100, 8, random_);
  for (const std::size_t k : recording.order())
    if (k != recording.order().front() && random_() % 20 == 0)
      for (int byte = 4; byte < 7; ++byte)
        recording.bytes_of(k)[static_cast<std::size_t>(byte)] = static_cast<char>(random_());
  EXPECT_EQ(open_bytes(recording.bytes())->description().rate_hz,
            core::make_rational(100 * 128, 1));
  ReaderOptions options;
  options.assumed.rate_hz = core::make_rational(100 * 128, 1);
  EXPECT_EQ(open_bytes(recording.bytes(), options)->description().assumed.find("frame numbers"),
            std::string::npos);
}

// One wrong bit makes the number that follows the last one of a second.
TEST_F(Vdif, ANumberBehindASecondsLastMakesNoRate) {
  for (int trial = 0; trial < 20; ++trial) {
    const std::size_t per_second = 3 + random_() % 60, threads = 1 + random_() % 2;
    SCOPED_TRACE(testing::Message() << per_second << " frames a second, " << threads << " threads");
    FrameSpec spec;
    spec.frame = static_cast<std::uint32_t>(random_() % per_second);
    Recording recording(spec, threads, 5 * per_second, per_second, 8, random_);
    std::size_t bit = 0;
    do bit = random_() % 6;
    while ((per_second >> bit & 1) == 0);
    const std::size_t number = per_second ^ std::size_t{1} << bit, second = random_() % 4;
    const std::size_t bad = recording.index(
        second * per_second + (per_second + number - spec.frame) % per_second, threads - 1);
    auto& frame = recording.bytes_of(bad);
    ASSERT_EQ(static_cast<std::uint8_t>(frame[4]), number);
    frame[4] = static_cast<char>(per_second);
    const auto reader = open_bytes(recording.bytes());
    EXPECT_EQ(reader->description().rate_hz,
              core::make_rational(
                  static_cast<std::int64_t>(per_second * recording.samples_per_frame()), 1));
    if (bad >= threads) recording.expect(read_all(*reader, 100), {bad});
  }
}

// One bit of the number is wrong in several frames of a hundred: these tell no rate, and contradict none.
TEST_F(Vdif, WrongBitsOfManyFrameNumbersMakeNoRate) {
  constexpr std::size_t kPerSecond = 1000, kFrames = 2200;
  for (int trial = 0; trial < 10; ++trial) {
    const std::size_t threads = 1 + random_() % 2, percent = 2 + random_() % 6;
    SCOPED_TRACE(testing::Message() << threads << " threads, " << percent << " % damaged");
    Recording recording({}, threads, kFrames, kPerSecond, 8, random_);
    for (const std::size_t k : recording.order())
      if (const std::size_t bit = random_() % 24; k > 20 && random_() % 100 < percent)
        recording.bytes_of(k)[4 + bit / 8] ^= static_cast<char>(1 << bit % 8);
    const core::Rational rate = core::make_rational(kPerSecond * 128, 1);
    EXPECT_EQ(open_bytes(recording.bytes())->description().rate_hz, rate);
    ReaderOptions options;
    options.assumed.rate_hz = rate;
    EXPECT_EQ(open_bytes(recording.bytes(), options)->description().assumed.find("frame numbers"),
              std::string::npos);
    // No second ends.
    std::vector<char> bytes = recording.bytes();
    bytes.resize(bytes.size() / kFrames * 900);
    EXPECT_EQ(open_bytes(bytes, options)->description().rate_hz, rate);
  }
}

// Frames of the same numbers are lost where seconds end or begin.
TEST_F(Vdif, LossWhereSecondsBeginMakesNoOtherRate) {
  constexpr std::size_t kPerSecond = 100;
  Recording recording({}, 2, 350, kPerSecond, 8, random_);
  std::erase_if(recording.order(),
                [](std::size_t k) { return k / 2 >= kPerSecond && k / 2 % kPerSecond < 20; });
  EXPECT_EQ(open_bytes(recording.bytes())->description().rate_hz,
            core::make_rational(kPerSecond * 128, 1));
}

// Of a long file, whose seconds' ends are looked at, too.
TEST_F(Vdif, ANumberBehindALongFilesSecondMakesNoRate) {
  constexpr std::size_t kFrames = 90'000, kPerSecond = 20'000;
  Recording recording({}, 1, kFrames, kPerSecond, 2, random_);
  const std::size_t second = random_() % 2, number = kPerSecond ^ 32;  // shortly before the end
  recording.bytes_of(second * kPerSecond + number)[4] ^= 32;
  EXPECT_EQ(open_bytes(recording.bytes())->description().rate_hz,
            core::make_rational(
                static_cast<std::int64_t>(kPerSecond * recording.samples_per_frame()), 1));
}

TEST_F(Vdif, OneFrameASecond) {
  const Recording recording({}, 2, 5, 1, 8, random_);
  const auto reader = open_bytes(recording.bytes());
  EXPECT_EQ(reader->description().rate_hz, core::make_rational(128, 1));
  recording.expect(read_all(*reader, 64));
}

}  // namespace
}  // namespace tautline::formats::vdif
