// A tile's levels: staging, multiplying, summing pairs into the next level. Included once a target,
// inside its namespace, by cpu.cpp and cpu_vnni.cpp.

#include "tautline/stages/autocorrelate/cpu_vector-inl.h"
//
#include "tautline/stages/autocorrelate/cpu_multiply-inl.h"

__extension__ typedef unsigned __int128 Huge;

/// Sums and the largest of `count` samples; a lane's sum is added to `sums`. What follows in the
/// last group of bytes or halves is zero.
template <class Value>
std::uint64_t measure_plain(const Value* samples, std::size_t count, std::size_t lanes,
                            std::uint64_t* sums) {
  if constexpr (std::is_same_v<Value, double>) {
    auto* to = reinterpret_cast<double*>(sums);
    for (std::size_t t = 0; t < count; ++t)
      for (std::size_t lane = 0; lane < lanes; ++lane) to[lane] += samples[t * lanes + lane];
    return 0;
  } else {
    Value most = 0;
    for (std::size_t t = 0; t < count; ++t)
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const Value value = samples[t * lanes + lane];
        sums[lane] += value;
        most = std::max(most, value);
      }
    return most;
  }
}

/// The same where times are side by side. Sums of halves fit 32 bits: blocks have at most 65,536.
template <class Value>
std::uint64_t measure_series(const Value* samples, std::size_t count, std::uint64_t* sum) {
  std::uint32_t total = 0;
  for (std::size_t t = 0; t < count; ++t) total += samples[t];
  Value most = 0;
  for (std::size_t t = 0; t < count; ++t) most = std::max(most, samples[t]);
  *sum += total;
  return most;
}

/// Bytes or halves with sensors in lanes.
template <class Part>
std::uint64_t measure_rows(const Row* rows, std::size_t count, std::uint64_t* sums) {
  typedef Part Parts __attribute__((vector_size(4 * kVectorLanes), may_alias));
  Part largest = 0;
  for (std::size_t part = 0; part < kRowParts; ++part) {
    Words total = Words{};
    Parts most = Parts{};
    const Words* row = reinterpret_cast<const Words*>(rows) + part;
    for (std::size_t j = 0; j < count; ++j, row += kRowParts) {
      const Words now = *row;
      if constexpr (sizeof(Part) == 1) {
        const Words pairs = (now & 0xff00ffu) + (now >> 8 & 0xff00ffu);
        total += (pairs & 0xffffu) + (pairs >> 16);
      } else {
        // One instruction adds the halves; less 32,768 each, which makes them signed.
        total = (Words)add_products((Vector)total, (Vector)(now ^ 0x80008000u), Vector{} + 0x10001);
      }
      const Parts parts = (Parts)now;
      most = parts > most ? parts : most;
    }
    if constexpr (sizeof(Part) == 2) total += static_cast<std::uint32_t>(count) * 65536u;
    for (std::size_t i = 0; i < sizeof(Parts) / sizeof(Part); ++i)
      largest = std::max<Part>(largest, most[i]);
    for (std::size_t lane = 0; lane < kVectorLanes; ++lane)
      sums[part * kVectorLanes + lane] += total[lane];
  }
  return largest;
}

std::uint64_t measure(Storage storage, const std::byte* samples, std::size_t count,
                      std::size_t lanes, std::uint64_t* sums) {
  const bool rows = lanes == kLanes;
  switch (storage) {
    case Storage::bytes:
      return rows ? measure_rows<std::uint8_t>(reinterpret_cast<const Row*>(samples),
                                               (count + 3) / 4, sums)
                  : measure_series(reinterpret_cast<const std::uint8_t*>(samples), count, sums);
    case Storage::halves:
      return rows ? measure_rows<std::uint16_t>(reinterpret_cast<const Row*>(samples),
                                                (count + 1) / 2, sums)
                  : measure_series(reinterpret_cast<const std::uint16_t*>(samples), count, sums);
    case Storage::words:
      return measure_plain(reinterpret_cast<const std::uint32_t*>(samples), count, lanes, sums);
    case Storage::longs:
      return measure_plain(reinterpret_cast<const std::uint64_t*>(samples), count, lanes, sums);
    case Storage::doubles:
      break;
  }
  return measure_plain(reinterpret_cast<const double*>(samples), count, lanes, sums);
}

