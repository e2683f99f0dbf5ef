// Powers of two: filter, transform, requantisation and corner turn of kLanes spectra while they are
// in cache. Included once per instruction set.
//
// The filter's lanes are consecutive samples. Its sums are transposed in registers, after which
// lanes are spectra: the passes of the transform need no shuffles, and a register of the last pass
// has kLanes consecutive times of one channel, in the order of corner-turned rows.
#if defined(TAUTLINE_CHANNELIZE_FUSED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTLINE_CHANNELIZE_FUSED_INL_H
#undef TAUTLINE_CHANNELIZE_FUSED_INL_H
#else
#define TAUTLINE_CHANNELIZE_FUSED_INL_H
#endif

#include <algorithm>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "hwy/highway.h"
#include "tautline/stages/channelize/cpu/dft-inl.h"
#include "tautline/stages/channelize/cpu/fft_passes.h"
#include "tautline/stages/channelize/cpu/filter-inl.h"
#include "tautline/stages/channelize/cpu/groups-inl.h"
#include "tautline/stages/channelize/cpu/output-inl.h"
#include "tautline/stages/channelize/cpu/tables.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::channelize::HWY_NAMESPACE {

#ifdef TAUTLINE_SQUARE_TRANSPOSE

/// Floats of one complex value of all lanes.
inline constexpr std::size_t kValue = 2 * kLanes;
/// Complex values of one column of the filter.
inline constexpr std::size_t kColumn = kLanes / 2;

/// Passes each term of the last pass to the writer. Terms of one row are `rows` apart.
template <Output kOutput>
struct WriteTerms {
  Writer<kOutput>& writer;
  std::size_t first, rows, mask;  ///< channel of term k is (first + k rows) & mask
  float* slots;
  HWY_INLINE void operator()(std::size_t k, Lanes value) const {
    writer.put((first + k * rows) & mask, 0, value.re, value.im, slots + k * kValue);
  }
};

class FusedKernel final : public GroupKernel {
 public:
  static bool fits(const Bank& bank, const Tunables& tunables) {
    const std::size_t hop = bank.hop * bank.components_per_sample();
    const bool moves_by_columns = bank.channels >= kColumn && hop % kLanes == 0;
    return std::has_single_bit(bank.channels) && bank.channels <= tunables.fused_max_channels &&
           (bank.hop == bank.frame || moves_by_columns);
  }

  FusedKernel(std::shared_ptr<const Bank> bank, std::string_view set)
      : GroupKernel(*bank),
        bank_(std::move(bank)),
        coefficients_(component_coefficients(*bank_)),
        split_(bank_->real ? split_roots(bank_->channels, bank_->channels / 2 + 1)
                           : std::vector<std::complex<float>>{}),
        passes_(bank_->channels),
        set_(set) {
    const std::size_t frame = 2 * bank_->channels;
    if (frame >= kLanes) return;
    for (std::size_t t = 0; t < bank_->taps; ++t)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        short_coefficients_.push_back(coefficients_[t * frame + lane % frame]);
  }

  std::string name() const override { return set_ + ", fused radix " + passes_.name(); }
  bool aligned() const override { return false; }
  std::size_t group_scratch_bytes() const override {
    return (array_floats() + first_floats() + kBlock + kDftScratchFloats +
            Phasors::table_floats(bank_->channels, kLanes)) *
           sizeof(float);
  }
  std::size_t table_bytes() const override {
    return (coefficients_.size() + short_coefficients_.size()) * sizeof(float) +
           split_.size() * sizeof(split_[0]) + passes_.table_bytes();
  }

  std::size_t hop_bytes() const override { return bank_->hop * bank_->sample_bytes; }

  std::uint64_t run_group(const Tile& tile, const Rows& out, std::byte* scratch) const override {
    Work work;
    work.array = reinterpret_cast<float*>(scratch);
    work.first = work.array + array_floats();
    work.block = work.first + first_floats();
    work.dft = work.block + kBlock;
    if (bank_->hop != bank_->frame)
      for (std::size_t s = 0; s < kLanes; ++s)
        work.origins[s] = tile_origin(*bank_, tile.index + s);
    const Phasors phasors(*bank_, tile, kLanes, work.dft + kDftScratchFloats);
    const core::SampleFormat& format = bank_->config.input;
    if (format.is_float())
      filter_and_transform<float>(tile, work);
    else if (format.bits == 8)
      filter_and_transform<std::int8_t>(tile, work);
    else
      filter_and_transform<std::int16_t>(tile, work);
    for (std::size_t i = 1; i + 1 < passes_.list().size(); ++i) middle(passes_.list()[i], work);
    switch (bank_->config.output) {
      case Output::spectra_float:
        return finish<Output::spectra_float>(tile, out, phasors, work);
      case Output::corner_turned_float:
        return finish<Output::corner_turned_float>(tile, out, phasors, work);
      case Output::corner_turned_ci8:
        return finish<Output::corner_turned_ci8>(tile, out, phasors, work);
      case Output::corner_turned_ci4:
        return finish<Output::corner_turned_ci4>(tile, out, phasors, work);
    }
    return 0;
  }

