// What an OpenCL device, its queues, programs and buffers share.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "tautline/device/device.h"
#include "tautline/device/fault_record.h"
#include "tautline/device/opencl/address_space.h"
#include "tautline/device/opencl/handles.h"

namespace tautline::device::opencl {

struct Context {
  cl_device_id device = nullptr;
  OwnedContext context;
  Properties properties;
  std::string name;  // "opencl:0 (...)"
  bool ptx = false;
  Options options;
  std::size_t limit_bytes = 0;
  std::size_t largest_buffer_bytes = 0;
  AddressSpace addresses;
  std::atomic<std::size_t> allocated_bytes{0};
  FaultRecord faults;
  std::mutex queues_mutex;
  std::multiset<cl_command_queue> queues;  // that are alive

  /// Throws Error(device) naming `what` for any code but CL_SUCCESS, Error(memory) when the device
  /// had no room. After a failure that loses the device's state every check fails; its message
  /// names the kernel that was launched last.
  void check(cl_int code, const std::string& what);
  /// Waits for all queues. A copy may be on its way from or to memory that is about to go, when an
  /// exception ends the work that it belongs to.
  void finish_queues();
  /// Throws when an earlier failure lost the device's state.
  void check_usable(const std::string& what) const { faults.require_usable(name, what); }
};

/// On `wrapped`, or on a queue of its own.
std::unique_ptr<Queue> make_queue(std::shared_ptr<Context> context, OwnedQueue wrapped = {});
std::unique_ptr<Event> make_event(std::shared_ptr<Context> context);
double seconds_between(const Event& start, const Event& end);

std::vector<std::byte> compile(Context& context, const ProgramSource& source);
std::shared_ptr<const Program> load(std::shared_ptr<Context> context, const std::string& name,
                                    std::span<const std::byte> binary);

std::shared_ptr<const FftPlan> make_fft(std::shared_ptr<Context> context, std::size_t length,
                                        std::size_t batch);

/// For the transforms: the queue's own handle.
cl_command_queue native_queue(Queue& queue);

}  // namespace tautline::device::opencl
