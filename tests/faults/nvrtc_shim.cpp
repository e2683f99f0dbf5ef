// A stand-in for libnvrtc.so beside the emulated GPU of cuda_shim.cpp: compiles everything to
// nothing, but refuses the kernel file that fault.h names.
#include <cstddef>
#include <cstring>

#include "tests/faults/fault.h"

namespace {

constexpr int kCompilation = 6;
constexpr char kBinary[] = "emulated", kLog[] = "error: refused by the test";

struct Program {
  std::string name;
  bool refused = false;
};

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  *major = 13, *minor = 0;
  return 0;
}
const char* nvrtcGetErrorString(int) {
  return "NVRTC_ERROR_COMPILATION";
}
int nvrtcCreateProgram(void** program, const char*, const char* name, int, const char* const*,
                       const char* const*) {
  *program = new Program{name};
  return 0;
}
int nvrtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  *program = nullptr;
  return 0;
}
int nvrtcCompileProgram(void* program, int, const char* const*) {
  static tautline::tests::Fault fault;
  auto& own = *static_cast<Program*>(program);
  own.refused = fault.strikes("build", own.name);
  return own.refused ? kCompilation : 0;
}
int nvrtcGetCUBINSize(void*, std::size_t* size) {
  *size = sizeof kBinary;
  return 0;
}
int nvrtcGetCUBIN(void*, char* binary) {
  std::memcpy(binary, kBinary, sizeof kBinary);
  return 0;
}
int nvrtcGetProgramLogSize(void* program, std::size_t* size) {
  *size = static_cast<Program*>(program)->refused ? sizeof kLog : 0;
  return 0;
}
int nvrtcGetProgramLog(void*, char* log) {
  std::memcpy(log, kLog, sizeof kLog);
  return 0;
}

}  // extern "C"
