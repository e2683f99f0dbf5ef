// Programs (modules) and kernels (functions) of CUDA.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "tautline/device/cuda/context.h"
#include "tautline/device/program.h"

namespace tautline::device::cuda {

/// A loaded module; unloaded with its last kernel.
struct Module {
  std::shared_ptr<Context> context;
  CUmodule module = nullptr;
  ~Module();
};

class CudaKernel final : public Kernel {
 public:
  CudaKernel(std::shared_ptr<const Module> module, CUfunction function, std::string name,
             const std::string& program, KernelResources resources)
      : module_(std::move(module)),
        function_(function),
        name_(std::move(name)),
        label_(name_ + " of " + program),
        resources_(resources) {}

  const std::string& name() const override { return name_; }
  const KernelResources& resources() const override { return resources_; }
  /// "fir of channelize/gpu/fir.kernel", for messages.
  const std::string& label() const { return label_; }
  void enqueue(Context& context, CUstream stream, const LaunchShape& shape,
               std::span<const Argument> arguments) const;

 private:
  std::shared_ptr<const Module> module_;
  CUfunction function_;
  std::string name_, label_;
  KernelResources resources_;
};

}  // namespace tautline::device::cuda
