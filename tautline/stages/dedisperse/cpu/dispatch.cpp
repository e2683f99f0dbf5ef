// The sums of dedisperse: one body, compiled for each instruction set by Highway, and plain loops
// where Highway has no vectors (its baseline on x86-64).
#include "tautline/device/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tautline/stages/dedisperse/cpu/dispatch.cpp"
#include <hwy/foreach_target.h>  // before highway.h
//
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "tautline/stages/dedisperse/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::dedisperse::HWY_NAMESPACE {

template <class Sum>
using Out = std::conditional_t<std::is_same_v<Sum, float>, float, std::int32_t>;

// Stores into `out`, or adds to `out`, `values` and, where work.carried, `carries`, in order of
// time.
template <class Sum>
void write_plain(const Sum* values, [[maybe_unused]] const Sum* carries, std::size_t count,
                 const Accumulate& work, std::size_t time) {
  auto* out = static_cast<Out<Sum>*>(work.out) + time;
  for (std::size_t k = 0; k < count; ++k) {
    auto value = static_cast<Out<Sum>>(values[k]);
    if constexpr (sizeof(Sum) == 2)
      if (work.carried) value += static_cast<Out<Sum>>(carries[k]) << kKeptBits;
    out[k] = work.out_start ? value - static_cast<Out<Sum>>(work.offset) : out[k] + value;
  }
}

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

constexpr std::size_t kRowsAhead = 0;

template <class A, class Sum>
void add_pair(const A* a, const A* b, Sum* to, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k)
    to[k] = static_cast<Sum>(static_cast<Sum>(a[k]) + static_cast<Sum>(b[k]));
}

template <class Sum>
void add_four(const Sum* a, const Sum* b, const Sum* c, const Sum* d, Sum* to, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k)
    to[k] = static_cast<Sum>(static_cast<Sum>(a[k] + b[k]) + static_cast<Sum>(c[k] + d[k]));
}

template <class A, class Sum>
void widen(const A* a, Sum* to, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) to[k] = static_cast<Sum>(a[k]);
}

template <class Row, class Sum, std::size_t kAhead = 0>
void accumulate(const Accumulate& work) {
  constexpr std::size_t kPass = 128;
  for (std::size_t t = 0; t < work.times; t += kPass) {
    Sum* sums = static_cast<Sum*>(work.sums) + t;
    [[maybe_unused]] Sum* carries = static_cast<Sum*>(work.carries) + t;
    std::array<Sum, kPass> sum{};
    if (!work.start) std::copy_n(sums, kPass, sum.begin());
    for (std::size_t k = 0; k < work.count; ++k) {
      const Row* row = static_cast<const Row*>(work.base) + k * work.stride + work.places[k] + t;
      for (std::size_t n = 0; n < kPass; ++n) sum[n] = static_cast<Sum>(sum[n] + row[n]);
    }
    if (work.out != nullptr) {
      if (t < work.written)
        write_plain(sum.data(), carries, std::min(kPass, work.written - t), work, t);
      continue;
    }
    if constexpr (sizeof(Sum) == 2) {
      for (std::size_t n = 0; work.carry && n < kPass; ++n) {
        carries[n] = static_cast<Sum>((work.carried ? carries[n] : 0) + (sum[n] >> kKeptBits));
        sum[n] &= (1 << kKeptBits) - 1;
      }
    }
    std::copy_n(sum.begin(), kPass, sums);
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_HAVE_SCALABLE
constexpr std::size_t kVectorBytes = 16;
#else
constexpr std::size_t kVectorBytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
#endif
template <class T>
using Tag = hn::CappedTag<T, kVectorBytes / sizeof(T)>;
template <class T>
using Vector = hn::Vec<Tag<T>>;

constexpr std::size_t kLineBytes = 64;

// As many elements as a vector of Sum has, widened.
template <class A, class Sum>
HWY_INLINE Vector<Sum> load_as(const A* from) {
  const Tag<Sum> d;
  if constexpr (std::is_same_v<A, Sum>) {
    return hn::LoadU(d, from);
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<A, Tag<Sum>>(), from));
  }
}

