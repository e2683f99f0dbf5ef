// Transforms by VkFFT, which makes its own OpenCL kernels for any length.
#include <fmt/format.h>

#include <mutex>

#include "tautline/core/error.h"
#include "tautline/device/opencl/context.h"

#define VKFFT_BACKEND 3
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wformat-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#include <vkFFT.h>
#pragma GCC diagnostic pop

namespace tautline::device::opencl {

namespace {

using core::Error;
using core::ErrorKind;

class VkfftPlan final : public FftPlan {
 public:
  VkfftPlan(std::shared_ptr<Context> context, std::size_t length, std::size_t batch)
      : FftPlan(length, batch), context_(std::move(context)), bytes_(length * batch * 8) {
    VkFFTConfiguration configuration{};
    configuration.FFTdim = 1;
    configuration.size[0] = length;
    configuration.numberBatches = batch;
    configuration.device = &context_->device;
    cl_context native = context_->context.get();
    configuration.context = &native;
    configuration.bufferSize = &bytes_;
    configuration.specifyOffsetsAtLaunch = 1;
    check(initializeVkFFT(&application_, configuration), "plan");
    made_ = true;
  }
  ~VkfftPlan() override {
    if (made_) deleteVkFFT(&application_);
  }

  std::string_view library() const override { return "vkfft"; }

  void execute(Queue& queue, std::complex<float>* data) const override {
    context_->check_usable("transform");
    const auto place = context_->addresses.find(data);
    if (!place)
      throw Error(ErrorKind::config, "FFT data", "a host address",
                  "an address in the device's memory");
    const std::lock_guard lock(mutex_);  // the launch parameters are the application's state
    cl_command_queue native = native_queue(queue);
    cl_mem memory = place->memory;
    VkFFTLaunchParams launch{};
    launch.commandQueue = &native;
    launch.buffer = &memory;
    launch.bufferOffset = place->offset_bytes;
    check(VkFFTAppend(&application_, -1, &launch), "transform");
  }
  void execute(std::complex<float>*) const override {
    throw Error(ErrorKind::config, "FFT", "no queue", "a queue of " + context_->name);
  }

 private:
  void check(VkFFTResult result, const char* what) const {
    if (result == VKFFT_SUCCESS) return;
    throw Error(ErrorKind::device,
                fmt::format("{}: {} of {} x {} points", context_->name, what, batch_, length_),
                fmt::format("VkFFT error {}", static_cast<int>(result)), "");
  }

  std::shared_ptr<Context> context_;
  std::uint64_t bytes_;
  mutable VkFFTApplication application_{};
  mutable std::mutex mutex_;
  bool made_ = false;
};

}  // namespace

std::shared_ptr<const FftPlan> make_fft(std::shared_ptr<Context> context, std::size_t length,
                                        std::size_t batch) {
  return std::make_shared<VkfftPlan>(std::move(context), length, batch);
}

}  // namespace tautline::device::opencl
