#include "tautline/device/opencl/platforms.h"

#include <fmt/format.h>
#ifdef __linux__
#include <unistd.h>
#endif

#include <array>
#include <cstdlib>
#include <fstream>

#include "tautline/device/opencl/opencl_device.h"

namespace tautline::device::opencl {

namespace {

template <class T>
T device_number(cl_device_id device, cl_device_info what) {
  T value{};
  clGetDeviceInfo(device, what, sizeof value, &value, nullptr);
  return value;
}

// cl_nv_device_attribute_query
constexpr cl_device_info kComputeCapabilityMajor = 0x4000;
constexpr cl_device_info kComputeCapabilityMinor = 0x4001;
constexpr cl_device_info kWarpSize = 0x4003;
constexpr cl_device_info kPciBus = 0x4008;
constexpr cl_device_info kPciSlot = 0x4009;
constexpr cl_device_info kPciDomain = 0x400A;

// PoCL learns of the processor through /sys, and where that is not mounted (a bare chroot) it ends
// the process that asks.
bool processor_is_described() {
#ifdef __linux__
  return ::access("/sys/devices/system/cpu", R_OK) == 0;
#else
  return true;
#endif
}

}  // namespace

std::vector<cl_device_id> list_devices() {
  std::vector<cl_device_id> devices;
  if (!processor_is_described()) return devices;
  cl_uint platform_count = 0;
  if (clGetPlatformIDs(0, nullptr, &platform_count) != CL_SUCCESS) return devices;
  std::vector<cl_platform_id> platforms(platform_count);
  if (clGetPlatformIDs(platform_count, platforms.data(), nullptr) != CL_SUCCESS) return devices;
  for (cl_platform_id platform : platforms) {
    cl_uint count = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
    const std::size_t first = devices.size();
    devices.resize(first + count);
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data() + first, nullptr) !=
        CL_SUCCESS)
      devices.resize(first);
  }
  return devices;
}

bool only_the_host(const std::filesystem::path& vendors, const std::filesystem::path& devices) {
  for (const char* variable :
       {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH", "POCL_DEVICES"})
    if (std::getenv(variable) != nullptr) return false;
  std::error_code none;
  // Of Linux's graphics drivers, AMD's and NVIDIA's own, accelerators, and Windows'.
  for (const char* file : {"dri", "kfd", "nvidiactl", "accel", "dxg"})
    if (std::filesystem::exists(devices / file, none)) return false;
  bool any = false;
  for (const auto& entry : std::filesystem::directory_iterator(vendors, none)) {
    if (entry.path().extension() != ".icd") continue;
    std::string library;
    std::getline(std::ifstream(entry.path()), library);
    if (!std::filesystem::path(library).filename().string().starts_with("libpocl.so")) return false;
    any = true;
  }
  return any;
}

std::string device_text(cl_device_id device, cl_device_info what) {
  std::size_t size = 0;
  if (clGetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  clGetDeviceInfo(device, what, size, text.data(), nullptr);
  text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
  return text;
}

bool takes_ptx(cl_device_id device) {
  return device_text(device, CL_DEVICE_EXTENSIONS).find("cl_nv_device_attribute_query") !=
         std::string::npos;
}

Properties read_properties(cl_device_id device) {
  Properties p;
  p.product = device_text(device, CL_DEVICE_NAME);
  p.driver = device_text(device, CL_DRIVER_VERSION);
  p.architecture = device_text(device, CL_DEVICE_OPENCL_C_VERSION);
  p.multiprocessors = device_number<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS);
  p.local_bytes = device_number<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE);
  p.max_group_threads = device_number<std::size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  p.total_bytes = device_number<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);
  p.host_cpu = (device_number<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  if (takes_ptx(device)) {
    p.compute_capability =
        static_cast<int>(10 * device_number<cl_uint>(device, kComputeCapabilityMajor) +
                         device_number<cl_uint>(device, kComputeCapabilityMinor));
    p.warp_threads = device_number<cl_uint>(device, kWarpSize);
    const auto slot = device_number<cl_uint>(device, kPciSlot);  // device number, then function
    p.pci_address =
        fmt::format("{:08x}:{:02x}:{:02x}.{}", device_number<cl_uint>(device, kPciDomain),
                    device_number<cl_uint>(device, kPciBus), slot >> 3, slot & 7);
  }
  return p;
}

unsigned device_count() {
  return static_cast<unsigned>(list_devices().size());
}

bool is_host_cpu(unsigned number) {
  const std::vector<cl_device_id> devices = list_devices();
  return number < devices.size() && read_properties(devices[number]).host_cpu;
}

std::string error_name(cl_int code) {
  struct Name {
    cl_int code;
    const char* name;
  };
  static constexpr std::array<Name, 18> kNames{{
      {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
      {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
      {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
      {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
      {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
      {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
       "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
      {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
      {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
      {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
      {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
      {CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX"},
      {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
      {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
      {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
      {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE"},
      {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
      {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE"},
  }};
  for (const Name& n : kNames)
    if (n.code == code) return std::string(n.name) + " (" + std::to_string(code) + ")";
  return "OpenCL error " + std::to_string(code);
}

}  // namespace tautline::device::opencl
