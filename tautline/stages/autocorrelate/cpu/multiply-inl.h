// Products of one block at all lags of a level. Included once per target by cpu/tile-inl.h.
//
// Where lanes are sensors, the halves (or bytes) of a lane are consecutive times. The delayed
// series is copied once for each shift of 0 .. group - 1 samples: lag k = group q + r reads copy r,
// q rows earlier. Where lanes are times, a lag is an unaligned load.

/// Cache lines of the next input, `stride` bytes apart, that the product loops prefetch, since they
/// leave the memory bus idle. Without it, loading rows of 1,024 sensors took a fifth of the time.
/// Any address may be prefetched; an unmapped one is slow.
struct Prefetch {
  const std::byte* next = nullptr;
  std::ptrdiff_t stride = 0;
};

/// The two series of a block, each from its sample 0. The history stands before `delayed`. `direct`
/// has zeros after its last sample, up to a multiple of 64.
struct SeriesPair {
  const std::byte* direct = nullptr;
  const std::byte* delayed = nullptr;
  std::size_t count = 0;
  std::uint64_t most_direct = 0, most_delayed = 0;  ///< largest samples, including the history
  Prefetch* prefetch = nullptr;                     ///< multiply_bytes advances it
};

/// Adds tile[i], the 32-bit sums of the lanes at lag k0 + i, to the level's sums where the level
/// has that lag: lane by lane where lanes are sensors, the sum of all lanes where lanes are times.
template <std::size_t kTile, bool kSigned, bool kSeries>
TAUTLINE_INLINE void add_sums(const std::uint32_t (&tile)[kTile][kLanes], std::size_t k0,
                              const Level& level, std::uint64_t* sums) {
  typedef std::conditional_t<kSigned, std::int32_t, std::uint32_t> Narrow
      __attribute__((vector_size(32), may_alias));
  typedef std::conditional_t<kSigned, std::int64_t, std::uint64_t> Wide
      __attribute__((vector_size(64)));
  typedef std::uint64_t Sums __attribute__((vector_size(64), aligned(8), may_alias));
  const std::size_t first = level.first, last = first + level.range.steps;
  const std::size_t begin = std::max(k0, first), end = std::min(k0 + kTile, last);
  for (std::size_t k = begin; k < end; ++k) {
    const auto* from = reinterpret_cast<const Narrow*>(tile[k - k0]);
    const Wide low = __builtin_convertvector(from[0], Wide);
    const Wide high = __builtin_convertvector(from[1], Wide);
    if constexpr (kSeries) {
      const Wide both = low + high;
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < 8; ++i) sum += static_cast<std::uint64_t>(both[i]);
      sums[k - first] += sum;
    } else {
      auto* to = reinterpret_cast<Sums*>(sums + (k - first) * kLanes);
      to[0] += (Sums)low;
      to[1] += (Sums)high;
    }
  }
}

/// Calls multiply.run<T>(k) for tiles of T lags that cover the level's lags. The first tile starts
/// at `k`, at or before the first lag.
template <class Multiply>
TAUTLINE_INLINE void for_lag_tiles(const Level& level, std::size_t k, const Multiply& multiply) {
  const std::size_t end = level.first + level.range.steps;
  while (k < end) {
    const std::size_t left = end - k;
#if defined(TAUTLINE_AUTOCORRELATE_AVX512)
    if (left > 12) {
      multiply.template run<16>(k);
      k += 16;
      continue;
    }
#endif
    if (left > 4) {
      multiply.template run<8>(k);
      k += 8;
    } else {
      multiply.template run<4>(k);
      k += 4;
    }
  }
}

constexpr std::size_t kRowBytes = kLanes * sizeof(std::uint32_t);

/// Halves where lanes are sensors: a row has two times.
struct MultiplyHalves {
  const Level& level;
  std::uint64_t* sums;
  const std::byte *direct, *even, *odd;  ///< at row `first`
  std::size_t rows;