template <class Value>
TAUTLINE_INLINE Value coarse(Coarsening coarsening, Value one, Value two) {
  return coarsening == Coarsening::sum ? one + two : coarsening == Coarsening::first ? one : two;
}

/// Sample by sample: `pairs` pairs from sample `from` on (which may lie before `in`, in the
/// history), to samples `to`... of `out`.
template <class In, class Out>
void coarsen_plain(const Layout& layout, Storage storage_in, const std::byte* in, std::size_t from,
                   Storage storage_out, std::byte* out, std::size_t to, std::size_t pairs) {
  const auto* x = reinterpret_cast<const In*>(in);
  auto* y = reinterpret_cast<Out*>(out);
  const std::size_t lanes = layout.lanes;
  const Coarsening coarsening = layout.config.coarsening;
  if (lanes == 1 && coarsening == Coarsening::sum) {
    x += from;
    y += to;
    for (std::size_t j = 0; j < pairs; ++j)
      y[j] = static_cast<Out>(static_cast<Out>(x[2 * j]) + static_cast<Out>(x[2 * j + 1]));
    return;
  }
  if (lanes == 1) {
    for (std::size_t j = 0; j < pairs; ++j)
      y[to + j] = coarse<Out>(coarsening, static_cast<Out>(x[from + 2 * j]),
                              static_cast<Out>(x[from + 2 * j + 1]));
    return;
  }
  for (std::size_t j = 0; j < pairs; ++j)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      y[place_of(storage_out, lanes, to + j, lane)] = coarse<Out>(
          coarsening, static_cast<Out>(x[place_of(storage_in, lanes, from + 2 * j, lane)]),
          static_cast<Out>(x[place_of(storage_in, lanes, from + 2 * j + 1, lane)]));
}

/// Bytes or halves with sensors in lanes, four samples at a time: `from` begins a row, `to` is even
/// (and so is `pairs`, or the caller does the last one).
template <Storage kIn, Storage kOut>
void coarsen_rows(Coarsening coarsening, const std::byte* in, std::size_t from, std::byte* out,
                  std::size_t to, std::size_t pairs) {
  constexpr std::size_t kInRows = kIn == Storage::bytes ? 1 : 2;
  constexpr std::size_t kOutRows = kOut == Storage::halves ? 1 : 2;
  for (std::size_t part = 0; part < kRowParts; ++part) {
    const Words* x = reinterpret_cast<const Words*>(in) + from / group_of(kIn) * kRowParts + part;
    Words* y = reinterpret_cast<Words*>(out) + to / group_of(kOut) * kRowParts + part;
    for (std::size_t j = 0; j + 2 <= pairs;
         j += 2, x += kInRows * kRowParts, y += kOutRows * kRowParts) {
      Words one, two;
      if constexpr (kIn == Storage::bytes) {
        const Words even = x[0] & 0xff00ffu, odd = x[0] >> 8 & 0xff00ffu;
        y[0] = coarse(coarsening, even, odd);
        continue;
      } else {
        one = coarse(coarsening, x[0] & 0xffffu, x[0] >> 16);
        two = coarse(coarsening, x[kRowParts] & 0xffffu, x[kRowParts] >> 16);
      }
      if constexpr (kOut == Storage::halves) {
        y[0] = one | two << 16;
      } else {
        y[0] = one;
        y[kRowParts] = two;
      }
    }
  }
}

void coarsen(const Layout& layout, const Level& level, const Level& next, const std::byte* in,
             std::size_t from, std::byte* out, std::size_t to, std::size_t pairs) {
  const Storage s = level.storage, n = next.storage;
  const bool rows = layout.lanes == kLanes && from % group_of(s) == 0 && to % group_of(n) == 0;
  std::size_t done = 0;
  const Coarsening how = layout.config.coarsening;
  if (rows && s == Storage::bytes) {
    coarsen_rows<Storage::bytes, Storage::halves>(how, in, from, out, to, pairs);
    done = pairs / 2 * 2;
  } else if (rows && s == Storage::halves && n == Storage::halves) {
    coarsen_rows<Storage::halves, Storage::halves>(how, in, from, out, to, pairs);
    done = pairs / 2 * 2;
  } else if (rows && s == Storage::halves) {
    coarsen_rows<Storage::halves, Storage::words>(how, in, from, out, to, pairs);
    done = pairs / 2 * 2;
  }
  if (done == pairs) return;
  const auto rest = [&]<class In, class Out>(In, Out) {
    coarsen_plain<In, Out>(layout, s, in, from + 2 * done, n, out, to + done, pairs - done);
  };
  if (s == Storage::bytes) {
    rest(std::uint8_t{}, std::uint16_t{});
  } else if (s == Storage::halves && n == Storage::halves) {
    rest(std::uint16_t{}, std::uint16_t{});
  } else if (s == Storage::halves) {
    rest(std::uint16_t{}, std::uint32_t{});
  } else if (s == Storage::words && n == Storage::words) {
    rest(std::uint32_t{}, std::uint32_t{});
  } else if (s == Storage::words) {
    rest(std::uint32_t{}, std::uint64_t{});
  } else if (s == Storage::longs) {
    rest(std::uint64_t{}, std::uint64_t{});
  } else {
    rest(double{}, double{});
  }
}

