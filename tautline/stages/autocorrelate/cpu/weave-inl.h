// Rows of 64 bytes into the blocks of four tiles at once, with registers as wide as a row. Included
// once a target by cpu/tile-inl.h.

/// Four vectors of words or halves of consecutive times: x[v] is a row of tile v.
struct Woven {
  __m512i x[kTilesTogether];
};

TAUTLINE_INLINE Woven join_halves(__m512i a_low, __m512i a_high, __m512i b_low, __m512i b_high) {
  return {{_mm512_unpacklo_epi16(a_low, b_low), _mm512_unpackhi_epi16(a_low, b_low),
           _mm512_unpacklo_epi16(a_high, b_high), _mm512_unpackhi_epi16(a_high, b_high)}};
}

/// Four times as bytes, or two as halves.
template <Storage kStorage>
TAUTLINE_INLINE Woven weave_rows(const std::uint8_t* rows, std::ptrdiff_t step) {
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

/// Stores `count` rows from row `first` of the input on, starting with sample `at` of the blocks,
/// which lie `tile_bytes` apart.
template <Storage kStorage>
void stage_woven(const WovenInput& input, std::size_t first, std::size_t count, std::byte* blocks,
                 std::size_t tile_bytes, std::size_t at) {
  constexpr std::size_t kGroup = group_of(kStorage), kAhead = 64;  // rows; not tuned
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
          std::memcpy(to, row(t) + woven_sensor(tile, lane), 1);  // little-endian
        }
      ++t, ++at;
      continue;
    }
    // Rows are far apart: the processor does not foresee them.
    for (std::size_t i = 0; i < kGroup && t + i + kAhead < input.count; ++i)
      _mm_prefetch(row(t + i + kAhead), _MM_HINT_T0);
    const Woven woven = weave_rows<kStorage>(row(t), input.row_stride);
    for (std::size_t tile = 0; tile < kTilesTogether; ++tile)
      _mm512_store_si512(blocks + tile * tile_bytes + at / kGroup * kRowBytes, woven.x[tile]);
    t += kGroup, at += kGroup;
  }
}

void feed_woven(const Layout& layout, std::byte* tiles, std::byte* scratch,
                const WovenInput& input) {
  const Level& level = layout.levels[0];
  const auto progress = [&](std::size_t tile) {
    return reinterpret_cast<Progress*>(tiles + tile * layout.tile_bytes);
  };
  for (std::size_t t = 0; t < input.count;) {
    const std::size_t at = progress(0)->pending;
    const std::size_t count = std::min(layout.block - at, input.count - t);
    std::byte* blocks = tiles + level.direct_at;
    if (level.storage == Storage::bytes) {
      stage_woven<Storage::bytes>(input, t, count, blocks, layout.tile_bytes, at);
    } else {
      stage_woven<Storage::halves>(input, t, count, blocks, layout.tile_bytes, at);
    }
    t += count;
    const std::uint8_t* next = t < input.count
                                   ? input.rows + static_cast<std::ptrdiff_t>(t) * input.row_stride
                                   : input.next;
    Ahead ahead{reinterpret_cast<const std::byte*>(next), input.row_stride};
    for (std::size_t tile = 0; tile < kTilesTogether; ++tile) {
      progress(tile)->pending += count;
      multiply_full(layout, tiles + tile * layout.tile_bytes, scratch, ahead);
    }
  }
}
