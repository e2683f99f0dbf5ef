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

// Plain loops from element i on, which also process the elements after the last complete vector.

bool usable_plain(const std::int32_t* x, std::size_t i, std::size_t n) {
  bool usable = true;
  for (; i < n; ++i) usable &= x[i] <= kLargestInteger && x[i] >= -kLargestInteger;
  return usable;
}

bool usable_plain(const float* x, std::size_t i, std::size_t n) {
  bool usable = true;
  for (; i < n; ++i) usable &= std::fabs(x[i]) <= kLargestFloat;  // NaN is not
  return usable;
}

void subtract_plain(const std::int32_t* x, std::size_t i, std::size_t n, std::int32_t base,
                    const Line& line, float* y) {
  for (; i < n; ++i)
    y[i] =
        static_cast<float>(x[i] - base) -
        (line.offset + line.slope * static_cast<float>(static_cast<std::int32_t>(line.first + i)));
}

void subtract_plain(const float* x, std::size_t i, std::size_t n, float base, const Line& line,
                    float* y) {
  for (; i < n; ++i)
    y[i] =
        (x[i] - base) -
        (line.offset + line.slope * static_cast<float>(static_cast<std::int32_t>(line.first + i)));
}

constexpr float kLargestUnits = 1 << 30;

// Writes quantised samples to z, and returns the sum of their absolute values.
double round_plain(const float* y, std::size_t i, std::size_t n, float scale, std::int32_t* z) {
  // Adding and subtracting 1.5 x 2^52 rounds a double to the nearest integer, half to even.
  constexpr double kRounder = 6755399441055744.0;
  double total = 0;
  for (; i < n; ++i) {
    const float v = y[i] * scale;
    const float clamped = v == v ? std::max(-kLargestUnits, std::min(kLargestUnits, v)) : 0.0f;
    const double rounded = (static_cast<double>(clamped) + kRounder) - kRounder;
    total += std::fabs(rounded);
    z[i] = static_cast<std::int32_t>(rounded);
  }
  return total;
}

void accumulate_plain(std::int32_t* z, std::size_t i, std::size_t n, std::uint32_t sum) {
  for (; i < n; ++i) {
    sum += static_cast<std::uint32_t>(z[i]);
    z[i] = static_cast<std::int32_t>(sum);
  }
}

inline std::int32_t difference(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
}