/// One sample as the 8 bytes of a sum: an integer, or a double's bits.
std::uint64_t sample_at(Storage storage, const std::byte* samples, std::size_t lanes, std::size_t t,
                        std::size_t lane) {
  const std::size_t at = place_of(storage, lanes, t, lane);
  switch (storage) {
    case Storage::bytes:
      return reinterpret_cast<const std::uint8_t*>(samples)[at];
    case Storage::halves:
      return reinterpret_cast<const std::uint16_t*>(samples)[at];
    case Storage::words:
      return reinterpret_cast<const std::uint32_t*>(samples)[at];
    default:
      return reinterpret_cast<const std::uint64_t*>(samples)[at];
  }
}

/// Keeps what the monitors and the lead-in need of a run's first samples: sums of d below
/// whole + k, and the delayed sample whose window reaches before the first one.
void keep_heads(const Layout& layout, const Level& level, const Progress& progress,
                const std::byte* direct, const std::byte* delayed, std::size_t count,
                std::byte* tile) {
  const Rung& rung = level.rung;
  const std::uint64_t first = rung.whole + rung.first_steps;  // of the second head
  const std::uint64_t start = progress.done, end = start + count;
  if (start > first + rung.steps) return;
  const std::size_t lanes = layout.lanes;
  auto* heads = reinterpret_cast<std::uint64_t*>(tile + level.heads_at);
  auto* totals = reinterpret_cast<std::uint64_t*>(tile + level.totals_at);
  if (rung.whole > start && rung.whole <= end)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      totals[2 * lanes + lane] =
          sample_at(level.storage, delayed, lanes, rung.whole - 1 - start, lane);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    std::uint64_t sum = totals[lane];
    for (std::size_t t = 0; t < count; ++t) {
      const std::uint64_t x = start + t;  // `sum` is of d below x
      if (x + 1 >= first && x + 1 - first <= rung.steps)
        heads[(x + 1 - first) * lanes + lane] = sum;
      const std::uint64_t value = sample_at(level.storage, direct, lanes, t, lane);
      sum = level.storage == Storage::doubles
                ? std::bit_cast<std::uint64_t>(std::bit_cast<double>(sum) +
                                               std::bit_cast<double>(value))
                : sum + value;
    }
  }
}

/// Any sum is at most the largest delayed sample times the sum of the direct ones.
void refuse_overflow(const Layout& layout, const Level& level, Progress& progress,
                     const std::byte* tile) {
  if (level.storage == Storage::doubles) return;
  const auto* totals = reinterpret_cast<const std::uint64_t*>(tile + level.totals_at);
  std::uint64_t most = 0;
  for (std::size_t lane = 0; lane < (level.separate ? 2 : 1) * layout.lanes; ++lane)
    most = std::max(most, totals[lane]);
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;
  if (most >= kLimit || Huge{most} * progress.largest >= kLimit) progress.refused = 1;
}

std::size_t block_bytes(const Layout& layout, const Level& level, std::size_t samples) {
  return samples * layout.lanes * bytes_of(level.storage);
}

