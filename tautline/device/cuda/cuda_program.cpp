#include "tautline/device/cuda/cuda_program.h"

#include <fmt/format.h>

#include <array>

#include "tautline/core/error.h"

namespace tautline::device::cuda {

namespace {

constexpr std::size_t kMaxArguments = 64;

class CudaProgram final : public Program {
 public:
  CudaProgram(std::shared_ptr<const Module> module, std::string name)
      : module_(std::move(module)), name_(std::move(name)) {}

  std::shared_ptr<const Kernel> kernel(const std::string& name) const override {
    Context& context = *module_->context;
    const Driver& d = *context.driver;
    const Current current(context);
    const std::string what = "kernel " + name + " of " + name_;
    CUfunction function = nullptr;
    context.check(d.ModuleGetFunction(&function, module_->module, name.c_str()), what);
    const auto attribute = [&](FunctionAttribute which) {
      int value = 0;
      context.check(d.FuncGetAttribute(&value, which, function), what);
      return static_cast<std::size_t>(value);
    };
    KernelResources resources;
    resources.registers_per_thread = attribute(kFunctionRegisters);
    resources.spilled_bytes = attribute(kFunctionLocalBytes);
    resources.static_local_bytes = attribute(kFunctionSharedBytes);
    resources.max_group_threads = attribute(kFunctionMaxThreads);
    // All the shared memory that a launch may ask for; what it takes is up to the launch.
    const std::size_t most = context.properties.local_bytes - resources.static_local_bytes;
    context.check(d.FuncSetAttribute(function, kFunctionMaxDynamicShared, static_cast<int>(most)),
                  what);
    return std::make_shared<CudaKernel>(module_, function, name, name_, resources);
  }

 private:
  std::shared_ptr<const Module> module_;
  std::string name_;
};

}  // namespace

Module::~Module() {
  const Current current(*context);
  context->driver->ModuleUnload(module);
}

void CudaKernel::enqueue(Context& context, CUstream stream, const LaunchShape& shape,
                         std::span<const Argument> arguments) const {
  if (arguments.size() > kMaxArguments)
    throw core::Error(core::ErrorKind::config, "kernel " + label_,
                      fmt::format("{} arguments", arguments.size()),
                      fmt::format("at most {}", kMaxArguments));
  if (shape.groups.x * shape.groups.y * shape.groups.z == 0) return;
  std::array<const void*, kMaxArguments> addresses{};
  std::array<void*, kMaxArguments> pointers{};
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    addresses[k] = arguments[k].address();
    pointers[k] = arguments[k].kind() == Argument::Kind::address
                      ? static_cast<void*>(&addresses[k])
                      : const_cast<void*>(arguments[k].bytes());
  }
  const auto narrow = [](std::size_t value) { return static_cast<unsigned>(value); };
  const Current current(context);
  context.check(
      context.driver->LaunchKernel(function_, narrow(shape.groups.x), narrow(shape.groups.y),
                                   narrow(shape.groups.z), narrow(shape.threads.x),
                                   narrow(shape.threads.y), narrow(shape.threads.z),
                                   narrow(shape.local_bytes), stream, pointers.data(), nullptr),
      fmt::format("kernel {}, {} x {} x {} groups of {} x {} x {}, {} bytes of shared memory",
                  label_, shape.groups.x, shape.groups.y, shape.groups.z, shape.threads.x,
                  shape.threads.y, shape.threads.z, shape.local_bytes));
}

std::shared_ptr<const Program> load(std::shared_ptr<Context> context, const std::string& name,
                                    std::span<const std::byte> binary) {
  context->check_usable("kernel file " + name);
  const Current current(*context);
  CUmodule native = nullptr;
  context->check(context->driver->ModuleLoadData(&native, binary.data()), "kernel file " + name);
  auto module = std::make_shared<Module>();
  module->context = std::move(context);
  module->module = native;
  return std::make_shared<CudaProgram>(std::move(module), name);
}

}  // namespace tautline::device::cuda
