// Any number of channels: the filter writes rows, the device's FFT transforms them, and rows are
// transposed to lanes for the output. Included once per instruction set.
#if defined(TAUTLINE_CHANNELIZE_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTLINE_CHANNELIZE_ROWS_INL_H
#undef TAUTLINE_CHANNELIZE_ROWS_INL_H
#else
#define TAUTLINE_CHANNELIZE_ROWS_INL_H
#endif

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "hwy/highway.h"
#include "tautline/stages/channelize/cpu/filter-inl.h"
#include "tautline/stages/channelize/cpu/groups-inl.h"
#include "tautline/stages/channelize/cpu/output-inl.h"
#include "tautline/stages/channelize/cpu/tables.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::channelize::HWY_NAMESPACE {

class RowKernel final : public GroupKernel {
 public:
  RowKernel(std::shared_ptr<const Bank> bank, const device::Device& device,
            const Tunables& tunables, std::string_view set)
      : GroupKernel(*bank),
        bank_(std::move(bank)),
        coefficients_(component_coefficients(*bank_)),
        split_(bank_->real ? split_roots(bank_->channels, bank_->channels / 2 + 1)
                           : std::vector<std::complex<float>>{}),
        batch_(kLanes * bank_->channels * sizeof(std::complex<float>) <= tunables.batch_bytes
                   ? kLanes
                   : 1),
        fft_(device.make_fft(bank_->channels, batch_)),
        // A batch is dense; rows of single transforms are aligned.
        row_(batch_ > 1 ? 2 * bank_->channels : (2 * bank_->channels + 15) / 16 * 16),
        set_(set) {}

  std::string name() const override { return set_ + ", " + std::string(fft_->library()); }
  // A spectrum has the same place in the FFT's batch however the stream is split into calls, so
  // that its bits are the same.
  bool aligned() const override { return batch_ > 1; }
  std::size_t group_scratch_bytes() const override {
    return (row_floats() + kChunk * 2 * kLanes + Phasors::table_floats(bank_->channels, kLanes)) *
           sizeof(float);
  }
  std::size_t table_bytes() const override {
    return coefficients_.size() * sizeof(float) + split_.size() * sizeof(split_[0]);
  }

  std::size_t hop_bytes() const override { return bank_->hop * bank_->sample_bytes; }

  std::uint64_t run_group(const Tile& tile, const Rows& out, std::byte* scratch) const override {
    auto* rows = reinterpret_cast<float*>(scratch);
    const std::size_t place = aligned() ? tile.index % kLanes : 0;
    filter(tile, rows + place * row_);
    transform(rows, place, tile.count);
    if (bank_->real)
      for (std::size_t s = place; s < place + tile.count; ++s) split(rows + s * row_);
    return write(tile, out, rows + place * row_, rows + row_floats());
  }

 private:
  // Complex values transposed to lanes at once: 16 KiB with 16 lanes, a third of a first-level
  // cache.
  static constexpr std::size_t kChunk = 128;

  // A partial tile may start at any row, and kLanes rows are transposed from there.
  std::size_t row_floats() const { return ((2 * kLanes - 1) * row_ + 15) / 16 * 16; }

  void filter(const Tile& tile, float* rows) const {
    const core::SampleFormat& format = bank_->config.input;
    if (format.is_float())
      filter_as<float>(tile, rows);
    else if (format.bits == 8)
      filter_as<std::int8_t>(tile, rows);
    else
      filter_as<std::int16_t>(tile, rows);
  }

  template <class T>
  void filter_as(const Tile& tile, float* rows) const {
    const auto* samples = reinterpret_cast<const T*>(tile.samples);
    const std::size_t frame = 2 * bank_->channels;
    std::size_t p = 0;
#ifdef TAUTLINE_SQUARE_TRANSPOSE
    if (bank_->hop == bank_->frame)
      for (; p + kLanes <= frame; p += kLanes)
        filter_columns(Columns<T>{samples + p, coefficients_.data() + p, frame, bank_->taps,
                                  tile.count, rows + p, row_});
#endif
    if (p == frame) return;
    const std::size_t hop = bank_->hop * bank_->components_per_sample();
    for (std::size_t s = 0; s < tile.count; ++s) {
      // The sum of component p of a frame is stored at (p + s D) mod M, which removes the phase of
      // the moving origin.
      const std::size_t origin = tile_origin(*bank_, tile.index + s);
      const std::size_t wrap = std::max(p, frame - origin);
      const T* x = samples + s * hop;
      float* row = rows + s * row_;
      filter_row(x, coefficients_.data(), frame, bank_->taps, p, wrap - p, row + p + origin);
      filter_row(x, coefficients_.data(), frame, bank_->taps, wrap, frame - wrap, row);
    }
  }