  template <std::size_t kTile>
  TAUTLINE_INLINE void run(std::size_t k0) const {
    alignas(64) std::uint32_t out[kTile][kLanes];
    const std::ptrdiff_t back = static_cast<std::ptrdiff_t>(k0 / 2 * kRowBytes);
    for (std::size_t part = 0; part < kRowBytes; part += sizeof(Vector)) {
      Vector sum[kTile];
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kTile; ++i) sum[i] = Vector{};
      const std::byte* d = direct + part;
      const std::byte* e0 = even + part - back;
      const std::byte* e1 = odd + part - back;
      std::size_t s = 0;
      // Two rows at a time: the delayed row at lag k of one is the one at lag k - 2 of the other.
      for (; s + 2 <= rows; s += 2) {
        forget_loads();
        const Vector d0 = load(d), d1 = load(d + kRowBytes);
        sum[0] = add_products(sum[0], d1, load(e0 + kRowBytes));
        sum[1] = add_products(sum[1], d1, load(e1 + kRowBytes));
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kTile / 2; ++i) {
          const Vector x0 = load_once(e0 - i * kRowBytes), x1 = load_once(e1 - i * kRowBytes);
          sum[2 * i] = add_products(sum[2 * i], d0, x0);
          sum[2 * i + 1] = add_products(sum[2 * i + 1], d0, x1);
          if (i + 1 < kTile / 2) {
            sum[2 * i + 2] = add_products(sum[2 * i + 2], d1, x0);
            sum[2 * i + 3] = add_products(sum[2 * i + 3], d1, x1);
          }
        }
        d += 2 * kRowBytes;
        e0 += 2 * kRowBytes;
        e1 += 2 * kRowBytes;
      }
      if (s < rows) {
        const Vector d0 = load(d);
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kTile / 2; ++i) {
          sum[2 * i] = add_products(sum[2 * i], d0, load(e0 - i * kRowBytes));
          sum[2 * i + 1] = add_products(sum[2 * i + 1], d0, load(e1 - i * kRowBytes));
        }
      }
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kTile; ++i)
        store(reinterpret_cast<std::byte*>(out[i]) + part, sum[i]);
    }
    add_sums<kTile, false, false>(out, k0, level, sums);
  }
};

/// Halves where lanes are times.
struct MultiplyHalfSeries {
  const Level& level;
  std::uint64_t* sums;
  const std::byte *direct, *delayed;
  std::size_t rows;  ///< of 32 times

  template <std::size_t kTile>
  TAUTLINE_INLINE void run(std::size_t k0) const {
    alignas(64) std::uint32_t out[kTile][kLanes];
    for (std::size_t part = 0; part < kRowBytes; part += sizeof(Vector)) {
      Vector sum[kTile];
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kTile; ++i) sum[i] = Vector{};
      const std::byte* e = delayed + part - 2 * k0;
      for (std::size_t s = 0; s < rows; ++s) {
        const Vector d = load_loose(direct + part + s * kRowBytes);
#pragma GCC unroll 16
        for (std::size_t i = 0; i < kTile; ++i)
          sum[i] = add_products(sum[i], d, load_loose(e + s * kRowBytes - 2 * i));
      }
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kTile; ++i)
        store(reinterpret_cast<std::byte*>(out[i]) + part, sum[i]);
    }
    add_sums<kTile, false, true>(out, k0, level, sums);
  }
};

#if defined(TAUTLINE_AUTOCORRELATE_VNNI)
/// Bytes where lanes are sensors: a row has four times. `shifted` are the four copies minus 128,
/// which makes them signed. LaneReader adds 128 times the sum of `direct` to each sum.
struct MultiplyBytes {
  const Level& level;
  std::uint64_t* sums;
  const std::byte* direct;
  const std::byte* shifted[4];
  std::size_t rows;
  Prefetch* prefetch;