// The last vector may run over `count`: rows have room for it.
template <class A, class Sum>
HWY_INLINE void add_pair(const A* a, const A* b, Sum* to, std::size_t count) {
  const Tag<Sum> d;
  constexpr std::size_t kLanes = kVectorBytes / sizeof(Sum);
  std::size_t k = 0;
  for (; k + kLanes < count; k += 2 * kLanes) {
    const auto first = hn::Add(load_as<A, Sum>(a + k), load_as<A, Sum>(b + k));
    const auto second = hn::Add(load_as<A, Sum>(a + k + kLanes), load_as<A, Sum>(b + k + kLanes));
    hn::StoreU(first, d, to + k);
    hn::StoreU(second, d, to + k + kLanes);
  }
  if (k < count) hn::StoreU(hn::Add(load_as<A, Sum>(a + k), load_as<A, Sum>(b + k)), d, to + k);
}

template <class Sum>
HWY_INLINE void add_four(const Sum* a, const Sum* b, const Sum* c, const Sum* e, Sum* to,
                         std::size_t count) {
  const Tag<Sum> d;
  const auto sum = [=](std::size_t k) {
    return hn::Add(hn::Add(hn::LoadU(d, a + k), hn::LoadU(d, b + k)),
                   hn::Add(hn::LoadU(d, c + k), hn::LoadU(d, e + k)));
  };
  constexpr std::size_t kLanes = kVectorBytes / sizeof(Sum);
  std::size_t k = 0;
  for (; k + kLanes < count; k += 2 * kLanes) {
    const auto first = sum(k), second = sum(k + kLanes);
    hn::StoreU(first, d, to + k);
    hn::StoreU(second, d, to + k + kLanes);
  }
  if (k < count) hn::StoreU(sum(k), d, to + k);
}

template <class A, class Sum>
HWY_INLINE void widen(const A* a, Sum* to, std::size_t count) {
  const Tag<Sum> d;
  for (std::size_t k = 0; k < count; k += hn::Lanes(d))
    hn::StoreU(load_as<A, Sum>(a + k), d, to + k);
}

// As many sums as a vector of the output has, with their carries.
template <class Sum>
HWY_INLINE Vector<Out<Sum>> value_of(const Sum* sums, [[maybe_unused]] const Sum* carries,
                                     [[maybe_unused]] bool carried) {
  const Tag<Out<Sum>> d;
  if constexpr (sizeof(Sum) == sizeof(Out<Sum>)) {
    return hn::LoadU(d, reinterpret_cast<const Out<Sum>*>(sums));
  } else {
    const auto value = load_as<Sum, Out<Sum>>(sums);
    if (!carried) return value;
    return hn::Add(value, hn::ShiftLeft<kKeptBits>(load_as<Sum, Out<Sum>>(carries)));
  }
}

// Adds `values` and, where work.carried, `carries`, in order of time, to work.out, or overwrites
// work.out with them.
template <class Sum>
HWY_INLINE void write(const Sum* values, const Sum* carries, std::size_t count,
                      const Accumulate& work, std::size_t time) {
  using O = Out<Sum>;
  const Tag<O> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t room = std::min(count, work.written > time ? work.written - time : 0);
  O* out = static_cast<O*>(work.out) + time;
  const auto offset = hn::Set(d, static_cast<O>(work.offset));
  std::size_t k = 0;
  if (work.out_start && work.stream) {
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(out) % kLineBytes / sizeof(O);
    k = beyond == 0 ? 0 : std::min(room, kLineBytes / sizeof(O) - beyond);
    write_plain(values, carries, k, work, time);
    for (; k + lanes <= room; k += lanes)
      hn::Stream(hn::Sub(value_of(values + k, carries + k, work.carried), offset), d, out + k);
  }
  for (; k + lanes <= room; k += lanes) {
    const auto value = value_of(values + k, carries + k, work.carried);
    hn::StoreU(work.out_start ? hn::Sub(value, offset) : hn::Add(value, hn::LoadU(d, out + k)), d,
               out + k);
  }
  write_plain(values + k, carries + k, room - k, work, time + k);
}

// The bits of sums beyond kKeptBits are added to the carries.
template <class V>
HWY_INLINE void carry(V& sum, std::uint16_t* carries, bool carried) {
  const Tag<std::uint16_t> d;
  const auto more = hn::ShiftRight<kKeptBits>(sum);
  hn::Store(carried ? hn::Add(hn::Load(d, carries), more) : more, d, carries);
  sum = hn::And(sum, hn::Set(d, (1 << kKeptBits) - 1));
}

