// Queues and events: copies, fills, launches, marks.
#include <fmt/format.h>

#include <array>
#include <mutex>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/device/cpu/cpu_device.h"
#include "tautline/device/opencl/context.h"
#include "tautline/device/opencl/opencl_program.h"

namespace tautline::device::opencl {

namespace {

class OpenclEvent final : public Event {
 public:
  explicit OpenclEvent(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  void synchronise() const override {
    if (!event) return;
    const cl_event list[] = {event.get()};
    context_->check(clWaitForEvents(1, list), "work before an event");
  }
  std::uint64_t finished_ns() const {
    synchronise();
    cl_ulong time = 0;
    context_->check(
        clGetEventProfilingInfo(event.get(), CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr),
        "time of an event");
    return time;
  }

  OwnedEvent event;

 private:
  std::shared_ptr<Context> context_;
};

// Whether this is one of several CPU devices of a platform. PoCL counts who uses a kernel's code
// for all of them together, and ends the process when two of them finish with it at once.
bool one_of_several_cpus(const Context& context) {
  cl_platform_id platform = nullptr;
  cl_uint devices = 0;
  clGetDeviceInfo(context.device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 0, nullptr, &devices);
  return context.properties.host_cpu && devices > 1;
}

// Held by whichever of them runs a kernel.
std::mutex& kernel_of_cpus() {
  static std::mutex mutex;
  return mutex;
}

class OpenclQueue final : public Queue {
 public:
  OpenclQueue(std::shared_ptr<Context> context, OwnedQueue wrapped)
      : context_(std::move(context)),
        host_(cpu::make_host_queue(context_->options)),
        takes_turns_(one_of_several_cpus(*context_)),
        queue_(std::move(wrapped)) {
    cl_int code = CL_SUCCESS;
    if (!queue_)
      queue_ = OwnedQueue(clCreateCommandQueue(context_->context.get(), context_->device,
                                               CL_QUEUE_PROFILING_ENABLE, &code));
    context_->check(code, "queue");
    const std::lock_guard lock(context_->queues_mutex);
    context_->queues.insert(queue_.get());
  }
  // Waits: pinned memory that copies are on their way to may go next.
  ~OpenclQueue() override {
    clFinish(queue_.get());
    const std::lock_guard lock(context_->queues_mutex);
    context_->queues.erase(context_->queues.find(queue_.get()));
  }
  OpenclQueue(const OpenclQueue&) = delete;
  OpenclQueue& operator=(const OpenclQueue&) = delete;

  cl_command_queue native() const { return queue_.get(); }

  void synchronise() override {
    context_->check_usable("queue");
    context_->check(clFinish(queue_.get()), "queue");
  }
  void copy(void* to, const void* from, std::size_t bytes) override;
  void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                 std::size_t row_bytes, std::size_t rows) override;
  void fill(void* to, std::uint8_t value, std::size_t bytes) override;
  void launch(const Kernel& kernel, const LaunchShape& shape,
              std::span<const Argument> arguments) override;
  void record(Event& event) override {
    cl_event marker = nullptr;
    context_->check(clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &marker), "event");
    dynamic_cast<OpenclEvent&>(event).event = OwnedEvent(marker);
    clFlush(queue_.get());
  }
  void wait(const Event& event) override {
    const auto& own = dynamic_cast<const OpenclEvent&>(event);
    if (!own.event) return;
    const cl_event list[] = {own.event.get()};
    context_->check(clEnqueueBarrierWithWaitList(queue_.get(), 1, list, nullptr), "event");
  }
  void parallel_for(std::size_t count, std::size_t grain, const Body& body) override {
    host_->parallel_for(count, grain, body);
  }
  std::size_t workers() const override { return host_->workers(); }

