// Copies that bypass the caches, into memory that this core does not read soon: pinned blocks for a
// device, blocks longer than caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tautline::core {

/// memcpy whose destination does not pass through the caches, where the processor has such stores.
inline void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__SSE2__)
  constexpr std::size_t kWord = 16, kLine = 64;
  const std::size_t before = (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine;
  if (bytes >= before + kLine) {
    std::memcpy(to, from, before);
    to += before, from += before, bytes -= before;
    for (; bytes >= kLine; to += kLine, from += kLine, bytes -= kLine)
      for (std::size_t k = 0; k < kLine; k += kWord)
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + k),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k)));
    _mm_sfence();  // before other threads learn that the bytes are written
  }
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace tautline::core
