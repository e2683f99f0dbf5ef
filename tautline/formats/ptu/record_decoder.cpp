#include "tautline/formats/ptu/record_decoder.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tautline::formats::ptu {

namespace {

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

RecordDecoder::RecordDecoder(std::string name, const RecordType& type, std::uint64_t offset_bytes,
                             Damage damage)
    : name_(std::move(name)),
      type_(&type),
      offset_bytes_(offset_bytes),
      header_damage_(std::move(damage)),
      damage_(header_damage_) {}

void RecordDecoder::rewind() {
  counts_ = {};
  base_ = 0;
  damage_ = header_damage_;
}

void RecordDecoder::note(std::uint64_t record, const std::string& what, const std::string& found,
                         const std::string& expected) {
  // Composing a message for each of millions of broken records would take longer than reading.
  if (damage_.messages.size() >= Damage::kMaxMessages) return;
  damage_.note(name_ + ": " + what + ", record " + std::to_string(record) + " at byte " +
               std::to_string(offset_bytes_ + record * kRecordBytes) + ": " + found +
               ", expected " + expected);
}

bool RecordDecoder::step_back(std::uint64_t record, std::uint64_t time) {
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

void RecordDecoder::unknown(std::uint64_t record, std::uint32_t word) {
  ++counts_.unknown_records;
  ++damage_.lost_samples;
  note(record, "unknown record", std::to_string(word),
       "a photon, marker or overflow of " + std::string(type_->name));
}

template <class Layout>
std::size_t RecordDecoder::decode_as(std::span<const std::uint32_t> words, Photon* photons) {
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
  counts_.last_clock = std::max({counts_.last_clock, base, last});
  counts_.records += words.size();
  counts_.photons += found;
  return found;
}

std::size_t RecordDecoder::decode(std::span<const std::uint32_t> words, Photon* photons) {
  const bool t3 = type_->mode == TagMode::t3;
  if (type_->family == Family::picoharp)
    return t3 ? decode_as<PicoHarpT3>(words, photons) : decode_as<PicoHarpT2>(words, photons);
  if (type_->counted_overflow)
    return t3 ? decode_as<HydraHarp<true, kHydraHarpT3Wrap, true>>(words, photons)
              : decode_as<HydraHarp<false, kHydraHarpT2Wrap, true>>(words, photons);
  return t3 ? decode_as<HydraHarp<true, kHydraHarpT3Wrap, false>>(words, photons)
            : decode_as<HydraHarp<false, kHydraHarp1T2Wrap, false>>(words, photons);
}

}  // namespace tautline::formats::ptu
