// Owners of OpenCL objects, and the translation of its error codes.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <string>
#include <utility>

namespace tautline::device::opencl {

/// Holds one reference to an OpenCL object.
template <class Object, cl_int (*Release)(Object)>
class Owner {
 public:
  Owner() = default;
  explicit Owner(Object object) : object_(object) {}
  Owner(Owner&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owner() {
    if (object_ != nullptr) Release(object_);
  }
  Object get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  Object object_ = nullptr;
};

using OwnedContext = Owner<cl_context, clReleaseContext>;
using OwnedQueue = Owner<cl_command_queue, clReleaseCommandQueue>;
using OwnedMemory = Owner<cl_mem, clReleaseMemObject>;
using OwnedProgram = Owner<cl_program, clReleaseProgram>;
using OwnedKernel = Owner<cl_kernel, clReleaseKernel>;
using OwnedEvent = Owner<cl_event, clReleaseEvent>;

/// "CL_OUT_OF_RESOURCES (-5)".
std::string error_name(cl_int code);

}  // namespace tautline::device::opencl
