// Output of channels: phase correction, gain, rounding, clipping and the corner turn, for one
// channel of kLanes consecutive spectra at a time. Included once per instruction set.
#if defined(TAUTLINE_CHANNELIZE_OUTPUT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTLINE_CHANNELIZE_OUTPUT_INL_H
#undef TAUTLINE_CHANNELIZE_OUTPUT_INL_H
#else
#define TAUTLINE_CHANNELIZE_OUTPUT_INL_H
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "tautline/core/requantise.h"
#include "tautline/stages/channelize/cpu/kernels.h"
#include "tautline/stages/channelize/cpu/output_plain-inl.h"
#include "tautline/stages/channelize/cpu/phasors.h"
#include "tautline/stages/channelize/cpu/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::channelize::HWY_NAMESPACE {

inline constexpr std::uint64_t kAllLanes = (std::uint64_t{1} << kLanes) - 1;

#ifdef TAUTLINE_SQUARE_TRANSPOSE

/// Writes channels of one group of kLanes spectra. `put` takes a channel's lanes: corner-turned
/// outputs are stored in the channel's row of times, spectra are stored back to `slot`.
template <Output kOutput>
class Writer {
 public:
  Writer(const Tile& tile, const Rows& rows, const Phasors& phasors)
      : phasors_(phasors),
        rows_(rows),
        gains_(tile.gains),
        count_(tile.count),
        masked_(tile.valid != kAllLanes),
        stream_(tile.past_cache && rows.whole_lines()) {
    for (std::size_t s = 0; s < kLanes; ++s) keep_[s] = tile.valid >> s & 1 ? ~0u : 0u;
  }

  std::uint64_t clipped() const { return clipped_; }

  /// lanes: kLanes real parts, then kLanes imaginary parts. `slot` may be `lanes`.
  HWY_INLINE void put(std::size_t channel, const float* lanes, float* slot) {
    const FloatTag d;
    for (std::size_t s = 0; s < kLanes; s += hn::Lanes(d))
      put(channel, s, hn::Load(d, lanes + s), hn::Load(d, lanes + kLanes + s), slot);
  }

  /// The same for the register of lanes from `s`.
  HWY_INLINE void put(std::size_t channel, std::size_t s, FloatVec re, FloatVec im, float* slot) {
    const FloatTag d;
    if (phasors_.used()) rotate(channel, s, re, im);
    if constexpr (kOutput == Output::spectra_float) {
      hn::Store(keep(re, s), d, slot + s);
      hn::Store(keep(im, s), d, slot + kLanes + s);
    } else if constexpr (kOutput == Output::corner_turned_float) {
      put_float(channel, s, keep(re, s), keep(im, s));
    } else {
      const FloatVec gain = hn::Set(d, gains_[channel]);
      put_integers(channel, s, keep(hn::Mul(re, gain), s), keep(hn::Mul(im, gain), s));
    }
  }

 private:
  static constexpr int kBits = kOutput == Output::corner_turned_ci4 ? 4 : 8;

  HWY_INLINE FloatVec keep(FloatVec v, std::size_t s) const {
    if (HWY_LIKELY(!masked_)) return v;
    const hn::RebindToUnsigned<FloatTag> du;
    return hn::And(v, hn::BitCast(FloatTag(), hn::Load(du, keep_ + s)));
  }

  HWY_INLINE void rotate(std::size_t channel, std::size_t s, FloatVec& re, FloatVec& im) const {
    const FloatTag d;
    const float* low = phasors_.low(channel) + s;
    const float* high = phasors_.high(channel) + s;
    const FloatVec a = hn::Load(d, low), b = hn::Load(d, low + kLanes);
    const FloatVec u = hn::Load(d, high), v = hn::Load(d, high + kLanes);
    const FloatVec cosine = hn::NegMulAdd(b, v, hn::Mul(a, u));
    const FloatVec sine = hn::MulAdd(b, u, hn::Mul(a, v));
    const FloatVec rotated = hn::NegMulAdd(im, sine, hn::Mul(re, cosine));
    im = hn::MulAdd(im, cosine, hn::Mul(re, sine));
    re = rotated;
  }