/// Takes the `pending` samples of a level, multiplies them at all its lags and hands their pairs to
/// the next level.
void multiply_level(const Layout& layout, std::size_t l, std::byte* tile, std::byte* scratch) {
  const Level& level = layout.levels[l];
  Progress& progress = reinterpret_cast<Progress*>(tile)[l];
  const std::size_t lanes = layout.lanes, count = progress.pending;
  auto* totals = reinterpret_cast<std::uint64_t*>(tile + level.totals_at);
  const std::byte* direct = tile + level.direct_at;
  const std::byte* delayed = tile + level.delayed_at + block_bytes(layout, level, layout.history);
  keep_heads(layout, level, progress, direct, delayed, count, tile);

  Block block{direct, delayed, count, 0, 0};
  block.most_direct = measure(level.storage, direct, count, lanes, totals);
  const std::uint64_t most = level.separate
                                 ? measure(level.storage, delayed, count, lanes, totals + lanes)
                                 : block.most_direct;
  // Blocks are no shorter than the history, so this one and the one before hold all of it.
  block.most_delayed = std::max(most, progress.recent);
  progress.recent = most;
  progress.largest = std::max(progress.largest, most);
  refuse_overflow(layout, level, progress, tile);

#if defined(TAUTLINE_AUTOCORRELATE_VNNI)
  if (level.storage == Storage::bytes) {
    multiply_bytes(layout, level, block, reinterpret_cast<std::uint64_t*>(tile + level.sums_at),
                   scratch);
  } else {
    multiply(layout, level, block, tile, scratch);
  }
#else
  multiply(layout, level, block, tile, scratch);
#endif
  progress.done += count;
  if (l + 1 == layout.levels.size()) return;

  const Level& next = layout.levels[l + 1];
  Progress& after = reinterpret_cast<Progress*>(tile)[l + 1];
  coarsen(layout, level, next, tile + level.delayed_at, layout.history - level.delay,
          tile + next.delayed_at, layout.history + after.pending, count / 2);
  if (next.separate)
    coarsen(layout, level, next, direct, 0, tile + next.direct_at, after.pending, count / 2);
  after.pending += count / 2;
}

/// The end of a full block becomes the history of the next one.
void keep_history(const Layout& layout, std::size_t l, std::byte* tile) {
  const Level& level = layout.levels[l];
  std::byte* delayed = tile + level.delayed_at;
  std::memcpy(delayed, delayed + block_bytes(layout, level, layout.block),
              block_bytes(layout, level, layout.history));
  reinterpret_cast<Progress*>(tile)[l].pending = 0;
}

/// Zeros what follows the waiting samples up to whole vectors.
void pad_block(const Layout& layout, const Level& level, std::size_t count, std::byte* block) {
  const std::size_t end = (count + 63) / 64 * 64;
  const std::size_t group = group_of(level.storage);
  const std::size_t whole = (count + group - 1) / group * group;
  std::memset(block + block_bytes(layout, level, whole), 0,
              block_bytes(layout, level, end - whole));
  const std::size_t size = bytes_of(level.storage);
  for (std::size_t t = count; t < whole; ++t)
    for (std::size_t lane = 0; lane < layout.lanes; ++lane)
      std::memset(block + place_of(level.storage, layout.lanes, t, lane) * size, 0, size);
}

void drain(const Layout& layout, std::byte* tile, std::byte* scratch) {
  for (std::size_t l = 0; l < layout.levels.size(); ++l) {
    const Level& level = layout.levels[l];
    const std::size_t count = reinterpret_cast<Progress*>(tile)[l].pending;
    pad_block(layout, level, count,
              tile + level.delayed_at + block_bytes(layout, level, layout.history));
    if (level.separate) pad_block(layout, level, count, tile + level.direct_at);
    multiply_level(layout, l, tile, scratch);
  }
}

/// Stores `count` rows, starting with sample `at` of a block.
template <class Count, class Stored>
void stage_plain(const Layout& layout, const Level& level, const Count* rows, const Input& input,
                 const std::uint32_t* sensors, std::size_t count, std::byte* block,
                 std::size_t at) {
  auto* out = reinterpret_cast<Stored*>(block);
  const auto lanes = layout.lanes;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const Count* from = rows + static_cast<std::ptrdiff_t>(sensors[lane]) * input.sensor_stride;
    if (lanes == 1) {
      if (input.row_stride == 1 && std::is_same_v<Count, Stored>) {
        std::memcpy(out + at, from, count * sizeof(Count));
      } else {
        for (std::size_t t = 0; t < count; ++t)
          out[at + t] =
              static_cast<Stored>(from[static_cast<std::ptrdiff_t>(t) * input.row_stride]);
      }
      continue;
    }
    for (std::size_t t = 0; t < count; ++t)
      out[place_of(level.storage, lanes, at + t, lane)] =
          static_cast<Stored>(from[static_cast<std::ptrdiff_t>(t) * input.row_stride]);
  }
}