 private:
  std::shared_ptr<Context> context_;
  std::unique_ptr<Queue> host_;
  bool takes_turns_;
  OwnedQueue queue_;
};

void OpenclQueue::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  context_->check_usable("copy");
  const auto target = context_->addresses.find(to), source = context_->addresses.find(from);
  cl_int code = CL_SUCCESS;
  if (target && source) {
    code = clEnqueueCopyBuffer(queue_.get(), source->memory, target->memory, source->offset_bytes,
                               target->offset_bytes, bytes, 0, nullptr, nullptr);
  } else if (target) {
    const cl_bool wait = context_->addresses.pinned(from) ? CL_FALSE : CL_TRUE;
    code = clEnqueueWriteBuffer(queue_.get(), target->memory, wait, target->offset_bytes, bytes,
                                from, 0, nullptr, nullptr);
  } else if (source) {
    const cl_bool wait = context_->addresses.pinned(to) ? CL_FALSE : CL_TRUE;
    code = clEnqueueReadBuffer(queue_.get(), source->memory, wait, source->offset_bytes, bytes, to,
                               0, nullptr, nullptr);
  } else {
    throw core::Error(core::ErrorKind::config, "copy", "host to host",
                      "an address in the device's memory on one side at least");
  }
  context_->check(code, fmt::format("copy of {} bytes", bytes));
}

void OpenclQueue::copy_rows(void* to, std::size_t to_stride, const void* from,
                            std::size_t from_stride, std::size_t row_bytes, std::size_t rows) {
  if (row_bytes == 0 || rows == 0) return;
  if (rows == 1 || (to_stride == row_bytes && from_stride == row_bytes))
    return copy(to, from, row_bytes * rows);
  // Offsets within a memory object need not be whole rows, which the rectangle calls ask for.
  for (std::size_t r = 0; r < rows; ++r)
    copy(static_cast<std::byte*>(to) + r * to_stride,
         static_cast<const std::byte*>(from) + r * from_stride, row_bytes);
}

void OpenclQueue::fill(void* to, std::uint8_t value, std::size_t bytes) {
  if (bytes == 0) return;
  context_->check_usable("fill");
  const auto target = context_->addresses.find(to);
  if (!target)
    throw core::Error(core::ErrorKind::config, "fill", "a host address",
                      "an address in the device's memory");
  // NVIDIA's driver writes a pattern of one byte at a tenth of the memory's rate.
  constexpr std::size_t kWide = 16;
  std::array<std::uint8_t, kWide> pattern{};
  pattern.fill(value);
  const std::size_t width = (target->offset_bytes | bytes) % kWide == 0 ? kWide : 1;
  context_->check(clEnqueueFillBuffer(queue_.get(), target->memory, pattern.data(), width,
                                      target->offset_bytes, bytes, 0, nullptr, nullptr),
                  fmt::format("fill of {} bytes", bytes));
}

void OpenclQueue::launch(const Kernel& kernel, const LaunchShape& shape,
                         std::span<const Argument> arguments) {
  const auto& own = dynamic_cast<const OpenclKernel&>(kernel.loaded());
  context_->check_usable("kernel " + own.label());
  std::unique_lock<std::mutex> turn;
  if (takes_turns_) turn = std::unique_lock(kernel_of_cpus());
  context_->faults.note_launch(own.label());
  own.enqueue(*context_, queue_.get(), shape, arguments);
  if (takes_turns_) context_->check(clFinish(queue_.get()), "kernel " + own.label());
}

}  // namespace

std::unique_ptr<Queue> make_queue(std::shared_ptr<Context> context, OwnedQueue wrapped) {
  return std::make_unique<OpenclQueue>(std::move(context), std::move(wrapped));
}

std::unique_ptr<Event> make_event(std::shared_ptr<Context> context) {
  context->check_usable("event");
  return std::make_unique<OpenclEvent>(std::move(context));
}

double seconds_between(const Event& start, const Event& end) {
  const std::uint64_t first = dynamic_cast<const OpenclEvent&>(start).finished_ns();
  const std::uint64_t second = dynamic_cast<const OpenclEvent&>(end).finished_ns();
  return (static_cast<double>(second) - static_cast<double>(first)) * 1e-9;
}

cl_command_queue native_queue(Queue& queue) {
  return dynamic_cast<OpenclQueue&>(queue).native();
}

}  // namespace tautline::device::opencl