  // Number of the register's spectra that are in the tile.
  HWY_INLINE std::size_t inside(std::size_t s) const { return count_ > s ? count_ - s : 0; }

  HWY_INLINE void put_float(std::size_t channel, std::size_t s, FloatVec re, FloatVec im) const {
    const FloatTag d;
    constexpr std::size_t n = hn::MaxLanes(FloatTag());
    auto* to = reinterpret_cast<float*>(rows_.row(channel)) + 2 * s;
    if (HWY_LIKELY(inside(s) >= n)) {
      if (!stream_) return hn::StoreInterleaved2(re, im, d, to);
      HWY_ALIGN float buffer[2 * n];
      hn::StoreInterleaved2(re, im, d, buffer);
      hn::Stream(hn::Load(d, buffer), d, to);
      hn::Stream(hn::Load(d, buffer + n), d, to + n);
    } else {
      HWY_ALIGN float buffer[2 * n];
      hn::StoreInterleaved2(re, im, d, buffer);
      std::memcpy(to, buffer, inside(s) * 2 * sizeof(float));
    }
  }

  // The same results as core::requantise: |x| < limit + 1/2 is not clipped, since limit + 1/2
  // rounds to even limit + 1.
  HWY_INLINE void put_integers(std::size_t channel, std::size_t s, FloatVec re, FloatVec im) {
    const FloatTag d;
    constexpr int limit = core::requantise_limit(kBits);
    const FloatVec edge = hn::Set(d, static_cast<float>(limit) + 0.5f);
    const auto inside_re = hn::Lt(hn::Abs(re), edge), inside_im = hn::Lt(hn::Abs(im), edge);
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::And(inside_re, inside_im)))) {
      clipped_ += 2 * hn::Lanes(d) - hn::CountTrue(d, inside_re) - hn::CountTrue(d, inside_im);
      re = clip(re, static_cast<float>(limit));
      im = clip(im, static_cast<float>(limit));
    }
    store_integers(channel, s, hn::NearestInt(re), hn::NearestInt(im));
  }

  static HWY_INLINE FloatVec clip(FloatVec x, float limit) {
    const FloatTag d;
    const FloatVec number = hn::IfThenElseZero(hn::Eq(x, x), x);  // NaN becomes zero
    return hn::Min(hn::Max(number, hn::Set(d, -limit)), hn::Set(d, limit));
  }

  template <class IntVec>
  HWY_INLINE void store_integers(std::size_t channel, std::size_t s, IntVec re, IntVec im) const {
    const hn::RebindToUnsigned<FloatTag> du;
    const auto part = hn::Set(du, (1u << kBits) - 1);
    const auto low = hn::And(hn::BitCast(du, re), part);
    const auto high = hn::And(hn::BitCast(du, im), part);
    const auto both = hn::Or(low, hn::ShiftLeft<kBits>(high));
    if constexpr (kBits == 8)
      store_narrow<std::uint16_t>(channel, s, both);
    else
      store_narrow<std::uint8_t>(channel, s, both);
  }

  template <class Narrow, class WideVec>
  HWY_INLINE void store_narrow(std::size_t channel, std::size_t s, WideVec both) const {
    constexpr std::size_t n = hn::MaxLanes(FloatTag());
    const hn::Rebind<Narrow, FloatTag> narrow;
    std::byte* to = rows_.row(channel) + s * sizeof(Narrow);
    const auto packed = hn::TruncateTo(narrow, both);
    if (HWY_LIKELY(inside(s) >= n)) {
      hn::StoreU(packed, narrow, reinterpret_cast<Narrow*>(to));
    } else {
      HWY_ALIGN Narrow buffer[n];
      hn::Store(packed, narrow, buffer);
      std::memcpy(to, buffer, std::min(n, inside(s)) * sizeof(Narrow));
    }
  }

  Phasors phasors_;
  Rows rows_;
  const float* gains_;
  std::size_t count_;
  bool masked_, stream_;
  HWY_ALIGN std::uint32_t keep_[kLanes];
  std::uint64_t clipped_ = 0;
};

#endif  // TAUTLINE_SQUARE_TRANSPOSE

}  // namespace tautline::stages::channelize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