/// Two times of 16 neighbouring sensors, as halves of one row.
TAUTLINE_INLINE void stage_halves(const std::uint8_t* one, const std::uint8_t* two, Bytes16* out) {
  const Bytes16 zero{}, a = load_bytes(one), b = load_bytes(two);
  const Bytes16 a_low = weave_low(a, zero), a_high = weave_high(a, zero);
  const Bytes16 b_low = weave_low(b, zero), b_high = weave_high(b, zero);
  out[0] = weave_low_halves(a_low, b_low);
  out[1] = weave_high_halves(a_low, b_low);
  out[2] = weave_low_halves(a_high, b_high);
  out[3] = weave_high_halves(a_high, b_high);
}
TAUTLINE_INLINE void stage_halves(const std::uint16_t* one, const std::uint16_t* two,
                                  Bytes16* out) {
  for (std::size_t half = 0; half < 2; ++half) {
    const Bytes16 a = load_bytes(one + 8 * half), b = load_bytes(two + 8 * half);
    out[2 * half] = weave_low_halves(a, b);
    out[2 * half + 1] = weave_high_halves(a, b);
  }
}
/// Four times, as bytes of one row.
TAUTLINE_INLINE void stage_bytes(const std::uint8_t* rows, std::ptrdiff_t step, Bytes16* out) {
  const Bytes16 a = load_bytes(rows), b = load_bytes(rows + step);
  const Bytes16 c = load_bytes(rows + 2 * step), d = load_bytes(rows + 3 * step);
  const Bytes16 ab_low = weave_low(a, b), ab_high = weave_high(a, b);
  const Bytes16 cd_low = weave_low(c, d), cd_high = weave_high(c, d);
  out[0] = weave_low_halves(ab_low, cd_low);
  out[1] = weave_high_halves(ab_low, cd_low);
  out[2] = weave_low_halves(ab_high, cd_high);
  out[3] = weave_high_halves(ab_high, cd_high);
}

/// Neighbours and whole rows: `at` begins a row and `count` fills them.
template <class Count>
void stage_rows(const Level& level, const Count* rows, const Input& input, std::size_t count,
                std::byte* block, std::size_t at) {
  auto* out = reinterpret_cast<Bytes16*>(block) + at / group_of(level.storage) * 4;
  const std::ptrdiff_t step = input.row_stride;
  if constexpr (sizeof(Count) == 1) {
    if (level.storage == Storage::bytes) {
      for (std::size_t t = 0; t < count; t += 4, rows += 4 * step, out += 4)
        stage_bytes(rows, step, out);
      return;
    }
  }
  for (std::size_t t = 0; t < count; t += 2, rows += 2 * step, out += 4)
    stage_halves(rows, rows + step, out);
}

template <class Count>
void stage_series(const Layout& layout, const Level& level, const Count* rows, const Input& input,
                  const std::uint32_t* sensors, std::size_t count, std::byte* block,
                  std::size_t at) {
  if constexpr (sizeof(Count) <= 2) {
    const std::size_t group = group_of(level.storage);
    if (input.neighbours && group > 1 && at % group == 0) {
      const std::size_t whole = count / group * group;
      stage_rows(level, rows + sensors[0], input, whole, block, at);
      rows += static_cast<std::ptrdiff_t>(whole) * input.row_stride;
      at += whole;
      count -= whole;
    }
  }
  switch (level.storage) {
    case Storage::bytes:
      stage_plain<Count, std::uint8_t>(layout, level, rows, input, sensors, count, block, at);
      return;
    case Storage::halves:
      stage_plain<Count, std::uint16_t>(layout, level, rows, input, sensors, count, block, at);
      return;
    case Storage::words:
      stage_plain<Count, std::uint32_t>(layout, level, rows, input, sensors, count, block, at);
      return;
    case Storage::longs:
      stage_plain<Count, std::uint64_t>(layout, level, rows, input, sensors, count, block, at);
      return;
    case Storage::doubles:
      stage_plain<Count, double>(layout, level, rows, input, sensors, count, block, at);
      return;
  }
}

