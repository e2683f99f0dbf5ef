#include "tautline/formats/uvh5/uvh5.h"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <numeric>

#include "tautline/core/error.h"
#include "tautline/formats/uvh5/hdf5_file.h"
#include "tests/formats/unfinished_visibilities.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"
#include "tests/support/small_disk.h"
#include "tests/support/visibilities.h"

namespace tautline::formats {
namespace {

using tests::random_visibilities;
using tests::RandomVisibilities;
using tests::ScratchFolder;
using tests::VisibilityShape;
using tests::write_all;

// A reader of one file, on HDF5 alone.
class Reader {
 public:
  explicit Reader(const std::string& path)
      : file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {
    if (file_ < 0) throw std::runtime_error("cannot open " + path);
  }
  ~Reader() { H5Fclose(file_); }

  std::vector<hsize_t> shape(const std::string& name) {
    const hid_t set = H5Dopen2(file_, name.c_str(), H5P_DEFAULT), space = H5Dget_space(set);
    std::vector<hsize_t> extents(
        static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
    H5Sget_simple_extent_dims(space, extents.data(), nullptr);
    H5Sclose(space);
    H5Dclose(set);
    return extents;
  }

  hsize_t stored_bytes(const std::string& name) {
    const hid_t set = H5Dopen2(file_, name.c_str(), H5P_DEFAULT);
    const hsize_t bytes = H5Dget_storage_size(set);
    H5Dclose(set);
    return bytes;
  }

  template <class T>
  std::vector<T> values(const std::string& name, hid_t type) {
    std::size_t count = 1;
    for (const hsize_t e : shape(name)) count *= e;
    std::vector<T> result(count);
    const hid_t set = H5Dopen2(file_, name.c_str(), H5P_DEFAULT);
    if (H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, result.data()) < 0)
      throw std::runtime_error("cannot read " + name);
    H5Dclose(set);
    return result;
  }
  std::vector<double> doubles(const std::string& name) {
    return values<double>(name, H5T_NATIVE_DOUBLE);
  }
  std::vector<std::int64_t> integers(const std::string& name) {
    return values<std::int64_t>(name, H5T_NATIVE_INT64);
  }

  std::string text(const std::string& name) {
    const hid_t set = H5Dopen2(file_, name.c_str(), H5P_DEFAULT), type = H5Dget_type(set);
    std::string result(H5Tget_size(type), '\0');
    H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, result.data());
    H5Tclose(type);
    H5Dclose(set);
    return result;
  }

  std::vector<std::complex<float>> complexes(const std::string& name) {
    const hid_t type = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(type, "r", 0, H5T_NATIVE_FLOAT);
    H5Tinsert(type, "i", 4, H5T_NATIVE_FLOAT);
    auto result = values<std::complex<float>>(name, type);
    H5Tclose(type);
    return result;
  }

  std::vector<std::int8_t> bools(const std::string& name) {
    const hid_t set = H5Dopen2(file_, name.c_str(), H5P_DEFAULT), type = H5Dget_type(set);
    EXPECT_EQ(H5Tget_class(type), H5T_ENUM);
    EXPECT_EQ(H5Tget_size(type), 1u);
    EXPECT_EQ(H5Tget_member_index(type, "TRUE"), 1);
    auto result = values<std::int8_t>(name, type);
    H5Tclose(type);
    H5Dclose(set);
    return result;
  }

