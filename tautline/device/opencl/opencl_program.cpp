#include "tautline/device/opencl/opencl_program.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <vector>

#include "tautline/core/error.h"

namespace tautline::device::opencl {

namespace {

using core::Error;
using core::ErrorKind;

constexpr std::size_t kLogCharacters = 600;

std::string build_log(cl_program program, cl_device_id device) {
  std::size_t size = 0;
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) != CL_SUCCESS)
    return {};
  std::string log(size, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  const std::size_t error = log.find("error");
  log = log.substr(error == std::string::npos ? 0 : log.rfind('\n', error) + 1, kLogCharacters);
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log;
}

std::string build_options(const Context& context, const ProgramSource& source) {
  // Compilers of some vendors print the number of their warnings (constants that tunables make of conditions, loops
  // that stay loops) to standard error.
  std::string options = "-cl-std=CL1.2 -w";
  for (const std::string& define : source.defines) options += " -D " + define;
  for (const std::string& option : source.options) options += " " + option;
  if (context.ptx) options += " -D HAVE_PTX=1";
  return options;
}

void build(Context& context, cl_program program, const std::string& name,
           const std::string& options) {
  const cl_int code =
      clBuildProgram(program, 1, &context.device, options.c_str(), nullptr, nullptr);
  if (code != CL_SUCCESS)
    throw Error(ErrorKind::device, context.name + ": kernel file " + name,
                error_name(code) + ": " + build_log(program, context.device), "text that compiles",
                options);
}

class OpenclProgram final : public Program {
 public:
  OpenclProgram(std::shared_ptr<Context> context, std::string name, OwnedProgram program)
      : context_(std::move(context)), name_(std::move(name)), program_(std::move(program)) {}

  std::shared_ptr<const Kernel> kernel(const std::string& name) const override {
    cl_int code = CL_SUCCESS;
    OwnedKernel kernel(clCreateKernel(program_.get(), name.c_str(), &code));
    context_->check(code, "kernel " + name + " of " + name_);
    KernelResources resources;
    cl_ulong local = 0, own = 0;
    clGetKernelWorkGroupInfo(kernel.get(), context_->device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local,
                             &local, nullptr);
    clGetKernelWorkGroupInfo(kernel.get(), context_->device, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof own,
                             &own, nullptr);
    clGetKernelWorkGroupInfo(kernel.get(), context_->device, CL_KERNEL_WORK_GROUP_SIZE,
                             sizeof resources.max_group_threads, &resources.max_group_threads,
                             nullptr);
    resources.static_local_bytes = local;
    resources.spilled_bytes = context_->properties.host_cpu ? 0 : own;
    return std::make_shared<OpenclKernel>(name, name_, std::move(kernel), resources);
  }

 private:
  std::shared_ptr<Context> context_;
  std::string name_;
  OwnedProgram program_;
};

}  // namespace

void OpenclKernel::enqueue(Context& context, cl_command_queue queue, const LaunchShape& shape,
                           std::span<const Argument> arguments) const {
  const std::string what = "kernel " + label();
  const std::lock_guard lock(mutex_);
  cl_uint index = 0;
  const auto set = [&](std::size_t size, const void* value) {
    context.check(clSetKernelArg(kernel_.get(), index, size, value),
                  fmt::format("{}, argument {}", what, index));
    ++index;
  };
  for (const Argument& argument : arguments) {
    if (argument.kind() == Argument::Kind::value) {
      set(argument.size(), argument.bytes());
      continue;
    }
    Place place;
    if (argument.address() != nullptr) {
      const auto found = context.addresses.find(argument.address());
      if (!found)
        throw Error(ErrorKind::config, context.name + ": " + what,
                    fmt::format("argument {} is a host address", index),
                    "an address in the device's memory");
      place = *found;
    }
    const cl_ulong offset = place.offset_bytes;
    set(sizeof(cl_mem), &place.memory);
    set(sizeof offset, &offset);
  }
  const std::array<std::size_t, 3> local{shape.threads.x, shape.threads.y, shape.threads.z};
  const std::array<std::size_t, 3> global{shape.groups.x * local[0], shape.groups.y * local[1],
                                          shape.groups.z * local[2]};
  if (global[0] * global[1] * global[2] == 0) return;
  context.check(clEnqueueNDRangeKernel(queue, kernel_.get(), 3, nullptr, global.data(),
                                       local.data(), 0, nullptr, nullptr),
                fmt::format("{}, {} x {} x {} groups of {} x {} x {}", what, shape.groups.x,
                            shape.groups.y, shape.groups.z, local[0], local[1], local[2]));
}

std::vector<std::byte> compile(Context& context, const ProgramSource& source) {
  const char* text = source.text.data();
  const std::size_t length = source.text.size();
  cl_int code = CL_SUCCESS;
  const OwnedProgram program(
      clCreateProgramWithSource(context.context.get(), 1, &text, &length, &code));
  context.check(code, "kernel file " + source.name);
  build(context, program.get(), source.name, build_options(context, source));
  std::size_t size = 0;
  context.check(
      clGetProgramInfo(program.get(), CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr),
      "binary of " + source.name);
  std::vector<std::byte> binary(size);
  auto* target = reinterpret_cast<unsigned char*>(binary.data());
  context.check(
      clGetProgramInfo(program.get(), CL_PROGRAM_BINARIES, sizeof target, &target, nullptr),
      "binary of " + source.name);
  return binary;
}

std::shared_ptr<const Program> load(std::shared_ptr<Context> context, const std::string& name,
                                    std::span<const std::byte> binary) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const std::size_t size = binary.size();
  cl_int code = CL_SUCCESS, status = CL_SUCCESS;
  OwnedProgram program(clCreateProgramWithBinary(context->context.get(), 1, &context->device, &size,
                                                 &bytes, &status, &code));
  context->check(code, "binary of " + name);
  context->check(status, "binary of " + name);
  build(*context, program.get(), name, "");
  return std::make_shared<OpenclProgram>(std::move(context), name, std::move(program));
}

}  // namespace tautline::device::opencl