std::uint64_t squares_plain(const std::int32_t* prefix, std::size_t i, std::size_t n,
                            std::size_t width) {
  std::uint64_t total = 0;
  for (; i < n; ++i) {
    const std::int64_t s = difference(prefix[i + width], prefix[i]);
    total += static_cast<std::uint64_t>(s * s);
  }
  return total;
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SSE2

template <class T>
bool usable(const T* x, std::size_t n) {
  return usable_plain(x, 0, n);
}

std::int64_t sum_integers(const std::int32_t* x, std::size_t n) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

double sum_floats(const float* x, std::size_t n) {
  double sums[kFloatSums] = {};
  for (std::size_t i = 0; i < n; ++i) sums[i % kFloatSums] += static_cast<double>(x[i]);
  return combine(sums);
}

template <class T>
void subtract(const T* x, std::size_t n, T base, const Line& line, float* y) {
  subtract_plain(x, 0, n, base, line, y);
}

void add(const float* a, const float* b, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

void deviate(float* v, std::size_t n, float centre) {
  for (std::size_t i = 0; i < n; ++i) v[i] = std::fabs(v[i] - centre);
}

void narrow(const float* v, std::size_t n, float low, float high, float* kept, std::size_t* below,
            std::size_t* count) {
  std::size_t under = 0, k = 0;
  for (std::size_t i = 0; i < n; ++i) {
    kept[k] = v[i];
    under += v[i] < low ? 1 : 0;
    k += v[i] >= low && v[i] <= high ? 1 : 0;
  }
  *below = under;
  *count = k;
}

double quantise(const float* y, std::size_t n, float scale, std::int32_t* prefix) {
  prefix[0] = 0;
  const double total = round_plain(y, 0, n, scale, prefix + 1);
  accumulate_plain(prefix + 1, 0, n, 0);
  return total;
}

std::size_t scan(const std::int32_t* prefix, std::size_t n, const std::size_t* widths,
                 const std::int32_t* least, std::size_t width_count, Hit* hits) {
  std::size_t found = 0;
  for (std::size_t start = 0; start < n; start += kScanStep)
    for (std::size_t k = 0; k < width_count; ++k) {
      const std::int32_t* from = prefix + start;
      const std::int32_t* to = from + widths[k];
      std::int32_t any = 0;
      for (std::size_t i = 0; i < kScanStep; ++i)
        any |= difference(to[i], from[i]) >= least[k] ? 1 : 0;
      if (any != 0)
        hits[found++] = {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(k)};
    }
  return found;
}

std::uint64_t sum_squares(const std::int32_t* prefix, std::size_t n, std::size_t width) {
  return squares_plain(prefix, 0, n, width);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// Lanes of a fixed number, by which a step of scan is divisible.
template <class T>
using Tag = hn::CappedTag<T, 64 / sizeof(T)>;

bool usable(const std::int32_t* x, std::size_t n) {
  const Tag<std::int32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  auto largest = hn::Zero(d), smallest = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    largest = hn::Max(largest, v);
    smallest = hn::Min(smallest, v);
  }
  return hn::AllFalse(d, hn::Gt(largest, hn::Set(d, kLargestInteger))) &&
         hn::AllFalse(d, hn::Lt(smallest, hn::Set(d, -kLargestInteger))) && usable_plain(x, i, n);
}

bool usable(const float* x, std::size_t n) {
  const Tag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto limit = hn::Set(d, kLargestFloat);
  auto good = hn::Le(hn::Zero(d), limit);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    good = hn::And(good, hn::Le(hn::Abs(hn::LoadU(d, x + i)), limit));
  return hn::AllTrue(d, good) && usable_plain(x, i, n);
}

std::int64_t sum_integers(const std::int32_t* x, std::size_t n) {
  const Tag<std::int64_t> d;
  const hn::Rebind<std::int32_t, decltype(d)> narrow_d;
  const std::size_t lanes = hn::Lanes(d);
  auto sums = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    sums = hn::Add(sums, hn::PromoteTo(d, hn::LoadU(narrow_d, x + i)));
  std::int64_t sum = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < n; ++i) sum += x[i];
  return sum;
}

double sum_floats(const float* x, std::size_t n) {
  const hn::CappedTag<double, kFloatSums> d;
  const hn::Rebind<float, decltype(d)> narrow_d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  constexpr std::size_t kVectors = kFloatSums / kLanes;
  decltype(hn::Zero(d)) sums[kVectors];
  for (auto& s : sums) s = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kFloatSums <= n; i += kFloatSums)
    for (std::size_t v = 0; v < kVectors; ++v)
      sums[v] = hn::Add(sums[v], hn::PromoteTo(d, hn::LoadU(narrow_d, x + i + v * kLanes)));
  double parts[kFloatSums];
  for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, parts + v * kLanes);
  for (; i < n; ++i) parts[i % kFloatSums] += static_cast<double>(x[i]);
  return combine(parts);
}

// The line at samples i, i + 1, ... Their indices are exact as floats below 2^24.
template <class D>
HWY_INLINE hn::Vec<D> line_at(D d, const Line& line, std::size_t i) {
  const hn::RebindToSigned<D> integers;
  const auto place = hn::Iota(integers, static_cast<std::int32_t>(line.first + i));
  return hn::Add(hn::Set(d, line.offset), hn::Mul(hn::Set(d, line.slope), hn::ConvertTo(d, place)));
}

void subtract(const std::int32_t* x, std::size_t n, std::int32_t base, const Line& line, float* y) {
  const Tag<float> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const std::size_t lanes = hn::Lanes(d);
  const auto bases = hn::Set(integers, base);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::ConvertTo(d, hn::Sub(hn::LoadU(integers, x + i), bases));
    hn::StoreU(hn::Sub(v, line_at(d, line, i)), d, y + i);
  }
  subtract_plain(x, i, n, base, line, y);
}

void subtract(const float* x, std::size_t n, float base, const Line& line, float* y) {
  const Tag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto bases = hn::Set(d, base);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + i), bases), line_at(d, line, i)), d, y + i);
  subtract_plain(x, i, n, base, line, y);
}

void add(const float* a, const float* b, std::size_t n, float* out) {
  const Tag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  for (; i < n; ++i) out[i] = a[i] + b[i];
}

void deviate(float* v, std::size_t n, float centre) {
  const Tag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto centres = hn::Set(d, centre);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Abs(hn::Sub(hn::LoadU(d, v + i), centres)), d, v + i);
  for (; i < n; ++i) v[i] = std::fabs(v[i] - centre);
}

