#include "tautline/device/opencl/opencl_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tautline/core/byte_text.h"
#include "tautline/core/error.h"
#include "tautline/device/opencl/context.h"
#include "tautline/device/opencl/platforms.h"

namespace tautline::device::opencl {

namespace {

using core::byte_text;
using core::Error;
using core::ErrorKind;

// Device memory: a memory object and the addresses that stand for it.
struct DeviceMemory {
  std::shared_ptr<Context> context;
  OwnedMemory memory;
  void* address = nullptr;
  std::size_t bytes = 0;

  ~DeviceMemory() {
    if (address != nullptr) context->addresses.release(address);
    context->allocated_bytes -= bytes;
  }
};

// Host memory that the driver allocated and mapped for as long as it lives.
struct PinnedMemory {
  std::shared_ptr<Context> context;
  OwnedMemory memory;
  OwnedQueue queue;
  void* address = nullptr;

  ~PinnedMemory() {
    if (address == nullptr) return;
    context->finish_queues();
    context->addresses.release(address);
    clEnqueueUnmapMemObject(queue.get(), memory.get(), address, 0, nullptr, nullptr);
    clFinish(queue.get());
  }
};

class OpenclDevice final : public Device {
 public:
  explicit OpenclDevice(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  const std::shared_ptr<Context>& context() const { return context_; }
  Api api() const override { return Api::opencl; }
  std::string name() const override { return context_->name; }
  InstructionSet instruction_set() const override { return best_instruction_set(); }
  bool forced() const override { return false; }
  std::unique_ptr<Queue> make_queue() const override { return opencl::make_queue(context_); }
  std::unique_ptr<Event> make_event() const override { return opencl::make_event(context_); }
  double seconds_between(const Event& start, const Event& end) const override {
    return opencl::seconds_between(start, end);
  }
  std::shared_ptr<const FftPlan> make_fft(std::size_t length, std::size_t batch) const override {
    return opencl::make_fft(context_, length, batch);
  }

  Buffer allocate(std::size_t bytes) const override;
  Buffer allocate_pinned(std::size_t bytes) const override;
  bool holds(const void* address) const override {
    return context_->addresses.find(address).has_value();
  }
  std::size_t free_bytes() const override {
    const std::size_t used = context_->allocated_bytes;
    return used < context_->limit_bytes ? context_->limit_bytes - used : 0;
  }

  const Properties& properties() const override { return context_->properties; }
  std::string compiler() const override {
    return fmt::format("opencl {} {} {}", device_text(context_->device, CL_DEVICE_VENDOR),
                       device_text(context_->device, CL_DEVICE_VERSION),
                       context_->properties.driver);
  }
  std::vector<std::byte> compile(const ProgramSource& source) const override {
    return opencl::compile(*context_, source);
  }
  std::shared_ptr<const Program> load(const std::string& name,
                                      std::span<const std::byte> binary) const override {
    return opencl::load(context_, name, binary);
  }
  TensorMap make_tensor_map(const TensorLayout&) const override {
    throw Error(ErrorKind::unsupported, "tensor map", "opencl", "cuda:N of compute capability 9.0");
  }

 private:
  std::shared_ptr<Context> context_;
};

Buffer OpenclDevice::allocate(std::size_t bytes) const {
  context_->check_usable("allocation");
  const std::size_t size = bytes == 0 ? 1 : bytes;
  const auto no_room = [&] {
    return Error(
        ErrorKind::memory, context_->name + ": memory", byte_text(size) + " needed",
        fmt::format("at most {} ({} free)",
                    byte_text(std::min(free_bytes(), context_->largest_buffer_bytes)),
                    byte_text(free_bytes())),
        "lower `memory_bytes`, `channels` or the block size, or end what else uses the GPU");
  };
  if (size > free_bytes() || size > context_->largest_buffer_bytes) throw no_room();
  cl_int code = CL_SUCCESS;
  OwnedMemory memory(
      clCreateBuffer(context_->context.get(), CL_MEM_READ_WRITE, size, nullptr, &code));
  if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE) throw no_room();
  context_->check(code, fmt::format("allocation of {}", byte_text(size)));
  auto owner = std::make_shared<DeviceMemory>();
  owner->context = context_;
  owner->address = context_->addresses.reserve(memory.get(), size);
  owner->memory = std::move(memory);
  owner->bytes = size;
  context_->allocated_bytes += size;
  void* address = owner->address;
  return {address, bytes, std::move(owner)};
}

Buffer OpenclDevice::allocate_pinned(std::size_t bytes) const {
  context_->check_usable("allocation");
  const std::size_t size = bytes == 0 ? 1 : bytes;
  auto owner = std::make_shared<PinnedMemory>();
  owner->context = context_;
  cl_int code = CL_SUCCESS;
  owner->queue =
      OwnedQueue(clCreateCommandQueue(context_->context.get(), context_->device, 0, &code));
  context_->check(code, "queue");
  owner->memory = OwnedMemory(clCreateBuffer(
      context_->context.get(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, nullptr, &code));
  context_->check(code, fmt::format("pinned memory of {}", byte_text(size)));
  void* address =
      clEnqueueMapBuffer(owner->queue.get(), owner->memory.get(), CL_TRUE,
                         CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, nullptr, nullptr, &code);
  context_->check(code, fmt::format("pinned memory of {}", byte_text(size)));
  owner->address = address;
  context_->addresses.add_pinned(address, size);
  std::memset(address, 0, size);
  return {address, bytes, std::move(owner)};
}

}  // namespace

void Context::check(cl_int code, const std::string& what) {
  if (code == CL_SUCCESS) return;
  if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY)
    throw Error(ErrorKind::memory, name + ": " + what, error_name(code),
                byte_text(limit_bytes - std::min<std::size_t>(limit_bytes, allocated_bytes)) +
                    " free by our own count",
                "lower `memory_bytes`, `channels` or the block size");
  if (code == CL_OUT_OF_RESOURCES || code == CL_INVALID_COMMAND_QUEUE ||
      code == CL_DEVICE_NOT_AVAILABLE || code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
    const std::string where = what + faults.after_kernel(what);
    faults.fail(where + ": " + error_name(code));
    throw Error(ErrorKind::device, name + ": " + where, error_name(code), "",
                "start the program again");
  }
  throw Error(ErrorKind::device, name + ": " + what, error_name(code), "");
}

void Context::finish_queues() {
  const std::lock_guard lock(queues_mutex);
  for (cl_command_queue queue : queues) clFinish(queue);
}

namespace {

// A device without its context.
std::shared_ptr<Context> describe(cl_device_id device, const Options& options) {
  const std::vector<cl_device_id> devices = list_devices();
  const auto place = std::find(devices.begin(), devices.end(), device);
  auto context = std::make_shared<Context>();
  context->device = device;
  context->properties = read_properties(device);
  context->name =
      fmt::format("opencl:{} ({})", place - devices.begin(), context->properties.product);
  context->ptx = takes_ptx(device);
  context->options = options;
  context->limit_bytes =
      options.device_memory_bytes == 0
          ? context->properties.total_bytes
          : std::min(options.device_memory_bytes, context->properties.total_bytes);
  cl_ulong largest = 0;
  clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest, nullptr);
  context->largest_buffer_bytes = largest;
  return context;
}

// What is known of a queue; throws Error(config) when it is none.
template <class T>
T queue_info(void* queue, cl_command_queue_info what) {
  T value{};
  if (queue == nullptr || clGetCommandQueueInfo(static_cast<cl_command_queue>(queue), what,
                                                sizeof value, &value, nullptr) != CL_SUCCESS)
    throw Error(ErrorKind::config, "queue to wrap", queue == nullptr ? "null" : "no queue",
                "a cl_command_queue");
  return value;
}

const std::shared_ptr<Context>& context_of(const Device& device, const char* field) {
  const auto* own = dynamic_cast<const OpenclDevice*>(&device);
  if (own == nullptr) throw Error(ErrorKind::config, field, device.name(), "an OpenCL device");
  return own->context();
}

}  // namespace