 private:
  static constexpr std::size_t kBlock = kLanes * kLanes;

  struct Work {
    float* array;                 ///< the transform's values, at their places
    float* first;                 ///< values that the first pass transforms at a time
    float* block;                 ///< kLanes sums of kLanes spectra
    float* dft;                   ///< scratch of one transform
    std::size_t origins[kLanes];  ///< (s D) mod M of each spectrum, in components
  };

  std::size_t array_floats() const { return passes_.places() * kValue; }
  std::size_t first_floats() const { return passes_.list()[0].radix * kBlock; }

  // Sums components [q, q + kLanes) of the folded frames; writes kColumn values of all lanes to
  // `out`. Not in line: every radix's first pass would hold its hundreds of instructions again.
  template <class T>
  HWY_NOINLINE void filter_column(const Tile& tile, std::size_t q, const Work& work,
                                  float* out) const {
    const auto* samples = reinterpret_cast<const T*>(tile.samples);
    const std::size_t frame = 2 * bank_->channels;
    prefetch(tile, q);
    if (bank_->hop == bank_->frame)
      filter_columns(Columns<T>{samples + q, coefficients_.data() + q, frame, bank_->taps,
                                tile.count, work.block, kLanes});
    else
      filter_moving<T>(tile, q, work);
    rows_to_lanes(work.block, kLanes, kColumn, out);
  }

  // Oversampled: spectra do not share frames. The sum of component p of spectrum s is stored at
  // (p + s D) mod M, which removes the phase of the moving origin.
  template <class T>
  HWY_INLINE void filter_moving(const Tile& tile, std::size_t q, const Work& work) const {
    const auto* samples = reinterpret_cast<const T*>(tile.samples);
    const std::size_t frame = 2 * bank_->channels;
    const std::size_t hop = bank_->hop * bank_->components_per_sample();
    for (std::size_t s = 0; s < tile.count; ++s) {
      const std::size_t origin = work.origins[s];
      const std::size_t p = q >= origin ? q - origin : q + frame - origin;
      filter_one(Columns<T>{samples + s * hop + p, coefficients_.data() + p, frame, bank_->taps, 1,
                            work.block + s * kLanes, kLanes});
    }
  }

  // Frames shorter than a register: one register filters several consecutive spectra.
  template <class T>
  void filter_short(const Tile& tile, const Work& work) const {
    const FloatTag d;
    const std::size_t frame = 2 * bank_->channels;
    for (std::size_t q = 0; q < tile.count * frame; q += kLanes) {
      const auto* x = reinterpret_cast<const T*>(tile.samples) + q;
      const std::size_t inside = std::min(kLanes, tile.count * frame - q);
      FloatVec sum = hn::Zero(d);
      for (std::size_t t = 0; t < bank_->taps; ++t, x += frame) {
        T part[kLanes] = {};
        if (inside < kLanes) std::memcpy(part, x, inside * sizeof(T));
        const FloatVec sample = load_components(inside < kLanes ? part : x);
        sum = hn::MulAdd(hn::LoadU(d, short_coefficients_.data() + t * kLanes), sample, sum);
      }
      hn::Store(sum, d, work.block + q);
    }
    rows_to_lanes(work.block, frame, bank_->channels, work.array);
  }

  // Prefetches a share of the next group's new samples, in the order of their addresses: the filter
  // jumps between frames, which hardware prefetchers do not follow.
  HWY_INLINE void prefetch(const Tile& tile, std::size_t q) const {
    const std::size_t share = kLanes * hop_bytes() / (2 * bank_->channels / kLanes);
    const std::size_t end =
        (kLanes * bank_->hop + bank_->span() - bank_->hop) * bank_->sample_bytes;
    const auto from = reinterpret_cast<std::uintptr_t>(tile.samples) + end + q / kLanes * share;
    for (std::size_t n = 0; n < share; n += 64)
      __builtin_prefetch(reinterpret_cast<const void*>(from + n), 0, 2);
  }

