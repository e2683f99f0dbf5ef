// The program cache under real compilers: entries that were damaged are built again and run right,
// and processes that start at once do not disturb each other.
#include <gtest/gtest.h>

#include <filesystem>

#include "tautline/jit/program.h"
#include "tests/end_to_end/run_command.h"
#include "tests/jit/toy.h"
#include "tests/support/environment.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"

namespace {

using namespace tautline;
namespace fs = std::filesystem;

constexpr const char* kCacheDeviceVariable = "TAUTLINE_TEST_DEVICE";

// Builds the toy through the cache, runs it, and says whether its sums are right.
bool builds_and_runs(const std::string& name) {
  constexpr std::size_t kThreads = 16, kGroups = 5, kCount = kThreads * kGroups;
  const auto device = device::open(device::parse_selection(name));
  const auto queue = device->make_queue();
  const auto source =
      jit::make_source(device->api(), "toy/reduce.kernel", tests::kToyText,
                       jit::Defines().set("THREADS", kThreads).set("ITEMS", 1).set("TRAP", 0));
  const auto kernel = jit::build(*device, source)->kernel("reduce");
  auto random = tests::generator();
  std::vector<std::int32_t> values(kCount), sums(kGroups, -1), expected(kGroups);
  for (std::size_t k = 0; k < kCount; ++k)
    expected[k / kThreads] += values[k] = static_cast<std::int32_t>(random() % 1000);
  const device::Buffer in = device->allocate(kCount * 4), out = device->allocate(kGroups * 4);
  queue->copy(in.data(), values.data(), in.bytes());
  queue->run(*kernel, {.groups = {kGroups, 1, 1}, .threads = {kThreads, 1, 1}}, in.data(),
             out.data(), std::uint32_t{kCount});
  queue->copy(sums.data(), out.data(), out.bytes());
  queue->synchronise();
  return sums == expected;
}

TEST(DeviceCache, DISABLED_OneOfManyProcesses) {
  EXPECT_TRUE(builds_and_runs(std::getenv(kCacheDeviceVariable)));
}

class DeviceCache : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { SKIP_WITHOUT_GPU(GetParam()); }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "cache/programs"))
      files.push_back(entry.path());
    return files;
  }

  tests::ScratchFolder folder_;
  tests::Environment cache_{"TAUTLINE_CACHE", folder_ / "cache"};
};

TEST_P(DeviceCache, DamagedEntriesAreBuiltAgain) {
  ASSERT_TRUE(builds_and_runs(GetParam()));
  ASSERT_EQ(entries().size(), 1u);
  const fs::path entry = entries()[0];
  const std::string whole = tests::read_file(entry);
  auto random = tests::generator();
  for (int round = 0; round < 6; ++round) {
    std::string damaged = whole;
    if (round % 3 == 0)
      damaged.resize(random() % whole.size());
    else
      damaged[random() % whole.size()] ^= static_cast<char>(1 << random() % 8);
    tests::write_file(entry, damaged);
    ASSERT_TRUE(builds_and_runs(GetParam())) << "round " << round;
    ASSERT_EQ(entries().size(), 1u);
    // The file there now is another, complete one.
    ASSERT_TRUE(builds_and_runs(GetParam()));
    EXPECT_NE(tests::read_file(entry), damaged) << "round " << round;
  }
}

TEST_P(DeviceCache, ProcessesThatStartAtOnceShareIt) {
  constexpr int kProcesses = 4;
  std::vector<pid_t> processes;
  std::vector<std::string> folders;
  for (int p = 0; p < kProcesses; ++p) {
    folders.push_back(folder_ / std::to_string(p));
    fs::create_directory(folders.back());
    processes.push_back(
        tests::start_program(fs::read_symlink("/proc/self/exe"),
                             {"--gtest_filter=DeviceCache.*", "--gtest_also_run_disabled_tests"},
                             folders.back(), {{kCacheDeviceVariable, GetParam()}}));
  }
  for (int p = 0; p < kProcesses; ++p) {
    const auto result = tests::finish_command(processes[p], folders[p]);
    EXPECT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_NE(result.out.find("[  PASSED  ] 1 test."), std::string::npos) << result.out;
  }
  EXPECT_EQ(entries().size(), 1u);  // and nothing half-written beside it
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceCache, testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
