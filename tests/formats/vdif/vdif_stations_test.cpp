// VDIF: which antennas, polarisations and bands threads and stations are.
#include "tautline/core/error.h"
#include "tests/formats/vdif/vdif_frames.h"
#include "tests/support/error_of.h"

namespace tautline::formats::vdif {
namespace {

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

// Threads of several stations have the same numbers.
TEST_F(Vdif, DroppedFramesAreNamedWithTheirStation) {
  std::vector<char> bytes = two_stations();
  const auto frame = static_cast<std::ptrdiff_t>(bytes.size() / 16);
  const std::vector<char> last(bytes.end() - frame, bytes.end());
  bytes.insert(bytes.end(), last.begin(), last.end());
  ReaderOptions options;
  options.threads_are = ThreadsAre::bands;
  const auto reader = open_bytes(bytes, options);
  (void)read_all(*reader, 100);
  ASSERT_EQ(reader->damage().messages.size(), 1U);
  const std::string& said = reader->damage().messages.front();
  EXPECT_TRUE(said.find("of station On ") != said.npos || said.find("of station Wz ") != said.npos)
      << said;
}

TEST_F(Vdif, StationsWithOtherThreadsAreRefusedByName) {
  for (const ThreadsAre asked : {ThreadsAre::polarisations, ThreadsAre::bands}) {
    ReaderOptions options;
    options.threads_are = asked;
    const core::Error error = tests::error_of([&] { open_bytes(two_stations(1), options); });
    EXPECT_EQ(error.field(), "threads_are");
    EXPECT_NE(std::string(error.what()).find("Wz"), std::string::npos) << error.what();
  }
  const auto guessed = open_bytes(two_stations(1));
  EXPECT_EQ(guessed->description().antennas, 3u);
}

}  // namespace
}  // namespace tautline::formats::vdif
