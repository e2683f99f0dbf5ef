// Writing sigproc's files: what is written reads back, byte for byte what the format says.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>

#include "tautline/core/error.h"
#include "tautline/formats/sigproc/sigproc.h"
#include "tautline/formats/sigproc/writers.h"
#include "tests/formats/filterbank_check.h"
#include "tests/formats/sigproc/sigproc_files.h"
#include "tests/support/seed.h"

namespace tautline::formats::sigproc {
namespace {

using tests::Folder;
using tests::read_filterbank;

Header header_for(int nbits, std::size_t nchans = 5) {
  Header h;
  h.source_name = "J0000+0000";
  h.nchans = nchans;
  h.nbits = nbits;
  h.fch1_mhz = 1400.25;
  h.foff_mhz = -0.125;
  h.tstart_mjd = 60000.000011;
  h.tsamp_s = 1.0 / 30000;
  h.src_raj = 123456.75;
  h.src_dej = -1234.5;
  return h;
}

template <class Sample>
std::vector<double> write_random(const std::string& path, int nbits, std::size_t times,
                                 std::mt19937_64& random) {
  FilterbankWriter writer(path, header_for(nbits), false);
  std::vector<double> all;
  while (writer.samples() < times) {
    const std::size_t piece = std::min<std::size_t>(1 + random() % 40, times - writer.samples());
    std::vector<Sample> samples(piece * 5);
    for (Sample& sample : samples) {
      sample = nbits == 32 ? static_cast<Sample>(std::normal_distribution<float>()(random))
                           : static_cast<Sample>(random() & ((std::uint64_t{1} << nbits) - 1));
      all.push_back(sample);
    }
    writer.write(samples);
  }
  writer.finish();
  return all;
}

TEST(SigprocWriter, EveryDepthReadsBack) {
  const Folder folder;
  auto random = tests::generator();
  for (const int nbits : {1, 2, 4, 8, 16, 32}) {
    const std::string path = folder / (std::to_string(nbits) + ".fil");
    const std::size_t times = 8 * (1 + random() % 50);
    const auto written = nbits == 32   ? write_random<float>(path, nbits, times, random)
                         : nbits == 16 ? write_random<std::uint16_t>(path, nbits, times, random)
                                       : write_random<std::uint8_t>(path, nbits, times, random);
    const auto reader = open(path);
    EXPECT_EQ(read_filterbank(*reader, random), written) << nbits;
    const FilterbankDescription& d = reader->description();
    EXPECT_EQ(d.rate_hz, (core::Rational{30000, 1}));
    EXPECT_EQ(d.tstart_mjd, 60000.000011);
    EXPECT_EQ(core::modified_julian_date(d.start), 60000.000011);
    EXPECT_EQ(*header_of(d).src_raj, 123456.75);
    EXPECT_EQ(*header_of(d).src_dej, -1234.5);
    EXPECT_TRUE(reader->remarks().size() == (5 * nbits % 8 == 0 ? 0u : 1u));
    // The same bytes as the plain loop makes.
    const auto bytes = tests::read_bytes(path);
    const auto data = tests::sigproc_data(written, nbits);
    ASSERT_GE(bytes.size(), data.size());
    EXPECT_TRUE(std::equal(data.rbegin(), data.rend(), bytes.rbegin())) << nbits;
  }
}

TEST(SigprocWriter, WrongTypesValuesAndCountsAreRefused) {
  const Folder folder;
  FilterbankWriter two(folder / "2.fil", header_for(2), false);
  EXPECT_THROW(two.write(std::vector<float>(5)), core::Error);
  EXPECT_THROW(two.write(std::vector<std::uint16_t>(5)), core::Error);
  EXPECT_THROW(two.write(std::vector<std::uint8_t>(4)), core::Error);
  EXPECT_THROW(two.write(std::vector<std::uint8_t>{0, 1, 2, 3, 4}), core::Error);
  EXPECT_NO_THROW(two.write(std::vector<std::uint8_t>{0, 1, 2, 3, 3}));
  EXPECT_THROW(FilterbankWriter(folder / "x", header_for(3), false), core::Error);
  Header bad = header_for(8);
  bad.tsamp_s = 0;
  EXPECT_THROW(FilterbankWriter(folder / "x", bad, false), core::Error);
}

TEST(SigprocWriter, AppearsOnlyWhenWholeAndRefusesExisting) {
  const Folder folder;
  const std::string path = folder / "x.fil";
  {
    FilterbankWriter writer(path, header_for(8), false);
    writer.write(std::vector<std::uint8_t>(5));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  FilterbankWriter(path, header_for(8), false).finish();
  EXPECT_THROW(FilterbankWriter(path, header_for(8), false), core::Error);
  EXPECT_NO_THROW(FilterbankWriter(path, header_for(8), true).finish());
}

// More series at once than a process has descriptors.
TEST(SigprocWriter, ManyTimeSeriesAtOnce) {
  const Folder folder;
  auto random = tests::generator();
  std::vector<std::unique_ptr<TimeSeriesWriter>> writers;
  constexpr std::size_t kSeries = 100;
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few{60, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  for (std::size_t k = 0; k < kSeries; ++k) {
    Header header = header_for(8);
    header.refdm = static_cast<double>(k) / 4;
    writers.push_back(
        std::make_unique<TimeSeriesWriter>(folder / (std::to_string(k) + ".tim"), header, false));
  }
  for (int piece = 0; piece < 2; ++piece)
    for (std::size_t k = 0; k < kSeries; ++k)
      writers[k]->write(std::vector<float>{static_cast<float>(k), static_cast<float>(piece)});
  for (auto& writer : writers) writer->finish();
  setrlimit(RLIMIT_NOFILE, &limit);
  const auto reader = open_filterbank({folder / "99.tim"});
  EXPECT_TRUE(reader->description().time_series);
  EXPECT_EQ(*reader->description().refdm, 99. / 4);
  EXPECT_EQ(read_filterbank(*reader, random), (std::vector<double>{99, 0, 99, 1}));
}

}  // namespace
}  // namespace tautline::formats::sigproc
