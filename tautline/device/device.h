// The device contract: what stages ask of the processor they run on.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tautline::device {

/// Which implementation computes. `reference` runs the plain loops that define every stage.
enum class Api { reference, cpu };

/// CPU code paths, each a superset of the ones before it, on x86-64. `portable` is whatever the
/// compiler's baseline has. A stage without code for the chosen set takes the next lower one and
/// says so in its plan.
enum class InstructionSet { portable, avx2, avx512, vnni, amx };

std::string_view to_string(InstructionSet set);

/// A parsed `--device`: auto, reference, cpu, cpu:portable|avx2|avx512|vnni|amx.
struct Selection {
  Api api = Api::cpu;
  /// Set when forced. A stage that has code for this set must use it.
  std::optional<InstructionSet> instruction_set;
};

/// Throws Error(config) for an unknown name and Error(unsupported) for one that this build or
/// machine cannot run.
Selection parse_selection(std::string_view text);

/// Whether this processor and operating system run `set` (for AMX this asks the kernel for the
/// tile registers on behalf of the process, as Linux requires).
bool supported(InstructionSet set);
/// The highest supported set.
InstructionSet best_instruction_set();

/// Runs work for a stage. A queue belongs to one thread at a time; calls return when the work is
/// done on a CPU and when it is enqueued elsewhere.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Waits for everything enqueued.
  virtual void synchronise() = 0;
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
  virtual std::size_t length() const = 0;
  virtual std::size_t batch() const = 0;
  /// Which library does it: "fftw" or "kissfft".
  virtual std::string_view library() const = 0;
  /// `batch` dense transforms one behind the other, in place, on the calling thread. `data` comes
  /// from Buffer (64-byte aligned). FFTW gives the same bits on every call.
  virtual void execute(std::complex<float>* data) const = 0;
};

struct Options {
  std::size_t threads = 0;  ///< 0: as many as the process may use
};

/// One processor (all the cores of the host). Immutable, shared by plans.
class Device {
 public:
  virtual ~Device() = default;
  virtual Api api() const = 0;
  virtual std::string name() const = 0;
  /// The instruction set that stages should use.
  virtual InstructionSet instruction_set() const = 0;
  /// Whether the user forced it.
  virtual bool forced() const = 0;
  virtual std::unique_ptr<Queue> make_queue() const = 0;
  /// Throws Error(config) on a length or batch of zero.
  virtual std::shared_ptr<const FftPlan> make_fft(std::size_t length, std::size_t batch) const = 0;
};

std::shared_ptr<const Device> open(const Selection& selection, const Options& options = {});

/// Zeroed host memory, aligned to 64 bytes; move-only.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);

  void* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_.get());
  }

 private:
  struct Free {
    void operator()(void* pointer) const;
  };
  std::unique_ptr<void, Free> data_;
  std::size_t bytes_ = 0;
};

/// What a plan needs before it is allocated.
struct MemoryUse {
  std::size_t host_bytes = 0;
  std::size_t device_bytes = 0;
};

}  // namespace tautline::device