  template <class T>
  void filter_and_transform(const Tile& tile, const Work& work) const {
    const FftPass& pass = passes_.list()[0];
    if (2 * bank_->channels < kLanes) return filter_short<T>(tile, work);
    if (passes_.list().size() == 1) {
      for (std::size_t n = 0; n < bank_->channels; n += kColumn)
        filter_column<T>(tile, 2 * n, work, work.array + n * kValue);
      return;
    }
    if (pass.radix == 8) first<T, 8>(tile, pass, work);
    if (pass.radix == 16) first<T, 16>(tile, pass, work);
    if (pass.radix == 32) first<T, 32>(tile, pass, work);
  }

  // Filters and transforms kColumn columns at a time, whose sums stay in the first-level cache.
  template <class T, int kRadix>
  void first(const Tile& tile, const FftPass& pass, const Work& work) const {
    const std::size_t columns = pass.length / pass.radix;
    for (std::size_t m = 0; m < columns; m += kColumn) {
      for (std::size_t n = 0; n < kRadix; ++n)
        filter_column<T>(tile, 2 * (n * columns + m), work, work.first + n * kBlock);
      for (std::size_t c = 0; c < kColumn; ++c) first_column<kRadix>(pass, m, c, work);
    }
  }

  // Not in line, so that all sample types share it.
  template <int kRadix>
  static HWY_NOINLINE void first_column(const FftPass& pass, std::size_t m, std::size_t c,
                                        const Work& work) {
    const Load source{work.first + c * kValue, kBlock};
    const StoreTwiddled sink{{work.array + pass.columns[m + c] * kValue, pass.stride * kValue},
                             pass.twiddles.data() + 2 * kRadix * (m + c)};
    dft<kRadix>(source, sink, work.dft);
  }

  void middle(const FftPass& pass, const Work& work) const {
    if (pass.radix == 8) middle_radix<8>(pass, work);
    if (pass.radix == 16) middle_radix<16>(pass, work);
    if (pass.radix == 32) middle_radix<32>(pass, work);
  }

  template <int kRadix>
  void middle_radix(const FftPass& pass, const Work& work) const {
    for (const std::uint32_t block : pass.blocks)
      for (std::size_t m = 0; m < pass.columns.size(); ++m) {
        float* values = work.array + (block + pass.columns[m]) * kValue;
        const StoreTwiddled sink{{values, pass.stride * kValue},
                                 pass.twiddles.data() + 2 * kRadix * m};
        dft<kRadix>(Load{values, pass.stride * kValue}, sink, work.dft);
      }
  }

  template <Output kOutput>
  std::uint64_t finish(const Tile& tile, const Rows& out, const Phasors& phasors,
                       const Work& work) const {
    const std::size_t radix = passes_.list().back().radix;
    std::uint64_t clipped = 0;
    if (radix == 2) clipped = last<2, kOutput>(tile, out, phasors, work);
    if (radix == 4) clipped = last<4, kOutput>(tile, out, phasors, work);
    if (radix == 8) clipped = last<8, kOutput>(tile, out, phasors, work);
    if (radix == 16) clipped = last<16, kOutput>(tile, out, phasors, work);
    if (radix == 32) clipped = last<32, kOutput>(tile, out, phasors, work);
    if constexpr (kOutput == Output::spectra_float) write_rows(tile, work);
    return clipped;
  }

  // The writer is a local variable, so that the compiler knows that no store changes it.
  template <int kRadix, Output kOutput>
  std::uint64_t last(const Tile& tile, const Rows& out, const Phasors& phasors,
                     const Work& work) const {
    Writer<kOutput> writer(tile, out, phasors);
    const std::size_t rows = passes_.rows(), channels = bank_->channels;
    if (bank_->real) {
      for (std::size_t r = 0; 2 * r <= rows; ++r) last_pair<kRadix>(writer, r, work);
      return writer.clipped();
    }
    for (std::size_t r = 0; r < rows; ++r) {
      float* row = work.array + passes_.row_place(r) * kValue;
      const WriteTerms<kOutput> sink{writer, r + channels / 2, rows, channels - 1, row};
      dft<kRadix>(Load{row, kValue}, sink, work.dft);
    }
    return writer.clipped();
  }

