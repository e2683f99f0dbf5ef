// How a program's text is put together.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "tautline/core/error.h"
#include "tautline/jit/folders.h"
#include "tautline/jit/program.h"
#include "tautline/jit/tunable.h"
#include "tests/jit/fake_device.h"
#include "tests/support/error_of.h"

namespace {

using namespace tautline;
using tests::Environment;

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(Defines, AreInOrderOfNameAndTheLastValueCounts) {
  jit::Defines a, b;
  a.set("TILE", 4).set("ALPHA", "float").set("TILE", -8);
  b.set("ALPHA", "float").set("TILE", -8);
  EXPECT_EQ(a.list(), (std::vector<std::string>{"ALPHA=float", "TILE=-8"}));
  EXPECT_EQ(a.list(), b.list());
}

TEST(KernelFiles, AreListedAndNotEmpty) {
  ASSERT_GE(jit::kernel_names().size(), 2u);
  for (const auto name : jit::kernel_names()) {
    EXPECT_FALSE(jit::kernel_text(name).empty()) << name;
    EXPECT_TRUE(name.ends_with(".kernel")) << name;
    EXPECT_GE(std::count(name.begin(), name.end(), '/'), 1) << name;
  }
  EXPECT_TRUE(jit::kernel_text("jit/none.kernel").empty());
}

// The files of the source tree are what plans compile and what wisdom is kept for.
TEST(KernelFiles, OfEachStageAreThoseOfItsFolder) {
  const std::filesystem::path stages =
      std::filesystem::path(TAUTLINE_SOURCE_DIR) / "tautline/stages";
  std::size_t found = 0;
  for (const auto& stage : std::filesystem::directory_iterator(stages)) {
    std::set<std::string> portable, all;
    for (const auto& file : std::filesystem::recursive_directory_iterator(stage)) {
      const std::string name = std::filesystem::relative(file, stages).string();
      if (!name.ends_with(".kernel")) continue;
      all.insert(name);
      if (!name.ends_with(".cuda.kernel")) portable.insert(name);
    }
    const auto listed = [&](device::Api api) {
      const auto names = jit::stage_kernels(api, stage.path().filename().string());
      return std::set<std::string>(names.begin(), names.end());
    };
    EXPECT_EQ(listed(device::Api::cuda), all) << stage;
    EXPECT_EQ(listed(device::Api::opencl), portable) << stage;
    found += all.size();
  }
  EXPECT_GT(found, 0u);
}

// A change of any kernel file of a stage makes what was tuned for the stage void.
TEST(TuningKey, HoldsForTheKernelFilesOfItsStage) {
  const tests::FakeDevice opencl, cuda(device::Api::cuda);
  const auto hash = [](const device::Device& device, const std::string& stage) {
    return jit::tuning_key(device, stage, "", {}).kernel_hash;
  };
  EXPECT_EQ(hash(opencl, "correlate"), hash(opencl, "correlate"));
  EXPECT_NE(hash(opencl, "correlate"), hash(opencl, "channelize"));
  EXPECT_NE(hash(opencl, "correlate"), hash(cuda, "correlate"));
  std::string text;
  for (const std::string_view name : jit::stage_kernels(opencl.api(), "correlate"))
    text += jit::make_source(opencl.api(), name, {}).text;
  EXPECT_EQ(hash(opencl, "correlate"),
            jit::tuning_key_of_text(opencl, "correlate", "", {}, text).kernel_hash);
}

TEST(Source, StartsWithTheDialectOfTheApi) {
  const auto cuda = jit::make_source(device::Api::cuda, "toy", "BODY\n", {});
  const auto opencl = jit::make_source(device::Api::opencl, "toy", "BODY\n", {});
  EXPECT_EQ(occurrences(cuda.text, "#define DIALECT_CUDA 1"), 1u);
  EXPECT_EQ(occurrences(cuda.text, "#define DIALECT_OPENCL 1"), 0u);
  EXPECT_EQ(occurrences(opencl.text, "#define DIALECT_OPENCL 1"), 1u);
  EXPECT_TRUE(opencl.text.ends_with("#line 1 \"toy\"\nBODY\n"));
  EXPECT_THROW(jit::make_source(device::Api::cpu, "toy", "BODY\n", {}), core::Error);
}

TEST(Source, IncludesAFileOnceAndKeepsLineNumbers) {
  const auto source = jit::make_source(device::Api::cuda, "toy",
                                       "one\n"
                                       "  # include \"jit/dialect_opencl.kernel\"\n"
                                       "three\n"
                                       "#include \"jit/dialect_opencl.kernel\"\n"
                                       "five",
                                       jit::Defines().set("N", 3));
  EXPECT_EQ(occurrences(source.text, "#define DIALECT_OPENCL 1"), 1u);
  EXPECT_EQ(occurrences(source.text, "#include"), 0u);
  EXPECT_EQ(occurrences(source.text, "#line 3 \"toy\"\nthree\n#line 5 \"toy\"\nfive\n"), 1u);
  EXPECT_EQ(source.defines, std::vector<std::string>{"N=3"});
  EXPECT_EQ(source.name, "toy");
}

TEST(Source, NamesTheIncludeThatIsNoKernelFile) {
  const core::Error error = tests::error_of(
      [&] { jit::make_source(device::Api::cuda, "toy", "\n#include \"toy/none.kernel\"\n", {}); });
  EXPECT_EQ(error.kind(), core::ErrorKind::config);
  EXPECT_NE(std::string(error.what()).find("toy, line 2"), std::string::npos) << error.what();
  EXPECT_NE(std::string(error.what()).find("toy/none.kernel"), std::string::npos);
  EXPECT_THROW(jit::make_source(device::Api::cuda, "correlate/none.kernel", {}), core::Error);
}

TEST(Folders, FollowTheVariablesInOrder) {
  const Environment home("HOME", "/h"), cache("XDG_CACHE_HOME", "/c"), data("XDG_DATA_HOME", "/d");
  {
    const Environment own("TAUTLINE_CACHE", "/own");
    EXPECT_EQ(jit::cache_folder(), "/own");
    EXPECT_EQ(jit::data_folder(), "/own");
  }
  const Environment none("TAUTLINE_CACHE", "");
  EXPECT_EQ(jit::cache_folder(), "/c/tautline");
  EXPECT_EQ(jit::data_folder(), "/d/tautline");
  const Environment relative("XDG_CACHE_HOME", "c"), empty("XDG_DATA_HOME", "");
  EXPECT_EQ(jit::cache_folder(), "/h/.cache/tautline");
  EXPECT_EQ(jit::data_folder(), "/h/.local/share/tautline");
  const Environment homeless("HOME", "");
  EXPECT_EQ(jit::cache_folder(), "");
}

}  // namespace