  template <std::size_t kTile>
  TAUTLINE_INLINE void run(std::size_t k0) const {
    constexpr std::size_t kColumns = kTile / 4;
    alignas(64) std::uint32_t out[kTile][kLanes];
    const std::ptrdiff_t back = static_cast<std::ptrdiff_t>(k0 / 4 * kRowBytes);
    Vector sum[kTile];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kTile; ++i) sum[i] = Vector{};
    const std::byte* d = direct;
    const std::byte* e0 = shifted[0] - back;
    const std::byte* e1 = shifted[1] - back;
    const std::byte* e2 = shifted[2] - back;
    const std::byte* e3 = shifted[3] - back;
    std::size_t s = 0;
    const Prefetch lines = *prefetch;
    const std::byte* line = lines.next;
    for (; s + 2 <= rows; s += 2) {
      forget_loads();
      __builtin_prefetch(line);
      line += lines.stride;
      const Vector d0 = load(d), d1 = load(d + kRowBytes);
      sum[0] = add_byte_products(sum[0], d1, load(e0 + kRowBytes));
      sum[1] = add_byte_products(sum[1], d1, load(e1 + kRowBytes));
      sum[2] = add_byte_products(sum[2], d1, load(e2 + kRowBytes));
      sum[3] = add_byte_products(sum[3], d1, load(e3 + kRowBytes));
#pragma GCC unroll 4
      for (std::size_t i = 0; i < kColumns; ++i) {
        const Vector x[4] = {load_once(e0 - i * kRowBytes), load_once(e1 - i * kRowBytes),
                             load_once(e2 - i * kRowBytes), load_once(e3 - i * kRowBytes)};
#pragma GCC unroll 4
        for (std::size_t r = 0; r < 4; ++r) {
          sum[4 * i + r] = add_byte_products(sum[4 * i + r], d0, x[r]);
          if (i + 1 < kColumns)
            sum[4 * i + 4 + r] = add_byte_products(sum[4 * i + 4 + r], d1, x[r]);
        }
      }
      d += 2 * kRowBytes;
      e0 += 2 * kRowBytes;
      e1 += 2 * kRowBytes;
      e2 += 2 * kRowBytes;
      e3 += 2 * kRowBytes;
    }
    prefetch->next = line;
    if (s < rows) {
      const Vector d0 = load(d);
#pragma GCC unroll 4
      for (std::size_t i = 0; i < kColumns; ++i) {
        sum[4 * i] = add_byte_products(sum[4 * i], d0, load(e0 - i * kRowBytes));
        sum[4 * i + 1] = add_byte_products(sum[4 * i + 1], d0, load(e1 - i * kRowBytes));
        sum[4 * i + 2] = add_byte_products(sum[4 * i + 2], d0, load(e2 - i * kRowBytes));
        sum[4 * i + 3] = add_byte_products(sum[4 * i + 3], d0, load(e3 - i * kRowBytes));
      }
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kTile; ++i) store(out[i], sum[i]);
    add_sums<kTile, true, false>(out, k0, level, sums);
  }
};

/// Bytes where lanes are times; `delayed` is minus 128.
struct MultiplyByteSeries {
  const Level& level;
  std::uint64_t* sums;
  const std::byte *direct, *delayed;
  std::size_t rows;  ///< of 64 times

  template <std::size_t kTile>
  TAUTLINE_INLINE void run(std::size_t k0) const {
    alignas(64) std::uint32_t out[kTile][kLanes];
    Vector sum[kTile];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kTile; ++i) sum[i] = Vector{};
    const std::byte* e = delayed - k0;
    for (std::size_t s = 0; s < rows; ++s) {
      const Vector d = load_loose(direct + s * kRowBytes);
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kTile; ++i)
        sum[i] = add_byte_products(sum[i], d, load_loose(e + s * kRowBytes - i));
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kTile; ++i) store(out[i], sum[i]);
    add_sums<kTile, true, true>(out, k0, level, sums);
  }
};

void multiply_bytes(const Layout& layout, const Level& level, const SeriesPair& block,
                    std::uint64_t* sums, std::byte* scratch) {
  if (layout.lanes == 1) {
    const std::size_t bytes = (level.history + block.count + 63) / 64 * 64;
    const auto* from = reinterpret_cast<const std::uint8_t*>(block.delayed) - level.history;
    auto* to = reinterpret_cast<std::uint8_t*>(scratch);
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i] ^ 0x80;
    for_lag_tiles(level, level.first,
                  MultiplyByteSeries{level, sums, block.direct, scratch + level.history,
                                     (block.count + 63) / 64});
    return;
  }
  const std::size_t rows = (block.count + 3) / 4, past = level.history / 4;
  const Row bias = Row{} + 0x80808080u;
  Row* copies[4];
  for (std::size_t r = 0; r < 4; ++r)
    copies[r] = reinterpret_cast<Row*>(scratch) + r * (past + layout.block / 4) + past;
  const Row* from = reinterpret_cast<const Row*>(block.delayed);
  const auto first = -static_cast<std::ptrdiff_t>(past);
  // Each lane of copy r has r bytes from the end of the previous row and 4 - r bytes of its own.
  Row before[4] = {};
  for (std::ptrdiff_t j = first; j < static_cast<std::ptrdiff_t>(rows); ++j) {
    const Row now = from[j] ^ bias;
    copies[0][j] = now;
#pragma GCC unroll 3
    for (unsigned r = 1; r < 4; ++r) {
      const std::uint32_t own = ~0u << 8 * r;
      const Row rotated = now << 8 * r | now >> (32 - 8 * r);
      copies[r][j] = (rotated & own) | (before[r] & ~own);
      before[r] = rotated;
    }
  }
  const auto bytes_at = [](const Row* row) { return reinterpret_cast<const std::byte*>(row); };
  for_lag_tiles(level, level.first / 4 * 4,
                MultiplyBytes{level,
                              sums,
                              block.direct,
                              {bytes_at(copies[0]), bytes_at(copies[1]), bytes_at(copies[2]),
                               bytes_at(copies[3])},
                              rows,
                              block.prefetch});
}
#endif

