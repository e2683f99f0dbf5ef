// Where PoCL alone is registered, `auto` takes the processor without starting it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tautline/device/opencl/opencl_device.h"
#include "tests/support/environment.h"
#include "tests/support/scratch.h"

namespace tautline::device::opencl {
namespace {

constexpr const char* kVariables[] = {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH",
                                      "POCL_DEVICES"};

class OpenclVendors : public testing::Test {
 protected:
  OpenclVendors() {
    for (const char* variable : kVariables) {
      before_.push_back(std::make_unique<tests::Environment>(variable, ""));  // puts it back
      unsetenv(variable);
    }
    std::filesystem::create_directories(vendors_);
    std::filesystem::create_directories(devices_);
  }
  void add(const std::string& name, const std::string& library) const {
    std::ofstream(vendors_ / name) << library << "\n";
  }
  bool alone() const { return only_the_host(vendors_, devices_); }

  std::vector<std::unique_ptr<tests::Environment>> before_;
  tests::ScratchFolder folder_;
  std::filesystem::path vendors_ = folder_.path() / "vendors", devices_ = folder_.path() / "dev";
};

TEST_F(OpenclVendors, PoclAloneIsTheHost) {
  EXPECT_FALSE(alone()) << "no driver at all";
  add("pocl.icd", "libpocl.so.2.10.0");
  EXPECT_TRUE(alone());
  add("pocl-here.icd", "/usr/lib/x86_64-linux-gnu/libpocl.so");
  add("README", "libother.so");
  EXPECT_TRUE(alone());
}

TEST_F(OpenclVendors, AnyOtherDriverMayHaveAGpu) {
  add("pocl.icd", "libpocl.so.2.10.0");
  add("intel.icd", "/opt/intel/libigdrcl.so");
  EXPECT_FALSE(alone());
}

TEST_F(OpenclVendors, PoclMayDriveAGpuThatIsThere) {
  add("pocl.icd", "libpocl.so.2.10.0");
  for (const char* file : {"dri", "kfd", "nvidiactl", "accel", "dxg"}) {
    std::ofstream(devices_ / file) << "";
    EXPECT_FALSE(alone()) << file;
    std::filesystem::remove(devices_ / file);
  }
  EXPECT_TRUE(alone());
}

TEST_F(OpenclVendors, TheEnvironmentMayNameOthers) {
  add("pocl.icd", "libpocl.so.2.10.0");
  for (const char* variable : kVariables) {
    const tests::Environment set(variable, "cpu");
    EXPECT_FALSE(alone()) << variable;
  }
}

// Its statements about this machine are true.
TEST(OpenclVendorsHere, NoDeviceButTheHost) {
  if (!only_the_host()) GTEST_SKIP() << "other drivers than PoCL, or none, or a GPU";
  for (unsigned number = 0; number < device_count(); ++number)
    EXPECT_TRUE(is_host_cpu(number)) << number;
  EXPECT_EQ(parse_selection("auto").api, Api::cpu);
}

}  // namespace
}  // namespace tautline::device::opencl
