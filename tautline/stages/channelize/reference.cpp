// The definition: the formula of channelize.h in plain loops of double precision, one spectrum at a
// time.
#include <complex>
#include <cstring>

#include "tautline/core/requantise.h"
#include "tautline/stages/channelize/cpu/kernels.h"
#include "tautline/stages/channelize/reference_transform.h"

namespace tautline::stages::channelize {

namespace {

using Complex = std::complex<double>;

template <class T>
double read(const std::byte* samples, std::size_t component) {
  T value;
  std::memcpy(&value, samples + component * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

double component(const std::byte* samples, std::size_t index, const core::SampleFormat& format) {
  if (format.is_float()) return read<float>(samples, index);
  return format.bits == 8 ? read<std::int8_t>(samples, index) : read<std::int16_t>(samples, index);
}

Complex sample(const Bank& bank, const std::byte* samples, std::size_t n) {
  const core::SampleFormat& format = bank.config.input;
  if (bank.real) return component(samples, n, format);
  const double im = component(samples, 2 * n + 1, format);
  return {component(samples, 2 * n, format), bank.lower ? -im : im};
}

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(std::shared_ptr<const Bank> bank)
      : bank_(std::move(bank)), transform_(bank_->frame) {}

  std::string name() const override { return "reference"; }
  std::size_t tile_spectra() const override { return 1; }
  bool aligned() const override { return false; }
  std::size_t scratch_bytes() const override { return 3 * bank_->frame * sizeof(Complex); }
  std::size_t table_bytes() const override {
    return bank_->frame * sizeof(Complex) + bank_->filter.size() * sizeof(double);
  }

  std::uint64_t run(const Tile& tile, std::byte* scratch) const override {
    auto* folded = reinterpret_cast<Complex*>(scratch);
    Complex* bins = folded + bank_->frame;
    if (tile.valid & 1) {
      fold(tile.samples, folded);
      transform_.run(folded, bins, bins + bank_->frame);
    }
    std::uint64_t clipped = 0;
    for (std::size_t k = 0; k < bank_->channels; ++k)
      write(tile, k, tile.valid & 1 ? channel(tile, bins, k) : Complex(0), clipped);
    return clipped;
  }

 private:
  // folded[p] = sum over t of h[(T - t) M - 1 - p] x[t M + p]
  void fold(const std::byte* samples, Complex* folded) const {
    const std::size_t frame = bank_->frame;
    for (std::size_t p = 0; p < frame; ++p) {
      folded[p] = 0;
      for (std::size_t t = 0; t < bank_->taps; ++t)
        folded[p] += bank_->filter[t * frame + p] * sample(*bank_, samples, t * frame + p);
    }
  }

  Complex channel(const Tile& tile, const Complex* bins, std::size_t k) const {
    const std::size_t bin = bank_->bin(k);
    // The phase of the spectrum's origin, exp(-2 pi i bin s D / M), reduced in integers.
    const std::size_t origin = tile.index % bank_->frame * bank_->hop % bank_->frame;
    Complex value = bins[bin] * transform_.root(bin * origin);
    if (bank_->real && bank_->lower) value = std::conj(value);
    if (tile.phase == nullptr) return value;
    const PhaseModel& m = *tile.phase;
    const auto s = static_cast<double>(tile.first);
    const double angle = m.phase_rad + s * m.phase_step_rad +
                         bank_->frequency(k) * (m.slope_rad + s * m.slope_step_rad);
    return value * std::polar(1.0, angle);
  }

  void write(const Tile& tile, std::size_t k, Complex value, std::uint64_t& clipped) const {
    const core::MutableSampleView<3>& out = tile.output->samples;
    const std::complex<float> rounded(value);
    if (!bank_->requantised()) {
      const auto view = out.as<std::complex<float>>();
      if (bank_->config.output == Output::spectra_float)
        view(tile.input, tile.first, k) = rounded;
      else
        view(k, tile.input, tile.first) = rounded;
      return;
    }
    const bool eight = bank_->config.output == Output::corner_turned_ci8;
    const int limit = core::requantise_limit(eight ? 8 : 4);
    const int re = core::requantise(rounded.real(), tile.gains[k], limit, clipped);
    const int im = core::requantise(rounded.imag(), tile.gains[k], limit, clipped);
    if (eight)
      out.as<core::ci8>()(k, tile.input, tile.first) = {static_cast<std::int8_t>(re),
                                                        static_cast<std::int8_t>(im)};
    else
      out.as<core::ci4>()(k, tile.input, tile.first) = core::ci4::pack(re, im);
  }

  std::shared_ptr<const Bank> bank_;
  ReferenceTransform transform_;
};

}  // namespace

std::unique_ptr<Kernel> make_reference_kernel(std::shared_ptr<const Bank> bank) {
  return std::make_unique<ReferenceKernel>(std::move(bank));
}

}  // namespace tautline::stages::channelize
