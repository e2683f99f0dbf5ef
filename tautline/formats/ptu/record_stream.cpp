#include "tautline/formats/ptu/record_stream.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tautline::formats::ptu {

namespace {

constexpr std::size_t kRecordBytes = 4;
// Records read at once: 256 KiB, which stay in the cache while they are decoded.
constexpr std::size_t kBlockRecords = std::size_t{1} << 16;

enum class Kind { photon, overflow, marker, sync, unknown };

struct PicoHarpT2 {
  static constexpr std::uint64_t kWrap = kPicoHarpT2Wrap;
  static Kind kind(std::uint32_t word) {
    if (word >> 28 == 15) return (word & 15) == 0 ? Kind::overflow : Kind::marker;
    return word >> 28 <= 4 ? Kind::photon : Kind::unknown;
  }
  static std::uint64_t overflows(std::uint32_t) { return 1; }
  static std::uint64_t clock(std::uint32_t word) { return word & 0xFFFFFFF; }
  static std::uint32_t channel(std::uint32_t word) { return word >> 28; }
  static std::uint32_t microtime(std::uint32_t) { return 0; }
};

struct PicoHarpT3 {
  static constexpr std::uint64_t kWrap = kPicoHarpT3Wrap;
  static Kind kind(std::uint32_t word) {
    if (word >> 28 == 15) return (word >> 16 & 0xFFF) == 0 ? Kind::overflow : Kind::marker;
    return word >> 28 >= 1 && word >> 28 <= 4 ? Kind::photon : Kind::unknown;
  }
  static std::uint64_t overflows(std::uint32_t) { return 1; }
  static std::uint64_t clock(std::uint32_t word) { return word & 0xFFFF; }
  static std::uint32_t channel(std::uint32_t word) { return word >> 28; }
  static std::uint32_t microtime(std::uint32_t word) { return word >> 16 & 0xFFF; }
};

template <bool kT3, std::uint64_t kWrapOf, bool kCounted>
struct HydraHarp {
  static constexpr std::uint64_t kWrap = kWrapOf;
  static Kind kind(std::uint32_t word) {
    if (word >> 31 == 0) return Kind::photon;
    const std::uint32_t special = channel(word);
    if (special == 63) return Kind::overflow;
    if (special >= 1 && special <= 15) return Kind::marker;
    return special == 0 && !kT3 ? Kind::sync : Kind::unknown;
  }
  static std::uint64_t overflows(std::uint32_t word) {
    return kCounted ? std::max<std::uint64_t>(clock(word), 1) : 1;
  }
  static std::uint64_t clock(std::uint32_t word) { return word & (kT3 ? 0x3FF : 0x1FFFFFF); }
  static std::uint32_t channel(std::uint32_t word) { return word >> 25 & 63; }
  static std::uint32_t microtime(std::uint32_t word) { return kT3 ? word >> 10 & 0x7FFF : 0; }
};

}  // namespace

RecordStream::RecordStream(InputFile file, PhotonDescription description, const RecordType& type,
                           std::uint64_t offset_bytes, Damage damage)
    : file_(std::move(file)),
      description_(std::move(description)),
      type_(&type),
      offset_bytes_(offset_bytes),
      header_damage_(std::move(damage)),
      damage_(header_damage_) {
  file_.sequential();
}

void RecordStream::rewind() {
  counts_ = {};
  base_ = 0;
  damage_ = header_damage_;
}

void RecordStream::note(std::uint64_t record, const std::string& what, const std::string& found,
                        const std::string& expected) {
  // Composing a message for each of millions of broken records would take longer than reading.
  if (damage_.messages.size() >= Damage::kMaxMessages) return;
  damage_.note(file_.path() + ": " + what + ", record " + std::to_string(record) + " at byte " +
               std::to_string(offset_bytes_ + record * kRecordBytes) + ": " + found +
               ", expected " + expected);
}

bool RecordStream::step_back(std::uint64_t record, std::uint64_t time) {
  const std::uint64_t step = counts_.last_time - time;
  // A clock beyond its range, which damage can leave, would need more than one.
  if (step > type_->wrap / 2 && step <= type_->wrap) {
    ++counts_.missing_overflows;
    note(record, "an overflow record is missing", "the clock steps back by " + std::to_string(step),
         "an overflow of " + std::to_string(type_->wrap) + " before it, which is taken as read");
    return true;
  }
  ++counts_.backwards;
  ++damage_.dropped_samples;
  note(record, "the time tags go backwards", "by " + std::to_string(step),
       "a tag of " + std::to_string(counts_.last_time) + " or later; the photon is left out");
  return false;
}

