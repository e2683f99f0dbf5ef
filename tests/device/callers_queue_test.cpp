// The caller's memory, and the caller's OpenCL queue and memory objects.
#include "tests/support/callers_queue.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tautline/core/error.h"
#include "tests/support/error_of.h"
#include "tests/support/gpus.h"

namespace tautline::device {
namespace {

TEST(BorrowedBuffer, IsTheCallersMemory) {
  std::vector<float> samples(100);
  {
    const Buffer borrowed = Buffer::borrow(samples.data() + 1, 99 * sizeof(float));
    EXPECT_EQ(borrowed.as<float>(), samples.data() + 1);
    EXPECT_EQ(borrowed.bytes(), 99 * sizeof(float));
    borrowed.as<float>()[98] = 7;
  }
  EXPECT_EQ(samples.back(), 7);
}

TEST(BorrowedBuffer, KeepsItsOwnerUntilItGoes) {
  auto owner = std::make_shared<std::vector<int>>(10, 3);
  const std::weak_ptr<std::vector<int>> watched = owner;
  int* data = owner->data();
  Buffer borrowed = Buffer::borrow(data, 40, std::move(owner));
  Buffer moved = std::move(borrowed);
  EXPECT_EQ(borrowed.data(), nullptr);
  ASSERT_FALSE(watched.expired());
  EXPECT_EQ(moved.as<int>()[9], 3);
  moved = Buffer();
  EXPECT_TRUE(watched.expired());
}

constexpr const char* kTwice = R"(
__kernel void twice(__global uchar* memory, ulong offset, uint count) {
  __global int* values = (__global int*)(memory + offset);
  const uint i = get_global_id(0);
  if (i < count) values[i] = 2 * values[i] + 1;
}
)";

class CallersGpuQueue : public ::testing::Test {
 protected:
  void SetUp() override {
    if (opencl::device_count() == 0) GTEST_SKIP() << "no OpenCL device (pocl-opencl-icd) here";
  }
};

// The caller writes, tautline computes, the caller changes the result, tautline computes again: in
// this order without anybody waiting in between.
TEST_F(CallersGpuQueue, RunsKernelsInTurnWithTheCallersCommands) {
  tests::CallersQueue caller(0);
  const std::size_t count = 100'000, bytes = count * sizeof(cl_int);
  std::vector<cl_int> values(count), doubled(count), result(count);
  std::iota(values.begin(), values.end(), -5);
  cl_mem memory = clCreateBuffer(caller.context, CL_MEM_READ_WRITE, bytes, nullptr, nullptr);
  cl_mem copy = clCreateBuffer(caller.context, CL_MEM_READ_WRITE, bytes, nullptr, nullptr);
  {
    const auto device = opencl::open_for(caller.queue);
    EXPECT_EQ(device->api(), Api::opencl);
    const auto queue = opencl::wrap_queue(*device, caller.queue);
    const Buffer shared = opencl::wrap_memory(*device, memory);
    EXPECT_EQ(shared.bytes(), bytes);
    EXPECT_TRUE(device->holds(shared.data()));
    const auto program =
        device->load("test.kernel", device->compile({"test.kernel", kTwice, {}, {}}));
    const auto kernel = program->kernel("twice");
    const Argument arguments[] = {shared.as<std::int32_t>(), static_cast<std::uint32_t>(count)};
    const LaunchShape shape{.groups = {(count + 31) / 32, 1, 1}, .threads = {32, 1, 1}};
    ASSERT_EQ(clEnqueueWriteBuffer(caller.queue, memory, CL_FALSE, 0, bytes, values.data(), 0,
                                   nullptr, nullptr),
              CL_SUCCESS);
    queue->launch(*kernel, shape, arguments);
    clEnqueueCopyBuffer(caller.queue, memory, copy, 0, 0, bytes, 0, nullptr, nullptr);
    queue->launch(*kernel, shape, arguments);
    clEnqueueReadBuffer(caller.queue, copy, CL_FALSE, 0, bytes, doubled.data(), 0, nullptr,
                        nullptr);
    queue->copy(result.data(), shared.data(), bytes);
    queue->synchronise();
  }
  for (std::size_t k = 0; k < count; ++k) {
    ASSERT_EQ(doubled[k], 2 * values[k] + 1) << k;
    ASSERT_EQ(result[k], 4 * values[k] + 3) << k;
  }
  // Both are the caller's still.
  EXPECT_EQ(clReleaseMemObject(copy), CL_SUCCESS);
  EXPECT_EQ(clReleaseMemObject(memory), CL_SUCCESS);
}

TEST_F(CallersGpuQueue, MayBeReleasedByTheCallerFirst) {
  std::shared_ptr<const Device> device;
  std::unique_ptr<Queue> first, second;
  {
    tests::CallersQueue caller(0);
    device = opencl::open_for(caller.queue);
    const cl_uint before = caller.references();
    first = opencl::wrap_queue(*device, caller.queue);
    EXPECT_EQ(caller.references(), before + 1);
    first.reset();
    EXPECT_EQ(caller.references(), before);
    first = opencl::wrap_queue(*device, caller.queue);
    second = opencl::wrap_queue(*device, caller.queue);
  }
  first.reset();
  const Buffer memory = device->allocate(64);
  Buffer host(64);
  second->fill(memory.data(), 0x5A, 64);
  second->copy(host.data(), memory.data(), 64);
  second->synchronise();
  EXPECT_EQ(host.as<std::uint8_t>()[63], 0x5A);
}

TEST_F(CallersGpuQueue, RefusesWhatItCannotWrap) {
  tests::CallersQueue caller(0), other(0);
  const auto device = opencl::open_for(caller.queue), cpu = open({});
  EXPECT_THROW(opencl::open_for(nullptr), core::Error);
  EXPECT_THROW(opencl::wrap_queue(*device, nullptr), core::Error);
  EXPECT_THROW(opencl::wrap_queue(*cpu, caller.queue), core::Error);
  const core::Error error = tests::error_of([&] { opencl::wrap_queue(*device, other.queue); });
  EXPECT_EQ(error.kind(), core::ErrorKind::config);
  EXPECT_NE(std::string(error.what()).find("another context"), std::string::npos);
  EXPECT_THROW(opencl::wrap_memory(*device, nullptr), core::Error);
  cl_mem foreign = clCreateBuffer(other.context, CL_MEM_READ_WRITE, 16, nullptr, nullptr);
  EXPECT_THROW(opencl::wrap_memory(*device, foreign), core::Error);
  EXPECT_EQ(clReleaseMemObject(foreign), CL_SUCCESS);
  tests::CallersQueue unordered(0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  if (unordered.queue != nullptr) {
    const auto opened = opencl::open_for(unordered.queue);
    EXPECT_THROW(opencl::wrap_queue(*opened, unordered.queue), core::Error);
  }
}

}  // namespace
}  // namespace tautline::device
