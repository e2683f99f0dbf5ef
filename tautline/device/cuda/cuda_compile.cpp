// CUDA C++ to machine code by NVRTC; needs no GPU.
#include <fmt/format.h>

#include "tautline/core/error.h"
#include "tautline/device/cuda/cuda_device.h"
#include "tautline/device/cuda/driver.h"

namespace tautline::device::cuda {

namespace {

using core::Error;
using core::ErrorKind;

constexpr std::size_t kLogCharacters = 600;

struct NvrtcProgram {
  const Nvrtc& nvrtc;
  void* program = nullptr;
  ~NvrtcProgram() {
    if (program != nullptr) nvrtc.DestroyProgram(&program);
  }
};

std::string read_log(const Nvrtc& nvrtc, void* program) {
  std::size_t size = 0;
  if (nvrtc.GetProgramLogSize(program, &size) != 0 || size == 0) return {};
  std::string log(size, '\0');
  nvrtc.GetProgramLog(program, log.data());
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log;
}

// From the first error on.
std::string first_error(const std::string& log) {
  const std::size_t at = log.find("error");
  if (at == std::string::npos) return log.substr(0, kLogCharacters);
  const std::size_t line = log.rfind('\n', at);
  return log.substr(line == std::string::npos ? 0 : line + 1, kLogCharacters);
}

}  // namespace

bool compiler_available() {
  return nvrtc() != nullptr;
}

std::string compiler_version() {
  int major = 0, minor = 0;
  if (nvrtc() == nullptr || nvrtc()->Version(&major, &minor) != 0) return "no nvrtc";
  return fmt::format("nvrtc {}.{}", major, minor);
}

Compiled compile(const ProgramSource& source, const std::string& architecture) {
  const Nvrtc* n = nvrtc();
  if (n == nullptr)
    throw Error(ErrorKind::unsupported, "kernel file " + source.name, "no compiler",
                "NVRTC (libnvrtc.so.12 or .13)",
                "install NVIDIA's nvrtc package, or set CUDA_HOME");
  NvrtcProgram program{*n};
  int code = n->CreateProgram(&program.program, source.text.c_str(), source.name.c_str(), 0,
                              nullptr, nullptr);
  std::vector<std::string> options{"--gpu-architecture=" + architecture, "-std=c++17",
                                   "--ptxas-options=-v"};
  for (const std::string& define : source.defines) options.push_back("-D" + define);
  for (const std::string& option : source.options) options.push_back(option);
  std::vector<const char*> raw;
  for (const std::string& option : options) raw.push_back(option.c_str());
  if (code == 0)
    code = n->CompileProgram(program.program, static_cast<int>(raw.size()), raw.data());
  Compiled result;
  if (program.program != nullptr) result.log = read_log(*n, program.program);
  std::size_t size = 0;
  if (code == 0) code = n->GetCUBINSize(program.program, &size);
  result.binary.resize(size);
  if (code == 0) code = n->GetCUBIN(program.program, reinterpret_cast<char*>(result.binary.data()));
  if (code != 0)
    throw Error(ErrorKind::device, fmt::format("kernel file {} for {}", source.name, architecture),
                fmt::format("{}: {}", n->GetErrorString(code), first_error(result.log)),
                "text that compiles", fmt::format("{}", fmt::join(source.defines, " ")));
  return result;
}

}  // namespace tautline::device::cuda
