// Copies rows of 64 bytes to the blocks of four tiles, with registers as wide as a row. Included
// once per target by cpu/tile-inl.h.

/// Four rows of consecutive times as bytes or halves: x[v] is a row of tile v.
struct Interleaved {
  __m512i x[kTilesTogether];
};

TAUTLINE_INLINE Interleaved join_halves(__m512i a_low, __m512i a_high, __m512i b_low,
                                        __m512i b_high) {
  return {{_mm512_unpacklo_epi16(a_low, b_low), _mm512_unpackhi_epi16(a_low, b_low),
           _mm512_unpacklo_epi16(a_high, b_high), _mm512_unpackhi_epi16(a_high, b_high)}};
}

/// Interleaves four times as bytes, or two times as halves.
template <Storage kStorage>
TAUTLINE_INLINE Interleaved interleave_rows(const std::uint8_t* rows, std::ptrdiff_t step) {
  const __m512i a = _mm512_loadu_si512(rows), b = _mm512_loadu_si512(rows + step);
  if constexpr (kStorage == Storage::bytes) {
    const __m512i c = _mm512_loadu_si512(rows + 2 * step), d = _mm512_loadu_si512(rows + 3 * step);
    return join_halves(_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b),
                       _mm512_unpacklo_epi8(c, d), _mm512_unpackhi_epi8(c, d));
  } else {
    const __m512i zero = _mm512_setzero_si512();
    return join_halves(_mm512_unpacklo_epi8(a, zero), _mm512_unpackhi_epi8(a, zero),
                       _mm512_unpacklo_epi8(b, zero), _mm512_unpackhi_epi8(b, zero));
  }
}

/// Stores `count` rows from row `first` of the input on, at sample `at` of the blocks, which are
/// `tile_bytes` apart.
template <Storage kStorage>
void store_interleaved(const InterleavedInput& input, std::size_t first, std::size_t count,
                       std::byte* blocks, std::size_t tile_bytes, std::size_t at) {
  constexpr std::size_t kGroup = group_of(kStorage), kPrefetchRows = 64;  // rows; not tuned
  const std::size_t end = first + count;
  const auto row = [&](std::size_t t) {
    return input.rows + static_cast<std::ptrdiff_t>(t) * input.row_stride;
  };
  for (std::size_t t = first; t < end;) {
    if (at % kGroup != 0 || end - t < kGroup) {
      for (std::size_t tile = 0; tile < kTilesTogether; ++tile)
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          std::byte* to = blocks + tile * tile_bytes +
                          place_of(kStorage, kLanes, at, lane) * bytes_of(kStorage);
          std::memset(to, 0, bytes_of(kStorage));
          std::memcpy(to, row(t) + interleaved_sensor(tile, lane), 1);  // little-endian
        }
      ++t, ++at;
      continue;
    }
    // The hardware prefetcher does not follow such large strides.
    for (std::size_t i = 0; i < kGroup && t + i + kPrefetchRows < input.count; ++i)
      for (const std::size_t end_of_row : {std::size_t{0}, kSensorsTogether - 1})
        _mm_prefetch(row(t + i + kPrefetchRows) + end_of_row, _MM_HINT_T0);
    const Interleaved interleaved = interleave_rows<kStorage>(row(t), input.row_stride);
    for (std::size_t tile = 0; tile < kTilesTogether; ++tile)
      _mm512_store_si512(blocks + tile * tile_bytes + at / kGroup * kRowBytes, interleaved.x[tile]);
    t += kGroup, at += kGroup;
  }
}

void feed_interleaved(const Layout& layout, std::byte* tiles, std::byte* scratch,
                      const InterleavedInput& input) {
  const Level& level = layout.levels[0];
  const auto progress = [&](std::size_t tile) {
    return reinterpret_cast<Progress*>(tiles + tile * layout.tile_bytes);
  };
  for (std::size_t t = 0; t < input.count;) {
    const std::size_t at = progress(0)->pending;
    const std::size_t count = std::min(layout.block - at, input.count - t);
    std::byte* blocks = tiles + level.direct_at;
    if (level.storage == Storage::bytes) {
      store_interleaved<Storage::bytes>(input, t, count, blocks, layout.tile_bytes, at);
    } else {
      store_interleaved<Storage::halves>(input, t, count, blocks, layout.tile_bytes, at);
    }
    t += count;
    const std::uint8_t* next = t < input.count
                                   ? input.rows + static_cast<std::ptrdiff_t>(t) * input.row_stride
                                   : input.next;
    Prefetch prefetch{reinterpret_cast<const std::byte*>(next), input.row_stride};
    for (std::size_t tile = 0; tile < kTilesTogether; ++tile) {
      progress(tile)->pending += count;
      multiply_full(layout, tiles + tile * layout.tile_bytes, scratch, prefetch);
    }
  }
}