/// Halves of at most 32,767, in parts whose sums fit in 32 bits.
void multiply_halves(const Layout& layout, const Level& level, const SeriesPair& block,
                     std::uint64_t* sums, std::byte* scratch) {
  const std::uint64_t step_most = 2 * block.most_direct * block.most_delayed;
  const std::uint64_t steps = step_most == 0 ? layout.block : 0xffffffffu / step_most;
  const std::size_t in_row = layout.lanes == 1 ? 32 : 2;
  const std::size_t rows = (block.count + in_row - 1) / in_row;
  // An even number of rows suits the loops over two rows.
  const std::size_t part_rows = steps >= rows ? rows : steps > 1 ? steps / 2 * 2 : 1;
  if (layout.lanes == 1) {
    for (std::size_t s = 0; s < rows; s += part_rows)
      for_lag_tiles(
          level, level.first,
          MultiplyHalfSeries{level, sums, block.direct + s * kRowBytes,
                             block.delayed + s * kRowBytes, std::min(part_rows, rows - s)});
    return;
  }
  const std::size_t past = level.history / 2;
  Row* odd = reinterpret_cast<Row*>(scratch) + past;
  for (std::size_t part = 0; part < kRowParts; ++part) {
    const Words* from = reinterpret_cast<const Words*>(block.delayed) + part;
    Words* to = reinterpret_cast<Words*>(odd) + part;
    Words before = Words{};
    const auto end = static_cast<std::ptrdiff_t>(rows * kRowParts);
    for (auto j = -static_cast<std::ptrdiff_t>(past * kRowParts); j < end;
         j += static_cast<std::ptrdiff_t>(kRowParts)) {
      const Words now = from[j];
      to[j] = before >> 16 | now << 16;
      before = now;
    }
  }
  for (std::size_t s = 0; s < rows; s += part_rows)
    for_lag_tiles(
        level, level.first / 2 * 2,
        MultiplyHalves{level, sums, block.direct + s * kRowBytes, block.delayed + s * kRowBytes,
                       reinterpret_cast<const std::byte*>(odd + s), std::min(part_rows, rows - s)});
}

/// Words: multiplies the even and the odd lanes of each vector separately.
void multiply_words(const Layout& layout, const Level& level, const std::uint32_t* direct,
                    const std::uint32_t* delayed, std::size_t count, std::uint64_t* sums) {
  for (std::size_t i = 0; i < level.range.steps; ++i) {
    const std::size_t k = level.first + i;
    std::uint64_t* to = sums + i * layout.lanes;
    if (layout.lanes == 1) {
      std::uint64_t sum = 0;
      for (std::size_t t = 0; t < count; ++t) sum += std::uint64_t{direct[t]} * (delayed - k)[t];
      *to += sum;
      continue;
    }
    for (std::size_t lane = 0; lane < kLanes; lane += kVectorLanes) {
      Longs even{}, odd{};
      const std::uint32_t* d = direct + lane;
      const std::uint32_t* e = delayed - k * kLanes + lane;
      for (std::size_t t = 0; t < count; ++t, d += kLanes, e += kLanes) {
        const Vector x = load(d), y = load(e);
        even += multiply_even(x, y);
        odd += multiply_even((Vector)((Longs)x >> 32), (Vector)((Longs)y >> 32));
      }
      for (std::size_t v = 0; v < kVectorLanes / 2; ++v) {
        to[lane + 2 * v] += even[v];
        to[lane + 2 * v + 1] += odd[v];
      }
    }
  }
}

