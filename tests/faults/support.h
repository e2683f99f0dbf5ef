// Runs the command on a device that fails when told to.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/end_to_end/run_command.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"

namespace tautline::tests {

/// Where the stand-ins for drivers are; TAUTLINE_TEST_SHIMS says so on another machine.
inline std::string shims_folder() {
  const char* elsewhere = std::getenv("TAUTLINE_TEST_SHIMS");
  return elsewhere == nullptr ? TAUTLINE_SHIMS : elsewhere;
}

/// The file that a library is opened from; empty when there is none.
inline std::string file_of_library(const char* name) {
  void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  link_map* map = nullptr;
  if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return {};
  return map->l_name;
}

/// The file of NVIDIA's driver; empty where there is no such GPU. Asked for once: in a forked child
/// the driver would no longer answer.
inline const std::string& real_driver() {
  static const std::string path =
      device::cuda::device_count() == 0 ? std::string() : file_of_library("libcuda.so.1");
  return path;
}

/// The file of NVRTC, where the library finds it (device/cuda/library.h).
inline std::string real_compiler() {
  for (const char* name :
       {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so.13",
        "/usr/local/cuda/lib64/libnvrtc.so.12"})
    if (const std::string path = file_of_library(name); !path.empty()) return path;
  return {};
}

/// "emulated": an NVIDIA GPU that computes nothing; "cuda:0" where there is a real one; the OpenCL
/// devices.
inline std::vector<std::string> faulty_devices() {
  std::vector<std::string> names{"emulated"};
  if (!real_driver().empty()) names.emplace_back("cuda:0");
  for (unsigned n = 0; n < device::opencl::device_count(); ++n)
    names.push_back("opencl:" + std::to_string(n));
  return names;
}

inline std::string prepended(const std::string& folder, const char* variable) {
  const char* old = std::getenv(variable);
  return old == nullptr || *old == '\0' ? folder : folder + ":" + old;
}

/// The variables that have a stand-in loaded first, which fails as `fault` says (fault.h).
inline Variables preloaded(const std::string& shim, const std::string& fault) {
  return {{"TAUTLINE_TEST_FAULT", fault},
          {"LD_PRELOAD", shims_folder() + "/libfaulty_" + shim + ".so"},
          // The sanitizers want to be first; here they need not be.
          {"ASAN_OPTIONS", prepended("verify_asan_link_order=0", "ASAN_OPTIONS")}};
}

/// The variables that make one of faulty_devices() fail as `fault` says (fault.h).
inline Variables faulty(const std::string& device, const std::string& fault) {
  if (device.starts_with("opencl")) return preloaded("opencl", fault);
  Variables variables{{"TAUTLINE_TEST_FAULT", fault}};
  const std::string shims = shims_folder();
  std::string folders = shims + "/cuda";
  if (device == "emulated" || fault.starts_with("build ")) folders = shims + "/nvrtc:" + folders;
  if (device != "emulated") {
    variables.emplace_back("TAUTLINE_TEST_DRIVER", real_driver());
    variables.emplace_back("TAUTLINE_TEST_NVRTC", real_compiler());
  }
  variables.emplace_back("LD_LIBRARY_PATH", prepended(folders, "LD_LIBRARY_PATH"));
  return variables;
}

/// The value of --device.
inline std::string selection(const std::string& device) {
  return device == "emulated" ? "cuda:0" : device;
}

/// The message of the command about a fault, for the test's output.
inline void record(const std::string& device, const std::string& what,
                   const CommandResult& result) {
  const std::size_t at = result.err.rfind("tautline: ");
  std::printf("fault: %s, %s: status %d, %s\n", device.c_str(), what.c_str(), result.status,
              at == std::string::npos
                  ? "nothing said"
                  : result.err.substr(at, result.err.find('\n', at) - at).c_str());
  std::fflush(stdout);  // or the next child writes it again
}

/// The names in a folder, in order.
inline std::vector<std::string> listing(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tautline::tests
