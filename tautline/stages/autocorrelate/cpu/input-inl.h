// Copies rows of the input to a block, in the block's storage format. Included once per target by
// cpu/tile-inl.h.

/// Stores `count` rows from sample `at` of a block on.
template <class Count, class Stored>
void store_plain(const Layout& layout, const Level& level, const Count* rows, const Input& input,
                 const std::uint32_t* sensors, std::size_t count, std::byte* block,
                 std::size_t at) {
  auto* out = reinterpret_cast<Stored*>(block);
  const auto lanes = layout.lanes;
  if constexpr (std::is_same_v<Stored, double>) {
    if (input.neighbours && lanes == kLanes) {
      const Count* from = rows + sensors[0];
      for (std::size_t t = 0; t < count; ++t, from += input.row_stride)
        for (std::size_t lane = 0; lane < kLanes; ++lane)
          out[(at + t) * kLanes + lane] = static_cast<double>(from[lane]);
      return;
    }
  }
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

/// Stores two times of 16 neighbouring sensors as the halves of one row.
TAUTLINE_INLINE void store_halves(const std::uint8_t* one, const std::uint8_t* two, Bytes16* out) {
  const Bytes16 zero{}, a = load_bytes(one), b = load_bytes(two);
  const Bytes16 a_low = interleave_low(a, zero), a_high = interleave_high(a, zero);
  const Bytes16 b_low = interleave_low(b, zero), b_high = interleave_high(b, zero);
  out[0] = interleave_low_halves(a_low, b_low);
  out[1] = interleave_high_halves(a_low, b_low);
  out[2] = interleave_low_halves(a_high, b_high);
  out[3] = interleave_high_halves(a_high, b_high);
}
TAUTLINE_INLINE void store_halves(const std::uint16_t* one, const std::uint16_t* two,
                                  Bytes16* out) {
  for (std::size_t half = 0; half < 2; ++half) {
    const Bytes16 a = load_bytes(one + 8 * half), b = load_bytes(two + 8 * half);
    out[2 * half] = interleave_low_halves(a, b);
    out[2 * half + 1] = interleave_high_halves(a, b);
  }
}
/// Stores four runs of 16 bytes as one row, in which the bytes k of the four are neighbours.
TAUTLINE_INLINE void interleave_four(const std::uint8_t* one, const std::uint8_t* two,
                                     const std::uint8_t* three, const std::uint8_t* four,
                                     Bytes16* out) {
  const Bytes16 a = load_bytes(one), b = load_bytes(two);
  const Bytes16 c = load_bytes(three), d = load_bytes(four);
  const Bytes16 ab_low = interleave_low(a, b), ab_high = interleave_high(a, b);
  const Bytes16 cd_low = interleave_low(c, d), cd_high = interleave_high(c, d);
  out[0] = interleave_low_halves(ab_low, cd_low);
  out[1] = interleave_high_halves(ab_low, cd_low);
  out[2] = interleave_low_halves(ab_high, cd_high);
  out[3] = interleave_high_halves(ab_high, cd_high);
}

/// Neighbouring sensors and complete rows: `at` and `count` are multiples of the row's times.
template <class Count>
void store_rows(const Level& level, const Count* rows, const Input& input, std::size_t count,
                std::byte* block, std::size_t at) {
  auto* out = reinterpret_cast<Bytes16*>(block) + at / group_of(level.storage) * 4;
  const std::ptrdiff_t step = input.row_stride;
  if constexpr (sizeof(Count) == 1) {
    if (level.storage == Storage::bytes) {
      for (std::size_t t = 0; t < count; t += 4, rows += 4 * step, out += 4)
        interleave_four(rows, rows + step, rows + 2 * step, rows + 3 * step, out);
      return;
    }
  }
  for (std::size_t t = 0; t < count; t += 2, rows += 2 * step, out += 4)
    store_halves(rows, rows + step, out);
}

template <class Count>
void store_series(const Layout& layout, const Level& level, const Count* rows, const Input& input,
                  const std::uint32_t* sensors, std::size_t count, std::byte* block,
                  std::size_t at) {
  if constexpr (sizeof(Count) <= 2) {
    const std::size_t group = group_of(level.storage);
    if (input.neighbours && group > 1 && at % group == 0) {
      const std::size_t whole = count / group * group;
      store_rows(level, rows + sensors[0], input, whole, block, at);
      rows += static_cast<std::ptrdiff_t>(whole) * input.row_stride;
      at += whole;
      count -= whole;
    }
  }
  switch (level.storage) {
    case Storage::bytes:
      store_plain<Count, std::uint8_t>(layout, level, rows, input, sensors, count, block, at);
      return;
    case Storage::halves:
      store_plain<Count, std::uint16_t>(layout, level, rows, input, sensors, count, block, at);
      return;
    case Storage::words:
      store_plain<Count, std::uint32_t>(layout, level, rows, input, sensors, count, block, at);
      return;
    case Storage::longs:
      store_plain<Count, std::uint64_t>(layout, level, rows, input, sensors, count, block, at);
      return;
    case Storage::doubles:
      store_plain<Count, double>(layout, level, rows, input, sensors, count, block, at);
      return;
  }
}

void store_planes(const Level& level, const std::uint8_t* low, const std::uint8_t* high,
                  std::size_t count, std::byte* block, std::size_t at) {
  std::size_t t = 0;
  if (level.storage == Storage::halves && at % 2 == 0) {
    auto* out = reinterpret_cast<Bytes16*>(block) + at / 2 * 4;
    for (; t + 2 <= count; t += 2, out += 4) {
      const std::uint8_t *l = low + 64 * t, *h = high + 64 * t;
      interleave_four(l, h, l + 64, h + 64, out);
    }
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
