// Output of channels on targets without AVX2: the same steps as cpu/output-inl.h in plain loops
// over kLanes values, which the compiler vectorises. Included once per instruction set, by
// cpu/output-inl.h.
#if defined(TAUTLINE_CHANNELIZE_OUTPUT_PLAIN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTLINE_CHANNELIZE_OUTPUT_PLAIN_INL_H
#undef TAUTLINE_CHANNELIZE_OUTPUT_PLAIN_INL_H
#else
#define TAUTLINE_CHANNELIZE_OUTPUT_PLAIN_INL_H
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "tautline/core/requantise.h"
#include "tautline/stages/channelize/cpu/kernels.h"
#include "tautline/stages/channelize/cpu/phasors.h"
#include "tautline/stages/channelize/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::channelize::HWY_NAMESPACE {

#ifndef TAUTLINE_SQUARE_TRANSPOSE

template <Output kOutput>
class Writer {
 public:
  Writer(const Tile& tile, const Rows& rows, const Phasors& phasors)
      : phasors_(phasors), rows_(rows), gains_(tile.gains), count_(tile.count) {
    for (std::size_t s = 0; s < kLanes; ++s) keep_[s] = tile.valid >> s & 1 ? ~0u : 0u;
  }

  std::uint64_t clipped() const { return clipped_; }

  void put(std::size_t channel, const float* lanes, float* slot) {
    float values[2 * kLanes];
    std::copy(lanes, lanes + 2 * kLanes, values);
    if (phasors_.used()) rotate(channel, values);
    if constexpr (kOutput == Output::spectra_float || kOutput == Output::corner_turned_float) {
      keep(values);
      if constexpr (kOutput == Output::spectra_float)
        std::copy(values, values + 2 * kLanes, slot);
      else
        put_floats(channel, values);
    } else {
      const float gain = gains_[channel];
      for (float& value : values) value *= gain;
      keep(values);
      put_integers(channel, values);
    }
  }

 private:
  void keep(float* values) const {
    for (std::size_t s = 0; s < kLanes; ++s) {
      values[s] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(values[s]) & keep_[s]);
      values[kLanes + s] =
          std::bit_cast<float>(std::bit_cast<std::uint32_t>(values[kLanes + s]) & keep_[s]);
    }
  }

  void rotate(std::size_t channel, float* values) const {
    const float* low = phasors_.low(channel);
    const float* high = phasors_.high(channel);
    for (std::size_t s = 0; s < kLanes; ++s) {
      const float cosine = low[s] * high[s] - low[kLanes + s] * high[kLanes + s];
      const float sine = low[s] * high[kLanes + s] + low[kLanes + s] * high[s];
      const float re = values[s], im = values[kLanes + s];
      values[s] = re * cosine - im * sine;
      values[kLanes + s] = re * sine + im * cosine;
    }
  }

  void put_floats(std::size_t channel, const float* values) const {
    float pairs[2 * kLanes];
    for (std::size_t s = 0; s < kLanes; ++s) {
      pairs[2 * s] = values[s];
      pairs[2 * s + 1] = values[kLanes + s];
    }
    std::memcpy(rows_.row(channel), pairs, count_ * 2 * sizeof(float));
  }

  // The same results as core::requantise, for all lanes.
  void put_integers(std::size_t channel, float* values) {
    constexpr int kBits = kOutput == Output::corner_turned_ci4 ? 4 : 8;
    constexpr auto limit = static_cast<float>(core::requantise_limit(kBits));
    unsigned outside = 0;
    for (std::size_t n = 0; n < 2 * kLanes; ++n) outside += !(std::fabs(values[n]) < limit + 0.5f);
    if (outside != 0) {
      clipped_ += outside;
      for (std::size_t n = 0; n < 2 * kLanes; ++n)
        values[n] = std::isnan(values[n]) ? 0 : std::clamp(values[n], -limit, limit);
    }
    // Adding 1.5 x 2^23 leaves no fraction bits, and the addition itself rounds half to even.
    constexpr float kNoFraction = 12582912.0f;
    std::int32_t codes[2 * kLanes];
    for (std::size_t n = 0; n < 2 * kLanes; ++n)
      codes[n] = static_cast<std::int32_t>(values[n] + kNoFraction - kNoFraction);
    using Narrow = std::conditional_t<kBits == 8, std::uint16_t, std::uint8_t>;
    Narrow packed[kLanes];
    constexpr std::int32_t kPart = (1 << kBits) - 1;
    for (std::size_t s = 0; s < kLanes; ++s)
      packed[s] = static_cast<Narrow>((codes[s] & kPart) | (codes[kLanes + s] & kPart) << kBits);
    std::memcpy(rows_.row(channel), packed, count_ * sizeof(Narrow));
  }

  Phasors phasors_;
  Rows rows_;
  const float* gains_;
  std::size_t count_;
  std::uint32_t keep_[kLanes];
  std::uint64_t clipped_ = 0;
};

#endif  // TAUTLINE_SQUARE_TRANSPOSE

}  // namespace tautline::stages::channelize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
