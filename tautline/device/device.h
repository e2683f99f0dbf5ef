// The device contract: what stages ask of the processor they run on.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tautline/core/log.h"
#include "tautline/device/program.h"
#include "tautline/device/shared_state.h"

namespace tautline::device {

/// Which implementation computes. `reference` runs the plain loops that define every stage.
enum class Api { reference, cpu, cuda, opencl };

/// CPU code paths, each a superset of the ones before it, on x86-64. `portable` is whatever the
/// compiler's baseline has. A stage without code for the chosen set takes the next lower one and
/// says so in its plan.
enum class InstructionSet { portable, avx2, avx512, vnni, amx };

std::string_view to_string(InstructionSet set);

/// A parsed `--device`: auto, reference, cpu, cpu:portable|avx2|avx512|vnni|amx, cuda:N, opencl:N.
struct Selection {
  Api api = Api::cpu;
  /// Set when forced. A stage that has code for this set must use it.
  std::optional<InstructionSet> instruction_set;
  /// cuda, opencl: which one, as the driver numbers them (OpenCL: by platform, then device).
  unsigned number = 0;
};

/// Throws Error(config) for an unknown name and Error(unsupported) for one that this build or
/// machine cannot run. `auto` takes the first CUDA device, else an OpenCL device that is no CPU,
/// else the CPU.
Selection parse_selection(std::string_view text);
/// The same for a list: "cuda:0,cuda:1". All of one api; only GPUs can be more than one.
std::vector<Selection> parse_selections(std::string_view text);

/// Whether this processor and operating system run `set` (for AMX this asks the kernel for the
/// tile registers on behalf of the process, as Linux requires).
bool supported(InstructionSet set);
/// The highest supported set.
InstructionSet best_instruction_set();

/// A mark in a queue's work.
class Event {
 public:
  virtual ~Event() = default;
  /// Waits on the host until everything before the mark is done. At once when never recorded.
  virtual void synchronise() const = 0;
};

/// Runs work for a stage. A queue belongs to one thread at a time; calls return when the work is
/// done on a CPU and when it is enqueued elsewhere. Work of one queue runs in order.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Waits for everything enqueued. Throws Error(device) when any of it failed.
  virtual void synchronise() = 0;

  /// Copies between host and device memory in any direction. Host memory that is not from
  /// Device::allocate_pinned makes the call wait until it has been read or written.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// `rows` rows of `row_bytes`, their starts `to_stride` and `from_stride` bytes apart.
  virtual void copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                         std::size_t row_bytes, std::size_t rows) = 0;
  /// The same with strides that may be zero or negative.
  void copy_strided(void* to, std::ptrdiff_t to_stride, const void* from,
                    std::ptrdiff_t from_stride, std::size_t row_bytes, std::size_t rows);
  /// Sets every byte.
  virtual void fill(void* to, std::uint8_t value, std::size_t bytes) = 0;
  /// Enqueues a kernel. Arguments are those of the kernel, in order. Devices that compile only.
  virtual void launch(const Kernel& kernel, const LaunchShape& shape,
                      std::span<const Argument> arguments) = 0;
  /// launch() with the arguments themselves.
  template <class... Values>
  void run(const Kernel& kernel, const LaunchShape& shape, const Values&... values) {
    const Argument arguments[] = {values...};
    launch(kernel, shape, arguments);
  }
  /// Marks the work enqueued so far; a later record moves the mark.
  virtual void record(Event& event) = 0;
  /// Later work of this queue starts after the mark (of any queue of the same device).
  virtual void wait(const Event& event) = 0;

  /// Calls body(first, last, worker) over disjoint parts of [0, count), `grain` items at least in
  /// each, from up to workers() threads. `worker` < workers() is unique among concurrent calls, so
  /// it can index scratch memory. Exceptions reach the caller. Host queues only.
  using Body = std::function<void(std::size_t first, std::size_t last, std::size_t worker)>;
  virtual void parallel_for(std::size_t count, std::size_t grain, const Body& body) = 0;
  virtual std::size_t workers() const = 0;
};

/// A batch of one-dimensional complex float transforms of one length, unnormalised,
/// X[k] = sum x[n] exp(-2 pi i k n / length). Plans are immutable and may be shared by threads.
class FftPlan {
 public:
  virtual ~FftPlan() = default;
  FftPlan(const FftPlan&) = delete;
  FftPlan& operator=(const FftPlan&) = delete;
  std::size_t length() const { return length_; }
  std::size_t batch() const { return batch_; }
  /// Which library does it: "fftw", "kissfft", "cufft" or "vkfft".
  virtual std::string_view library() const = 0;
  /// Device memory that it keeps for itself.
  virtual std::size_t work_bytes() const { return 0; }
  /// `batch` dense transforms one behind the other, in place. On a CPU: on the calling thread,
  /// whatever the queue; `data` comes from Buffer (64-byte aligned). Elsewhere: enqueued, `data` in
  /// device memory.
  virtual void execute(Queue& queue, std::complex<float>* data) const = 0;
  /// The same with no queue. CPU only.
  virtual void execute(std::complex<float>* data) const = 0;