void narrow(const float* v, std::size_t n, float low, float high, float* kept, std::size_t* below,
            std::size_t* count) {
  const Tag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto lows = hn::Set(d, low), highs = hn::Set(d, high);
  std::size_t under = 0, k = 0, i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto x = hn::LoadU(d, v + i);
    const auto too_low = hn::Lt(x, lows);
    under += hn::CountTrue(d, too_low);
    k += hn::CompressStore(x, hn::AndNot(too_low, hn::Le(x, highs)), d, kept + k);
  }
  for (; i < n; ++i) {
    under += v[i] < low ? 1 : 0;
    if (v[i] >= low && v[i] <= high) kept[k++] = v[i];
  }
  *below = under;
  *count = k;
}

// Running sums, four at a time: shifts within 128 bits are cheap.
void accumulate(std::int32_t* z, std::size_t n) {
  const hn::FixedTag<std::int32_t, 4> d;
  auto carry = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    auto v = hn::LoadU(d, z + i);
    v = hn::Add(v, hn::ShiftLeftLanes<1>(d, v));
    v = hn::Add(v, hn::ShiftLeftLanes<2>(d, v));
    hn::StoreU(hn::Add(v, carry), d, z + i);
    carry = hn::Add(carry, hn::Broadcast<3>(v));
  }
  accumulate_plain(z, i, n, static_cast<std::uint32_t>(hn::GetLane(carry)));
}

double quantise(const float* y, std::size_t n, float scale, std::int32_t* prefix) {
  const Tag<float> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const std::size_t lanes = hn::Lanes(d);
  const auto scales = hn::Set(d, scale);
  const auto most = hn::Set(d, kLargestUnits), least = hn::Set(d, -kLargestUnits);
  prefix[0] = 0;
  auto sums = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::Mul(hn::LoadU(d, y + i), scales);
    const auto known = hn::IfThenElseZero(hn::Eq(v, v), v);
    const auto clamped = hn::Max(least, hn::Min(most, known));
    sums = hn::Add(sums, hn::Abs(clamped));
    hn::StoreU(hn::NearestInt(clamped), integers, prefix + 1 + i);
  }
  double total = static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sums)));
  total += round_plain(y, i, n, scale, prefix + 1);
  accumulate(prefix + 1, n);
  return total;
}

std::size_t scan(const std::int32_t* prefix, std::size_t n, const std::size_t* widths,
                 const std::int32_t* least, std::size_t width_count, Hit* hits) {
  const Tag<std::int32_t> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  constexpr std::size_t kVectors = kScanStep / kLanes;
  std::size_t found = 0;
  for (std::size_t start = 0; start < n; start += kScanStep) {
    decltype(hn::Zero(d)) from[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) from[v] = hn::LoadU(d, prefix + start + v * kLanes);
    for (std::size_t k = 0; k < width_count; ++k) {
      const std::int32_t* to = prefix + start + widths[k];
      auto most = hn::Sub(hn::LoadU(d, to), from[0]);
      for (std::size_t v = 1; v < kVectors; ++v)
        most = hn::Max(most, hn::Sub(hn::LoadU(d, to + v * kLanes), from[v]));
      if (!hn::AllFalse(d, hn::Gt(most, hn::Set(d, least[k] - 1))))
        hits[found++] = {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(k)};
    }
  }
  return found;
}

std::uint64_t sum_squares(const std::int32_t* prefix, std::size_t n, std::size_t width) {
  const Tag<std::int32_t> d;
  const hn::RepartitionToWide<decltype(d)> wide;
  const std::size_t lanes = hn::Lanes(d);
  auto sums = hn::Zero(wide);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto s = hn::Sub(hn::LoadU(d, prefix + i + width), hn::LoadU(d, prefix + i));
    const auto odd = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, s)));
    sums = hn::Add(sums, hn::Add(hn::MulEven(s, s), hn::MulEven(odd, odd)));
  }
  const auto total = static_cast<std::uint64_t>(hn::GetLane(hn::SumOfLanes(wide, sums)));
  return total + squares_plain(prefix, i, n, width);
}

#endif

constexpr Kernels make_kernels(device::InstructionSet set) {
  return {usable,  usable, sum_integers, sum_floats, subtract,    subtract, add,
          deviate, narrow, quantise,     scan,       sum_squares, set};
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
