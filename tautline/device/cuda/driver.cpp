#include "tautline/device/cuda/driver.h"

#include "tautline/device/cuda/library.h"

namespace tautline::device::cuda {

namespace {

bool load(Driver& d) {
  const Library library{"libcuda.so.1"};
  bool all = true, optional = true;
  library.find(d.Init, "cuInit", all);
  library.find(d.DriverGetVersion, "cuDriverGetVersion", all);
  library.find(d.GetErrorName, "cuGetErrorName", all);
  library.find(d.GetErrorString, "cuGetErrorString", all);
  library.find(d.DeviceGetCount, "cuDeviceGetCount", all);
  library.find(d.DeviceGet, "cuDeviceGet", all);
  library.find(d.DeviceGetName, "cuDeviceGetName", all);
  library.find(d.DeviceGetAttribute, "cuDeviceGetAttribute", all);
  library.find(d.DeviceTotalMem, "cuDeviceTotalMem_v2", all);
  library.find(d.DeviceGetPCIBusId, "cuDeviceGetPCIBusId", all);
  library.find(d.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", all);
  library.find(d.DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", all);
  library.find(d.CtxPushCurrent, "cuCtxPushCurrent_v2", all);
  library.find(d.CtxPopCurrent, "cuCtxPopCurrent_v2", all);
  library.find(d.MemGetInfo, "cuMemGetInfo_v2", all);
  library.find(d.MemAlloc, "cuMemAlloc_v2", all);
  library.find(d.MemFree, "cuMemFree_v2", all);
  library.find(d.MemHostAlloc, "cuMemHostAlloc", all);
  library.find(d.MemFreeHost, "cuMemFreeHost", all);
  library.find(d.PointerGetAttribute, "cuPointerGetAttribute", all);
  library.find(d.MemcpyAsync, "cuMemcpyAsync", all);
  library.find(d.Memcpy2DAsync, "cuMemcpy2DAsync_v2", all);
  library.find(d.MemsetD8Async, "cuMemsetD8Async", all);
  library.find(d.StreamCreate, "cuStreamCreate", all);
  library.find(d.StreamDestroy, "cuStreamDestroy_v2", all);
  library.find(d.StreamSynchronize, "cuStreamSynchronize", all);
  library.find(d.StreamWaitEvent, "cuStreamWaitEvent", all);
  library.find(d.EventCreate, "cuEventCreate", all);
  library.find(d.EventDestroy, "cuEventDestroy_v2", all);
  library.find(d.EventRecord, "cuEventRecord", all);
  library.find(d.EventSynchronize, "cuEventSynchronize", all);
  library.find(d.EventElapsedTime, "cuEventElapsedTime", all);
  library.find(d.ModuleLoadData, "cuModuleLoadData", all);
  library.find(d.ModuleUnload, "cuModuleUnload", all);
  library.find(d.ModuleGetFunction, "cuModuleGetFunction", all);
  library.find(d.FuncGetAttribute, "cuFuncGetAttribute", all);
  library.find(d.FuncSetAttribute, "cuFuncSetAttribute", all);
  library.find(d.LaunchKernel, "cuLaunchKernel", all);
  library.find(d.TensorMapEncodeTiled, "cuTensorMapEncodeTiled", optional);
  return all && d.Init(0) == kSuccess;
}

bool load(Nvrtc& n) {
  const Library library{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  bool all = true;
  library.find(n.Version, "nvrtcVersion", all);
  library.find(n.GetErrorString, "nvrtcGetErrorString", all);
  library.find(n.CreateProgram, "nvrtcCreateProgram", all);
  library.find(n.DestroyProgram, "nvrtcDestroyProgram", all);
  library.find(n.CompileProgram, "nvrtcCompileProgram", all);
  library.find(n.GetCUBINSize, "nvrtcGetCUBINSize", all);
  library.find(n.GetCUBIN, "nvrtcGetCUBIN", all);
  library.find(n.GetProgramLogSize, "nvrtcGetProgramLogSize", all);
  library.find(n.GetProgramLog, "nvrtcGetProgramLog", all);
  return all;
}

bool load(Cufft& c) {
  const Library library{"libcufft.so.12", "libcufft.so.11", "libcufft.so"};
  bool all = true;
  library.find(c.PlanMany, "cufftPlanMany", all);
  library.find(c.Destroy, "cufftDestroy", all);
  library.find(c.SetStream, "cufftSetStream", all);
  library.find(c.GetSize, "cufftGetSize", all);
  library.find(c.ExecC2C, "cufftExecC2C", all);
  return all;
}

}  // namespace

const Driver* driver() {
  return loaded_table<Driver, load>();
}
const Nvrtc* nvrtc() {
  return loaded_table<Nvrtc, load>();
}
const Cufft* cufft() {
  return loaded_table<Cufft, load>();
}

}  // namespace tautline::device::cuda
