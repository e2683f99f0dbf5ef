// Programs and kernels of OpenCL.
#pragma once

#include <mutex>
#include <span>
#include <string>

#include "tautline/device/opencl/context.h"
#include "tautline/device/program.h"

namespace tautline::device::opencl {

class OpenclKernel final : public Kernel {
 public:
  OpenclKernel(std::string name, std::string program, OwnedKernel kernel, KernelResources resources)
      : name_(std::move(name)),
        program_(std::move(program)),
        kernel_(std::move(kernel)),
        resources_(resources) {}

  const std::string& name() const override { return name_; }
  const KernelResources& resources() const override { return resources_; }
  /// "fir of channelize/gpu/fir.kernel", for messages.
  std::string label() const { return name_ + " of " + program_; }
  void enqueue(Context& context, cl_command_queue queue, const LaunchShape& shape,
               std::span<const Argument> arguments) const;

 private:
  std::string name_, program_;
  OwnedKernel kernel_;
  KernelResources resources_;
  mutable std::mutex mutex_;  // arguments are the kernel's state in OpenCL
};

}  // namespace tautline::device::opencl
