// Compiles CUDA text without a GPU and takes what ptxas says of it.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "tautline/device/cuda/cuda_device.h"
#include "tautline/jit/program.h"
#include "tests/support/ptxas_report.h"

namespace tautline::tests {

/// Where there is a driver NVRTC keeps binaries of its own, and has no word of ptxas for those: so
/// every text gets a variable that no earlier one had. Should it be silent all the same, which a
/// kernel that is known to take registers tells, it is only checked that text compiles:
///
///   KernelCompiler compiler;
///   EXPECT_LE(compiler.compile(source, "sm_80").registers, 40u);
///   compiler.say_what_is_unknown();  // last; marks the test as skipped when bounds were not seen
class KernelCompiler {
 public:
  /// Nothing but zeros where this NVRTC is silent.
  PtxasReport compile(device::ProgramSource source, const std::string& architecture) {
    add_new_variable(source);
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

  /// The last message of the compiler.
  std::string log;

 private:
  static void add_new_variable(device::ProgramSource& source) {
    static std::mt19937_64 random(std::random_device{}());
    source.text += "\nextern \"C\" __device__ int text_" + std::to_string(random()) + ";\n";
  }

  static bool speaks(const std::string& architecture) {
    device::ProgramSource probe;
    probe.name = "probe";
    probe.text = "extern \"C\" __global__ void probe(float* x) { x[threadIdx.x] *= 3.0f; }";
    add_new_variable(probe);
    return ptxas_report(device::cuda::compile(probe, architecture).log).registers > 0;
  }

  std::set<std::string> silent_;
};

}  // namespace tautline::tests
