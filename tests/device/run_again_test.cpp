// A test program that PoCL ended is started once more (tests/support/run_again.cpp), and no other.
#include <gtest/gtest.h>

#include <cstdlib>

// Of the C library; <assert.h> has it only where NDEBUG is not set.
extern "C" [[noreturn]] void __assert_fail(const char* assertion, const char* file, unsigned line,
                                           const char* function) noexcept;

namespace tautline::tests {
namespace {

// PoCL fails as often as it is run, or at the first run only.
[[noreturn]] void fail_in(const char* function) {
  __assert_fail("found", "common.c", 1, function);
}
[[noreturn]] void fail_first_in(const char* function) {
  if (std::getenv("TAUTLINE_SECOND_RUN") != nullptr) std::_Exit(7);
  fail_in(function);
}

class RunAgain : public ::testing::Test {
 protected:
  // Each death is that of a process of its own, which is started with arguments of its own.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(RunAgain, WherePoclEndedTheProgram) {
  EXPECT_EXIT(fail_first_in("pocl_release_dlhandle_cache"), ::testing::ExitedWithCode(7),
              "Assertion `found' failed(.|\n)*run once more, since PoCL");
}

TEST_F(RunAgain, OnceOnly) {
  EXPECT_EXIT(fail_in("pocl_release_dlhandle_cache"), ::testing::KilledBySignal(SIGABRT),
              "run once more(.|\n)*pocl_release_dlhandle_cache: Assertion");
}

TEST_F(RunAgain, NotForAnyOtherAssertion) {
  EXPECT_EXIT(fail_first_in("release"), ::testing::KilledBySignal(SIGABRT),
              "common.c:1: release: Assertion `found' failed.\n$");
}

}  // namespace
}  // namespace tautline::tests
