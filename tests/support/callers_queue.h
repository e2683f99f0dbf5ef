// OpenCL as a program of its own uses it: a context and a queue that tautline did not make.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "tautline/device/opencl/platforms.h"

namespace tautline::tests {

struct CallersQueue {
  explicit CallersQueue(unsigned number, cl_command_queue_properties properties = 0)
      : device(device::opencl::list_devices().at(number)) {
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue = clCreateCommandQueue(context, device, properties, nullptr);
  }
  ~CallersQueue() {
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
  }
  CallersQueue(const CallersQueue&) = delete;
  CallersQueue& operator=(const CallersQueue&) = delete;

  cl_uint references() const {
    cl_uint count = 0;
    clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, nullptr);
    return count;
  }

  cl_device_id device;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
};

}  // namespace tautline::tests
