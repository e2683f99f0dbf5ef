// What a CUDA device, its queues, programs and buffers share: the device's primary context.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tautline/device/cuda/driver.h"
#include "tautline/device/device.h"
#include "tautline/device/fault_record.h"

namespace tautline::device::cuda {

struct Context {
  const Driver* driver = nullptr;
  CUdevice device = 0;
  CUcontext primary = nullptr;
  Properties properties;
  std::string name;  // "cuda:0 (NVIDIA H200)"
  Options options;
  std::atomic<std::size_t> allocated_bytes{0};
  FaultRecord faults;

  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  /// Throws Error(device) naming `what` for any code but success, Error(memory) when there was no
  /// room. After a failure that the driver never forgets (an illegal address, a trap) every later
  /// check fails as well; its message names the kernel that was launched last.
  void check(CUresult code, const std::string& what);
  /// Throws when such a failure came before.
  void check_usable(const std::string& what) const { faults.require_usable(name, what); }
};

/// Makes the primary context current for a scope, whatever the caller's own is.
class Current {
 public:
  explicit Current(const Context& context);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Driver* driver_;
  bool pushed_;
};

inline CUdeviceptr device_pointer(const void* address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

std::unique_ptr<Queue> make_queue(std::shared_ptr<Context> context, CUstream wrapped = nullptr);
std::unique_ptr<Event> make_event(std::shared_ptr<Context> context);
double seconds_between(const Event& start, const Event& end);
CUstream native_stream(Queue& queue);

std::shared_ptr<const Program> load(std::shared_ptr<Context> context, const std::string& name,
                                    std::span<const std::byte> binary);
std::shared_ptr<const FftPlan> make_fft(std::shared_ptr<Context> context, std::size_t length,
                                        std::size_t batch);

}  // namespace tautline::device::cuda
