// Sums and maxima of a block. Included once per target by cpu/tile-inl.h.

/// Returns the largest of `count` samples and adds each lane's sum to `sums`. Samples behind them
/// in the last group of bytes or halves are zero.
template <class Value>
std::uint64_t measure_plain(const Value* samples, std::size_t count, std::size_t lanes,
                            std::uint64_t* sums) {
  Value most = 0;
  for (std::size_t t = 0; t < count; ++t)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const Value value = samples[t * lanes + lane];
      sums[lane] += value;
      most = std::max(most, value);
    }
  return most;
}

/// Adds each lane's sum to `sums`, in order of time. Where lanes are times, eight sums hide the latency of the
/// additions; their number is that of no instruction set, so that all give the same bits.
void measure_doubles(const double* samples, std::size_t count, std::size_t lanes, double* sums) {
  if (lanes == 1) {
    constexpr std::size_t kChains = 8;
    double chains[kChains] = {};
    std::size_t t = 0;
    for (; t + kChains <= count; t += kChains)
      for (std::size_t i = 0; i < kChains; ++i) chains[i] += samples[t + i];
    for (std::size_t i = 0; t < count; ++t, ++i) chains[i] += samples[t];
    for (const double chain : chains) *sums += chain;
    return;
  }
  constexpr std::size_t kParts = kLanes / kDoubleLanes;
  Doubles total[kParts];
#pragma GCC unroll 8
  for (std::size_t part = 0; part < kParts; ++part)
    total[part] = load_doubles(sums + part * kDoubleLanes);
  for (std::size_t t = 0; t < count; ++t, samples += kLanes) {
#pragma GCC unroll 8
    for (std::size_t part = 0; part < kParts; ++part)
      total[part] += load_doubles(samples + part * kDoubleLanes);
  }
#pragma GCC unroll 8
  for (std::size_t part = 0; part < kParts; ++part)
    store_doubles(sums + part * kDoubleLanes, total[part]);
}

/// The same where lanes are times. Sums of halves fit 32 bits: blocks have at most 65,536 samples.
template <class Value>
std::uint64_t measure_series(const Value* samples, std::size_t count, std::uint64_t* sum) {
  std::uint32_t total = 0;
  for (std::size_t t = 0; t < count; ++t) total += samples[t];
  Value most = 0;
  for (std::size_t t = 0; t < count; ++t) most = std::max(most, samples[t]);
  *sum += total;
  return most;
}

/// total + the bytes or halves of a row, in 32 bits per lane; 32,768 is subtracted from each half.
template <class Part>
TAUTLINE_INLINE Words add_parts(Words total, Words now) {
  if constexpr (sizeof(Part) == 2) {
    // The signed products need signed halves.
    return (Words)add_products((Vector)total, (Vector)(now ^ 0x80008000u), Vector{} + 0x10001);
  } else {
#if defined(TAUTLINE_AUTOCORRELATE_VNNI)
    return (Words)add_byte_products((Vector)total, (Vector)now, Vector{} + 0x01010101);
#else
    const Words pairs = (now & 0xff00ffu) + (now >> 8 & 0xff00ffu);
    return total + (pairs & 0xffffu) + (pairs >> 16);
#endif
  }
}

/// Bytes or halves where lanes are sensors.
template <class Part>
std::uint64_t measure_rows(const Row* rows, std::size_t count, std::uint64_t* sums) {
  typedef Part Parts __attribute__((vector_size(4 * kVectorLanes), may_alias));
  // Independent sums hide the latency of the additions.
  constexpr std::size_t kChains = 4;
  Part largest = 0;
  for (std::size_t part = 0; part < kRowParts; ++part) {
    Words total[kChains] = {};
    Parts most[kChains] = {};
    const Words* row = reinterpret_cast<const Words*>(rows) + part;
    const auto take = [&](std::size_t chain, Words now) {
      total[chain] = add_parts<Part>(total[chain], now);
      const Parts parts = (Parts)now;
      most[chain] = parts > most[chain] ? parts : most[chain];
    };
    std::size_t j = 0;
    for (; j + kChains <= count; j += kChains, row += kChains * kRowParts) {
#pragma GCC unroll 4
      for (std::size_t chain = 0; chain < kChains; ++chain) take(chain, row[chain * kRowParts]);
    }
    for (; j < count; ++j, row += kRowParts) take(0, *row);
#pragma GCC unroll 4
    for (std::size_t chain = 1; chain < kChains; ++chain) {
      total[0] += total[chain];
      most[0] = most[chain] > most[0] ? most[chain] : most[0];
    }
    if constexpr (sizeof(Part) == 2) total[0] += static_cast<std::uint32_t>(count) * 65536u;
    for (std::size_t i = 0; i < sizeof(Parts) / sizeof(Part); ++i)
      largest = std::max<Part>(largest, most[0][i]);
    for (std::size_t lane = 0; lane < kVectorLanes; ++lane)
      sums[part * kVectorLanes + lane] += total[0][lane];
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
  measure_doubles(reinterpret_cast<const double*>(samples), count, lanes,
                  reinterpret_cast<double*>(sums));
  return 0;
}
