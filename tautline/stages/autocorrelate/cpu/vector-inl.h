// Vector types of one instruction set, and intrinsics where the compiler does not generate the
// right instruction. Included once per target, inside its namespace, by cpu/tile-inl.h.

// Lanes of a register. A tile's 16 lanes are one register or several.
#if defined(TAUTLINE_AUTOCORRELATE_AVX512)
inline constexpr std::size_t kVectorLanes = 16;
#elif defined(TAUTLINE_AUTOCORRELATE_AVX2)
inline constexpr std::size_t kVectorLanes = 8;
#else
inline constexpr std::size_t kVectorLanes = 4;
#endif

typedef std::int32_t Vector __attribute__((vector_size(4 * kVectorLanes), may_alias));
typedef std::int32_t LooseVector
    __attribute__((vector_size(4 * kVectorLanes), aligned(1), may_alias));
typedef std::uint16_t Halves __attribute__((vector_size(4 * kVectorLanes), may_alias));
typedef std::uint64_t Longs __attribute__((vector_size(4 * kVectorLanes), may_alias));

/// Doubles of one register.
typedef double Doubles __attribute__((vector_size(4 * kVectorLanes), may_alias));
typedef double LooseDoubles __attribute__((vector_size(4 * kVectorLanes), aligned(8), may_alias));
inline constexpr std::size_t kDoubleLanes = kVectorLanes / 2;

/// Unsigned words of one register; kRowParts of them are a row of 16 lanes. GCC keeps vectors wider
/// than a register in memory and stores and loads them around every operation, so loops over rows
/// process one register's part of all rows before the next.
typedef std::uint32_t Words __attribute__((vector_size(4 * kVectorLanes), may_alias));
inline constexpr std::size_t kRowParts = kLanes / kVectorLanes;

/// 16 lanes, independent of the register width.
typedef std::uint32_t Row __attribute__((vector_size(4 * kLanes), may_alias));

#define TAUTLINE_INLINE [[gnu::always_inline]] inline

TAUTLINE_INLINE Vector load(const void* p) {
  return *static_cast<const Vector*>(p);
}
TAUTLINE_INLINE Vector load_loose(const void* p) {
  return *static_cast<const LooseVector*>(p);
}
TAUTLINE_INLINE void store(void* p, Vector v) {
  *static_cast<Vector*>(p) = v;
}

TAUTLINE_INLINE Doubles load_doubles(const double* p) {
  return *reinterpret_cast<const LooseDoubles*>(p);
}
TAUTLINE_INLINE void store_doubles(double* p, Doubles v) {
  *reinterpret_cast<LooseDoubles*>(p) = v;
}

/// Keeps GCC from reusing earlier loads. It would carry the loads of one iteration into the next in
/// registers, run out of registers, and spill the sums.
TAUTLINE_INLINE void forget_loads() {
  asm volatile("" ::: "memory");
}

/// Loads a value that is used twice into a register. GCC would use it as a memory operand twice,
/// and the loads, two per cycle like the products, would limit the rate.
TAUTLINE_INLINE Vector load_once(const void* p) {
  Vector v = load(p);
#if defined(TAUTLINE_AUTOCORRELATE_AVX512)
  asm("" : "+v"(v));
#endif
  return v;
}

/// sum + the products of the signed halves of a and b, two in each lane.
TAUTLINE_INLINE Vector add_products(Vector sum, Vector a, Vector b) {
#if defined(TAUTLINE_AUTOCORRELATE_VNNI)
  return (Vector)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#elif defined(TAUTLINE_AUTOCORRELATE_AVX512)
  return sum + (Vector)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(TAUTLINE_AUTOCORRELATE_AVX2)
  return sum + (Vector)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return sum + (Vector)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
  typedef std::uint32_t Unsigned __attribute__((vector_size(4 * kVectorLanes)));
  const Unsigned low = (Unsigned)(a << 16 >> 16) * (Unsigned)(b << 16 >> 16);
  return (Vector)((Unsigned)sum + low + (Unsigned)(a >> 16) * (Unsigned)(b >> 16));
#endif
}

#if defined(TAUTLINE_AUTOCORRELATE_VNNI)
/// sum + the products of unsigned bytes of a and signed bytes of b, four in each lane.
TAUTLINE_INLINE Vector add_byte_products(Vector sum, Vector a, Vector b) {
  return (Vector)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
}
#endif

/// Products of the even words of a and b.
TAUTLINE_INLINE Longs multiply_even(Vector a, Vector b) {
#if defined(TAUTLINE_AUTOCORRELATE_AVX512)
  return (Longs)_mm512_mul_epu32((__m512i)a, (__m512i)b);
#elif defined(TAUTLINE_AUTOCORRELATE_AVX2)
  return (Longs)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (Longs)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
  return ((Longs)a & 0xffffffffu) * ((Longs)b & 0xffffffffu);
#endif
}

/// Vectors of 16 bytes, which are interleaved where sensors become lanes.
typedef std::uint8_t Bytes16 __attribute__((vector_size(16), may_alias));
typedef std::uint16_t Halves8 __attribute__((vector_size(16), may_alias));
typedef std::uint8_t LooseBytes16 __attribute__((vector_size(16), aligned(1), may_alias));

TAUTLINE_INLINE Bytes16 interleave_low(Bytes16 a, Bytes16 b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
TAUTLINE_INLINE Bytes16 interleave_high(Bytes16 a, Bytes16 b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}
TAUTLINE_INLINE Bytes16 interleave_low_halves(Bytes16 a, Bytes16 b) {
  return (Bytes16)__builtin_shufflevector((Halves8)a, (Halves8)b, 0, 8, 1, 9, 2, 10, 3, 11);
}
TAUTLINE_INLINE Bytes16 interleave_high_halves(Bytes16 a, Bytes16 b) {
  return (Bytes16)__builtin_shufflevector((Halves8)a, (Halves8)b, 4, 12, 5, 13, 6, 14, 7, 15);
}
TAUTLINE_INLINE Bytes16 load_bytes(const void* p) {
  return *static_cast<const LooseBytes16*>(p);
}