 protected:
  /// Throws Error(config) on a length or batch of zero or above 2^31 - 1.
  FftPlan(std::size_t length, std::size_t batch);

  std::size_t length_, batch_;
};

struct Options {
  std::size_t threads = 0;              ///< of the host; 0: as many as the process may use
  std::size_t device_memory_bytes = 0;  ///< most that may be allocated on a GPU; 0: all there is
  core::LogSink log = {};               ///< of the device and of the plans on it; none: silence
};

/// A block of memory, aligned to 64 bytes unless it is borrowed; move-only. data() of a device's memory is an address
/// to hand to queues and kernels, not to read on the host.
class Buffer {
 public:
  Buffer() = default;
  /// Zeroed host memory.
  explicit Buffer(std::size_t bytes);
  /// The caller's memory, which stays alive for as long as `owner` does. Without an owner the caller
  /// keeps it until the buffer and the work enqueued on it are done.
  static Buffer borrow(void* data, std::size_t bytes, std::shared_ptr<void> owner = {}) {
    return {data, bytes, std::move(owner)};
  }
  /// Memory that `owner` frees.
  Buffer(void* data, std::size_t bytes, std::shared_ptr<void> owner)
      : owner_(std::move(owner)), data_(data), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    owner_ = std::move(other.owner_);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  std::shared_ptr<void> owner_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// What a plan needs before it is allocated.
struct MemoryUse {
  std::size_t host_bytes = 0;
  std::size_t device_bytes = 0;
};

/// What a device that compiles can do; read off it.
struct Properties {
  std::string product;                ///< "NVIDIA H200"
  std::string driver;                 ///< version of its driver
  std::string architecture;           ///< "sm_90a"; OpenCL: the device's OpenCL C version
  int compute_capability = 0;         ///< 90 for 9.0; 0 where there is no such thing
  std::size_t multiprocessors = 0;    ///< compute units
  std::size_t local_bytes = 0;        ///< most local (shared) memory of one group
  std::size_t max_group_threads = 0;  ///< most threads of one group
  std::size_t warp_threads = 1;       ///< threads that run in step
  std::size_t total_bytes = 0;        ///< memory of the device
  bool host_cpu = false;              ///< an OpenCL device that is the host's CPU
  std::string pci_address;            ///< "00000000:17:00.0"; empty where the driver does not say
};

/// One processor: all the cores of the host, or one GPU. Immutable, shared by plans.
class Device {
 public:
  virtual ~Device() = default;
  virtual Api api() const = 0;
  /// "cpu:avx512", "cuda:0 (NVIDIA H200)".
  virtual std::string name() const = 0;
  /// Whether kernels are compiled for it at run time: cuda and opencl.
  bool compiles() const { return api() == Api::cuda || api() == Api::opencl; }
  /// The instruction set that stages should use on the host.
  virtual InstructionSet instruction_set() const = 0;
  /// Whether the user forced it.
  virtual bool forced() const = 0;
  virtual std::unique_ptr<Queue> make_queue() const = 0;
  virtual std::unique_ptr<Event> make_event() const = 0;
  /// Time from one recorded mark to another; waits for both.
  virtual double seconds_between(const Event& start, const Event& end) const = 0;
  /// Throws Error(config) on a length or batch that FftPlan refuses.
  virtual std::shared_ptr<const FftPlan> make_fft(std::size_t length, std::size_t batch) const = 0;

  /// Memory of the device, its contents unspecified. Throws Error(memory) with the bytes needed and
  /// free.
  virtual Buffer allocate(std::size_t bytes) const = 0;
  /// Zeroed host memory that the device copies from and to by itself, at full rate.
  virtual Buffer allocate_pinned(std::size_t bytes) const = 0;
  /// Whether the address lies in memory of this device (never on a CPU, which has only the host's).
  virtual bool holds(const void* address) const = 0;
  /// Bytes that can still be allocated, the limit of Options considered.
  virtual std::size_t free_bytes() const = 0;

  /// The rest is for devices that compile; on others it throws Error(unsupported).
  virtual const Properties& properties() const = 0;
  /// Names compiler and version: binaries of another one are not to be trusted.
  virtual std::string compiler() const = 0;
  /// Text to a binary for exactly this device. Throws Error(device) with the compiler's first
  /// error.
  virtual std::vector<std::byte> compile(const ProgramSource& source) const = 0;
  virtual std::shared_ptr<const Program> load(const std::string& name,
                                              std::span<const std::byte> binary) const = 0;
  /// A map for the tensor copy engine. CUDA 9.0 and later.
  virtual TensorMap make_tensor_map(const TensorLayout& layout) const = 0;

  /// What plans on this device share within the process.
  SharedState& shared() const { return *shared_; }

 private:
  std::unique_ptr<SharedState> shared_ = std::make_unique<SharedState>();
};

std::shared_ptr<const Device> open(const Selection& selection, const Options& options = {});

}  // namespace tautline::device