void RecordStream::unknown(std::uint64_t record, std::uint32_t word) {
  ++counts_.unknown_records;
  ++damage_.lost_samples;
  note(record, "unknown record", std::to_string(word),
       "a photon, marker or overflow of " + std::string(type_->name));
}

template <class Layout>
std::size_t RecordStream::decode(std::span<const std::uint32_t> words, Photon* photons) {
  std::size_t found = 0;
  std::uint64_t base = base_, last = counts_.last_time;
  for (std::size_t n = 0; n < words.size(); ++n) {
    const std::uint32_t word = words[n];
    const Kind kind = Layout::kind(word);
    if (kind == Kind::photon || kind == Kind::sync) [[likely]] {
      std::uint64_t time = base + Layout::clock(word);
      if (time < last) [[unlikely]] {
        counts_.last_time = last;
        if (!step_back(counts_.records + n, time)) continue;
        base += Layout::kWrap;
        time += Layout::kWrap;
      }
      last = time;
      const std::uint32_t channel = kind == Kind::sync ? kSyncChannel : Layout::channel(word);
      photons[found++] = {time, static_cast<std::uint16_t>(channel),
                          static_cast<std::uint16_t>(Layout::microtime(word))};
    } else if (kind == Kind::overflow) {
      base += Layout::kWrap * Layout::overflows(word);
      ++counts_.overflow_records;
    } else if (kind == Kind::marker) {
      ++counts_.markers;
    } else {
      unknown(counts_.records + n, word);
    }
  }
  base_ = base;
  counts_.last_time = last;
  counts_.records += words.size();
  counts_.photons += found;
  return found;
}

std::size_t RecordStream::decode_any(std::span<const std::uint32_t> words, Photon* photons) {
  const bool t3 = type_->mode == TagMode::t3;
  if (type_->family == Family::picoharp)
    return t3 ? decode<PicoHarpT3>(words, photons) : decode<PicoHarpT2>(words, photons);
  if (type_->counted_overflow)
    return t3 ? decode<HydraHarp<true, kHydraHarpT3Wrap, true>>(words, photons)
              : decode<HydraHarp<false, kHydraHarpT2Wrap, true>>(words, photons);
  return t3 ? decode<HydraHarp<true, kHydraHarpT3Wrap, false>>(words, photons)
            : decode<HydraHarp<false, kHydraHarp1T2Wrap, false>>(words, photons);
}

std::size_t RecordStream::read(std::span<Photon> photons) {
  static_assert(std::endian::native == std::endian::little, "records are read as they lie");
  std::size_t found = 0;
  while (found == 0 && !photons.empty() && counts_.records < description_.records) {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(
        std::min(kBlockRecords, photons.size()), description_.records - counts_.records));
    words_.resize(count);
    const std::size_t bytes = file_.read(offset_bytes_ + counts_.records * kRecordBytes,
                                         std::as_writable_bytes(std::span(words_)));
    const std::size_t whole = bytes / kRecordBytes;
    if (whole == 0) break;  // the file became shorter while it was read
    found = decode_any(std::span(words_).first(whole), photons.data());
  }
  return found;
}

std::uint64_t count_records(const InputFile& file, std::uint64_t offset_bytes, std::uint64_t stated,
                            Damage& damage) {
  const std::uint64_t bytes = file.size() > offset_bytes ? file.size() - offset_bytes : 0;
  const std::uint64_t held = bytes / kRecordBytes;
  const std::uint64_t records = stated == 0 ? held : std::min(held, stated);
  const std::uint64_t spare = bytes - records * kRecordBytes;
  if (records < stated)
    damage.note(file.path() + ": cut short at byte " + std::to_string(file.size()) + ": " +
                std::to_string(held) + " whole records, expected " + std::to_string(stated));
  else if (spare > 0)
    damage.note(file.path() + ": bytes behind the records, byte " +
                std::to_string(offset_bytes + records * kRecordBytes) + ": " +
                std::to_string(spare) + ", expected none; they are left out");
  damage.trailing_bytes += spare;
  if (records < stated) damage.lost_samples += stated - records;
  return records;
}

}  // namespace tautline::formats::ptu
