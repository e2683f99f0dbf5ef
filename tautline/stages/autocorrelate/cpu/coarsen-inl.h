// Samples of the next level: the sum, or one, of each two samples. Included once per target by
// cpu/tile-inl.h.

template <class Value>
TAUTLINE_INLINE Value coarse(Coarsening coarsening, Value one, Value two) {
  return coarsening == Coarsening::sum ? one + two : coarsening == Coarsening::first ? one : two;
}

/// Makes `pairs` samples, from sample `to` of `out` on, one by one from the pairs from sample
/// `from` of `in` on.
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

/// Doubles where lanes are sensors.
template <Coarsening kHow>
void coarsen_doubles(const double* in, double* out, std::size_t pairs) {
  for (std::size_t j = 0; j < pairs; ++j, in += 2 * kLanes, out += kLanes)
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < kLanes; lane += kDoubleLanes)
      store_doubles(out + lane,
                    coarse(kHow, load_doubles(in + lane), load_doubles(in + kLanes + lane)));
}

/// The four bytes of each lane become two halves.
TAUTLINE_INLINE Words coarse_bytes(Coarsening how, Words x) {
#if defined(TAUTLINE_AUTOCORRELATE_AVX512)
  if (how == Coarsening::sum)
    return (Words)_mm512_maddubs_epi16((__m512i)x, (__m512i)(Words{} + 0x01010101u));
#endif
  return coarse(how, x & 0xff00ffu, x >> 8 & 0xff00ffu);
}

/// The two halves of each lane of two rows become the two halves of one row. Their sums fit.
TAUTLINE_INLINE Words coarse_halves(Coarsening how, Words x, Words y) {
  switch (how) {
    case Coarsening::sum:
      return ((x + (x >> 16)) & 0xffffu) | ((y + (y << 16)) & 0xffff0000u);
    case Coarsening::first:
      return (x & 0xffffu) | y << 16;
    case Coarsening::second:
      break;
  }
  return x >> 16 | (y & 0xffff0000u);
}

/// Bytes or halves where lanes are sensors, four samples at a time. `from` and `to` start rows; an
/// odd last pair is left to the caller.
template <Storage kIn, Storage kOut, Coarsening kHow>
void coarsen_rows(const std::byte* in, std::size_t from, std::byte* out, std::size_t to,
                  std::size_t pairs) {
  constexpr std::size_t kInRows = kIn == Storage::bytes ? 1 : 2;
  constexpr std::size_t kOutRows = kOut == Storage::halves ? 1 : 2;
  for (std::size_t part = 0; part < kRowParts; ++part) {
    const Words* x = reinterpret_cast<const Words*>(in) + from / group_of(kIn) * kRowParts + part;
    Words* y = reinterpret_cast<Words*>(out) + to / group_of(kOut) * kRowParts + part;
    for (std::size_t j = 0; j + 2 <= pairs;
         j += 2, x += kInRows * kRowParts, y += kOutRows * kRowParts) {
      if constexpr (kIn == Storage::bytes) {
        y[0] = coarse_bytes(kHow, x[0]);
      } else if constexpr (kOut == Storage::halves) {
        y[0] = coarse_halves(kHow, x[0], x[kRowParts]);
      } else {
        y[0] = coarse(kHow, x[0] & 0xffffu, x[0] >> 16);
        y[kRowParts] = coarse(kHow, x[kRowParts] & 0xffffu, x[kRowParts] >> 16);
      }
    }
  }
}

template <Storage kIn, Storage kOut>
void coarsen_rows(Coarsening how, const std::byte* in, std::size_t from, std::byte* out,
                  std::size_t to, std::size_t pairs) {
  switch (how) {
    case Coarsening::sum:
      return coarsen_rows<kIn, kOut, Coarsening::sum>(in, from, out, to, pairs);
    case Coarsening::first:
      return coarsen_rows<kIn, kOut, Coarsening::first>(in, from, out, to, pairs);
    case Coarsening::second:
      return coarsen_rows<kIn, kOut, Coarsening::second>(in, from, out, to, pairs);
  }
}

void coarsen(const Layout& layout, const Level& level, const Level& next, const std::byte* in,
             std::size_t from, std::byte* out, std::size_t to, std::size_t pairs) {
  const Storage s = level.storage, n = next.storage;
  const bool rows = layout.lanes == kLanes && from % group_of(s) == 0 && to % group_of(n) == 0;
  std::size_t done = 0;
  const Coarsening how = layout.config.coarsening;
  if (rows && s == Storage::doubles) {
    const double* x = reinterpret_cast<const double*>(in) + from * kLanes;
    double* y = reinterpret_cast<double*>(out) + to * kLanes;
    if (how == Coarsening::sum) return coarsen_doubles<Coarsening::sum>(x, y, pairs);
    if (how == Coarsening::first) return coarsen_doubles<Coarsening::first>(x, y, pairs);
    return coarsen_doubles<Coarsening::second>(x, y, pairs);
  }
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
