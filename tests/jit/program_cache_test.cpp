// Compiled programs on disk: found again, never trusted further than they read back.
#include "tautline/jit/program_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "tautline/core/error.h"
#include "tautline/jit/program.h"
#include "tests/jit/fake_device.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace {

using namespace tautline;
using tests::binary_of;
using tests::Environment;
using tests::FakeDevice;
namespace fs = std::filesystem;

device::ProgramSource toy(std::int64_t size = 3, const std::string& text = "BODY\n") {
  return jit::make_source(device::Api::opencl, "toy", text, jit::Defines().set("SIZE", size));
}

// Compiled and loaded when it returns.
std::shared_ptr<const device::Program> build(const device::Device& device,
                                             const device::ProgramSource& source) {
  auto program = jit::build(device, source);
  program->loaded();
  return program;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class BuildWithCache : public testing::Test {
 protected:
  tests::ScratchFolder folder_;
  Environment cache_{"TAUTLINE_CACHE", folder_ / "cache"};
  fs::path programs() const { return folder_.path() / "cache" / "programs"; }
};

TEST_F(BuildWithCache, CompilesOnceForAllProcesses) {
  const FakeDevice first, second;
  const auto a = build(first, toy());
  const auto b = build(second, toy());
  EXPECT_EQ(first.compiled, 1);
  EXPECT_EQ(second.compiled, 0);
  EXPECT_EQ(second.loaded, 1);
  EXPECT_EQ(binary_of(a), binary_of(b));
  EXPECT_EQ(files_in(programs()).size(), 1u);
}

TEST_F(BuildWithCache, SharesWhatSomebodyHolds) {
  const FakeDevice device;
  auto a = build(device, toy());
  EXPECT_EQ(build(device, toy()), a);
  EXPECT_EQ(device.loaded, 1);
  a.reset();
  const auto again = build(device, toy());
  EXPECT_EQ(device.loaded, 2);
  EXPECT_EQ(device.compiled, 1);
}

TEST_F(BuildWithCache, TellsApartWhateverChangesTheBinary) {
  FakeDevice device;
  std::vector<std::shared_ptr<const device::Program>> held;
  int expected = 0;
  const auto build_anew = [&](const device::ProgramSource& source, const char* what) {
    held.push_back(build(device, source));
    EXPECT_EQ(device.compiled, ++expected) << what;
  };
  build_anew(toy(), "first");
  build_anew(toy(4), "definition");
  build_anew(toy(3, "OTHER\n"), "text");
  auto source = toy();
  source.options = {"-fast"};
  build_anew(source, "option");
  // An option is no definition, nor are two the one that they make together.
  source = toy();
  source.options = {"SIZE=3"};
  source.defines.clear();
  build_anew(source, "option for definition");
  source.options = {"-fast -more"};
  build_anew(source, "one option");
  source.options = {"-fast", "-more"};
  build_anew(source, "two options");
  device.properties_value.architecture = "sm_01";
  build_anew(toy(), "architecture");
  device.compiler_value = "fakec 2";
  build_anew(toy(), "compiler");
  device.properties_value.driver = "2.0";
  build_anew(toy(), "driver");
  device.properties_value.product = "Fake 2";
  build_anew(toy(), "product");
  const FakeDevice cuda(device::Api::cuda);
  build(cuda, toy());
  EXPECT_EQ(cuda.compiled, 1);
}

TEST_F(BuildWithCache, RebuildsAnEntryThatWasDamagedAnywhere) {
  { build(FakeDevice(), toy()); }
  const fs::path entry = files_in(programs()).at(0);
  const std::string whole = read(entry);
  auto random = tests::generator();
  for (std::size_t at = 0; at < whole.size(); at = at < 64 ? at + 1 : at + 1 + random() % 97) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    write(entry, damaged);
    const FakeDevice device;
    ASSERT_NE(build(device, toy()), nullptr);
    ASSERT_EQ(device.compiled, 1) << "byte " << at;
    ASSERT_EQ(read(entry), whole) << "byte " << at;
  }
  for (std::size_t size = 0; size < whole.size(); size += 1 + random() % 97) {
    write(entry, whole.substr(0, size));
    const FakeDevice device;
    build(device, toy());
    ASSERT_EQ(device.compiled, 1) << size << " bytes left";
  }
  write(entry, whole + "x");
  const FakeDevice longer, healed;
  build(longer, toy());
  EXPECT_EQ(longer.compiled, 1);
  build(healed, toy());
  EXPECT_EQ(healed.compiled, 0);
}

TEST_F(BuildWithCache, ComparesTheWholeKeyNotItsHash) {
  const jit::ProgramCache cache(folder_.path());
  const std::vector<std::byte> binary(100, std::byte{7});
  ASSERT_EQ(cache.store("key a", binary), "");
  fs::rename(cache.path("key a"), cache.path("key b"));
  EXPECT_FALSE(cache.find("key b"));
  EXPECT_FALSE(cache.find("key a"));
  fs::rename(cache.path("key b"), cache.path("key a"));
  EXPECT_EQ(cache.find("key a"), binary);
}