  // In place; not in line, so that all outputs share it.
  template <int kRadix>
  static HWY_NOINLINE void transform_row(float* row, float* scratch) {
    const Store in_place{row, kValue};
    dft<kRadix>(Load{row, kValue}, in_place, scratch);
  }

  // Real input: terms k and C - k of the transform are in rows r and rows - r.
  template <int kRadix, Output kOutput>
  HWY_INLINE void last_pair(Writer<kOutput>& writer, std::size_t r, const Work& work) const {
    const std::size_t rows = passes_.rows(), mirror = (rows - r) % rows;
    float* a = work.array + passes_.row_place(r) * kValue;
    float* b = work.array + passes_.row_place(mirror) * kValue;
    transform_row<kRadix>(a, work.dft);
    if (mirror != r) transform_row<kRadix>(b, work.dft);
    for (std::size_t j = 0; j < kRadix; ++j) {
      const std::size_t k = r + rows * j;
      const std::size_t other = r == 0 ? (kRadix - j) % kRadix : kRadix - 1 - j;
      if (mirror == r && 2 * k > bank_->channels) break;
      split_pair(writer, k, a + j * kValue, b + other * kValue);
    }
  }

  // The transform V of the real frame from the transform z of x[2n] + i x[2n + 1] (formulas in
  // cpu/rows-inl.h). Upper sideband: channel k is V[k]; lower: channel c is conj V[C - c].
  template <Output kOutput>
  HWY_INLINE void split_pair(Writer<kOutput>& writer, std::size_t k, float* at,
                             float* mirror) const {
    const FloatTag d;
    const Load load{at, 0}, load_mirror{mirror, 0};
    const Lanes a = load(0), b = load_mirror(0);
    const std::size_t channels = bank_->channels;
    if (k == 0) {
      const FloatVec edge = bank_->lower ? hn::Sub(a.re, a.im) : hn::Add(a.re, a.im);
      writer.put(0, 0, edge, hn::Zero(d), at);
      return;
    }
    const FloatVec half = hn::Set(d, 0.5f);
    const Lanes e{hn::Mul(half, hn::Add(a.re, b.re)), hn::Mul(half, hn::Sub(a.im, b.im))};
    const Lanes o{hn::Mul(half, hn::Add(a.im, b.im)), hn::Mul(half, hn::Sub(b.re, a.re))};
    const std::complex<float> w = split_[std::min(k, channels - k)];
    // exp(-2 pi i (C - k) / 2C) = -conj exp(-2 pi i k / 2C)
    const Lanes t = multiply(o, 2 * k <= channels ? w.real() : -w.real(), w.imag());
    const Lanes v = e + t, u = e - t;  // V[k] and conj V[C - k]
    if (bank_->lower) {
      writer.put(k, 0, u.re, u.im, mirror);
      if (2 * k != channels) writer.put(channels - k, 0, v.re, hn::Neg(v.im), at);
    } else {
      writer.put(k, 0, v.re, v.im, at);
      if (2 * k != channels) writer.put(channels - k, 0, u.re, hn::Neg(u.im), mirror);
    }
  }

  // Spectra output: transposes lanes back to rows of ascending channels.
  void write_rows(const Tile& tile, const Work& work) const {
    const auto spectra = tile.output->samples.as<std::complex<float>>();
    auto* rows = reinterpret_cast<float*>(&spectra(tile.input, tile.first, 0));
    const std::size_t stride = 2 * static_cast<std::size_t>(spectra.stride(1));
    const std::size_t block = std::min(kColumn, bank_->channels);
    for (std::size_t c = 0; c < bank_->channels; c += block) {
      for (std::size_t n = 0; n < block; ++n) {
        const std::size_t term = bank_->bin(c + n) % bank_->channels;
        const Load value{work.array + passes_.place_of_term(term) * kValue, 0};
        Store{work.block + n * kValue, 0}(0, value(0));
      }
      lanes_to_rows(work.block, block, rows + 2 * c, stride, tile.count);
    }
  }

  std::shared_ptr<const Bank> bank_;
  std::vector<float> coefficients_;
  std::vector<float> short_coefficients_;  // [tap][lane]: the frame's, repeated to fill a register
  std::vector<std::complex<float>> split_;
  FftPasses passes_;
  std::string set_;
};

#endif  // TAUTLINE_SQUARE_TRANSPOSE

}  // namespace tautline::stages::channelize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
