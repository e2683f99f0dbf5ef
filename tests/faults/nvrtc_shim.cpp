// A stand-in for libnvrtc.so that refuses the kernel file that fault.h names. Beside the emulated
// GPU of cuda_shim.cpp it compiles the others to nothing; beside a real one, TAUTLINE_TEST_NVRTC
// names the library that does.
#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "tests/faults/fault.h"

namespace {

constexpr int kCompilation = 6;
constexpr char kBinary[] = "emulated", kLog[] = "error: refused by the test";

struct Program {
  std::string name;
  bool refused = false;
  void* real = nullptr;
};

Program& own(void* program) {
  return *static_cast<Program*>(program);
}

// The function of the real library; null where there is none.
template <class Function>
Function* real(const char* name) {
  static void* const library = [] {
    const char* path = std::getenv("TAUTLINE_TEST_NVRTC");
    return path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }();
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

#define REAL(function) real<decltype(function)>(#function)

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  if (auto* version = REAL(nvrtcVersion)) return version(major, minor);
  *major = 13, *minor = 0;
  return 0;
}
const char* nvrtcGetErrorString(int) {
  return "NVRTC_ERROR_COMPILATION";
}
int nvrtcCreateProgram(void** program, const char* text, const char* name, int headers,
                       const char* const* contents, const char* const* names) {
  auto* made = new Program{name};
  *program = made;
  auto* create = REAL(nvrtcCreateProgram);
  return create ? create(&made->real, text, name, headers, contents, names) : 0;
}
int nvrtcDestroyProgram(void** program) {
  if (auto* destroy = REAL(nvrtcDestroyProgram)) destroy(&own(*program).real);
  delete static_cast<Program*>(*program);
  *program = nullptr;
  return 0;
}
int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  static tautline::tests::Fault fault;
  own(program).refused = fault.strikes("build", own(program).name);
  if (own(program).refused) return kCompilation;
  auto* compile = REAL(nvrtcCompileProgram);
  return compile ? compile(own(program).real, count, options) : 0;
}
int nvrtcGetCUBINSize(void* program, std::size_t* size) {
  if (auto* get = REAL(nvrtcGetCUBINSize)) return get(own(program).real, size);
  *size = sizeof kBinary;
  return 0;
}
int nvrtcGetCUBIN(void* program, char* binary) {
  if (auto* get = REAL(nvrtcGetCUBIN)) return get(own(program).real, binary);
  std::memcpy(binary, kBinary, sizeof kBinary);
  return 0;
}
int nvrtcGetProgramLogSize(void* program, std::size_t* size) {
  auto* get = REAL(nvrtcGetProgramLogSize);
  if (get && !own(program).refused) return get(own(program).real, size);
  *size = own(program).refused ? sizeof kLog : 0;
  return 0;
}
int nvrtcGetProgramLog(void* program, char* log) {
  auto* get = REAL(nvrtcGetProgramLog);
  if (get && !own(program).refused) return get(own(program).real, log);
  std::memcpy(log, kLog, sizeof kLog);
  return 0;
}

}  // extern "C"
