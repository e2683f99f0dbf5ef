// Writing DADA: what is written reads back to the same numbers, and nothing half-written is left.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "tautline/core/error.h"
#include "tautline/formats/dada/dada.h"
#include "tautline/formats/dada/times_of_rows.h"
#include "tests/formats/voltage_check.h"
#include "tests/support/error_of.h"
#include "tests/support/seed.h"

namespace tautline::formats::dada {
namespace {

using tests::Folder;

core::VoltageDescription description() {
  core::VoltageDescription d;
  d.antennas = 3;
  d.polarisations = 2;
  d.rate_hz = {1'280'000, 1};
  d.start = core::parse_utc("2024-05-06-07:08:09", 123);
  d.centre_hz = 150.5e6;
  d.bandwidth_hz = 1.28e6;
  d.telescope = "T";
  d.source = "S";
  return d;
}

std::vector<std::byte> random_bytes(std::size_t count) {
  auto random = tests::generator();
  std::vector<std::byte> bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random() & 0xff);
  return bytes;
}

TEST(DadaWriter, DescriptionsComeBackToTheLastBit) {
  const Folder folder;
  auto random = tests::generator();
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int trial = 0; trial < 60; ++trial) {
    core::VoltageDescription d = description();
    d.format = core::parse_sample_format(
        std::vector<std::string>{"ci8", "ci4", "cu8", "i16", "cf32", "f32", "i1"}[random() % 7]);
    d.channels = 1 + random() % 5;
    d.rate_hz = core::make_rational(1 + static_cast<std::int64_t>(random() % 1'000'000'000),
                                    1 + static_cast<std::int64_t>(random() % 1000));
    d.start =
        core::advance(d.start, static_cast<std::int64_t>(random() % 1'000'000), {16'368'000, 1});
    d.centre_hz = uniform(random) * 1e10;
    d.bandwidth_hz = d.rate_hz.value() * static_cast<double>(d.channels) /
                     (d.format.complex ? 1 : 2) * (random() % 2 ? 1 : -1);
    const std::string path = folder / "x.dada";
    Writer writer(path, d, {.overwrite = true});
    const std::size_t times = 8 * (random() % 3);
    const auto data = random_bytes(times * d.channels * d.inputs() *
                                   static_cast<std::size_t>(d.format.bits_per_sample()) / 8);
    writer.write(data);
    EXPECT_EQ(writer.samples(), times);
    writer.finish();
    const auto reader = open(InputFile(path));
    const core::VoltageDescription& back = reader->description();
    EXPECT_EQ(back.format, d.format);
    EXPECT_EQ(back.rate_hz, d.rate_hz);
    EXPECT_EQ(back.start, d.start);
    EXPECT_EQ(back.centre_hz, d.centre_hz);
    EXPECT_EQ(back.bandwidth_hz, d.bandwidth_hz);
    EXPECT_EQ(back.antennas, d.antennas);
    EXPECT_EQ(back.polarisations, d.polarisations);
    EXPECT_EQ(back.channels, d.channels);
    EXPECT_EQ(back.telescope, d.telescope);
    EXPECT_EQ(reader->total_samples(), times);
    EXPECT_FALSE(reader->damage().any());
    core::RawBlock block;
    if (times > 0) {
      reader->read(times, block);
      EXPECT_EQ(block.bytes, data);
    }
  }
}

TEST(DadaWriter, RowsOfTimeAreTransposedIntoTheFilesOrder) {
  const Folder folder;
  for (const char* order : {"TFAP", "TAPF", "TPFA"}) {
    core::VoltageDescription d = description();
    d.channels = 4;
    d.bandwidth_hz *= 4;
    const std::size_t times = 1000, row = times * 2 + 6, channel = row * 6 + 10;
    const auto rows = random_bytes(channel * 4);
    const std::string path = folder / "x.dada";
    Writer writer(path, d, {.overwrite = true, .order = order});
    writer.write_rows(rows.data(), channel, row, 600);
    writer.write_rows(rows.data() + 1200, channel, row, 400);
    writer.finish();
    const auto reader = open(InputFile(path));
    const tests::Stream stream = tests::read_all(*reader, 333);
    ASSERT_EQ(stream.samples(), times);
    for (std::size_t c = 0; c < 4; ++c)
      for (std::size_t i = 0; i < 6; ++i)
        for (std::size_t t = 0; t < times; ++t) {
          const auto* sample =
              reinterpret_cast<const std::int8_t*>(rows.data()) + c * channel + i * row + t * 2;
          ASSERT_EQ(stream.at(c, i, t), std::complex<double>(sample[0], sample[1]));
        }
  }
}

TEST(TimesOfRows, AreTheRowsElementsForAnySize) {
  for (const std::size_t bytes : {1, 2, 4, 8})
    for (const std::size_t rows : {1, 3, 64, 77, 1031})
      for (const std::size_t count : {1, 31, 64, 65, 700}) {
        const std::size_t first = 5, stride = (first + count) * bytes + 3;
        const auto samples = random_bytes(rows * stride);
        std::vector<const std::byte*> starts;
        for (std::size_t k = 0; k < rows; ++k) starts.push_back(samples.data() + k * stride);
        std::vector<std::byte> out(rows * count * bytes, std::byte{0x5a});
        times_of_rows(starts, bytes, first, count, out.data(), 3);
        for (std::size_t t = 0; t < count; ++t)
          for (std::size_t k = 0; k < rows; ++k)
            ASSERT_EQ(std::memcmp(out.data() + (t * rows + k) * bytes,
                                  starts[k] + (first + t) * bytes, bytes),
                      0)
                << bytes << " bytes, " << rows << " rows, " << count << " times, at " << t;
      }
}

TEST(DadaWriter, ExtraKeysAndLongHeaders) {
  const Folder folder;
  const std::string path = folder / "x.dada";
  WriteOptions options;
  options.extra = {{"HISTORY", "one\ntwo # three"}, {"LONG", std::string(6000, 'x')}};
  Writer writer(path, description(), options);
  writer.write(random_bytes(24));
  writer.finish();
  EXPECT_EQ(std::filesystem::file_size(path), 8192u + 24);
  EXPECT_EQ(open(InputFile(path))->total_samples(), 2u);
  const auto bytes = tests::read_bytes(path);
  const std::string text(bytes.data(), 8192);
  EXPECT_NE(text.find("one two   three"), std::string::npos);
}

TEST(DadaWriter, RefusesWhatCannotBeWritten) {
  const Folder folder;
  const std::string path = folder / "x.dada";
  core::VoltageDescription d = description();
  EXPECT_THROW(Writer(path, d, {.order = "FTAP"}), core::Error);
  EXPECT_THROW(Writer(path, d, {.order = "TF"}), core::Error);
  d.rate_hz = {};
  EXPECT_THROW(Writer(path, d), core::Error);
  d = description();
  d.bandwidth_hz = 0;
  EXPECT_THROW(Writer(path, d), core::Error);
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
  Writer writer(path, description());
  EXPECT_THROW(writer.write(random_bytes(13)), core::Error);
}

TEST(DadaWriter, AnExistingFileIsKeptUnlessToldOtherwise) {
  const Folder folder;
  const std::string path = folder / "x.dada";
  tests::write_bytes(path, {'o', 'l', 'd'});
  EXPECT_THROW(Writer(path, description()), core::Error);
  EXPECT_EQ(tests::read_bytes(path), (std::vector<char>{'o', 'l', 'd'}));
  {
    Writer unfinished(path, description(), {.overwrite = true});
    unfinished.write(random_bytes(12));
  }
  EXPECT_EQ(tests::read_bytes(path), (std::vector<char>{'o', 'l', 'd'}));
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
  Writer writer(path, description(), {.overwrite = true});
  writer.finish();
  EXPECT_GT(std::filesystem::file_size(path), 3u);
}

TEST(DadaWriter, AFileThatAppearsMeanwhileIsNotReplaced) {
  const Folder folder;
  const std::string path = folder / "x.dada";
  Writer writer(path, description());
  tests::write_bytes(path, {'n', 'e', 'w'});
  EXPECT_THROW(writer.finish(), core::Error);
  EXPECT_EQ(tests::read_bytes(path), (std::vector<char>{'n', 'e', 'w'}));
}

TEST(DadaWriter, UnwritablePlacesAreNamed) {
  const Folder folder;
  const core::Error error =
      tests::error_of([&] { Writer writer(folder / "none/x.dada", description()); });
  EXPECT_EQ(error.kind(), core::ErrorKind::io);
  EXPECT_NE(std::string(error.what()).find("none/x.dada"), std::string::npos);
  // A folder is never replaced by a file, which is said before anything is written.
  std::filesystem::create_directory(folder / "d.dada");
  tests::write_bytes(folder / "d.dada/precious", {'x'});
  EXPECT_THROW(Writer(folder / "d.dada", description(), {.overwrite = true}), core::Error);
  EXPECT_TRUE(std::filesystem::exists(folder / "d.dada/precious"));
}

// A limit on file sizes stands for a full disk: the same short write, then an error.
TEST(DadaWriter, AFullDiskIsAnErrorAndLeavesNothing) {
  const Folder folder;
  const std::string path = folder / "x.dada";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limited = before;
  limited.rlim_cur = 2'000'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  const core::Error error = tests::error_of([&] {
    Writer writer(path, description());
    const auto data = random_bytes(1'200'000);
    for (int k = 0; k < 5; ++k) writer.write(data);
    writer.finish();
  });
  EXPECT_EQ(error.kind(), core::ErrorKind::io);
  EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace tautline::formats::dada
