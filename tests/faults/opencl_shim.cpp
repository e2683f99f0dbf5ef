// Preloaded before the OpenCL loader: passes calls on, and makes one of them fail (fault.h) as
// NVIDIA's driver does it: a kernel's fault shows in whatever call comes behind it.
#include <CL/cl.h>
#include <dlfcn.h>

#include <array>

#include "tests/faults/fault.h"

namespace {

tautline::tests::Fault& fault() {
  static tautline::tests::Fault one;
  return one;
}
std::atomic<bool> lost{false};

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

}  // extern "C"