TEST_F(BuildWithCache, DropsWhatWasNotUsedForLongest) {
  const jit::ProgramCache cache(folder_.path() / "small", 3500);
  const std::vector<std::byte> binary(1000, std::byte{7});
  const auto aged = [&](const char* key, int hours) {
    fs::last_write_time(cache.path(key),
                        fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  for (const char* key : {"a", "b", "c"}) ASSERT_EQ(cache.store(key, binary), "");
  aged("a", 3);
  aged("b", 2);
  aged("c", 1);
  EXPECT_TRUE(cache.find("a"));  // of use now
  ASSERT_EQ(cache.store("d", binary), "");
  EXPECT_FALSE(cache.find("b"));
  for (const char* key : {"a", "c", "d"}) EXPECT_TRUE(cache.find(key)) << key;
}

TEST_F(BuildWithCache, CompilesAgainWhenTheDriverRefusesABinary) {
  { build(FakeDevice(), toy()); }
  FakeDevice device;
  device.refuses_binaries = true;
  EXPECT_NE(build(device, toy()), nullptr);
  EXPECT_EQ(device.compiled, 1);
}

TEST_F(BuildWithCache, WithoutAFolderItCompilesEachTimeAndWarnsOnce) {
  write(folder_ / "file", "");
  const Environment no_folder("TAUTLINE_CACHE", folder_ / "file");
  const FakeDevice device;
  std::vector<std::string> warnings;
  device.shared().set_log([&](core::LogLevel level, const std::string& text) {
    if (level == core::LogLevel::warning) warnings.push_back(text);
  });
  build(device, toy());
  build(device, toy());
  EXPECT_EQ(device.compiled, 2);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find(folder_ / "file"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("TAUTLINE_CACHE"), std::string::npos) << warnings[0];
}

TEST_F(BuildWithCache, ErrorsNameTheKernelFileAndItsDefinitions) {
  const FakeDevice device;
  const core::Error error = tests::error_of([&] { build(device, toy(12, "#error\n")); });
  EXPECT_EQ(error.kind(), core::ErrorKind::device);
  EXPECT_NE(std::string(error.what()).find("kernel file toy with SIZE=12"), std::string::npos)
      << error.what();
  EXPECT_NE(std::string(error.what()).find("error: refused"), std::string::npos) << error.what();
  EXPECT_FALSE(fs::exists(programs()));
}

TEST_F(BuildWithCache, UncachedLeavesNothingBehind) {
  const FakeDevice device;
  const auto a = jit::build_uncached(device, toy()), b = jit::build_uncached(device, toy());
  EXPECT_NE(a, b);
  EXPECT_EQ(device.compiled, 2);
  EXPECT_FALSE(fs::exists(programs()));
}

// Several store and read the same few entries; no one may see anything but a whole entry, and
// nothing half-written may stay.
int wrong_programs() {
  static const std::string big(200'000, 'x');
  int wrong = 0;
  for (int round = 0; round < 12; ++round) {
    const FakeDevice device;
    const std::string text = big + std::to_string(round % 3) + "\n";
    const auto program = build(device, toy(round % 3, text));
    wrong += binary_of(program) != "serial 1\n" + toy(round % 3, text).text;
  }
  return wrong;
}

TEST_F(BuildWithCache, IsSafeAmongProcesses) {
  std::vector<pid_t> children;
  for (int p = 0; p < 16; ++p) {
    const pid_t pid = fork();
    if (pid == 0) _exit(wrong_programs());
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files_in(programs()).size(), 3u);
}

TEST_F(BuildWithCache, IsSafeAmongThreads) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) threads.emplace_back([&] { wrong += wrong_programs(); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(files_in(programs()).size(), 3u);
}

// A compilation waits until it may go on: no call waits for another's compilation, a kernel does.
TEST_F(BuildWithCache, CompilesSideBySide) {
  FakeDevice device;
  std::promise<void> go;
  device.may_compile = go.get_future().share();
  const auto a = jit::build(device, toy(1)), b = jit::build(device, toy(2, "#error\n"));
  EXPECT_EQ(jit::build(device, toy(1)), a);
  const auto kernel = b->kernel("k");
  EXPECT_EQ(kernel->name(), "k");
  while (device.compiled < 2) std::this_thread::yield();
  EXPECT_EQ(device.loaded, 0);
  go.set_value();
  EXPECT_THROW(kernel->resources(), core::Error);
  EXPECT_THROW(kernel->resources(), core::Error);  // again
  EXPECT_THROW(device.shared().wait_for_programs(), core::Error);
  a->loaded();
  EXPECT_EQ(device.loaded, 1);
}

TEST_F(BuildWithCache, ThreadsOfOneDeviceShareOneProgram) {
  const FakeDevice device;
  std::vector<std::shared_ptr<const device::Program>> programs_seen(8);
  std::vector<std::thread> threads;
  for (auto& program : programs_seen) threads.emplace_back([&] { program = build(device, toy()); });
  for (auto& thread : threads) thread.join();
  for (const auto& program : programs_seen) EXPECT_EQ(program, programs_seen[0]);
}

}  // namespace
