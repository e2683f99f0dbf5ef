// Preloaded before the OpenCL loader: passes calls on, and makes one of them fail (fault.h) as
// NVIDIA's driver does it: a kernel's fault shows in whatever call comes behind it.
#include <CL/cl.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include "tests/faults/fault.h"

namespace {

tautline::tests::Fault& fault() {
  static tautline::tests::Fault one;
  return one;
}
std::atomic<bool> lost{false};
std::atomic<cl_program> refused{nullptr};
constexpr char kLog[] = "error: refused by the test";

// The next definition of the same name: the loader's.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define NEXT(function) next<decltype(function)>(#function)

extern "C" {

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                      cl_int* code) {
  const bool pinned = (flags & CL_MEM_ALLOC_HOST_PTR) != 0;
  if (fault().strikes(pinned ? "pinned" : "memory")) {
    if (code != nullptr) *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return nullptr;
  }
  return NEXT(clCreateBuffer)(context, flags, size, host, code);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t* offset, const size_t* global, const size_t* local,
                              cl_uint waits, const cl_event* list, cl_event* event) {
  if (lost) return CL_OUT_OF_RESOURCES;
  std::array<char, 256> name{};
  clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, name.size() - 1, name.data(), nullptr);
  if (fault().strikes("trap", name.data())) lost = true;
  return NEXT(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, waits, list,
                                      event);
}

cl_int clFinish(cl_command_queue queue) {
  const cl_int code = NEXT(clFinish)(queue);  // the work is done in truth
  return lost ? CL_OUT_OF_RESOURCES : code;
}

cl_int clWaitForEvents(cl_uint count, const cl_event* list) {
  const cl_int code = NEXT(clWaitForEvents)(count, list);
  return lost ? CL_OUT_OF_RESOURCES : code;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset,
                           size_t size, void* to, cl_uint waits, const cl_event* list,
                           cl_event* event) {
  if (lost) return CL_OUT_OF_RESOURCES;
  return NEXT(clEnqueueReadBuffer)(queue, memory, blocking, offset, size, to, waits, list, event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset,
                            size_t size, const void* from, cl_uint waits, const cl_event* list,
                            cl_event* event) {
  if (lost) return CL_OUT_OF_RESOURCES;
  return NEXT(clEnqueueWriteBuffer)(queue, memory, blocking, offset, size, from, waits, list,
                                    event);
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices,
                      const char* options, void (*done)(cl_program, void*), void* user) {
  std::size_t size = 0;
  clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, nullptr, &size);
  std::string text(size, '\0');
  clGetProgramInfo(program, CL_PROGRAM_SOURCE, size, text.data(), nullptr);
  if (fault().strikes("build", text)) {
    refused = program;
    return CL_BUILD_PROGRAM_FAILURE;
  }
  return NEXT(clBuildProgram)(program, count, devices, options, done, user);
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info what,
                             size_t size, void* value, size_t* needed) {
  if (program != refused || what != CL_PROGRAM_BUILD_LOG)
    return NEXT(clGetProgramBuildInfo)(program, device, what, size, value, needed);
  if (needed != nullptr) *needed = sizeof kLog;
  if (value != nullptr && size >= sizeof kLog) std::memcpy(value, kLog, sizeof kLog);
  return CL_SUCCESS;
}

}  // extern "C"
