// After a failure that a driver never forgets, plans refuse further work, and say why. In a process
// of its own: the driver refuses everything until it ends.
#include <gtest/gtest.h>

#include "tautline/core/error.h"
#include "tautline/stages/correlate/correlate.h"
#include "tests/faults/support.h"
#include "tests/support/environment.h"

namespace tautline::tests {
namespace {

constexpr const char* kDeviceVariable = "TAUTLINE_TEST_DEVICE";

// The message of the exception that `work` throws; empty when it throws none.
template <class Work>
std::string fault_of(const Work& work) {
  try {
    work();
    return {};
  } catch (const core::Error& error) {
    EXPECT_EQ(error.kind(), core::ErrorKind::device);
    return error.what();
  }
}

TEST(PlanAfterAFault, DISABLED_InAProcessOfItsOwn) {
  using stages::correlate::make_plan;
  const char* name = std::getenv(kDeviceVariable);
  ASSERT_NE(name, nullptr);
  const auto device = device::open(device::parse_selection(name));
  const auto plan = make_plan({.channels = 2, .inputs = 8, .max_samples = 64}, device);
  const auto queue = device->make_queue(), other = device->make_queue();
  const auto state = plan->make_state(*queue);
  const std::size_t baselines = core::baseline_count(8);
  std::vector<core::ci8> samples(2 * 8 * 64);
  std::vector<core::ci64> sums(2 * baselines);
  std::vector<std::int64_t> counts(2 * baselines);
  const auto execute = [&] {
    plan->execute(*queue, *state, stages::correlate::Samples<core::ci8>(samples.data(), {2, 8, 64}),
                  {}, {sums.data(), {2, baselines}}, {counts.data(), {2, baselines}});
    queue->synchronise();
  };
  const std::string first = fault_of(execute);
  EXPECT_NE(first.find("kernel "), std::string::npos) << first;
  const std::string refused = "refused after an earlier failure of the device, ";
  for (const std::string& later :
       {fault_of(execute), fault_of([&] { plan->make_state(*queue); }),
        fault_of([&] { other->synchronise(); }), fault_of([&] { device->allocate(16); }),
        fault_of([&] { device->allocate_pinned(16); })}) {
    EXPECT_NE(later.find(refused), std::string::npos) << later;
    EXPECT_NE(later.find("kernel ", later.find(refused)), std::string::npos) << later;
  }
}

class PlanAfterFault : public ::testing::TestWithParam<std::string> {};

TEST_P(PlanAfterFault, RefusesFurtherWork) {
  const ScratchFolder scratch;
  Variables variables = faulty(GetParam(), "trap * 1");
  variables.emplace_back(kDeviceVariable, selection(GetParam()));
  variables.emplace_back("TAUTLINE_CACHE", scratch / "cache");
  const CommandResult result =
      run_program(std::filesystem::read_symlink("/proc/self/exe"),
                  {"--gtest_filter=PlanAfterAFault.*", "--gtest_also_run_disabled_tests"},
                  scratch.path().string(), variables);
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("[  PASSED  ] 1 test."), std::string::npos) << result.out;
}

INSTANTIATE_TEST_SUITE_P(Devices, PlanAfterFault, ::testing::ValuesIn(faulty_devices()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace tautline::tests
