// Names of outputs in several files, and what stands in their way.
#include "tautline/formats/numbered_name.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tautline/core/error.h"
#include "tests/support/scratch.h"

namespace tautline::formats {
namespace {

TEST(NumberedNames, HaveFourDigitsBeforeTheEnding) {
  EXPECT_EQ(numbered_name("night.uvh5", 1), "night-0001.uvh5");
  EXPECT_EQ(numbered_name("a.b/night.of.may.dada", 123), "a.b/night.of.may-0123.dada");
  EXPECT_EQ(numbered_name("night.ms", 12345), "night-12345.ms");
  EXPECT_EQ(numbered_name("plots", 7), "plots-0007");
  EXPECT_EQ(numbered_name("a/G.table.csv", 2), "a/G-0002.table.csv");
}

TEST(NumberedNames, AreFoundWithWhatLiesBesideThem) {
  const tests::ScratchFolder scratch;
  std::vector<std::string> files;
  for (const char* name :
       {"x-0001.dada", "x-0001.dada.json", "x-0002.dada.partial", "x-10000.dada"})
    files.push_back(scratch / name);
  std::vector<std::string> all = files;
  for (const char* name : {"x.dada", "x-1.dada", "x-0001.fil", "x-name.dada", "y-0001.dada"})
    all.push_back(scratch / name);
  for (const std::string& file : all) std::ofstream(file) << "x";
  EXPECT_EQ(numbered_files(scratch / "x.dada"), files);
  EXPECT_TRUE(numbered_files(scratch / "none/x.dada").empty());
}

TEST(NumberedNames, StandInTheWayOfOthers) {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "x.dada";
  EXPECT_NO_THROW(require_numbered_can_be_written("path", path, false));
  std::ofstream(scratch / "x-0004.dada.partial") << "of a run that was killed";
  EXPECT_NO_THROW(require_numbered_can_be_written("path", path, false));
  std::ofstream(scratch / "x-0003.dada") << "complete";
  EXPECT_THROW(require_numbered_can_be_written("path", path, false), core::Error);
  EXPECT_NO_THROW(require_numbered_can_be_written("path", path, true));
  EXPECT_THROW(require_numbered_can_be_written("path", scratch / "none/x.dada", true), core::Error);
  EXPECT_THROW(require_numbered_can_be_written("path", "", true), core::Error);
}

}  // namespace
}  // namespace tautline::formats