/// Full blocks are multiplied, from the first level on.
void multiply_full(const Layout& layout, std::byte* tile, std::byte* scratch) {
  const auto* progress = reinterpret_cast<const Progress*>(tile);
  for (std::size_t l = 0; l < layout.levels.size() && progress[l].pending == layout.block; ++l) {
    multiply_level(layout, l, tile, scratch);
    keep_history(layout, l, tile);
  }
}

/// Two rows of planes as the halves of one row of a tile.
TAUTLINE_INLINE void join_planes(const std::uint8_t* low, const std::uint8_t* high, Bytes16* out) {
  const Bytes16 a = load_bytes(low), b = load_bytes(high);
  const Bytes16 c = load_bytes(low + 64), d = load_bytes(high + 64);
  const Bytes16 ab_low = weave_low(a, b), ab_high = weave_high(a, b);
  const Bytes16 cd_low = weave_low(c, d), cd_high = weave_high(c, d);
  out[0] = weave_low_halves(ab_low, cd_low);
  out[1] = weave_high_halves(ab_low, cd_low);
  out[2] = weave_low_halves(ab_high, cd_high);
  out[3] = weave_high_halves(ab_high, cd_high);
}

void stage_planes(const Level& level, const std::uint8_t* low, const std::uint8_t* high,
                  std::size_t count, std::byte* block, std::size_t at) {
  std::size_t t = 0;
  if (level.storage == Storage::halves && at % 2 == 0) {
    auto* out = reinterpret_cast<Bytes16*>(block) + at / 2 * 4;
    for (; t + 2 <= count; t += 2, out += 4) join_planes(low + 64 * t, high + 64 * t, out);
  }
  for (; t < count; ++t)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<std::uint32_t>(low[64 * t + lane] | high[64 * t + lane] << 8);
      const std::size_t place = place_of(level.storage, kLanes, at + t, lane);
      if (level.storage == Storage::halves) {
        reinterpret_cast<std::uint16_t*>(block)[place] = static_cast<std::uint16_t>(value);
      } else {
        reinterpret_cast<std::uint32_t*>(block)[place] = value;
      }
    }
}

void push(const Layout& layout, std::byte* tile, std::byte* scratch, const Planes& planes) {
  const Level& level = layout.levels[0];
  auto& progress = *reinterpret_cast<Progress*>(tile);
  std::byte* delayed = tile + level.delayed_at + block_bytes(layout, level, layout.history);
  for (std::size_t t = 0; t < planes.count;) {
    const std::size_t count = std::min(layout.block - progress.pending, planes.count - t);
    stage_planes(level, planes.delayed_low + 64 * t, planes.delayed_high + 64 * t, count, delayed,
                 progress.pending);
    if (level.separate)
      stage_planes(level, planes.direct_low + 64 * t, planes.direct_high + 64 * t, count,
                   tile + level.direct_at, progress.pending);
    progress.pending += count;
    t += count;
    multiply_full(layout, tile, scratch);
  }
}

template <class Count>
void feed_counts(const Layout& layout, std::byte* tile, std::byte* scratch, const Input& input) {
  const Level& level = layout.levels[0];
  auto* progress = reinterpret_cast<Progress*>(tile);
  const auto* rows = static_cast<const Count*>(input.rows);
  std::byte* delayed = tile + level.delayed_at + block_bytes(layout, level, layout.history);
  for (std::size_t t = 0; t < input.count;) {
    const std::size_t count = std::min(layout.block - progress[0].pending, input.count - t);
    const Count* from = rows + static_cast<std::ptrdiff_t>(t) * input.row_stride;
    stage_series(layout, level, from, input, input.a, count, delayed, progress[0].pending);
    if (level.separate)
      stage_series(layout, level, from, input, input.b, count, tile + level.direct_at,
                   progress[0].pending);
    progress[0].pending += count;
    t += count;
    multiply_full(layout, tile, scratch);
  }
}

void feed(const Layout& layout, std::byte* tile, std::byte* scratch, const Input& input) {
  switch (layout.config.type) {
    case CountType::u8:
      feed_counts<std::uint8_t>(layout, tile, scratch, input);
      return;
    case CountType::u16:
      feed_counts<std::uint16_t>(layout, tile, scratch, input);
      return;
    case CountType::u32:
      feed_counts<std::uint32_t>(layout, tile, scratch, input);
      return;
    case CountType::f32:
      feed_counts<float>(layout, tile, scratch, input);
      return;
  }
}
