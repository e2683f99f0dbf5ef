// The devices that compile kernels at run time and are here: each OpenCL device (PoCL makes one of
// the CPU) and each NVIDIA GPU. Tests run on every one of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/device/cuda/cuda_device.h"
#include "tautline/device/device.h"
#include "tautline/device/opencl/opencl_device.h"

namespace tautline::tests {

/// Whether GoogleTest is listing its tests for a process that will run one, as CTest starts them, whose name has no
/// device in it.
inline bool lists_for_a_test_without_gpu() {
  const std::string& filter = GTEST_FLAG_GET(filter);
  const auto has = [&](const char* word) { return filter.find(word) != std::string::npos; };
  return ::testing::UnitTest::GetInstance()->current_test_info() == nullptr && !filter.empty() &&
         filter.find_first_of("*?:-") == std::string::npos && !has("opencl") && !has("cuda");
}

/// "opencl:0", "cuda:0" ...; "none" when there is nothing, so that a test says what it skips, and where GoogleTest
/// needs no names of devices: PoCL takes 0.05 s to start, many tests less.
inline std::vector<std::string> gpu_names() {
  if (lists_for_a_test_without_gpu()) return {"none"};
  std::vector<std::string> names;
  for (unsigned n = 0; n < device::opencl::device_count(); ++n)
    names.push_back("opencl:" + std::to_string(n));
  for (unsigned n = 0; n < device::cuda::device_count(); ++n)
    names.push_back("cuda:" + std::to_string(n));
  if (names.empty()) names.emplace_back("none");
  return names;
}

/// The GPUs of this machine, and its CPU.
inline std::vector<std::string> gpu_names_and_cpu() {
  std::vector<std::string> names = gpu_names();
  names.emplace_back("cpu");
  return names;
}

/// Whether `name` is an OpenCL device that is the host's CPU: compiling whole stages' defaults for
/// it takes minutes on a busy machine.
inline bool compiles_slowly(const std::string& name) {
  return std::getenv("TAUTLINE_FULL") == nullptr && name != "none" &&
         device::open(device::parse_selection(name))->properties().host_cpu;
}

/// For the names of parameterised tests: "opencl0".
inline std::string test_name(std::string device) {
  std::erase(device, ':');
  return device;
}

}  // namespace tautline::tests

/// At the start of a test of device `name`.
#define SKIP_WITHOUT_GPU(name)                                            \
  if ((name) == "none")                                                   \
  GTEST_SKIP() << "no OpenCL device (pocl-opencl-icd) and no NVIDIA GPU " \
                  "here"
/// At the start of a test of device `name`, a GPU or a way to use the host.
#define SKIP_WITHOUT_DEVICE(name)                   \
  SKIP_WITHOUT_GPU(name);                           \
  try {                                             \
    device::parse_selection(name);                  \
  } catch (const core::Error& error) {              \
    GTEST_SKIP() << (name) << ": " << error.what(); \
  }