// Shared sums are in the second-level cache, and a load that crosses two lines of the second-level
// cache takes twice as long as one that crosses two lines of the first: so lines are prefetched
// some rows ahead.
constexpr std::size_t kRowsAhead = kVectorBytes == 64 ? 2 : 4;
static_assert(kRowsAhead <= kPlacesAhead);

// Sixteen registers or thirty-two.
constexpr std::size_t kVectors = kVectorBytes == 64 ? 16 : 8;

template <class Row, class Sum, std::size_t kAhead = 0>
void accumulate(const Accumulate& work) {
  const Tag<Sum> d;
  constexpr std::size_t kLanes = kVectorBytes / sizeof(Sum);
  constexpr std::size_t kPass = kVectors * kLanes;
  static_assert(kGranule % kPass == 0);
  for (std::size_t t = 0; t < work.times; t += kPass) {
    Sum* sums = static_cast<Sum*>(work.sums) + t;
    Vector<Sum> sum[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v)
      sum[v] = work.start ? hn::Zero(d) : hn::Load(d, sums + v * kLanes);
    const Row* row = static_cast<const Row*>(work.base) + t;
    for (std::size_t k = 0; k < work.count; ++k, row += work.stride) {
      const Row* from = row + work.places[k];
      [[maybe_unused]] const Row* later = row + work.places[k + kAhead];
      for (std::size_t v = 0; v < kVectors; ++v) {
        if constexpr (kAhead > 0)
          if (v * kVectorBytes % kLineBytes == 0) hwy::Prefetch(later + v * kLanes);
        sum[v] = hn::Add(sum[v], load_as<Row, Sum>(from + v * kLanes));
      }
      if constexpr (kAhead > 0) hwy::Prefetch(later + kPass - 1);
    }
    Sum* carries = static_cast<Sum*>(work.carries) + t;
    if constexpr (sizeof(Sum) == 2)
      if (work.carry)
        for (std::size_t v = 0; v < kVectors; ++v)
          carry(sum[v], carries + v * kLanes, work.carried);
    for (std::size_t v = 0; v < kVectors; ++v) hn::Store(sum[v], d, sums + v * kLanes);
    if (work.out != nullptr) write(sums, carries, kPass, work, t);
  }
}

// A value that the compiler must keep in a register: it would otherwise load twice, and loads are
// the bottleneck.
template <class V>
HWY_INLINE void keep_in_register([[maybe_unused]] V& v) {
#if HWY_ARCH_X86 && (HWY_COMPILER_GCC || HWY_COMPILER_CLANG)
  asm("" : "+v"(v.raw));
#endif
}

// Interleaves the elements of a and b. Interleaving works inside blocks of 16 bytes: the blocks of
// the two results alternate.
template <class V>
HWY_INLINE void interleave(V a, V b, std::uint16_t* to) {
  const Tag<std::uint16_t> d;
  constexpr std::size_t kLanes = kVectorBytes / 2;
  alignas(64) std::array<std::uint16_t, 2 * kLanes> halves;
  hn::Store(hn::InterleaveLower(d, a, b), d, halves.data());
  hn::Store(hn::InterleaveUpper(d, a, b), d, halves.data() + kLanes);
  const hn::CappedTag<std::uint16_t, 8> block;
  for (std::size_t n = 0; n < kLanes / 8; ++n, to += 16) {
    hn::Store(hn::Load(block, halves.data() + 8 * n), block, to);
    hn::Store(hn::Load(block, halves.data() + kLanes + 8 * n), block, to + 8);
  }
}

