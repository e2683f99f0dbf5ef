#include "tautline/formats/mwa32t/counters.h"

#include <algorithm>

namespace tautline::formats::mwa32t {

std::size_t consecutive_records(std::span<const std::byte> bytes, std::size_t record,
                                std::size_t limit) {
  const std::size_t whole = std::min(limit, bytes.size() / record);
  if (whole == 0) return 0;
  std::size_t count = 1;
  auto expected = static_cast<std::uint16_t>(counter_at(bytes.data()) + 1);
  while (count < whole && counter_at(bytes.data() + count * record) == expected) {
    ++count;
    ++expected;
  }
  return count;
}

std::optional<std::size_t> find_alignment(std::span<const std::byte> bytes, std::size_t record,
                                          std::size_t phase, bool last, std::size_t least_aligned) {
  for (std::size_t offset = 0; offset + record <= bytes.size(); ++offset) {
    const bool aligned = (offset + phase) % record == 0;
    const std::size_t proof = aligned ? kAlignedProof : kUnalignedProof;
    const std::size_t least = aligned ? least_aligned : kAlignedProof;
    const std::size_t left = (bytes.size() - offset) / record;
    if (left < proof && !last) return std::nullopt;
    const std::size_t needed = std::min(proof, left);
    if (needed < least) continue;
    if (consecutive_records(bytes.subspan(offset), record, needed) == needed) return offset;
  }
  return std::nullopt;
}

std::size_t end_of_records(std::span<const std::byte> bytes, std::size_t record, bool last) {
  std::size_t end = 0;
  while (const auto hit = find_alignment(bytes.subspan(end), record, 0, last, kLeastProof))
    end += *hit + record * consecutive_records(bytes.subspan(end + *hit), record, SIZE_MAX);
  return end;
}

std::optional<std::size_t> find_first(std::span<const std::byte> bytes, Mode mode, bool last) {
  const std::size_t record = record_bytes(mode);
  return find_alignment(bytes, record, 0, last,
                        std::clamp(bytes.size() / record / 2, kLeastProof, kAlignedProof));
}

std::optional<Detected> detect_mode(std::span<const std::byte> bytes, bool last) {
  std::optional<Detected> best;
  for (const Mode mode : {Mode::two_byte, Mode::one_byte}) {
    const auto offset = find_first(bytes, mode, last);
    if (offset && (!best || *offset < best->offset)) best = Detected{mode, *offset};
  }
  if (best || !last) return best;
  // A single record proves nothing but fills the file.
  for (const Mode mode : {Mode::two_byte, Mode::one_byte})
    if (bytes.size() == record_bytes(mode)) return Detected{mode, 0};
  return std::nullopt;
}

}  // namespace tautline::formats::mwa32t
