// Compiles CUDA text without a GPU and takes what ptxas says of it.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tautline/device/cuda/cuda_device.h"
#include "tautline/jit/program.h"
#include "tests/support/ptxas_report.h"

namespace tautline::tests {

/// Some NVRTCs hand on no word of ptxas, for some architectures or for all: a kernel that is known
/// to take registers tells. There it is only checked that text compiles, and the test says so:
///
///   KernelCompiler compiler;
///   EXPECT_LE(compiler.compile(source, "sm_80").registers, 40u);
///   compiler.say_what_is_unknown();  // last; marks the test as skipped when bounds were not
///   checked
class KernelCompiler {
 public:
  /// Nothing but zeros where this NVRTC is silent.
  PtxasReport compile(const device::ProgramSource& source, const std::string& architecture) {
    const auto compiled = device::cuda::compile(source, architecture);
    EXPECT_FALSE(compiled.binary.empty()) << source.name << " for " << architecture;
    log = compiled.log;
    const PtxasReport report = ptxas_report(compiled.log);
    if (report.registers == 0 && !speaks(architecture))
      silent_.insert(architecture);
    else
      EXPECT_GT(report.registers, 0u)
          << "no report for " << architecture << " in: " << compiled.log;
    return report;
  }

  void say_what_is_unknown() const {
    std::string names;
    for (const std::string& name : silent_) names += " " + name;
    if (!names.empty())
      GTEST_SKIP() << "compiled; registers were not checked: " << device::cuda::compiler_version()
                   << " reports none for" << names;
  }

  /// What the compiler said last.
  std::string log;

 private:
  static bool speaks(const std::string& architecture) {
    device::ProgramSource probe;
    probe.name = "probe";
    probe.text = "extern \"C\" __global__ void probe(float* x) { x[threadIdx.x] *= 3.0f; }";
    return ptxas_report(device::cuda::compile(probe, architecture).log).registers > 0;
  }

  std::set<std::string> silent_;
};

}  // namespace tautline::tests