// Bytes are summed as pairs: the sum of whole 16-bit words, modulo 2^16, and the sum of their high
// bytes; the sum of the low bytes is the first less 256 times the second. That is an add, a shift
// and an add for two vectors of sums, with no conversion.
template <>
HWY_NOINLINE void accumulate<std::uint8_t, std::uint16_t>(const Accumulate& work) {
  const Tag<std::uint16_t> d;
  const Tag<std::uint8_t> bytes;
  constexpr std::size_t kPairs = kVectors / 2;
  constexpr std::size_t kLanes = kVectorBytes / 2;
  constexpr std::size_t kPass = kPairs * kVectorBytes;
  static_assert(kGranule % kPass == 0);
  for (std::size_t t = 0; t < work.times; t += kPass) {
    auto* sums = static_cast<std::uint16_t*>(work.sums) + t;
    Vector<std::uint16_t> whole[kPairs], high[kPairs];
    for (std::size_t v = 0; v < kPairs; ++v) {
      whole[v] = work.start ? hn::Zero(d) : hn::Load(d, sums + 2 * v * kLanes);
      high[v] = work.start ? hn::Zero(d) : hn::Load(d, sums + (2 * v + 1) * kLanes);
    }
    const std::uint8_t* row = static_cast<const std::uint8_t*>(work.base) + t;
    for (std::size_t k = 0; k < work.count; ++k, row += work.stride) {
      const std::uint8_t* from = row + work.places[k];
      for (std::size_t v = 0; v < kPairs; ++v) {
        auto words = hn::BitCast(d, hn::LoadU(bytes, from + v * kVectorBytes));
        keep_in_register(words);
        whole[v] = hn::Add(whole[v], words);
        high[v] = hn::Add(high[v], hn::ShiftRight<8>(words));
      }
    }
    auto* carries = static_cast<std::uint16_t*>(work.carries) + t;
    if (work.out == nullptr) {
      for (std::size_t v = 0; v < kPairs; ++v) {
        if (work.carry) {
          auto low = hn::Sub(whole[v], hn::ShiftLeft<8>(high[v]));
          carry(low, carries + 2 * v * kLanes, work.carried);
          carry(high[v], carries + (2 * v + 1) * kLanes, work.carried);
          whole[v] = hn::Add(low, hn::ShiftLeft<8>(high[v]));
        }
        hn::Store(whole[v], d, sums + 2 * v * kLanes);
        hn::Store(high[v], d, sums + (2 * v + 1) * kLanes);
      }
      continue;
    }
    alignas(64) std::array<std::uint16_t, kPass> values, more;
    for (std::size_t v = 0; v < kPairs; ++v) {
      const auto low = hn::Sub(whole[v], hn::ShiftLeft<8>(high[v]));
      interleave(low, high[v], values.data() + 2 * v * kLanes);
      if (work.carried)
        interleave(hn::Load(d, carries + 2 * v * kLanes),
                   hn::Load(d, carries + (2 * v + 1) * kLanes), more.data() + 2 * v * kLanes);
    }
    write(values.data(), more.data(), kPass, work, t);
  }
}

#endif

template <class Row, class Sum>
void add(const Add* adds, std::size_t count, const AddPlaces& places) {
  const auto* rows = static_cast<const Row*>(places.rows);
  auto* scratch = static_cast<Sum*>(places.scratch);
  for (const Add* one = adds; one != adds + count; ++one) {
    Sum* to = scratch + one->to;
    const std::size_t length = one->length - places.less;
    if (one->c != Add::kNone) {
      add_four(scratch + one->a, scratch + one->b, scratch + one->c, scratch + one->d, to, length);
    } else if (one->channel_a == Add::kScratch) {
      add_pair(scratch + one->a, scratch + one->b, to, length);
    } else if (one->channel_b == Add::kNone) {
      widen(rows + one->channel_a * places.row_stride + one->a, to, length);
    } else {
      add_pair(rows + one->channel_a * places.row_stride + one->a,
               rows + one->channel_b * places.row_stride + one->b, to, length);
    }
  }
}

template <class Row, class Sum>
constexpr Kernels table(device::InstructionSet set) {
  return {add<Row, Sum>, accumulate<Row, Sum>, accumulate<Sum, Sum, kRowsAhead>,
          sizeof(Row),   sizeof(Sum),          set};
}

constexpr std::array<Kernels, 5> make_kernels(device::InstructionSet set) {
  return {table<std::uint8_t, std::uint16_t>(set), table<std::uint16_t, std::uint16_t>(set),
          table<std::uint16_t, std::uint32_t>(set), table<std::int32_t, std::int32_t>(set),
          table<float, float>(set)};
}

}  // namespace tautline::stages::dedisperse::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "tautline/device/cpu/highway_choice.h"

namespace tautline::stages::dedisperse {

const Kernels& kernels_for(device::InstructionSet set, Types types) {
  return TAUTLINE_BEST_TARGET(make_kernels, set)[static_cast<std::size_t>(types)];
}

}  // namespace tautline::stages::dedisperse

#endif  // HWY_ONCE
