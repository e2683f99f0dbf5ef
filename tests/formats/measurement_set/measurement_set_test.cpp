// The bytes are checked by casacore's own Python package in tests/interop/visibilities_test.py; here
// is what happens when writing goes wrong.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tautline/core/error.h"
#include "tautline/formats/measurement_set/measurement_set_writer.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"
#include "tests/support/small_disk.h"
#include "tests/support/visibilities.h"

namespace tautline::formats {
namespace {

using tests::random_visibilities;
using tests::RandomVisibilities;
using tests::ScratchFolder;

void write_all(const RandomVisibilities& v, const std::string& path, bool overwrite = false) {
  const auto writer = create_visibilities(path, v.description, overwrite);
  for (std::size_t k = 0; k < v.middles.size(); ++k) writer->write(v.integration(k));
  writer->finish();
}

TEST(MeasurementSet, HasEveryTable) {
  auto random = tests::generator();
  const ScratchFolder folder;
  write_all(random_visibilities({}, random), folder / "v.ms/");
  for (const char* table :
       {"", "ANTENNA", "FEED", "FIELD", "SPECTRAL_WINDOW", "POLARIZATION", "DATA_DESCRIPTION",
        "OBSERVATION", "POINTING", "STATE", "PROCESSOR", "HISTORY", "FLAG_CMD"})
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "v.ms" / table / "table.dat")) << table;
  EXPECT_FALSE(std::filesystem::exists(folder / "v.ms.partial"));
}

TEST(MeasurementSet, RefusesWhatItCannotHold) {
  auto random = tests::generator();
  const auto v = random_visibilities({}, random);
  const ScratchFolder folder;
  auto description = v.description;
  description.nominal_count = 0;
  EXPECT_THROW(create_visibilities(folder / "v.ms", description, false), core::Error);
  EXPECT_TRUE(folder.empty());
  auto wrong = v.integration(0);
  wrong.visibilities = wrong.visibilities.slice(1, 0, 1);
  {
    const auto writer = create_visibilities(folder / "v.ms", v.description, false);
    EXPECT_THROW(writer->write(wrong), core::Error);
    EXPECT_THROW(writer->finish(), core::Error);  // nothing was written
    writer->write(v.integration(0));              // and neither is the end
    writer->finish();
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "v.ms"));
}

TEST(MeasurementSet, ReplacesOnlyWhenToldAndOnlyTables) {
  auto random = tests::generator();
  const auto v = random_visibilities({}, random);
  const ScratchFolder folder;
  const std::string path = folder / "v.ms";
  write_all(v, path);
  EXPECT_THROW(create_visibilities(path, v.description, false), core::Error);
  {
    const auto writer = create_visibilities(path, v.description, true);
    writer->write(v.integration(0));
  }  // not finished
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
  EXPECT_TRUE(std::filesystem::exists(path + "/table.dat"));
  write_all(v, path, true);
  EXPECT_TRUE(std::filesystem::exists(path + "/table.dat"));

  const std::string home = folder / "home.ms";
  std::filesystem::create_directory(home);
  std::ofstream(home + "/letters") << "precious";
  EXPECT_THROW(write_all(v, home, true), core::Error);
  EXPECT_TRUE(std::filesystem::exists(home + "/letters"));
}

TEST(MeasurementSet, KilledHalfWayLeavesNothingUnderTheName) {
  auto random = tests::generator();
  const auto v = random_visibilities({.integrations = 1}, random);
  const ScratchFolder folder;
  const std::string path = folder / "v.ms";
  const pid_t child = fork();
  if (child == 0) {
    try {
      const auto writer = create_visibilities(path, v.description, false);
      writer->write(v.integration(0));
      raise(SIGKILL);
    } catch (const core::Error&) {
    }
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(std::filesystem::exists(path));
  write_all(v, path);
  EXPECT_TRUE(std::filesystem::exists(path));
}

int full_disk_child(const std::string& folder, std::size_t limit_bytes) {
  (void)!std::freopen((folder + "/stderr").c_str(), "w", stderr);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{limit_bytes, limit_bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
  std::mt19937_64 random(limit_bytes);
  const auto v = random_visibilities({.antennas = 8, .channels = 64, .integrations = 1}, random);
  try {
    const auto writer = create_visibilities(folder + "/v.ms", v.description, false);
    for (int k = 0; k < 100; ++k) writer->write(v.integration(0));
    writer->finish();
    return 1;
  } catch (const core::Error& error) {
    if (error.kind() != core::ErrorKind::io) return 2;
    if (std::string(error.what()).find("v.ms") == std::string::npos) return 3;
  }
  return std::filesystem::exists(folder + "/v.ms") ||
                 std::filesystem::exists(folder + "/v.ms.partial")
             ? 4
             : 0;
}

TEST(MeasurementSet, AFullDiskIsAnErrorAndLeavesNothing) {
  for (const std::size_t limit : {0u, 100u, 3000u, 20'000u, 100'000u, 400'000u, 3'000'000u}) {
    const ScratchFolder folder;
    const pid_t child = fork();
    if (child == 0) std::exit(full_disk_child(folder.path().string(), limit));
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status)) << limit;
    EXPECT_EQ(WEXITSTATUS(status), 0) << limit;
    std::ifstream stderr_of_child(folder / "stderr");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stderr_of_child), {}), "") << limit;
  }
}

TEST(MeasurementSet, ADiskThatFillsUpIsAnErrorAndLeavesNothing) {
  auto random = tests::generator();
  const auto v = random_visibilities({.antennas = 8, .channels = 64, .integrations = 1}, random);
  // From nothing to nearly enough: the failure moves from the first table to the last row.
  for (std::size_t kib = 16; kib < 45'000; kib += kib / 3) {
    const ScratchFolder folder;
    const std::string path = folder / "v.ms";
    const int status = tests::on_small_disk(folder.path().string(), kib << 10, [&] {
      try {
        const auto writer = create_visibilities(path, v.description, false);
        for (int k = 0; k < 400; ++k) writer->write(v.integration(0));
        writer->finish();
        return 1;
      } catch (const core::Error& error) {
        if (error.kind() != core::ErrorKind::io) return 2;
        if (std::string(error.what()).find("No space left") == std::string::npos) return 3;
      }
      return folder.empty() ? 0 : 4;
    });
    if (status == tests::kNoSmallDisk) GTEST_SKIP() << "this machine lets us mount no tmpfs";
    EXPECT_EQ(status, 0) << kib << " KiB";
  }
}

}  // namespace
}  // namespace tautline::formats
