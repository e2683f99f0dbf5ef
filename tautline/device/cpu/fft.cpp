#include "tautline/device/cpu/fft.h"

#include <dlfcn.h>
#include <kissfft/kiss_fft.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "tautline/core/error.h"

namespace tautline::device::cpu {

namespace {

// The few entry points of single-precision FFTW that we use, declared by us and opened at run
// time: FFTW is GPL and is never linked.
struct Fftw {
  using Plan = void*;
  using Complex = float[2];
  Plan (*plan_many_dft)(int rank, const int* n, int howmany, Complex* in, const int* inembed,
                        int istride, int idist, Complex* out, const int* onembed, int ostride,
                        int odist, int sign, unsigned flags) = nullptr;
  void (*execute_dft)(Plan, Complex* in, Complex* out) = nullptr;
  void (*destroy_plan)(Plan) = nullptr;
  std::mutex planner;  // FFTW's planner is not re-entrant

  static constexpr int kForward = -1;
  static constexpr unsigned kEstimate = 1u << 6;

  static Fftw* instance() {
    static Fftw fftw;
    return fftw.destroy_plan != nullptr ? &fftw : nullptr;
  }

 private:
  Fftw() {
    void* library = dlopen("libfftw3f.so.3", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    plan_many_dft =
        reinterpret_cast<decltype(plan_many_dft)>(dlsym(library, "fftwf_plan_many_dft"));
    execute_dft = reinterpret_cast<decltype(execute_dft)>(dlsym(library, "fftwf_execute_dft"));
    if (plan_many_dft == nullptr || execute_dft == nullptr) return;
    destroy_plan = reinterpret_cast<decltype(destroy_plan)>(dlsym(library, "fftwf_destroy_plan"));
  }
};

class FftwPlan final : public FftPlan {
 public:
  FftwPlan(Fftw& fftw, std::size_t length, std::size_t batch)
      : FftPlan(length, batch), fftw_(fftw) {
    const int n = static_cast<int>(length);
    const Buffer scratch(length * batch * sizeof(std::complex<float>));
    auto* data = scratch.as<Fftw::Complex>();
    const std::lock_guard lock(fftw_.planner);
    plan_ = fftw_.plan_many_dft(1, &n, static_cast<int>(batch), data, nullptr, 1, n, data, nullptr,
                                1, n, Fftw::kForward, Fftw::kEstimate);
    if (plan_ == nullptr)
      throw core::Error(core::ErrorKind::device, "FFT length", std::to_string(length),
                        "a length that FFTW can plan");
  }
  ~FftwPlan() override {
    const std::lock_guard lock(fftw_.planner);
    fftw_.destroy_plan(plan_);
  }

  std::string_view library() const override { return "fftw"; }
  void execute(Queue&, std::complex<float>* data) const override { execute(data); }
  void execute(std::complex<float>* data) const override {
    auto* raw = reinterpret_cast<Fftw::Complex*>(data);
    fftw_.execute_dft(plan_, raw, raw);
  }

 private:
  Fftw& fftw_;
  Fftw::Plan plan_ = nullptr;
};

class KissPlan final : public FftPlan {
 public:
  KissPlan(std::size_t length, std::size_t batch)
      : FftPlan(length, batch),
        config_(kiss_fft_alloc(static_cast<int>(length), 0, nullptr, nullptr), &std::free) {
    if (config_ == nullptr) throw std::bad_alloc();
  }

  std::string_view library() const override { return "kissfft"; }
  void execute(Queue&, std::complex<float>* data) const override { execute(data); }
  void execute(std::complex<float>* data) const override {
    std::vector<std::complex<float>> out(length_);
    for (std::size_t b = 0; b < batch_; ++b) {
      auto* in = reinterpret_cast<const kiss_fft_cpx*>(data + b * length_);
      kiss_fft(config_.get(), in, reinterpret_cast<kiss_fft_cpx*>(out.data()));
      std::memcpy(data + b * length_, out.data(), length_ * sizeof(std::complex<float>));
    }
  }

 private:
  std::unique_ptr<std::remove_pointer_t<kiss_fft_cfg>, decltype(&std::free)> config_;
};

}  // namespace

bool fftw_available() {
  return Fftw::instance() != nullptr;
}

std::shared_ptr<const FftPlan> make_fft(std::size_t length, std::size_t batch, bool allow_fftw) {
  const char* choice = std::getenv("TAUTLINE_FFT");
  const bool kiss_asked = choice != nullptr && std::string_view(choice) == "kissfft";
  Fftw* fftw = allow_fftw && !kiss_asked ? Fftw::instance() : nullptr;
  if (fftw != nullptr) return std::make_shared<FftwPlan>(*fftw, length, batch);
  return std::make_shared<KissPlan>(length, batch);
}

}  // namespace tautline::device::cpu
