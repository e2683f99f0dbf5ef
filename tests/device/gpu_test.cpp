// The contract of devices that compile, on every such device here.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <random>
#include <vector>

#include "tautline/core/error.h"
#include "tests/support/error_of.h"
#include "tests/support/gpus.h"
#include "tests/support/seed.h"

namespace tautline::device {
namespace {

// In each api's own language: the kernel dialect belongs to the layer above.
constexpr const char* kCuda = R"(
extern "C" __global__ void scale(const int* from, int* to, int factor, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i] * factor + OFFSET;
}
extern "C" __global__ void trap(int* to) { asm volatile("trap;"); to[0] = 1; }
)";
constexpr const char* kOpencl = R"(
__kernel void scale(__global const uchar* from_memory, ulong from_offset, __global uchar* to_memory,
                    ulong to_offset, int factor, uint count) {
  __global const int* from = (__global const int*)(from_memory + from_offset);
  __global int* to = (__global int*)(to_memory + to_offset);
  const uint i = get_global_id(0);
  if (i < count) to[i] = from[i] * factor + OFFSET;
}
)";

ProgramSource source(const Device& device) {
  return {"test.kernel", device.api() == Api::cuda ? kCuda : kOpencl, {"OFFSET=5"}, {}};
}

class Gpu : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device = open(parse_selection(GetParam()));
    queue = device->make_queue();
  }
  std::shared_ptr<const Device> device;
  std::unique_ptr<Queue> queue;
};

TEST_P(Gpu, SaysWhatItIs) {
  const Properties& p = device->properties();
  EXPECT_FALSE(p.product.empty());
  EXPECT_GT(p.multiprocessors, 0u);
  EXPECT_GE(p.local_bytes, 16u << 10);
  EXPECT_GE(p.max_group_threads, 64u);
  EXPECT_GT(device->free_bytes(), 0u);
  EXPECT_LE(device->free_bytes(), p.total_bytes);
  EXPECT_TRUE(device->compiles());
  EXPECT_NE(device->name().find(GetParam()), std::string::npos);
}

TEST_P(Gpu, CopiesEveryWay) {
  auto random = tests::generator();
  std::uniform_int_distribution<int> byte(0, 255);
  for (const std::size_t bytes : {1u, 3u, 4096u, 100001u}) {
    Buffer host = device->allocate_pinned(bytes), back(bytes);
    for (std::size_t k = 0; k < bytes; ++k)
      host.as<std::uint8_t>()[k] = static_cast<std::uint8_t>(byte(random));
    const Buffer first = device->allocate(bytes + 7), second = device->allocate(bytes);
    EXPECT_TRUE(device->holds(first.data()));
    EXPECT_TRUE(device->holds(first.as<std::byte>() + bytes - 1));
    EXPECT_FALSE(device->holds(host.data()));
    EXPECT_FALSE(device->holds(back.data()));
    std::byte* odd = first.as<std::byte>() + 7;  // addresses inside an allocation work
    queue->copy(odd, host.data(), bytes);
    queue->copy(second.data(), odd, bytes);
    queue->copy(back.data(), second.data(), bytes);
    queue->synchronise();
    EXPECT_EQ(std::memcmp(back.data(), host.data(), bytes), 0);
    queue->fill(second.data(), 0xA5, bytes);
    queue->copy(back.data(), second.data(), bytes);
    queue->synchronise();
    for (std::size_t k = 0; k < bytes; ++k) ASSERT_EQ(back.as<std::uint8_t>()[k], 0xA5);
  }
}

