// Transforms by cuFFT.
#include <fmt/format.h>

#include <mutex>

#include "tautline/core/error.h"
#include "tautline/device/cuda/context.h"

namespace tautline::device::cuda {

namespace {

using core::Error;
using core::ErrorKind;

constexpr int kComplexToComplex = 0x29, kForward = -1;

const Cufft& library_for(std::size_t length) {
  if (const Cufft* library = cufft()) return *library;
  throw Error(ErrorKind::unsupported, "FFT length", std::to_string(length),
              "cuFFT (libcufft.so.11 or .12) for lengths without a kernel of our own",
              "install NVIDIA's cufft package, or choose a power of two from 64 to 16384");
}

class CufftPlan final : public FftPlan {
 public:
  CufftPlan(std::shared_ptr<Context> context, std::size_t length, std::size_t batch)
      : FftPlan(length, batch), context_(std::move(context)), cufft_(library_for(length)) {
    const Current current(*context_);
    int n = static_cast<int>(length);
    check(cufft_.PlanMany(&plan_, 1, &n, nullptr, 1, n, nullptr, 1, n, kComplexToComplex,
                          static_cast<int>(batch)),
          "plan");
    made_ = true;
    check(cufft_.GetSize(plan_, &work_bytes_), "plan");
  }
  ~CufftPlan() override {
    if (!made_) return;
    const Current current(*context_);
    cufft_.Destroy(plan_);
  }

  std::size_t work_bytes() const override { return work_bytes_; }
  std::string_view library() const override { return "cufft"; }
  void execute(Queue& queue, std::complex<float>* data) const override {
    context_->check_usable("transform");
    const std::lock_guard lock(mutex_);  // the stream is the plan's state
    const Current current(*context_);
    check(cufft_.SetStream(plan_, native_stream(queue)), "transform");
    check(cufft_.ExecC2C(plan_, data, data, kForward), "transform");
  }
  void execute(std::complex<float>*) const override {
    throw Error(ErrorKind::config, "FFT", "no queue", "a queue of " + context_->name);
  }

 private:
  void check(int result, const char* what) const {
    constexpr int kAllocationFailed = 2;
    if (result == 0) return;
    throw Error(result == kAllocationFailed ? ErrorKind::memory : ErrorKind::device,
                fmt::format("{}: {} of {} x {} points", context_->name, what, batch_, length_),
                fmt::format("cuFFT error {}", result), "",
                result == kAllocationFailed ? "lower `memory_bytes` or the block size" : "");
  }

  std::shared_ptr<Context> context_;
  const Cufft& cufft_;
  std::size_t work_bytes_ = 0;
  int plan_ = 0;
  mutable std::mutex mutex_;
  bool made_ = false;
};

}  // namespace

std::shared_ptr<const FftPlan> make_fft(std::shared_ptr<Context> context, std::size_t length,
                                        std::size_t batch) {
  return std::make_shared<CufftPlan>(std::move(context), length, batch);
}

}  // namespace tautline::device::cuda
