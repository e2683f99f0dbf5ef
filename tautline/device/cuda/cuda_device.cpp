#include "tautline/device/cuda/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tautline/core/byte_text.h"
#include "tautline/core/error.h"
#include "tautline/device/cuda/context.h"

namespace tautline::device::cuda {

namespace {

using core::byte_text;
using core::Error;
using core::ErrorKind;

// Failures after which the driver refuses everything until the process ends.
constexpr std::array<CUresult, 13> kSticky{214, 220, 226, 700, 702, 710, 714,
                                           715, 716, 717, 718, 719, 721};

struct DeviceMemory {
  std::shared_ptr<Context> context;
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  ~DeviceMemory() {
    const Current current(*context);
    context->driver->MemFree(address);
    context->allocated_bytes -= bytes;
  }
};

struct PinnedMemory {
  std::shared_ptr<Context> context;
  void* address = nullptr;
  ~PinnedMemory() {
    const Current current(*context);
    context->driver->MemFreeHost(address);
  }
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  Api api() const override { return Api::cuda; }
  std::string name() const override { return context_->name; }
  InstructionSet instruction_set() const override { return best_instruction_set(); }
  bool forced() const override { return false; }
  std::unique_ptr<Queue> make_queue() const override { return cuda::make_queue(context_); }
  std::unique_ptr<Event> make_event() const override { return cuda::make_event(context_); }
  double seconds_between(const Event& start, const Event& end) const override {
    return cuda::seconds_between(start, end);
  }
  std::shared_ptr<const FftPlan> make_fft(std::size_t length, std::size_t batch) const override {
    return cuda::make_fft(context_, length, batch);
  }
  Buffer allocate(std::size_t bytes) const override;
  Buffer allocate_pinned(std::size_t bytes) const override;
  bool holds(const void* address) const override;
  std::size_t free_bytes() const override;
  const Properties& properties() const override { return context_->properties; }
  std::string compiler() const override { return compiler_version(); }
  std::vector<std::byte> compile(const ProgramSource& source) const override {
    return cuda::compile(source, context_->properties.architecture).binary;
  }
  std::shared_ptr<const Program> load(const std::string& name,
                                      std::span<const std::byte> binary) const override {
    return cuda::load(context_, name, binary);
  }
  TensorMap make_tensor_map(const TensorLayout& layout) const override;

  const std::shared_ptr<Context>& context() const { return context_; }

 private:
  std::shared_ptr<Context> context_;
};

Buffer CudaDevice::allocate(std::size_t bytes) const {
  context_->check_usable("allocation");
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  const auto no_room = [&](const std::string& value) {
    return Error(
        ErrorKind::memory, context_->name + ": memory", value, byte_text(free_bytes()) + " free",
        "lower `memory_bytes`, `channels` or the block size, or end what else uses the GPU");
  };
  if (size > free_bytes()) throw no_room(byte_text(size) + " needed");
  const Current current(*context_);
  auto owner = std::make_shared<DeviceMemory>();
  const CUresult code = context_->driver->MemAlloc(&owner->address, size);
  owner->context = context_;
  if (code == kOutOfMemory) throw no_room(byte_text(size) + " needed");
  context_->check(code, "allocation of " + byte_text(size));
  owner->bytes = size;
  context_->allocated_bytes += size;
  void* address = reinterpret_cast<void*>(owner->address);
  return {address, bytes, std::move(owner)};
}

Buffer CudaDevice::allocate_pinned(std::size_t bytes) const {
  context_->check_usable("allocation");
  constexpr unsigned kPortable = 1;
  const Current current(*context_);
  auto owner = std::make_shared<PinnedMemory>();
  owner->context = context_;
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  context_->check(context_->driver->MemHostAlloc(&owner->address, size, kPortable),
                  "pinned host memory of " + byte_text(size));
  std::memset(owner->address, 0, size);
  void* address = owner->address;
  return {address, bytes, std::move(owner)};
}

bool CudaDevice::holds(const void* address) const {
  if (address == nullptr) return false;
  const Current current(*context_);
  unsigned type = 0;
  int ordinal = -1;
  const Driver& d = *context_->driver;
  return d.PointerGetAttribute(&type, kPointerMemoryType, device_pointer(address)) == kSuccess &&
         type == kMemoryTypeDevice &&
         d.PointerGetAttribute(&ordinal, kPointerDeviceOrdinal, device_pointer(address)) ==
             kSuccess &&
         ordinal == context_->device;
}

std::size_t CudaDevice::free_bytes() const {
  const Current current(*context_);
  std::size_t available = 0, total = 0;
  context_->check(context_->driver->MemGetInfo(&available, &total), "memory");
  const std::size_t limit = context_->options.device_memory_bytes, used = context_->allocated_bytes;
  if (limit == 0) return available;
  return std::min(available, limit > used ? limit - used : 0);
}

TensorMap CudaDevice::make_tensor_map(const TensorLayout& layout) const {
  if (context_->driver->TensorMapEncodeTiled == nullptr ||
      context_->properties.compute_capability < 90)
    throw Error(ErrorKind::unsupported, "tensor map", context_->name,
                "compute capability 9.0 and a driver of CUDA 12 or later");
  constexpr int kUint8 = 0, kUint16 = 1, kUint32 = 2, kPromote256 = 3;
  const int type = layout.element_bytes == 1   ? kUint8
                   : layout.element_bytes == 2 ? kUint16
                                               : kUint32;
  const int swizzle = layout.swizzle_bytes == 0    ? 0
                      : layout.swizzle_bytes == 32 ? 1
                      : layout.swizzle_bytes == 64 ? 2
                                                   : 3;
  const std::array<std::uint32_t, 5> steps{1, 1, 1, 1, 1};
  TensorMap map;
  const Current current(*context_);  // it asks for one, though it touches no device
  context_->check(context_->driver->TensorMapEncodeTiled(
                      &map, type, layout.rank, const_cast<void*>(layout.data),
                      layout.extents.data(), layout.stride_bytes.data() + 1, layout.box.data(),
                      steps.data(), 0, swizzle, kPromote256, 0),
                  "tensor map");
  return map;
}

Properties read_properties(Context& context) {
  const Driver& d = *context.driver;
  const auto attribute = [&](DeviceAttribute which) {
    int value = 0;
    context.check(d.DeviceGetAttribute(&value, which, context.device), "properties");
    return static_cast<std::size_t>(value);
  };
  Properties p;
  std::array<char, 256> product{};
  context.check(d.DeviceGetName(product.data(), static_cast<int>(product.size()), context.device),
                "name");
  p.product = product.data();
  int version = 0;
  context.check(d.DriverGetVersion(&version), "driver version");
  p.driver = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  p.compute_capability = static_cast<int>(10 * attribute(kComputeCapabilityMajor) +
                                          attribute(kComputeCapabilityMinor));
  // The matrix instructions of 9.0 are in its own, not in its successors', instruction set.
  p.architecture =
      fmt::format("sm_{}{}", p.compute_capability, p.compute_capability == 90 ? "a" : "");
  p.multiprocessors = attribute(kMultiprocessorCount);
  p.local_bytes = attribute(kMaxSharedPerBlockOptin);
  p.max_group_threads = attribute(kMaxThreadsPerBlock);
  p.warp_threads = attribute(kWarpSize);
  context.check(d.DeviceTotalMem(&p.total_bytes, context.device), "memory");
  std::array<char, 32> address{};
  if (d.DeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), context.device) ==
      kSuccess)
    p.pci_address = address.data();
  return p;
}

}  // namespace

