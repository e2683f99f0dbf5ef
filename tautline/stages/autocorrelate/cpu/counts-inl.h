// Floats that are counts, as counts. Included once per target by cpu/tile-inl.h.

/// Writes `size` floats as counts. Returns false where one of them is no whole number from 0 to the largest count.
template <class Float, class Count>
bool count_floats(const Float* from, std::size_t size, Count* to) {
  typedef Float Floats
      __attribute__((vector_size(kDoubleLanes * sizeof(Float)), aligned(sizeof(Float)), may_alias));
  typedef std::int32_t Whole __attribute__((vector_size(4 * kDoubleLanes)));
  typedef Count Counts
      __attribute__((vector_size(kDoubleLanes * sizeof(Count)), aligned(sizeof(Count)), may_alias));
  const Doubles zero{}, most = zero + std::numeric_limits<Count>::max();
  Longs others{};
  std::size_t i = 0;
  for (; i + kDoubleLanes <= size; i += kDoubleLanes) {
    const Doubles value =
        __builtin_convertvector(*reinterpret_cast<const Floats*>(from + i), Doubles);
    const Longs in_range = (Longs)(value >= zero) & (Longs)(value <= most);  // false for NaN
    const Whole whole = __builtin_convertvector((Doubles)((Longs)value & in_range), Whole);
    others |= (Longs)(__builtin_convertvector(whole, Doubles) != value);
    *reinterpret_cast<Counts*>(to + i) = __builtin_convertvector(whole, Counts);
  }
  bool all = true;
  for (std::size_t lane = 0; lane < kDoubleLanes; ++lane) all = all && others[lane] == 0;
  for (; i < size; ++i) {
    const bool in_range = from[i] >= 0 && from[i] <= std::numeric_limits<Count>::max();
    to[i] = in_range ? static_cast<Count>(from[i]) : Count{};
    all = all && static_cast<Float>(to[i]) == from[i];
  }
  return all;
}

template <class Float>
bool count_floats(const Float* from, std::size_t size, SampleType type, void* to) {
  return type == SampleType::u8 ? count_floats(from, size, static_cast<std::uint8_t*>(to))
                                : count_floats(from, size, static_cast<std::uint16_t*>(to));
}

bool as_counts(SampleType floats, const void* from, std::size_t size, SampleType counts, void* to) {
  return floats == SampleType::f64
             ? count_floats(static_cast<const double*>(from), size, counts, to)
             : count_floats(static_cast<const float*>(from), size, counts, to);
}