 private:
  hid_t file_;
};

// The plain definition: for each pair of antennas in data order and each polarisation, the mean of
// conj(x_ant1) x_ant2, which is the conjugate of x_ant1 conj(x_ant2), from the packed triangle.
void expect_data(const RandomVisibilities& v, Reader& file) {
  const auto& array = v.description.array;
  std::vector<std::size_t> order;
  for (const InputLabel& input : array.inputs)
    if (std::find(order.begin(), order.end(), input.antenna) == order.end())
      order.push_back(input.antenna);
  const auto codes = file.integers("Header/polarization_array");
  const auto visdata = file.complexes("Data/visdata");
  const auto nsamples = file.values<float>("Data/nsamples", H5T_NATIVE_FLOAT);
  const auto flags = file.bools("Data/flags");
  const auto first = file.integers("Header/ant_1_array"),
             second = file.integers("Header/ant_2_array");
  const auto input_of = [&](std::size_t antenna, char feed) {
    for (std::size_t i = 0; i < array.inputs.size(); ++i)
      if (array.inputs[i].antenna == antenna && array.inputs[i].feed == feed) return i;
    throw std::logic_error("no such input");
  };
  std::size_t row = 0, at = 0;
  for (std::size_t k = 0; k < v.middles.size(); ++k)
    for (std::size_t a = 0; a < order.size(); ++a)
      for (std::size_t b = a; b < order.size(); ++b, ++row) {
        EXPECT_EQ(first.at(row), array.antennas[order[a]].number);
        EXPECT_EQ(second.at(row), array.antennas[order[b]].number);
        for (std::size_t c = 0; c < v.channels(); ++c)
          for (const std::int64_t code : codes) {
            const char p = code == -5 || code == -7 ? 'x' : 'y',
                       q = code == -5 || code == -8 ? 'x' : 'y';
            const std::size_t n1 = input_of(order[a], p), n2 = input_of(order[b], q);
            const std::size_t i = std::max(n1, n2), j = std::min(n1, n2);
            const std::size_t from = (k * v.channels() + c) * v.baselines() + i * (i + 1) / 2 + j;
            const auto count = v.counts[from];
            std::complex<float> expected = v.values[from];  // x_i conj(x_j)
            if (n1 > n2) expected = std::conj(expected);
            if (count == 0) expected = 0;
            ASSERT_EQ(visdata.at(at), expected)
                << "row " << row << " channel " << c << " code " << code;
            ASSERT_EQ(nsamples.at(at), static_cast<float>(static_cast<double>(count) / 1000.0));
            ASSERT_EQ(flags.at(at), count == 0 ? 1 : 0);
            ++at;
          }
      }
  EXPECT_EQ(at, visdata.size());
}

TEST(Uvh5, HoldsEveryShape) {
  auto random = tests::generator();
  const VisibilityShape shapes[] = {
      {.antennas = 1, .feeds = "x", .channels = 1, .integrations = 1},
      {.antennas = 1, .feeds = "xy", .channels = 3, .integrations = 2},
      {.antennas = 2, .feeds = "y", .channels = 2, .integrations = 3},
      {.antennas = 3, .feeds = "xy", .channels = 17, .integrations = 2, .feed_slow = true},
      {.antennas = 7, .feeds = "xy", .channels = 33, .integrations = 3, .odd_numbers = true},
      {.antennas = 5,
       .feeds = "x",
       .channels = 16,
       .integrations = 40,
       .odd_numbers = true,
       .tracked = true},
  };
  const ScratchFolder folder;
  for (const VisibilityShape& shape : shapes) {
    const auto v = random_visibilities(shape, random);
    const std::string path = folder / "v.uvh5";
    write_all(v, path, true);
    Reader file(path);
    const hsize_t pairs = shape.antennas * (shape.antennas + 1) / 2,
                  rows = pairs * shape.integrations;
    const hsize_t products = shape.feeds.size() * shape.feeds.size();
    EXPECT_EQ(file.shape("Data/visdata"), (std::vector<hsize_t>{rows, shape.channels, products}));
    EXPECT_EQ(file.integers("Header/Nblts")[0], static_cast<std::int64_t>(rows));
    EXPECT_EQ(file.integers("Header/Ntimes")[0], static_cast<std::int64_t>(shape.integrations));
    EXPECT_EQ(file.doubles("Header/freq_array"), v.description.channel_hz);
    const auto times = file.doubles("Header/time_array"),
               lengths = file.doubles("Header/integration_time");
    for (std::size_t row = 0; row < rows; ++row) {
      ASSERT_EQ(times[row], core::julian_date(v.middles[row / pairs]));
      ASSERT_EQ(lengths[row], v.integration_s[row / pairs]);
    }
    expect_data(v, file);
  }
}

// Chunks that begin in one integration and end in the next, several blocks of channels, and integrations of which some
// have lost nothing.
TEST(Uvh5, HoldsChunksOfAnySizeWithLossesOrWithout) {
  auto random = tests::generator();
  const VisibilityShape shapes[] = {
      {.antennas = 23, .feeds = "xy", .channels = 97, .integrations = 3},
      {.antennas = 3, .feeds = "xy", .channels = 401, .integrations = 7, .feed_slow = true},
      {.antennas = 2, .feeds = "xy", .channels = 8193, .integrations = 2},
      {.antennas = 1, .feeds = "x", .channels = 40'001, .integrations = 3},
      {.antennas = 40, .feeds = "x", .channels = 129, .integrations = 3, .odd_numbers = true},
  };
  const ScratchFolder folder;
  const std::string path = folder / "v.uvh5";
  for (const VisibilityShape& shape : shapes)
    for (const bool first_full : {false, true}) {
      auto v = random_visibilities(shape, random);
      const auto each = static_cast<std::ptrdiff_t>(v.channels() * v.baselines());
      for (std::size_t k = first_full ? 0 : 1; k < shape.integrations; k += 2)
        std::fill_n(v.counts.begin() + static_cast<std::ptrdiff_t>(k) * each, each,
                    v.description.nominal_count);
      write_all(v, path, true);
      Reader file(path);
      expect_data(v, file);
    }
}

TEST(Uvh5, LeavesOutWeightsAndFlagsWhereNothingWasLost) {
  auto random = tests::generator();
  const ScratchFolder folder;
  const std::string path = folder / "v.uvh5";
  auto v = random_visibilities({.antennas = 20, .channels = 50, .integrations = 3}, random);
  std::fill(v.counts.begin(), v.counts.end(), v.description.nominal_count);
  write_all(v, path);
  {
    Reader file(path);
    expect_data(v, file);
    EXPECT_EQ(file.stored_bytes("Data/nsamples"), 0u);
    EXPECT_EQ(file.stored_bytes("Data/flags"), 0u);
    EXPECT_GE(file.stored_bytes("Data/visdata"), v.values.size() * sizeof(v.values[0]));
  }
  // One short count in the last integration: its weights are written, no flags.
  v.counts.back() = v.description.nominal_count - 1;
  write_all(v, path, true);
  Reader file(path);
  expect_data(v, file);
  EXPECT_GT(file.stored_bytes("Data/nsamples"), 0u);
  EXPECT_LT(file.stored_bytes("Data/nsamples"), file.stored_bytes("Data/visdata") / 4);
  EXPECT_EQ(file.stored_bytes("Data/flags"), 0u);
}

TEST(Uvh5, HoldsTheHeader) {
  auto random = tests::generator();
  auto v = random_visibilities({.tracked = true}, random);
  v.description.extra["a/b"] = "slash";
  v.description.source = "J0534+2200";
  const ScratchFolder folder;
  {
    const auto writer = create_visibilities(folder / "v.uvh5", v.description, false);
    // Another run's, which would end first.
    EXPECT_THROW(create_visibilities(folder / "v.uvh5", v.description, true), core::Error);
    writer->write(v.integration(0));
    writer->add_extra("lost_samples", "12");
    writer->finish();
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "v.uvh5.partial"));
  Reader file(folder / "v.uvh5");
  EXPECT_EQ(file.text("Header/version"), "1.2");
  EXPECT_EQ(file.text("Header/telescope_name"), "RANDOM");
  EXPECT_EQ(file.text("Header/instrument"), "tautline test");
  EXPECT_EQ(file.text("Header/vis_units"), "uncalib");
  EXPECT_EQ(file.text("Header/history"), "written by a test");
  EXPECT_EQ(file.text("Header/extra_keywords/lost_samples"), "12");
  EXPECT_EQ(file.text("Header/extra_keywords/a_b"), "slash");
  EXPECT_EQ(file.text("Header/extra_keywords/source"), "J0534+2200");
  EXPECT_EQ(file.text("Header/phase_center_catalog/0/cat_type"), "sidereal");
  EXPECT_DOUBLE_EQ(file.doubles("Header/phase_center_catalog/0/cat_lon")[0],
                   83.633 * std::numbers::pi / 180);
  EXPECT_EQ(file.integers("Header/polarization_array"),
            (std::vector<std::int64_t>{-5, -6, -7, -8}));
  EXPECT_EQ(file.bools("Header/blts_are_rectangular")[0], 1);
  EXPECT_EQ(file.bools("Header/time_axis_faster_than_bls")[0], 0);
  EXPECT_EQ(file.shape("Header/antenna_positions"), (std::vector<hsize_t>{4, 3}));
  EXPECT_EQ(file.integers("Header/Nants_data")[0], 3);
  EXPECT_EQ(file.integers("Header/Nants_telescope")[0], 4);
  // x at 90 degrees means y at 0; x at 0 means y at 90.
  const auto angles = file.doubles("Header/feed_angle");
  EXPECT_DOUBLE_EQ(angles[0], std::numbers::pi / 2);
  EXPECT_DOUBLE_EQ(angles[1], 0);
  EXPECT_DOUBLE_EQ(angles[2], 0);
  EXPECT_DOUBLE_EQ(angles[3], std::numbers::pi / 2);

  const auto positions = file.doubles("Header/antenna_positions");
  const auto uvw = file.doubles("Header/uvw_array");
  // Rows 0 and 1 are (0, 0) and (0, 1): an autocorrelation, and as long as the antennas are apart.
  EXPECT_EQ(uvw[0] * uvw[0] + uvw[1] * uvw[1] + uvw[2] * uvw[2], 0);
  double length = 0, apart = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    length += uvw[3 + k] * uvw[3 + k];
    apart += (positions[3 + k] - positions[k]) * (positions[3 + k] - positions[k]);
  }
  EXPECT_NEAR(std::sqrt(length), std::sqrt(apart), 1e-8);
}

