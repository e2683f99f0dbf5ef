// TAUTLINE_CPU: what it caps, what it leaves, and which values it refuses.
#include "tautline/device/cpu/processor_cap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tests/support/environment.h"
#include "tests/support/error_of.h"

namespace tautline::device::cpu {
namespace {

using tests::Environment;

constexpr const char* kVariable = "TAUTLINE_CPU";
constexpr InstructionSet kSets[] = {InstructionSet::portable, InstructionSet::avx2,
                                    InstructionSet::avx512, InstructionSet::vnni,
                                    InstructionSet::amx};

// As without the variable, which may be set around the whole test.
std::vector<InstructionSet> supported_here() {
  const Environment none(kVariable, "");
  std::vector<InstructionSet> sets;
  for (const InstructionSet set : kSets)
    if (supported(set)) sets.push_back(set);
  return sets;
}

std::size_t cores_here() {
  const Environment none(kVariable, "");
  return cores();
}

std::size_t workers(std::size_t asked) {
  return open({}, {.threads = asked})->make_queue()->workers();
}

TEST(ProcessorCap, LeavesWhatIsNoHigher) {
  const std::vector<InstructionSet> here = supported_here();
  for (const InstructionSet cap : kSets) {
    const Environment variable(kVariable, std::string(to_string(cap)));
    EXPECT_EQ(processor_cap().set, cap);
    InstructionSet best = InstructionSet::portable;
    for (const InstructionSet set : kSets) {
      const bool expected = set <= cap && std::find(here.begin(), here.end(), set) != here.end();
      EXPECT_EQ(supported(set), expected) << to_string(set) << " below " << to_string(cap);
      if (expected) best = set;
    }
    EXPECT_EQ(best_instruction_set(), best);
    EXPECT_EQ(open({})->instruction_set(), best);
    EXPECT_EQ(cores(), cores_here());
  }
}

TEST(ProcessorCap, RefusesAForcedSetAboveIt) {
  const Environment variable(kVariable, "portable");
  EXPECT_EQ(parse_selection("cpu:portable").instruction_set, InstructionSet::portable);
  for (const char* name : {"cpu:avx2", "cpu:avx512", "cpu:vnni", "cpu:amx"}) {
    const core::Error error = tests::error_of([&] { parse_selection(name); });
    EXPECT_EQ(error.kind(), core::ErrorKind::unsupported);
    EXPECT_EQ(error.value(), name);
    EXPECT_NE(error.advice().find("cpu:portable"), std::string::npos) << error.what();
  }
}

TEST(ProcessorCap, CapsTheCores) {
  const std::size_t all = cores_here();
  for (const std::size_t cap : {std::size_t{1}, std::size_t{2}, all, all + 1}) {
    const Environment variable(kVariable, "avx2:" + std::to_string(cap));
    EXPECT_EQ(processor_cap().cores, cap);
    EXPECT_EQ(cores(), std::min(cap, all));
    for (const std::size_t asked : {std::size_t{0}, std::size_t{1}, all, all + 7})
      EXPECT_EQ(workers(asked), std::min({asked == 0 ? all : asked, cap, all}))
          << asked << " of " << cap;
  }
}

TEST(ProcessorCap, RefusesOtherValuesAndSaysWhatIsAllowed) {
  for (const char* value :
       {"sse9", "AVX2", " avx2", "avx2 ", "avx2:", "avx2:0", "avx2:-1", "avx2:two", "avx2:1x",
        "avx2:1:1", ":1", "2", "cpu:avx2", "avx2:99999999999999999999"}) {
    const Environment variable(kVariable, value);
    const core::Error error = tests::error_of([&] { supported(InstructionSet::portable); });
    EXPECT_EQ(error.kind(), core::ErrorKind::config);
    EXPECT_EQ(error.field(), kVariable);
    EXPECT_EQ(error.value(), value);
    for (const InstructionSet set : kSets)
      EXPECT_NE(error.limit().find(to_string(set)), std::string::npos) << error.what();
    EXPECT_NE(error.limit().find("avx2:1"), std::string::npos) << error.what();
    EXPECT_THROW(best_instruction_set(), core::Error) << value;
    EXPECT_THROW(cores(), core::Error) << value;
    EXPECT_THROW(open({}), core::Error) << value;
  }
}

}  // namespace
}  // namespace tautline::device::cpu
