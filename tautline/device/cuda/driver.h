// The entry points of NVIDIA's driver, NVRTC and cuFFT that tautline uses, declared by us and
// looked up at run time. Names, signatures and numbers are those of the published driver API
// (cuda.h 12 and 13), NVRTC and cuFFT.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tautline::device::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;

inline constexpr CUresult kSuccess = 0;
inline constexpr CUresult kOutOfMemory = 2;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kStreamNonBlocking = 1;

enum DeviceAttribute {
  kMaxThreadsPerBlock = 1,
  kWarpSize = 10,
  kMultiprocessorCount = 16,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedPerBlockOptin = 97
};
enum FunctionAttribute {
  kFunctionMaxThreads = 0,
  kFunctionSharedBytes = 1,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionMaxDynamicShared = 8
};
enum PointerAttribute { kPointerMemoryType = 2, kPointerDeviceOrdinal = 9 };
inline constexpr unsigned kMemoryTypeDevice = 2;

/// CUDA_MEMCPY2D of cuda.h.
struct Copy2d {
  std::size_t source_x_bytes = 0, source_y = 0;
  unsigned source_type = 4;  // CU_MEMORYTYPE_UNIFIED
  const void* source_host = nullptr;
  CUdeviceptr source_device = 0;
  void* source_array = nullptr;
  std::size_t source_pitch = 0;
  std::size_t target_x_bytes = 0, target_y = 0;
  unsigned target_type = 4;
  void* target_host = nullptr;
  CUdeviceptr target_device = 0;
  void* target_array = nullptr;
  std::size_t target_pitch = 0;
  std::size_t width_bytes = 0, height = 0;
};

/// nullptr-filled when the library or one of its entry points is missing.
struct Driver {
  CUresult (*Init)(unsigned);
  CUresult (*DriverGetVersion)(int*);
  CUresult (*GetErrorName)(CUresult, const char**);
  CUresult (*GetErrorString)(CUresult, const char**);
  CUresult (*DeviceGetCount)(int*);
  CUresult (*DeviceGet)(CUdevice*, int);
  CUresult (*DeviceGetName)(char*, int, CUdevice);
  CUresult (*DeviceGetAttribute)(int*, int, CUdevice);
  CUresult (*DeviceTotalMem)(std::size_t*, CUdevice);
  CUresult (*DeviceGetPCIBusId)(char*, int, CUdevice);
  CUresult (*DevicePrimaryCtxRetain)(CUcontext*, CUdevice);
  CUresult (*DevicePrimaryCtxRelease)(CUdevice);
  CUresult (*CtxPushCurrent)(CUcontext);
  CUresult (*CtxPopCurrent)(CUcontext*);
  CUresult (*MemGetInfo)(std::size_t*, std::size_t*);
  CUresult (*MemAlloc)(CUdeviceptr*, std::size_t);
  CUresult (*MemFree)(CUdeviceptr);
  CUresult (*MemHostAlloc)(void**, std::size_t, unsigned);
  CUresult (*MemFreeHost)(void*);
  CUresult (*PointerGetAttribute)(void*, int, CUdeviceptr);
  CUresult (*MemcpyAsync)(CUdeviceptr, CUdeviceptr, std::size_t, CUstream);
  CUresult (*Memcpy2DAsync)(const Copy2d*, CUstream);
  CUresult (*MemsetD8Async)(CUdeviceptr, unsigned char, std::size_t, CUstream);
  CUresult (*StreamCreate)(CUstream*, unsigned);
  CUresult (*StreamDestroy)(CUstream);
  CUresult (*StreamSynchronize)(CUstream);
  CUresult (*StreamWaitEvent)(CUstream, CUevent, unsigned);
  CUresult (*EventCreate)(CUevent*, unsigned);
  CUresult (*EventDestroy)(CUevent);
  CUresult (*EventRecord)(CUevent, CUstream);
  CUresult (*EventSynchronize)(CUevent);
  CUresult (*EventElapsedTime)(float*, CUevent, CUevent);
  CUresult (*ModuleLoadData)(CUmodule*, const void*);
  CUresult (*ModuleUnload)(CUmodule);
  CUresult (*ModuleGetFunction)(CUfunction*, CUmodule, const char*);
  CUresult (*FuncGetAttribute)(int*, int, CUfunction);
  CUresult (*FuncSetAttribute)(CUfunction, int, int);
  CUresult (*LaunchKernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, CUstream, void**, void**);
  /// Missing from drivers before 12.0: may be null.
  CUresult (*TensorMapEncodeTiled)(void*, int, std::uint32_t, void*, const std::uint64_t*,
                                   const std::uint64_t*, const std::uint32_t*, const std::uint32_t*,
                                   int, int, int, int);
};

/// The loaded and initialised driver, or null when there is none.
const Driver* driver();

struct Nvrtc {
  int (*Version)(int*, int*);
  const char* (*GetErrorString)(int);
  int (*CreateProgram)(void**, const char*, const char*, int, const char* const*,
                       const char* const*);
  int (*DestroyProgram)(void**);
  int (*CompileProgram)(void*, int, const char* const*);
  int (*GetCUBINSize)(void*, std::size_t*);
  int (*GetCUBIN)(void*, char*);
  int (*GetProgramLogSize)(void*, std::size_t*);
  int (*GetProgramLog)(void*, char*);
};

const Nvrtc* nvrtc();

struct Cufft {
  int (*PlanMany)(int*, int, int*, int*, int, int, int*, int, int, int, int);
  int (*Destroy)(int);
  int (*SetStream)(int, CUstream);
  int (*GetSize)(int, std::size_t*);
  int (*ExecC2C)(int, void*, void*, int);
};

const Cufft* cufft();

}  // namespace tautline::device::cuda
