// The inner loops of detect, compiled for each instruction set by Highway; plain loops for the
// portable set.
#include "tautline/device/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tautline/stages/detect/cpu/dispatch.cpp"
#include <hwy/foreach_target.h>  // before highway.h
//
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "tautline/stages/detect/cpu/kernels.h"
#include "tautline/stages/detect/detect.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::detect::HWY_NAMESPACE {

// Each function has its vectors first, where Highway has vectors, and then a plain loop over the elements after the
// last complete vector.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SSE2
#define DETECT_VECTORS 0
#else
#define DETECT_VECTORS 1
namespace hn = hwy::HWY_NAMESPACE;

// Lanes of a fixed number, by which a step of scan is divisible.
template <class T>
using Tag = hn::CappedTag<T, 64 / sizeof(T)>;

// The line at samples i, i + 1, ... Their indices are exact as floats below 2^24.
template <class D>
HWY_INLINE hn::Vec<D> line_at(D d, const Line& line, std::size_t i) {
  const hn::RebindToSigned<D> integers;
  const auto place = hn::Iota(integers, static_cast<std::int32_t>(line.first + i));
  return hn::Add(hn::Set(d, line.offset), hn::Mul(hn::Set(d, line.slope), hn::ConvertTo(d, place)));
}
#endif

bool usable_integers(const std::int32_t* x, std::size_t n) {
  bool usable = true;
  std::size_t i = 0;
#if DETECT_VECTORS
  const Tag<std::int32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  auto largest = hn::Zero(d), smallest = hn::Zero(d);
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    largest = hn::Max(largest, v);
    smallest = hn::Min(smallest, v);
  }
  usable = hn::AllFalse(d, hn::Gt(largest, hn::Set(d, kLargestInteger))) &&
           hn::AllFalse(d, hn::Lt(smallest, hn::Set(d, -kLargestInteger)));
#endif
  for (; i < n; ++i) usable &= x[i] <= kLargestInteger && x[i] >= -kLargestInteger;
  return usable;
}

bool usable_floats(const float* x, std::size_t n) {
  bool usable = true;
  std::size_t i = 0;
#if DETECT_VECTORS
  const Tag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto limit = hn::Set(d, kLargestFloat);
  auto good = hn::Le(hn::Zero(d), limit);
  for (; i + lanes <= n; i += lanes)
    good = hn::And(good, hn::Le(hn::Abs(hn::LoadU(d, x + i)), limit));
  usable = hn::AllTrue(d, good);
#endif
  for (; i < n; ++i) usable &= std::fabs(x[i]) <= kLargestFloat;  // NaN is not
  return usable;
}

std::int64_t sum_integers(const std::int32_t* x, std::size_t n) {
  std::int64_t sum = 0;
  std::size_t i = 0;
#if DETECT_VECTORS
  const Tag<std::int64_t> d;
  const hn::Rebind<std::int32_t, decltype(d)> narrow_d;
  const std::size_t lanes = hn::Lanes(d);
  auto sums = hn::Zero(d);
  for (; i + lanes <= n; i += lanes)
    sums = hn::Add(sums, hn::PromoteTo(d, hn::LoadU(narrow_d, x + i)));
  sum = hn::GetLane(hn::SumOfLanes(d, sums));
#endif
  for (; i < n; ++i) sum += x[i];
  return sum;
}

double sum_floats(const float* x, std::size_t n) {
  double parts[kFloatSums] = {};
  std::size_t i = 0;
#if DETECT_VECTORS
  const hn::CappedTag<double, kFloatSums> d;
  const hn::Rebind<float, decltype(d)> narrow_d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  constexpr std::size_t kVectors = kFloatSums / kLanes;
  decltype(hn::Zero(d)) sums[kVectors];
  for (auto& s : sums) s = hn::Zero(d);
  for (; i + kFloatSums <= n; i += kFloatSums)
    for (std::size_t v = 0; v < kVectors; ++v)
      sums[v] = hn::Add(sums[v], hn::PromoteTo(d, hn::LoadU(narrow_d, x + i + v * kLanes)));
  for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, parts + v * kLanes);
