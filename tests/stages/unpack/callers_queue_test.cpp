// A stage on the queue, the context and the memory of a program that uses OpenCL by itself.
#include "tests/support/callers_queue.h"

#include <gtest/gtest.h>

#include "tautline/stages/unpack/case_run.h"
#include "tests/support/gpus.h"
#include "tests/support/seed.h"

namespace tautline::stages::unpack {
namespace {

// The caller poisons its memory object, the stage fills it, the caller copies it: nobody waits in
// between.
TEST(CallersGpuQueue, RunsAStageInTurnWithTheCallersCommands) {
  if (device::opencl::device_count() == 0)
    GTEST_SKIP() << "no OpenCL device (pocl-opencl-icd) here";
  auto random = tests::generator();
  const Case c{"", core::kCi8, 1, 37, 1, "TA", 150};
  const core::RawBlock block = make_block(c, random, false);
  const std::size_t inputs = 37, bytes = inputs * c.samples * sizeof(core::ci8);
  const auto view = [&](void* data) {
    return core::MutableSampleView<3>(data, core::SampleType::ci8, {1, inputs, c.samples});
  };
  std::vector<std::byte> got(bytes), later(bytes);
  core::ValidityMask valid(inputs, c.samples);
  const auto reference = device::open(device::parse_selection("reference"));
  CaseRun oracle(c.config(), block, reference);
  const auto expected = jit::results_of(oracle, make_plan(c.config(), reference));

  tests::CallersQueue caller(0);
  cl_mem memory = clCreateBuffer(caller.context, CL_MEM_READ_WRITE, bytes, nullptr, nullptr);
  {
    const auto device = device::opencl::open_for(caller.queue);
    const auto queue = device::opencl::wrap_queue(*device, caller.queue);
    const device::Buffer rows = device::opencl::wrap_memory(*device, memory);
    const auto plan = make_plan(c.config(), device);
    const auto state = plan->make_state(*queue);
    const cl_uchar poison = 0xA5, zero = 0;
    clEnqueueFillBuffer(caller.queue, memory, &poison, 1, 0, bytes, 0, nullptr, nullptr);
    plan->execute(*queue, *state, block, view(rows.data()), valid.mutable_view());
    clEnqueueReadBuffer(caller.queue, memory, CL_FALSE, 0, bytes, got.data(), 0, nullptr, nullptr);
    clEnqueueFillBuffer(caller.queue, memory, &zero, 1, 0, bytes, 0, nullptr, nullptr);
    queue->copy(later.data(), rows.data(), bytes);
    queue->synchronise();
  }
  EXPECT_TRUE(got == expected);
  EXPECT_EQ(later, std::vector<std::byte>(bytes));
  EXPECT_EQ(clReleaseMemObject(memory), CL_SUCCESS);
}

}  // namespace
}  // namespace tautline::stages::unpack