// A push that fails shows in the calls of its scope; destructors use it too.
Current::Current(const Context& context)
    : driver_(context.driver), pushed_(driver_->CtxPushCurrent(context.primary) == kSuccess) {}

Current::~Current() {
  CUcontext previous = nullptr;
  if (pushed_) driver_->CtxPopCurrent(&previous);
}

Context::~Context() {
  if (primary != nullptr) driver->DevicePrimaryCtxRelease(device);
}

void Context::check(CUresult code, const std::string& what) {
  if (code == kSuccess) return;
  const char* error = nullptr;
  const char* text = nullptr;
  driver->GetErrorName(code, &error);
  driver->GetErrorString(code, &text);
  const std::string said = fmt::format("{} ({})", text == nullptr ? "unknown error" : text,
                                       error == nullptr ? std::to_string(code) : error);
  if (std::find(kSticky.begin(), kSticky.end(), code) != kSticky.end()) {
    const std::string where = what + faults.after_kernel(what);
    const bool exact = std::getenv("CUDA_LAUNCH_BLOCKING") != nullptr;
    const std::string advice =
        exact ? "start the program again"
              : "start the program again; with CUDA_LAUNCH_BLOCKING=1 in the environment "
                "this message names the very kernel that failed";
    faults.fail(where + ": " + said, advice);
    throw Error(ErrorKind::device, name + ": " + where, said, "", advice);
  }
  const bool memory = code == kOutOfMemory;
  throw Error(memory ? ErrorKind::memory : ErrorKind::device, name + ": " + what, said, "",
              memory ? "lower `memory_bytes`, `channels` or the block size" : "");
}

unsigned device_count() {
  const Driver* d = driver();
  int count = 0;
  if (d == nullptr || d->DeviceGetCount(&count) != kSuccess) return 0;
  return static_cast<unsigned>(count);
}

std::unique_ptr<Queue> wrap_stream(const Device& device, void* stream) {
  const auto* own = dynamic_cast<const CudaDevice*>(&device);
  if (own == nullptr || stream == nullptr)
    throw Error(ErrorKind::config, "stream to wrap", stream == nullptr ? "null" : device.name(),
                "a stream of a CUDA device");
  return make_queue(own->context(), static_cast<CUstream>(stream));
}

std::shared_ptr<const Device> open(unsigned number, const Options& options) {
  if (number >= device_count())
    throw Error(ErrorKind::unsupported, "device", "cuda:" + std::to_string(number),
                fmt::format("a number below {}", device_count()),
                "`tautline devices` lists what is here");
  if (!compiler_available())
    throw Error(ErrorKind::unsupported, "device", "cuda:" + std::to_string(number),
                "NVRTC (libnvrtc.so.12 or .13), which compiles the kernels",
                "install NVIDIA's nvrtc package, or set CUDA_HOME to the toolkit's folder");
  auto context = std::make_shared<Context>();
  context->driver = driver();
  context->options = options;
  context->name = "cuda:" + std::to_string(number);
  context->check(context->driver->DeviceGet(&context->device, static_cast<int>(number)), "device");
  context->properties = read_properties(*context);
  context->name = fmt::format("cuda:{} ({})", number, context->properties.product);
  context->check(context->driver->DevicePrimaryCtxRetain(&context->primary, context->device),
                 "context");
  return std::make_shared<CudaDevice>(std::move(context));
}

}  // namespace tautline::device::cuda
