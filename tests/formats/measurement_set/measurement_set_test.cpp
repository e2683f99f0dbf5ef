// The bytes are checked by casacore's own Python package in tests/interop/visibilities_test.py; here
// is what happens when writing goes wrong.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tautline/core/error.h"
#include "tautline/formats/measurement_set/measurement_set_writer.h"
#include "tests/formats/unfinished_visibilities.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"
#include "tests/support/visibilities.h"

namespace tautline::formats {
namespace {

using tests::random_visibilities;
using tests::ScratchFolder;
using tests::write_all;

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

// Two processes that begin at the same time: one makes its tables, and the other is refused.
TEST(MeasurementSet, OfTwoThatAreMadeAtOnceOneIsRefused) {
  auto random = tests::generator();
  const auto v = random_visibilities({}, random);
  for (int round = 0; round < 6; ++round) {
    const ScratchFolder folder;
    std::array<int, 2> start{};
    ASSERT_EQ(pipe(start.data()), 0);
    std::array<pid_t, 2> children{};
    for (pid_t& child : children) {
      child = fork();
      if (child != 0) continue;
      char go = 0;
      int status = read(start[0], &go, 1) == 1 ? 0 : 1;
      try {
        const auto writer = create_visibilities(folder / "v.ms", v.description, false);
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        writer->write(v.integration(0));
        writer->finish();
      } catch (const core::Error& error) {
        const std::string text = error.what();  // the latter where the other one has ended already
        const bool refused = text.find("another run writes it") != std::string::npos ||
                             text.find("it exists") != std::string::npos;
        status = refused ? 3 : 2;
      }
      _exit(status);
    }
    ASSERT_EQ(write(start[1], "go", 2), 2);
    int sum = 0;
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFEXITED(status)) << status;
      sum += WEXITSTATUS(status) == 1 ? 100 : WEXITSTATUS(status);
    }
    EXPECT_EQ(sum, 3);  // 0 and 3
    EXPECT_TRUE(std::filesystem::exists(folder / "v.ms" + "/table.dat"));
    close(start[0]);
    close(start[1]);
  }
}

TEST(MeasurementSet, KilledHalfWayLeavesNothingUnderTheName) {
  tests::expect_nothing_of_a_killed_writer("v.ms");
}

TEST(MeasurementSet, AFullDiskIsAnErrorAndLeavesNothing) {
  for (const std::size_t limit : {0u, 100u, 3000u, 20'000u, 100'000u, 400'000u, 3'000'000u})
    tests::expect_nothing_beyond_a_limit("v.ms", limit, {"v.ms"});
}

TEST(MeasurementSet, ADiskThatFillsUpIsAnErrorAndLeavesNothing) {
  tests::expect_nothing_on_disks_that_fill_up("v.ms");
}

}  // namespace
}  // namespace tautline::formats