TEST_P(Gpu, CopiesRows) {
  const std::size_t rows = 5, row_bytes = 13, from_stride = 17, to_stride = 29;
  Buffer host(rows * from_stride), back(rows * to_stride);
  for (std::size_t k = 0; k < host.bytes(); ++k)
    host.as<std::uint8_t>()[k] = static_cast<std::uint8_t>(k + 1);
  const Buffer memory = device->allocate(rows * to_stride);
  queue->fill(memory.data(), 0, memory.bytes());
  queue->copy_rows(memory.data(), to_stride, host.data(), from_stride, row_bytes, rows);
  queue->copy(back.data(), memory.data(), back.bytes());
  queue->synchronise();
  for (std::size_t k = 0; k < back.bytes(); ++k) {
    const std::size_t row = k / to_stride, column = k % to_stride;
    ASSERT_EQ(back.as<std::uint8_t>()[k],
              column < row_bytes ? host.as<std::uint8_t>()[row * from_stride + column] : 0);
  }
}

TEST_P(Gpu, RunsACompiledKernel) {
  const std::vector<std::byte> binary = device->compile(source(*device));
  const auto program = device->load("test.kernel", binary);
  const auto kernel = program->kernel("scale");
  EXPECT_EQ(kernel->name(), "scale");
  EXPECT_GE(kernel->resources().max_group_threads, 32u);
  EXPECT_THROW(program->kernel("missing"), core::Error);
  const std::size_t count = 1000, skip = 16;
  std::vector<std::int32_t> host(count + skip);
  auto random = tests::generator();
  for (auto& value : host) value = static_cast<std::int32_t>(random() % 1000);
  const Buffer from = device->allocate(host.size() * 4), to = device->allocate(host.size() * 4);
  queue->copy(from.data(), host.data(), from.bytes());
  queue->fill(to.data(), 0xFF, to.bytes());
  const Argument arguments[] = {from.as<std::int32_t>() + skip, to.as<std::int32_t>() + skip,
                                std::int32_t{-3}, static_cast<std::uint32_t>(count)};
  queue->launch(*kernel, {.groups = {(count + 31) / 32, 1, 1}, .threads = {32, 1, 1}}, arguments);
  std::vector<std::int32_t> result(host.size());
  queue->copy(result.data(), to.data(), to.bytes());
  queue->synchronise();
  for (std::size_t k = 0; k < result.size(); ++k)
    ASSERT_EQ(result[k], k < skip ? -1 : host[k] * -3 + 5) << k;
}

TEST_P(Gpu, OrdersQueuesByEvents) {
  const std::size_t bytes = 16 << 20;
  const Buffer memory = device->allocate(bytes);
  Buffer host = device->allocate_pinned(bytes);
  const auto other = device->make_queue();
  const auto first = device->make_event(), second = device->make_event();
  first->synchronise();  // never recorded: nothing to wait for
  for (int value = 1; value < 4; ++value) {
    queue->record(*first);
    queue->fill(memory.data(), static_cast<std::uint8_t>(value), bytes);
    queue->record(*second);
    other->wait(*second);
    other->copy(host.data(), memory.data(), bytes);
    other->synchronise();
    EXPECT_EQ(host.as<std::uint8_t>()[0], value);
    EXPECT_EQ(host.as<std::uint8_t>()[bytes - 1], value);
    EXPECT_GT(device->seconds_between(*first, *second), 0);
    EXPECT_LT(device->seconds_between(*first, *second), 60);
  }
}