TEST(Uvh5, UnprojectedUvwIsEastNorthUp) {
  auto random = tests::generator();
  const auto v = random_visibilities({.antennas = 2}, random);
  const ScratchFolder folder;
  write_all(v, folder / "v.uvh5");
  Reader file(folder / "v.uvh5");
  EXPECT_EQ(file.text("Header/phase_center_catalog/0/cat_type"), "unprojected");
  const auto& array = v.description.array;
  const Vector3 enu =
      ecef_to_enu(difference(array.antennas[1].ecef_m, array.antennas[0].ecef_m), site_of(array));
  const auto uvw = file.doubles("Header/uvw_array");
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(uvw[3 + k], enu[k], 1e-6);
}

TEST(Uvh5, RefusesWhatNoFileCanHold) {
  auto random = tests::generator();
  const auto v = random_visibilities({}, random);
  const ScratchFolder folder;
  const std::string path = folder / "v.uvh5";
  const auto refuses = [&](auto change) {
    auto description = v.description;
    change(description);
    EXPECT_THROW(create_visibilities(path, description, false), core::Error);
    EXPECT_TRUE(folder.empty());
  };
  refuses([](auto& d) { d.channel_hz.clear(); });
  refuses([](auto& d) { d.channel_width_hz = 0; });
  refuses([](auto& d) { d.nominal_count = 0; });
  refuses([](auto& d) { d.array.inputs.clear(); });
  refuses([](auto& d) { d.array.inputs[1] = d.array.inputs[0]; });
  refuses([](auto& d) { d.array.inputs[1].antenna = 99; });
  EXPECT_THROW(create_visibilities(folder / "v.fits", v.description, false), core::Error);
  EXPECT_THROW(create_visibilities(folder / "no/such/v.uvh5", v.description, false), core::Error);

  auto wrong = v.integration(0);
  wrong.counts = wrong.counts.slice(0, 0, 1);
  const auto writer = create_visibilities(path, v.description, false);
  EXPECT_THROW(writer->write(wrong), core::Error);
  EXPECT_THROW(writer->finish(), core::Error);  // nothing was written
}

