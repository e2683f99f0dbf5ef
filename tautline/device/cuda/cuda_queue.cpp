// Queues (streams) and events: copies, fills, launches, marks.
#include <fmt/format.h>

#include <utility>

#include "tautline/core/error.h"
#include "tautline/device/cpu/cpu_device.h"
#include "tautline/device/cuda/context.h"
#include "tautline/device/cuda/cuda_program.h"

namespace tautline::device::cuda {

namespace {

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(std::shared_ptr<Context> context) : context_(std::move(context)) {
    const Current current(*context_);
    context_->check(context_->driver->EventCreate(&event_, kEventDefault), "event");
  }
  ~CudaEvent() override {
    const Current current(*context_);
    context_->driver->EventDestroy(event_);
  }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  CUevent native() const { return event_; }
  void synchronise() const override {
    const Current current(*context_);
    context_->check(context_->driver->EventSynchronize(event_), "work before an event");
  }
  double seconds_until(const CudaEvent& end) const {
    end.synchronise();
    const Current current(*context_);
    float milliseconds = 0;
    context_->check(context_->driver->EventElapsedTime(&milliseconds, event_, end.event_),
                    "time between events");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  std::shared_ptr<Context> context_;
  CUevent event_ = nullptr;
};

class CudaQueue final : public Queue {
 public:
  CudaQueue(std::shared_ptr<Context> context, CUstream wrapped)
      : context_(std::move(context)),
        host_(cpu::make_host_queue(context_->options)),
        stream_(wrapped),
        owned_(wrapped == nullptr) {
    if (!owned_) return;
    const Current current(*context_);
    context_->check(context_->driver->StreamCreate(&stream_, kStreamNonBlocking), "queue");
  }
  ~CudaQueue() override {
    if (!owned_) return;
    const Current current(*context_);
    context_->driver->StreamDestroy(stream_);
  }
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  CUstream native() const { return stream_; }

  void synchronise() override {
    context_->check_usable("queue");
    const Current current(*context_);
    context_->check(context_->driver->StreamSynchronize(stream_), "queue");
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    context_->check_usable("copy");
    const Current current(*context_);
    context_->check(
        context_->driver->MemcpyAsync(device_pointer(to), device_pointer(from), bytes, stream_),
        fmt::format("copy of {} bytes", bytes));
  }
  void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                 std::size_t row_bytes, std::size_t rows) override;
  void fill(void* to, std::uint8_t value, std::size_t bytes) override {
    if (bytes == 0) return;
    context_->check_usable("fill");
    const Current current(*context_);
    context_->check(context_->driver->MemsetD8Async(device_pointer(to), value, bytes, stream_),
                    fmt::format("fill of {} bytes", bytes));
  }
  void launch(const Kernel& kernel, const LaunchShape& shape,
              std::span<const Argument> arguments) override {
    const auto& own = dynamic_cast<const CudaKernel&>(kernel.loaded());
    context_->check_usable("kernel " + own.label());
    context_->faults.note_launch(own.label());
    own.enqueue(*context_, stream_, shape, arguments);
  }
  void record(Event& event) override {
    const Current current(*context_);
    context_->check(
        context_->driver->EventRecord(dynamic_cast<CudaEvent&>(event).native(), stream_), "event");
  }
  void wait(const Event& event) override {
    const Current current(*context_);
    context_->check(context_->driver->StreamWaitEvent(
                        stream_, dynamic_cast<const CudaEvent&>(event).native(), 0),
                    "event");
  }
  void parallel_for(std::size_t count, std::size_t grain, const Body& body) override {
    host_->parallel_for(count, grain, body);
  }
  std::size_t workers() const override { return host_->workers(); }

 private:
  std::shared_ptr<Context> context_;
  std::unique_ptr<Queue> host_;
  CUstream stream_;
  bool owned_;
};

void CudaQueue::copy_rows(void* to, std::size_t to_stride, const void* from,
                          std::size_t from_stride, std::size_t row_bytes, std::size_t rows) {
  if (row_bytes == 0 || rows == 0) return;
  if (rows == 1 || (to_stride == row_bytes && from_stride == row_bytes))
    return copy(to, from, row_bytes * rows);
  context_->check_usable("copy");
  Copy2d copy;
  copy.source_device = device_pointer(from);
  copy.source_pitch = from_stride;
  copy.target_device = device_pointer(to);
  copy.target_pitch = to_stride;
  copy.width_bytes = row_bytes;
  copy.height = rows;
  const Current current(*context_);
  context_->check(context_->driver->Memcpy2DAsync(&copy, stream_),
                  fmt::format("copy of {} rows of {} bytes", rows, row_bytes));
}

}  // namespace

std::unique_ptr<Queue> make_queue(std::shared_ptr<Context> context, CUstream wrapped) {
  return std::make_unique<CudaQueue>(std::move(context), wrapped);
}

std::unique_ptr<Event> make_event(std::shared_ptr<Context> context) {
  context->check_usable("event");
  return std::make_unique<CudaEvent>(std::move(context));
}

double seconds_between(const Event& start, const Event& end) {
  return dynamic_cast<const CudaEvent&>(start).seconds_until(dynamic_cast<const CudaEvent&>(end));
}

CUstream native_stream(Queue& queue) {
  return dynamic_cast<CudaQueue&>(queue).native();
}

}  // namespace tautline::device::cuda