#endif
  for (; i < n; ++i) parts[i % kFloatSums] += static_cast<double>(x[i]);
  return combine(parts);
}

template <class T>
void subtract(const T* x, std::size_t n, T base, const Line& line, float* y) {
  std::size_t i = 0;
#if DETECT_VECTORS
  const Tag<float> d;
  const hn::Rebind<T, decltype(d)> samples;
  const std::size_t lanes = hn::Lanes(d);
  const auto bases = hn::Set(samples, base);
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::Sub(hn::LoadU(samples, x + i), bases);
    if constexpr (std::is_same_v<T, float>)
      hn::StoreU(hn::Sub(v, line_at(d, line, i)), d, y + i);
    else
      hn::StoreU(hn::Sub(hn::ConvertTo(d, v), line_at(d, line, i)), d, y + i);
  }
#endif
  for (; i < n; ++i)
    y[i] =
        static_cast<float>(x[i] - base) -
        (line.offset + line.slope * static_cast<float>(static_cast<std::int32_t>(line.first + i)));
}

void add(const float* a, const float* b, std::size_t n, float* out) {
  std::size_t i = 0;
#if DETECT_VECTORS
  const Tag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
#endif
  for (; i < n; ++i) out[i] = a[i] + b[i];
}

void deviate(float* v, std::size_t n, float centre) {
  std::size_t i = 0;
#if DETECT_VECTORS
  const Tag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto centres = hn::Set(d, centre);
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Abs(hn::Sub(hn::LoadU(d, v + i), centres)), d, v + i);
#endif
  for (; i < n; ++i) v[i] = std::fabs(v[i] - centre);
}

void narrow(const float* v, std::size_t n, float low, float high, float* kept, std::size_t* below,
            std::size_t* count) {
  std::size_t under = 0, k = 0, i = 0;
#if DETECT_VECTORS
  const Tag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto lows = hn::Set(d, low), highs = hn::Set(d, high);
  for (; i + lanes <= n; i += lanes) {
    const auto x = hn::LoadU(d, v + i);
    const auto too_low = hn::Lt(x, lows);
    under += hn::CountTrue(d, too_low);
    k += hn::CompressStore(x, hn::AndNot(too_low, hn::Le(x, highs)), d, kept + k);
  }
#endif
  for (; i < n; ++i) {
    kept[k] = v[i];
    under += v[i] < low ? 1 : 0;
    k += v[i] >= low && v[i] <= high ? 1 : 0;
  }
  *below = under;
  *count = k;
}

double quantise(const float* y, std::size_t n, float scale, std::int32_t* prefix) {
  constexpr float kLargestUnits = 1 << 30;
  std::int32_t* z = prefix + 1;
  prefix[0] = 0;
  double total = 0;
  std::size_t i = 0;
#if DETECT_VECTORS
  const Tag<float> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const std::size_t lanes = hn::Lanes(d);
  const auto scales = hn::Set(d, scale);
  const auto most = hn::Set(d, kLargestUnits), least = hn::Set(d, -kLargestUnits);
  auto sums = hn::Zero(d);
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::Mul(hn::LoadU(d, y + i), scales);
    const auto known = hn::IfThenElseZero(hn::Eq(v, v), v);
    const auto clamped = hn::Max(least, hn::Min(most, known));
    sums = hn::Add(sums, hn::Abs(clamped));
    hn::StoreU(hn::NearestInt(clamped), integers, z + i);
  }
  total = static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sums)));
#endif
  // Adding and subtracting 1.5 x 2^52 rounds a double to the nearest integer, half to even.
  constexpr double kRounder = 6755399441055744.0;
  for (; i < n; ++i) {
    const float v = y[i] * scale;
    const float clamped = v == v ? std::max(-kLargestUnits, std::min(kLargestUnits, v)) : 0.0f;
    const double rounded = (static_cast<double>(clamped) + kRounder) - kRounder;
    total += std::fabs(rounded);
    z[i] = static_cast<std::int32_t>(rounded);
  }
  std::uint32_t sum = 0;
  i = 0;