std::shared_ptr<const Device> open(unsigned number, const Options& options) {
  const std::vector<cl_device_id> devices = list_devices();
  if (number >= devices.size())
    throw Error(ErrorKind::unsupported, "device", "opencl:" + std::to_string(number),
                fmt::format("a number below {}", devices.size()),
                "`tautline devices` lists what is here");
  auto context = describe(devices[number], options);
  cl_int code = CL_SUCCESS;
  context->context =
      OwnedContext(clCreateContext(nullptr, 1, &context->device, nullptr, nullptr, &code));
  context->check(code, "context");
  return std::make_shared<OpenclDevice>(std::move(context));
}

std::shared_ptr<const Device> open_for(void* queue, const Options& options) {
  auto context = describe(queue_info<cl_device_id>(queue, CL_QUEUE_DEVICE), options);
  const auto native = queue_info<cl_context>(queue, CL_QUEUE_CONTEXT);
  context->check(clRetainContext(native), "context");
  context->context = OwnedContext(native);
  return std::make_shared<OpenclDevice>(std::move(context));
}

std::unique_ptr<Queue> wrap_queue(const Device& device, void* queue) {
  const auto& context = context_of(device, "queue to wrap");
  if (queue_info<cl_context>(queue, CL_QUEUE_CONTEXT) != context->context.get() ||
      queue_info<cl_device_id>(queue, CL_QUEUE_DEVICE) != context->device)
    throw Error(ErrorKind::config, "queue to wrap", "a queue of another context or device",
                "one of " + context->name + "'s own context", "open the device with open_for()");
  if (queue_info<cl_command_queue_properties>(queue, CL_QUEUE_PROPERTIES) &
      CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    throw Error(ErrorKind::config, "queue to wrap", "commands out of order", "a queue in order");
  const auto native = static_cast<cl_command_queue>(queue);
  context->check(clRetainCommandQueue(native), "queue");
  return make_queue(context, OwnedQueue(native));
}

Buffer wrap_memory(const Device& device, void* memory) {
  const auto& context = context_of(device, "memory to wrap");
  const auto native = static_cast<cl_mem>(memory);
  cl_context home = nullptr;
  std::size_t bytes = 0;
  if (memory == nullptr ||
      clGetMemObjectInfo(native, CL_MEM_CONTEXT, sizeof home, &home, nullptr) != CL_SUCCESS ||
      home != context->context.get())
    throw Error(ErrorKind::config, "memory to wrap",
                memory == nullptr ? "null" : "of another context",
                "a cl_mem of " + context->name + "'s own context");
  context->check(clGetMemObjectInfo(native, CL_MEM_SIZE, sizeof bytes, &bytes, nullptr), "memory");
  context->check(clRetainMemObject(native), "memory");
  auto owner = std::make_shared<DeviceMemory>();
  owner->context = context;
  owner->memory = OwnedMemory(native);
  owner->address = context->addresses.reserve(native, bytes);
  void* address = owner->address;
  return {address, bytes, std::move(owner)};
}

}  // namespace tautline::device::opencl
