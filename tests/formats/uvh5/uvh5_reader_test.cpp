// Files of the UVH5 writer, read back: the same visibilities, counts, times, places and labels.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tautline/core/error.h"
#include "tautline/formats/uvh5/uvh5.h"
#include "tautline/formats/visibility_reader.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"
#include "tests/support/visibilities.h"

namespace tautline::formats {
namespace {

using tests::random_visibilities;
using tests::RandomVisibilities;
using tests::VisibilityShape;

std::string write(const tests::ScratchFolder& folder, const RandomVisibilities& v) {
  const std::string path = folder / "v.uvh5";
  auto writer = create_visibilities(path, v.description, true);
  for (std::size_t k = 0; k < v.middles.size(); ++k) writer->write(v.integration(k));
  writer->add_extra("lost_samples", "17");
  writer->finish();
  return path;
}

// Place of every input of `from` in `to`, by antenna number and feed.
std::vector<std::size_t> places(const ArrayLayout& from, const ArrayLayout& to) {
  std::map<std::pair<int, char>, std::size_t> place;
  for (std::size_t i = 0; i < to.inputs.size(); ++i)
    place[{to.antennas[to.inputs[i].antenna].number, to.inputs[i].feed}] = i;
  std::vector<std::size_t> found;
  for (const InputLabel& input : from.inputs)
    found.push_back(place.at({from.antennas[input.antenna].number, input.feed}));
  return found;
}

void expect_same(const RandomVisibilities& v, VisibilityReader& reader) {
  const auto place = places(v.description.array, reader.description().array);
  const std::size_t inputs = place.size();
  ASSERT_EQ(reader.integrations(), v.middles.size());
  // Any order of reading.
  for (std::size_t k = reader.integrations(); k-- > 0;) {
    const Integration written = v.integration(k), read = reader.read(k);
    EXPECT_NEAR(core::seconds_between(written.middle, read.middle), 0, 1e-4);
    EXPECT_EQ(read.integration_s, written.integration_s);
    ASSERT_EQ(read.visibilities.extent(0), v.channels());
    ASSERT_EQ(read.counts.extent(1), core::baseline_count(inputs));
    for (std::size_t c = 0; c < v.channels(); ++c)
      for (std::size_t i = 0; i < inputs; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
          const std::size_t p = place[i], q = place[j];
          const std::size_t from = core::baseline_index(i, j);
          const std::size_t to = core::baseline_index(std::max(p, q), std::min(p, q));
          ASSERT_EQ(read.counts(c, to), written.counts(c, from)) << k << " " << c << " " << from;
          const std::complex<float> expected =
              written.counts(c, from) > 0 ? written.visibilities(c, from) : 0;
          ASSERT_EQ(read.visibilities(c, to), p >= q ? expected : std::conj(expected))
              << k << " " << c << " " << from;
        }
  }
}

TEST(Uvh5Reader, ReadsBackWhatWasWritten) {
  auto random = tests::generator();
  for (VisibilityShape shape : {VisibilityShape{1, "x", 1, 1}, VisibilityShape{3, "xy", 5, 2},
                                VisibilityShape{5, "y", 3, 3}, VisibilityShape{4, "xy", 17, 7},
                                VisibilityShape{5, "xy", 4, 2, true, true},
                                VisibilityShape{3, "xy", 5, 2, false, true, true}}) {
    const tests::ScratchFolder folder;
    const RandomVisibilities v = random_visibilities(shape, random);
    const auto reader = open_visibilities(write(folder, v));
    expect_same(v, *reader);
  }
}

TEST(Uvh5Reader, ReadsTheDescription) {
  auto random = tests::generator();
  const tests::ScratchFolder folder;
  const RandomVisibilities v = random_visibilities({3, "xy", 5, 2, false, true, true}, random);
  const auto reader = open_visibilities(write(folder, v));
  const VisibilityDescription& d = reader->description();
  EXPECT_EQ(d.channel_hz, v.description.channel_hz);
  EXPECT_EQ(d.channel_width_hz, v.description.channel_width_hz);
  EXPECT_EQ(d.integration_s, v.description.integration_s);
  EXPECT_EQ(d.nominal_count, v.description.nominal_count);
  EXPECT_EQ(d.telescope, "RANDOM");
  EXPECT_EQ(d.instrument, "tautline test");
  EXPECT_EQ(d.extra.at("lost_samples"), "17");
  EXPECT_EQ(d.extra.at("device"), "reference");
  EXPECT_TRUE(d.phase_centre.tracked);
  EXPECT_EQ(d.phase_centre.name, "a source");
  EXPECT_NEAR(d.phase_centre.ra_deg, 83.633, 1e-9);
  EXPECT_NEAR(d.phase_centre.dec_deg, 22.0145, 1e-9);
  EXPECT_NE(d.history.find("written by a test"), std::string::npos);
  EXPECT_TRUE(d.array.positions_known);
  ASSERT_EQ(d.array.antennas.size(), v.description.array.antennas.size());
  for (std::size_t a = 0; a < d.array.antennas.size(); ++a) {
    EXPECT_EQ(d.array.antennas[a].number, v.description.array.antennas[a].number);
    EXPECT_EQ(d.array.antennas[a].name, v.description.array.antennas[a].name);
    for (std::size_t axis = 0; axis < 3; ++axis)
      EXPECT_NEAR(d.array.antennas[a].ecef_m[axis], v.description.array.antennas[a].ecef_m[axis],
                  1e-6);
  }
}

core::ErrorKind kind_of_opening(const std::string& path) {
  try {
    const auto reader = open_visibilities(path);
    for (std::size_t k = 0; k < reader->integrations(); ++k) reader->read(k);
  } catch (const core::Error& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    return error.kind();
  }
  ADD_FAILURE() << path << " was read";
  return core::ErrorKind::device;
}

TEST(Uvh5Reader, RefusesWhatIsNotWhole) {
  auto random = tests::generator();
  const tests::ScratchFolder folder;
  EXPECT_EQ(kind_of_opening(folder / "absent.uvh5"), core::ErrorKind::io);
  std::ofstream(folder / "text.uvh5") << "not HDF5 at all";
  EXPECT_EQ(kind_of_opening(folder / "text.uvh5"), core::ErrorKind::format);

  // Cut anywhere, the file is refused or an integration is; nothing crashes.
  const RandomVisibilities v = random_visibilities({4, "xy", 16, 3}, random);
  const std::string path = write(folder, v);
  const auto size = std::filesystem::file_size(path);
  for (int cut = 1; cut < 12; ++cut) {
    std::filesystem::resize_file(path, size * static_cast<unsigned>(12 - cut) / 12);
    EXPECT_EQ(kind_of_opening(path), core::ErrorKind::format);
  }
}

}  // namespace
}  // namespace tautline::formats
