// A stand-in for libcuda.so.1, opened in its place through LD_LIBRARY_PATH: passes calls on to the
// real driver (TAUTLINE_TEST_DRIVER names its file) and makes one of them fail (fault.h). Without a
// real driver it shows a GPU of compute capability 8.0 whose memory is the host's and whose kernels
// do nothing: enough to see what the command does when such a GPU fails.
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "tautline/device/cuda/driver.h"
#include "tests/faults/fault.h"

namespace {

using namespace tautline::device::cuda;

constexpr CUresult kInvalidValue = 1, kNotSupported = 801, kLaunchFailed = 719;
constexpr std::size_t kEmulatedBytes = std::size_t{1} << 30;

tautline::tests::Fault& fault() {
  static tautline::tests::Fault one;
  return one;
}

void* real_driver() {
  static void* handle = [] {
    const char* path = std::getenv("TAUTLINE_TEST_DRIVER");
    return path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }();
  return handle;
}

// The objects of the emulated GPU, or the known ones of the real GPU.
struct Emulated {
  std::mutex mutex;
  std::map<CUdeviceptr, std::size_t> memory;
  std::map<CUfunction, std::string> functions;
  std::size_t used = 0;
  std::atomic<bool> lost{false};

  CUresult code() const { return lost ? kLaunchFailed : kSuccess; }
  std::string name(CUfunction function) {
    const std::lock_guard lock(mutex);
    return functions[function];
  }
};

Emulated& gpu() {
  static Emulated one;
  return one;
}

// A kernel that stops at once, as a faulty one would, on the real GPU.
CUresult launch_trap(CUstream stream) {
  static const char* const kText =
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry trap_now()\n{\n  trap;\n}\n";
  const auto find = [](auto* function, const char* name) {
    return reinterpret_cast<decltype(function)>(dlsym(real_driver(), name));
  };
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  auto* load = find(static_cast<CUresult (*)(CUmodule*, const void*)>(nullptr), "cuModuleLoadData");
  auto* get = find(static_cast<CUresult (*)(CUfunction*, CUmodule, const char*)>(nullptr),
                   "cuModuleGetFunction");
  auto* launch = find(static_cast<decltype(Driver::LaunchKernel)>(nullptr), "cuLaunchKernel");
  if (const CUresult code = load(&module, kText); code != kSuccess) return code;
  if (const CUresult code = get(&function, module, "trap_now"); code != kSuccess) return code;
  return launch(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}

void copy_rows(const Copy2d& c) {
  for (std::size_t row = 0; row < c.height; ++row)
    std::memcpy(reinterpret_cast<std::byte*>(c.target_device) + row * c.target_pitch,
                reinterpret_cast<const std::byte*>(c.source_device) + row * c.source_pitch,
                c.width_bytes);
}

}  // namespace

#define PASS_ON(function, ...)  \
  if (real_driver() != nullptr) \
  return reinterpret_cast<decltype(&function)>(dlsym(real_driver(), #function))(__VA_ARGS__)

extern "C" {

CUresult cuInit(unsigned flags) {
  PASS_ON(cuInit, flags);
  return kSuccess;
}
CUresult cuDriverGetVersion(int* version) {
  PASS_ON(cuDriverGetVersion, version);
  *version = 13000;
  return kSuccess;
}
CUresult cuGetErrorName(CUresult code, const char** name) {
  PASS_ON(cuGetErrorName, code, name);
  *name = code == kLaunchFailed ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_OUT_OF_MEMORY";
  return kSuccess;
}
CUresult cuGetErrorString(CUresult code, const char** text) {
  PASS_ON(cuGetErrorString, code, text);
  *text = code == kLaunchFailed ? "unspecified launch failure" : "out of memory";
  return kSuccess;
}
CUresult cuDeviceGetCount(int* count) {
  PASS_ON(cuDeviceGetCount, count);
  *count = 1;
  return kSuccess;
}
CUresult cuDeviceGet(CUdevice* device, int number) {
  PASS_ON(cuDeviceGet, device, number);
  *device = number;
  return kSuccess;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  PASS_ON(cuDeviceGetName, name, length, device);
  std::strncpy(name, "emulated", static_cast<std::size_t>(length));
  return kSuccess;
}
CUresult cuDeviceGetAttribute(int* value, int which, CUdevice device) {
  PASS_ON(cuDeviceGetAttribute, value, which, device);
  const std::map<int, int> values{
      {kMaxThreadsPerBlock, 1024},  {kWarpSize, 32},
      {kMultiprocessorCount, 16},   {kComputeCapabilityMajor, 8},
      {kComputeCapabilityMinor, 0}, {kMaxSharedPerBlockOptin, 163 << 10}};
  const auto found = values.find(which);
  if (found == values.end()) return kInvalidValue;
  *value = found->second;
  return kSuccess;
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  PASS_ON(cuDeviceTotalMem_v2, bytes, device);
  *bytes = kEmulatedBytes;
  return kSuccess;
}
CUresult cuDeviceGetPCIBusId(char* address, int length, CUdevice device) {
  PASS_ON(cuDeviceGetPCIBusId, address, length, device);
  return kInvalidValue;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  PASS_ON(cuDevicePrimaryCtxRetain, context, device);
  *context = reinterpret_cast<CUcontext>(&gpu());
  return kSuccess;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  PASS_ON(cuDevicePrimaryCtxRelease_v2, device);
  return kSuccess;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  PASS_ON(cuCtxPushCurrent_v2, context);
  return kSuccess;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  PASS_ON(cuCtxPopCurrent_v2, context);
  return kSuccess;
}

CUresult cuMemGetInfo_v2(std::size_t* available, std::size_t* total) {
  PASS_ON(cuMemGetInfo_v2, available, total);
  const std::lock_guard lock(gpu().mutex);
  *total = kEmulatedBytes, *available = kEmulatedBytes - gpu().used;
  return gpu().code();
}
CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  if (fault().strikes("memory")) return kOutOfMemory;
  PASS_ON(cuMemAlloc_v2, address, bytes);
  if (gpu().lost) return kLaunchFailed;
  void* memory = std::calloc(1, bytes);
  const std::lock_guard lock(gpu().mutex);
  *address = reinterpret_cast<CUdeviceptr>(memory);
  gpu().memory[*address] = bytes;
  gpu().used += bytes;
  return kSuccess;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  PASS_ON(cuMemFree_v2, address);
  const std::lock_guard lock(gpu().mutex);
  const auto found = gpu().memory.find(address);
  if (found == gpu().memory.end()) return kInvalidValue;
  gpu().used -= found->second;
  gpu().memory.erase(found);
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
CUresult cuMemHostAlloc(void** address, std::size_t bytes, unsigned flags) {
  if (fault().strikes("pinned")) return kOutOfMemory;
  PASS_ON(cuMemHostAlloc, address, bytes, flags);
  *address = std::malloc(bytes);
  return gpu().code();
}
CUresult cuMemFreeHost(void* address) {
  PASS_ON(cuMemFreeHost, address);
  std::free(address);
  return kSuccess;
}
CUresult cuPointerGetAttribute(void* value, int which, CUdeviceptr address) {
  PASS_ON(cuPointerGetAttribute, value, which, address);
  const std::lock_guard lock(gpu().mutex);
  auto found = gpu().memory.upper_bound(address);
  if (found == gpu().memory.begin()) return kInvalidValue;
  --found;
  if (address >= found->first + found->second) return kInvalidValue;
  const unsigned answer = which == kPointerMemoryType ? kMemoryTypeDevice : 0;
  std::memcpy(value, &answer, sizeof answer);
  return kSuccess;
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  PASS_ON(cuMemcpyAsync, to, from, bytes, stream);
  if (!gpu().lost)
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return gpu().code();
}
CUresult cuMemcpy2DAsync_v2(const Copy2d* copy, CUstream stream) {
  PASS_ON(cuMemcpy2DAsync_v2, copy, stream);
  if (!gpu().lost) copy_rows(*copy);
  return gpu().code();
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  PASS_ON(cuMemsetD8Async, to, value, bytes, stream);
  if (!gpu().lost) std::memset(reinterpret_cast<void*>(to), value, bytes);
  return gpu().code();
}

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  PASS_ON(cuStreamCreate, stream, flags);
  *stream = reinterpret_cast<CUstream>(&gpu());
  return gpu().code();
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  PASS_ON(cuStreamDestroy_v2, stream);
  return kSuccess;
}
CUresult cuStreamSynchronize(CUstream stream) {
  PASS_ON(cuStreamSynchronize, stream);
  return gpu().code();
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  PASS_ON(cuStreamWaitEvent, stream, event, flags);
  return gpu().code();
}
CUresult cuEventCreate(CUevent* event, unsigned flags) {
  PASS_ON(cuEventCreate, event, flags);
  *event = reinterpret_cast<CUevent>(&gpu());
  return gpu().code();
}
CUresult cuEventDestroy_v2(CUevent event) {
  PASS_ON(cuEventDestroy_v2, event);
  return kSuccess;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  PASS_ON(cuEventRecord, event, stream);
  return gpu().code();
}
CUresult cuEventSynchronize(CUevent event) {
  PASS_ON(cuEventSynchronize, event);
  return gpu().code();
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  PASS_ON(cuEventElapsedTime, milliseconds, from, to);
  *milliseconds = 1;
  return gpu().code();
}

CUresult cuModuleLoadData(CUmodule* module, const void* binary) {
  PASS_ON(cuModuleLoadData, module, binary);
  *module = reinterpret_cast<CUmodule>(&gpu());
  return gpu().code();
}
CUresult cuModuleUnload(CUmodule module) {
  PASS_ON(cuModuleUnload, module);
  return kSuccess;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const auto get = [&]() -> CUresult {
    PASS_ON(cuModuleGetFunction, function, module, name);
    *function = reinterpret_cast<CUfunction>(new char);  // lives as long as the process
    return kSuccess;
  };
  const CUresult code = get();
  const std::lock_guard lock(gpu().mutex);
  gpu().functions[*function] = name;
  return code;
}
CUresult cuFuncGetAttribute(int* value, int which, CUfunction function) {
  PASS_ON(cuFuncGetAttribute, value, which, function);
  *value = which == kFunctionMaxThreads ? 1024 : which == kFunctionRegisters ? 64 : 0;
  return kSuccess;
}
CUresult cuFuncSetAttribute(CUfunction function, int which, int value) {
  PASS_ON(cuFuncSetAttribute, function, which, value);
  return kSuccess;
}
CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                        unsigned threads_y, unsigned threads_z, unsigned local, CUstream stream,
                        void** arguments, void** extra) {
  const bool strikes = fault().strikes("trap", gpu().name(function));
  if (strikes && real_driver() != nullptr) return launch_trap(stream);
  PASS_ON(cuLaunchKernel, function, x, y, z, threads_x, threads_y, threads_z, local, stream,
          arguments, extra);
  if (gpu().lost) return kLaunchFailed;
  gpu().lost = strikes;
  // The real driver then waits for each kernel, and its launch says what became of it.
  return std::getenv("CUDA_LAUNCH_BLOCKING") != nullptr ? gpu().code() : kSuccess;
}
CUresult cuTensorMapEncodeTiled(void* map, int type, std::uint32_t rank, void* data,
                                const std::uint64_t* extents, const std::uint64_t* strides,
                                const std::uint32_t* box, const std::uint32_t* steps,
                                int interleave, int swizzle, int promotion, int fill) {
  PASS_ON(cuTensorMapEncodeTiled, map, type, rank, data, extents, strides, box, steps, interleave,
          swizzle, promotion, fill);
  return kNotSupported;
}

// NVRTC asks for this one where it finds a driver, and does not look whether it is there.
CUresult cuGetExportTable(const void** table, const void* id) {
  PASS_ON(cuGetExportTable, table, id);
  return kNotSupported;
}

}  // extern "C"