TEST(Uvh5, ReplacesOnlyWhenTold) {
  auto random = tests::generator();
  const auto v = random_visibilities({}, random);
  const ScratchFolder folder;
  const std::string path = folder / "v.uvh5";
  std::ofstream(path) << "precious";
  EXPECT_THROW(create_visibilities(path, v.description, false), core::Error);
  {
    const auto writer = create_visibilities(path, v.description, true);
    writer->write(v.integration(0));
  }  // not finished
  EXPECT_EQ(std::filesystem::file_size(path), 8u);
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
  write_all(v, path, true);
  EXPECT_GT(std::filesystem::file_size(path), 1000u);
}

TEST(Uvh5, KilledHalfWayLeavesNothingUnderTheName) {
  tests::expect_nothing_of_a_killed_writer("v.uvh5");
}

TEST(Uvh5, AFullDiskIsAnErrorAndLeavesNothing) {
  for (const std::size_t limit :
       {0u, 1u, 100u, 3000u, 20'000u, 100'000u, 400'000u, 1'000'000u, 3'000'000u})
    tests::expect_nothing_beyond_a_limit("v.uvh5", limit, {"v.uvh5", "File too large"});
}

TEST(Uvh5, ADiskThatFillsUpIsAnErrorAndLeavesNothing) {
  tests::expect_nothing_on_disks_that_fill_up("v.uvh5");
}

// Space is reserved ahead of what is written: not more than a file needs stays, and a disk that has just that is
// enough.
TEST(Uvh5, NeedsNoMoreDiskThanTheFileIsLong) {
  auto random = tests::generator();
  const auto v = random_visibilities({.antennas = 16, .channels = 64, .integrations = 1}, random);
  const auto write_to = [&](const std::string& path) {
    const auto writer = create_visibilities(path, v.description, false);
    for (int k = 0; k < 60; ++k) writer->write(v.integration(0));
    writer->finish();
  };
  const ScratchFolder folder;
  write_to(folder / "v.uvh5");
  struct stat status {};
  ASSERT_EQ(::stat((folder / "v.uvh5").c_str(), &status), 0);
  const auto size = static_cast<std::size_t>(status.st_size);
  EXPECT_GT(size, std::size_t{8} << 20);
  constexpr std::size_t kStatBlockBytes = 512, kSlackBytes = std::size_t{1} << 20;
  EXPECT_LE(static_cast<std::size_t>(status.st_blocks) * kStatBlockBytes, size + kSlackBytes);

  const ScratchFolder small;
  const int done = tests::on_small_disk(small.path().string(), size + kSlackBytes, [&] {
    write_to(small / "v.uvh5");
    return std::filesystem::file_size(small / "v.uvh5") == size ? 0 : 1;
  });
  if (done == tests::kNoSmallDisk) GTEST_SKIP() << "this machine lets us mount no tmpfs";
  EXPECT_EQ(done, 0);
}

TEST(Uvh5, KeepsTheHostsErrorHandler) {
  const auto handler = [](hid_t, void*) -> herr_t { return 0; };
  const H5E_auto2_t mine = handler;
  int token = 0;
  H5Eset_auto2(H5E_DEFAULT, mine, &token);
  auto random = tests::generator();
  const auto v = random_visibilities({}, random);
  const ScratchFolder folder;
  write_all(v, folder / "v.uvh5");
  EXPECT_THROW(write_all(v, folder / "v.uvh5"), core::Error);
  H5E_auto2_t found = nullptr;
  void* data = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &found, &data);
  EXPECT_EQ(found, mine);
  EXPECT_EQ(data, &token);
}

// The parts of the index that HDF5 keeps in memory do not grow with the number of chunks.
TEST(Uvh5, IndexInMemoryIsBounded) {
  const ScratchFolder scratch;
  const std::string path = scratch / "many_chunks.h5";
  hdf5::File file(path, path);
  hdf5::Growing rows(file, file.root(), "rows", hdf5::native(H5T_NATIVE_INT64), {}, 1);
  const auto parts_after = [&](hsize_t chunks) {
    while (rows.rows() < chunks) {
      const std::array<hsize_t, 1> place{rows.rows()};
      rows.extend(1);
      const auto value = static_cast<std::int64_t>(place[0]);
      file.write_at(rows.reserve_chunk(place), sizeof value, &value);
    }
    int parts = 0;
    EXPECT_GE(H5Fget_mdc_size(file.root(), nullptr, nullptr, nullptr, &parts), 0);
    return parts;
  };
  const int early = parts_after(15'000), late = parts_after(45'000);
  EXPECT_GT(early, 0);
  EXPECT_LE(late, early + early / 4);
  file.close();

  std::vector<std::int64_t> expected(45'000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(Reader(path).values<std::int64_t>("rows", H5T_NATIVE_INT64), expected);
}

}  // namespace
}  // namespace tautline::formats