  void transform(float* rows, std::size_t place, std::size_t count) const {
    if (batch_ > 1) {
      fft_->execute(reinterpret_cast<std::complex<float>*>(rows));
      return;
    }
    for (std::size_t s = place; s < place + count; ++s)
      fft_->execute(reinterpret_cast<std::complex<float>*>(rows + s * row_));
  }

  // Channels of the real frame from the transform z of x[2n] + i x[2n + 1]:
  //   V[k] = E + w O, conj V[C - k] = E - w O,
  //   E = (z[k] + conj z[C - k]) / 2, O = (z[k] - conj z[C - k]) / 2i, w = exp(-2 pi i k / 2C)
  void split(float* row) const {
    auto* z = reinterpret_cast<std::complex<float>*>(row);
    const std::size_t channels = bank_->channels;
    const bool lower = bank_->lower;
    const float zero = z[0].real() + z[0].imag(), nyquist = z[0].real() - z[0].imag();
    z[0] = lower ? nyquist : zero;
    for (std::size_t k = 1; 2 * k <= channels; ++k) {
      const std::complex<float> a = z[k], b = z[channels - k], w = split_[k];
      const float e_re = 0.5f * (a.real() + b.real()), e_im = 0.5f * (a.imag() - b.imag());
      const float o_re = 0.5f * (a.imag() + b.imag()), o_im = -0.5f * (a.real() - b.real());
      const float t_re = w.real() * o_re - w.imag() * o_im;
      const float t_im = w.real() * o_im + w.imag() * o_re;
      const std::complex<float> v(e_re + t_re, e_im + t_im), u(e_re - t_re, t_im - e_im);
      // The lower sideband's channel c is conj V[C - c].
      z[k] = lower ? std::conj(u) : v;
      z[channels - k] = lower ? std::conj(v) : u;
    }
  }

  std::uint64_t write(const Tile& tile, const Rows& out, const float* rows, float* lanes) const {
    const Phasors phasors(*bank_, tile, kLanes, lanes + kChunk * 2 * kLanes);
    switch (bank_->config.output) {
      case Output::spectra_float:
        return write_as<Output::spectra_float>(tile, out, phasors, rows, lanes);
      case Output::corner_turned_float:
        return write_as<Output::corner_turned_float>(tile, out, phasors, rows, lanes);
      case Output::corner_turned_ci8:
        return write_as<Output::corner_turned_ci8>(tile, out, phasors, rows, lanes);
      case Output::corner_turned_ci4:
        return write_as<Output::corner_turned_ci4>(tile, out, phasors, rows, lanes);
    }
    return 0;
  }

  template <Output kOutput>
  std::uint64_t write_as(const Tile& tile, const Rows& out, const Phasors& phasors,
                         const float* rows, float* lanes) const {
    Writer<kOutput> writer(tile, out, phasors);
    // Channels below baseband zero are the upper half of a complex transform.
    const std::size_t below = bank_->real ? 0 : bank_->channels / 2;
    write_range(writer, tile, rows + 2 * (bank_->channels - below), 0, below, lanes);
    write_range(writer, tile, rows, below, bank_->channels - below, lanes);
    return writer.clipped();
  }

  template <Output kOutput>
  void write_range(Writer<kOutput>& writer, const Tile& tile, const float* rows,
                   std::size_t channel, std::size_t count, float* lanes) const {
    for (std::size_t done = 0; done < count; done += kChunk) {
      const std::size_t now = std::min(kChunk, count - done);
      rows_to_lanes(rows + 2 * done, row_, now, lanes);
      for (std::size_t c = 0; c < now; ++c) {
        float* slot = lanes + c * 2 * kLanes;
        writer.put(channel + done + c, slot, slot);
      }
      if constexpr (kOutput == Output::spectra_float) {
        const auto spectra = tile.output->samples.as<std::complex<float>>();
        lanes_to_rows(lanes, now,
                      reinterpret_cast<float*>(&spectra(tile.input, tile.first, channel + done)),
                      2 * static_cast<std::size_t>(spectra.stride(1)), tile.count);
      }
    }
  }

  std::shared_ptr<const Bank> bank_;
  std::vector<float> coefficients_;
  std::vector<std::complex<float>> split_;
  std::size_t batch_;
  std::shared_ptr<const device::FftPlan> fft_;
  std::size_t row_;
  std::string set_;
};

}  // namespace tautline::stages::channelize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
