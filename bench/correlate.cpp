// The X-engine beside OpenBLAS's single-precision cherk, which makes the same products of complex floats.
#include <dlfcn.h>

#include <complex>

#include "bench/in_turns.h"
#include "tautline/jit/case_run.h"

namespace {

using namespace tautline;

// Row-major, lower triangle: c[n][n] += a[n][k] a^H.
using Cherk = void (*)(int, int, int, int, int, float, const void*, int, float, void*, int);

bench::Baseline cherk(const pipeline::Problem& sizes,
                      const std::shared_ptr<const device::Device>& host) {
  void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  const auto call = reinterpret_cast<Cherk>(dlsym(library, "cblas_cherk"));
  const auto set_threads =
      reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  if (call == nullptr || set_threads == nullptr) return {};
  const jit::CaseMemory memory(host);
  set_threads(static_cast<int>(memory.queue().workers()));
  const std::size_t inputs = sizes.at("inputs"), samples = sizes.at("samples"),
                    channels = sizes.at("channels");
  const auto voltages =
      std::make_shared<device::Buffer>(memory.random(core::kCf32, channels * inputs * samples));
  const auto products =
      std::make_shared<device::Buffer>(memory.zeros(inputs * inputs * sizeof(std::complex<float>)));
  return {"cherk (cf32, OpenBLAS)", [=] {
            constexpr int kRowMajor = 101, kLower = 122, kNoTranspose = 111;
            const int n = static_cast<int>(inputs), k = static_cast<int>(samples);
            for (std::size_t c = 0; c < channels; ++c)
              call(kRowMajor, kLower, kNoTranspose, n, k, 1.0f,
                   voltages->as<std::complex<float>>() + c * inputs * samples, k, 1.0f,
                   products->data(), n);
          }};
}

}  // namespace

int main(int count, char** arguments) {
  return bench::run(
      count, arguments,
      {"correlate",
       {"inputs=256,channels=16,samples=8192", "inputs=256,channels=16,samples=8192,format=cf32"},
       cherk});
}