#if DETECT_VECTORS
  // Running sums, four at a time: shifts within 128 bits are cheap.
  const hn::FixedTag<std::int32_t, 4> four;
  auto carry = hn::Zero(four);
  for (; i + 4 <= n; i += 4) {
    auto v = hn::LoadU(four, z + i);
    v = hn::Add(v, hn::ShiftLeftLanes<1>(four, v));
    v = hn::Add(v, hn::ShiftLeftLanes<2>(four, v));
    hn::StoreU(hn::Add(v, carry), four, z + i);
    carry = hn::Add(carry, hn::Broadcast<3>(v));
  }
  sum = static_cast<std::uint32_t>(hn::GetLane(carry));
#endif
  for (; i < n; ++i) {
    sum += static_cast<std::uint32_t>(z[i]);
    z[i] = static_cast<std::int32_t>(sum);
  }
  return total;
}

inline std::int32_t difference(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
}

std::size_t scan(const std::int32_t* prefix, std::size_t n, const std::size_t* widths,
                 const std::int32_t* least, std::size_t width_count, Hit* hits) {
  std::size_t found = 0;
  for (std::size_t start = 0; start < n; start += kScanStep) {
#if DETECT_VECTORS
    const Tag<std::int32_t> d;
    constexpr std::size_t kLanes = hn::MaxLanes(d);
    constexpr std::size_t kVectors = kScanStep / kLanes;
    decltype(hn::Zero(d)) from[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) from[v] = hn::LoadU(d, prefix + start + v * kLanes);
#endif
    for (std::size_t k = 0; k < width_count; ++k) {
      const std::int32_t* to = prefix + start + widths[k];
#if DETECT_VECTORS
      auto most = hn::Sub(hn::LoadU(d, to), from[0]);
      for (std::size_t v = 1; v < kVectors; ++v)
        most = hn::Max(most, hn::Sub(hn::LoadU(d, to + v * kLanes), from[v]));
      const bool any = !hn::AllFalse(d, hn::Gt(most, hn::Set(d, least[k] - 1)));
#else
      std::int32_t any = 0;
      for (std::size_t i = 0; i < kScanStep; ++i)
        any |= difference(to[i], prefix[start + i]) >= least[k] ? 1 : 0;
#endif
      if (any) hits[found++] = {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(k)};
    }
  }
  return found;
}

std::uint64_t sum_squares(const std::int32_t* prefix, std::size_t n, std::size_t width) {
  std::uint64_t total = 0;
  std::size_t i = 0;
#if DETECT_VECTORS
  const Tag<std::int32_t> d;
  const hn::RepartitionToWide<decltype(d)> wide;
  const std::size_t lanes = hn::Lanes(d);
  auto sums = hn::Zero(wide);
  for (; i + lanes <= n; i += lanes) {
    const auto s = hn::Sub(hn::LoadU(d, prefix + i + width), hn::LoadU(d, prefix + i));
    const auto odd = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, s)));
    sums = hn::Add(sums, hn::Add(hn::MulEven(s, s), hn::MulEven(odd, odd)));
  }
  total = static_cast<std::uint64_t>(hn::GetLane(hn::SumOfLanes(wide, sums)));
#endif
  for (; i < n; ++i) {
    const std::int64_t s = difference(prefix[i + width], prefix[i]);
    total += static_cast<std::uint64_t>(s * s);
  }
  return total;
}
#undef DETECT_VECTORS

constexpr Kernels make_kernels(device::InstructionSet set) {
  return {{usable_integers, sum_integers, subtract<std::int32_t>},
          {usable_floats, sum_floats, subtract<float>},
          add,
          deviate,
          narrow,
          quantise,
          scan,
          sum_squares,
          set};
}

}  // namespace tautline::stages::detect::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "tautline/device/cpu/highway_choice.h"

namespace tautline::stages::detect {

const Kernels& kernels_for(device::InstructionSet set) {
  return TAUTLINE_BEST_TARGET(make_kernels, set);
}

}  // namespace tautline::stages::detect

#endif  // HWY_ONCE