void multiply_longs(const Layout& layout, const Level& level, const std::uint64_t* direct,
                    const std::uint64_t* delayed, std::size_t count, std::uint64_t* sums) {
  for (std::size_t i = 0; i < level.range.steps; ++i) {
    const std::size_t k = level.first + i;
    if (layout.lanes == 1) {
      std::uint64_t sum = sums[i];
      for (std::size_t t = 0; t < count; ++t) sum += direct[t] * (delayed - k)[t];
      sums[i] = sum;
      continue;
    }
    std::uint64_t sum[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) sum[lane] = sums[i * kLanes + lane];
    for (std::size_t t = 0; t < count; ++t)
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        sum[lane] += direct[t * kLanes + lane] * (delayed - k * kLanes)[t * kLanes + lane];
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[i * kLanes + lane] = sum[lane];
  }
}

/// Converts halves to words, `count` times (a multiple of the group) from `from` on.
void widen_halves(const Layout& layout, const std::byte* from, std::size_t count,
                  std::uint32_t* to) {
  const auto* halves = reinterpret_cast<const std::uint16_t*>(from);
  if (layout.lanes == 1) {
    for (std::size_t t = 0; t < count; ++t) to[t] = halves[t];
    return;
  }
  const Row* rows = reinterpret_cast<const Row*>(from);
  Row* out = reinterpret_cast<Row*>(to);
  for (std::size_t j = 0; j < count / 2; ++j) {
    out[2 * j] = rows[j] & 0xffffu;
    out[2 * j + 1] = rows[j] >> 16;
  }
}

/// The reverse of widen_halves.
void narrow_words(const Layout& layout, const std::uint32_t* from, std::size_t count,
                  std::byte* to) {
  if (layout.lanes == 1) {
    auto* halves = reinterpret_cast<std::uint16_t*>(to);
    for (std::size_t t = 0; t < count; ++t) halves[t] = static_cast<std::uint16_t>(from[t]);
    return;
  }
  const Row* rows = reinterpret_cast<const Row*>(from);
  Row* out = reinterpret_cast<Row*>(to);
  for (std::size_t j = 0; j < count / 2; ++j) out[j] = rows[2 * j] | rows[2 * j + 1] << 16;
}

constexpr std::uint64_t kMostNarrow = 32767;  ///< the largest signed half

/// All products of a block of halves, words, longs or doubles.
void multiply(const Layout& layout, const Level& level, const SeriesPair& block, std::byte* tile,
              std::byte* scratch) {
  auto* sums = reinterpret_cast<std::uint64_t*>(tile + level.sums_at);
  const bool narrow = block.most_direct <= kMostNarrow && block.most_delayed <= kMostNarrow;
  const std::size_t lanes = layout.lanes;
  // Complete rows: the samples behind the block are zero.
  const std::size_t count = (block.count + 63) / 64 * 64;
  switch (level.storage) {
    case Storage::halves: {
      if (narrow) {
        multiply_halves(layout, level, block, sums, scratch);
        return;
      }
      auto* direct = reinterpret_cast<std::uint32_t*>(scratch);
      std::uint32_t* delayed = direct + lanes * layout.block;
      widen_halves(layout, block.direct, count, direct);
      widen_halves(layout, block.delayed - level.history * lanes * 2, level.history + count,
                   delayed);
      multiply_words(layout, level, direct, delayed + level.history * lanes, block.count, sums);
      return;
    }
    case Storage::words: {
      const auto* direct = reinterpret_cast<const std::uint32_t*>(block.direct);
      const auto* delayed = reinterpret_cast<const std::uint32_t*>(block.delayed);
      if (!narrow) {
        multiply_words(layout, level, direct, delayed, block.count, sums);
        return;
      }
      const std::size_t half = lanes * 2;
      std::byte* narrow_delayed = scratch + layout.block * half;
      std::byte* rest = narrow_delayed + (level.history + layout.block) * half;
      narrow_words(layout, direct, count, scratch);
      narrow_words(layout, delayed - level.history * lanes, level.history + count, narrow_delayed);
      SeriesPair halves = block;
      halves.direct = scratch;
      halves.delayed = narrow_delayed + level.history * half;
      multiply_halves(layout, level, halves, sums, rest);
      return;
    }
    case Storage::doubles:
      multiply_doubles(layout, level, reinterpret_cast<const double*>(block.direct),
                       reinterpret_cast<const double*>(block.delayed), block.count,
                       reinterpret_cast<double*>(sums));
      return;
    default:
      multiply_longs(layout, level, reinterpret_cast<const std::uint64_t*>(block.direct),
                     reinterpret_cast<const std::uint64_t*>(block.delayed), block.count, sums);
      return;
  }
}