TEST_P(Gpu, TransformsAnyLength) {
  auto random = tests::generator();
  std::normal_distribution<float> normal;
  for (const std::size_t n : {2u, 7u, 64u, 96u, 1000u}) {
    const std::size_t batch = 3, skip = 8;  // values before the data
    std::vector<std::complex<float>> in((n * batch) + skip), out(in.size());
    for (auto& value : in) value = {normal(random), normal(random)};
    std::shared_ptr<const FftPlan> plan;
    try {
      plan = device->make_fft(n, batch);
    } catch (const core::Error& error) {
      if (error.kind() == core::ErrorKind::unsupported) GTEST_SKIP() << error.what();
      throw;
    }
    const Buffer memory = device->allocate(in.size() * sizeof in[0]);
    queue->copy(memory.data(), in.data(), memory.bytes());
    plan->execute(*queue, memory.as<std::complex<float>>() + skip);
    queue->copy(out.data(), memory.data(), memory.bytes());
    queue->synchronise();
    for (std::size_t k = 0; k < skip; ++k) EXPECT_EQ(out[k], in[k]);
    for (std::size_t b = 0; b < batch; ++b)
      for (std::size_t k = 0; k < n; ++k) {
        std::complex<double> sum = 0;
        for (std::size_t t = 0; t < n; ++t)
          sum += std::complex<double>(in[skip + b * n + t]) *
                 std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k * t % n) /
                                     static_cast<double>(n));
        ASSERT_NEAR(std::abs(sum - std::complex<double>(out[skip + b * n + k])), 0, 1e-3)
            << n << " " << k;
      }
  }
}

TEST_P(Gpu, SaysHowMuchMemoryIsMissing) {
  const auto limited =
      open(parse_selection(GetParam()), {.threads = 1, .device_memory_bytes = 1 << 20, .log = {}});
  const Buffer held = limited->allocate(700 << 10);
  EXPECT_LE(limited->free_bytes(), (1u << 20) - (700u << 10));
  const core::Error error = tests::error_of([&] { limited->allocate(400 << 10); });
  EXPECT_EQ(error.kind(), core::ErrorKind::memory);
  EXPECT_NE(std::string(error.what()).find("0.4 MiB needed"), std::string::npos) << error.what();
  EXPECT_NE(std::string(error.what()).find("0.3 MiB"), std::string::npos) << error.what();
  EXPECT_NE(std::string(error.what()).find("memory_bytes"), std::string::npos) << error.what();
}

TEST_P(Gpu, ExplainsTextThatDoesNotCompile) {
  ProgramSource wrong = source(*device);
  wrong.name = "wrong.kernel";
  wrong.text += "\nthis is no program\n";
  const core::Error error = tests::error_of([&] { device->compile(wrong); });
  EXPECT_EQ(error.kind(), core::ErrorKind::device);
  EXPECT_NE(std::string(error.what()).find("wrong.kernel"), std::string::npos) << error.what();
}

TEST_P(Gpu, RefusesHostAddressesInKernels) {
  const auto kernel =
      device->load("test.kernel", device->compile(source(*device)))->kernel("scale");
  if (device->api() != Api::opencl) GTEST_SKIP() << "CUDA finds out when the kernel runs";
  std::int32_t host = 0;
  const Argument arguments[] = {&host, &host, std::int32_t{1}, std::uint32_t{1}};
  EXPECT_THROW(queue->launch(*kernel, {}, arguments), core::Error);
}

// 7 when the trap was named and later work refused. For a process of its own: the driver never forgets.
int exit_status_after_a_trap(const std::string& name) {
  const auto device = open(parse_selection(name));
  const auto queue = device->make_queue();
  const auto kernel = device->load("test.kernel", device->compile(source(*device)))->kernel("trap");
  const Buffer memory = device->allocate(4);
  const Argument arguments[] = {memory.data()};
  bool named = false, refused = false;
  try {
    queue->launch(*kernel, {}, arguments);
    queue->synchronise();
  } catch (const core::Error& error) {
    named = std::string(error.what()).find("trap of test.kernel") != std::string::npos;
  }
  try {
    queue->fill(memory.data(), 0, 4);
  } catch (const core::Error& error) {
    refused =
        std::string(error.what()).find("refused after an earlier failure") != std::string::npos;
  }
  return named && refused ? 7 : 1;
}

TEST_P(Gpu, RefusesWorkAfterATrap) {
  if (device->api() != Api::cuda) GTEST_SKIP() << "only CUDA kernels can trap on purpose";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(exit_status_after_a_trap(GetParam())), ::testing::ExitedWithCode(7), "");
}

INSTANTIATE_TEST_SUITE_P(Devices, Gpu, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::device
