#include "tautline/formats/ptu/record_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "tautline/core/counted.h"

namespace tautline::formats::ptu {

namespace {

enum class Kind { photon, overflow, marker, sync, unknown };

// Messages of each kind.
constexpr std::uint64_t kNamed = 3;
// Two photons of one detector have not the same clock and microtime, since it is dead after the first; simulated ones of
// a coarse clock may have.
constexpr std::size_t kFewestBlank = 8;
// Of 64 random or shifted records 24 or more are faulty.
constexpr std::size_t kMostFaults = 12;
// Shifted records of a clock whose high bits change slowly are photons of one impossible detector for hundreds of
// records: where a quarter of a chunk is faulty, or many such are left, none of it is used.
constexpr std::size_t kMostPart = 4;

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
                             std::uint32_t detectors, Damage damage)
    : name_(std::move(name)),
      type_(&type),
      offset_bytes_(offset_bytes),
      detectors_(detectors),
      header_damage_(std::move(damage)),
      damage_(header_damage_) {}

void RecordDecoder::rewind() {
  counts_ = {};
  state_ = {};
  breaks_.clear();
  last_equal_ = 0;
  waiting_.clear();
  given_ = 0;
  damage_ = header_damage_;
}

RecordDecoder::Saved RecordDecoder::save() const {
  return {state_,
          counts_,
          damage_.lost_samples,
          damage_.dropped_samples,
          damage_.messages.size(),
          breaks_.size()};
}

void RecordDecoder::restore(const Saved& saved) {
  state_ = saved.state;
  counts_ = saved.counts;
  damage_.lost_samples = saved.lost;
  damage_.dropped_samples = saved.dropped;
  damage_.messages.resize(saved.messages);
  breaks_.resize(saved.breaks);
}

std::uint64_t RecordDecoder::faults_since(const Saved& saved) const {
  std::uint64_t faults = 0;
  for (const Fault fault : {kUnknown, kBackwards, kOverflow})
    faults += state_.found[fault] - saved.state.found[fault];
  return faults;
}

// Composing a message for each of millions of broken records would take longer than reading, and nobody reads them.
void RecordDecoder::note(Fault fault, std::uint64_t record, const std::string& what,
                         const std::string& found, const std::string& expected) {
  if (state_.found[fault]++ >= kNamed) return;
  damage_.note(name_ + ": " + what + ", record " + std::to_string(record) + " at byte " +
               std::to_string(offset_bytes_ + record * kRecordBytes) + ": " + found +
               ", expected " + expected);
}

bool RecordDecoder::step_back(std::uint64_t record, std::uint64_t time) {
  const std::uint64_t step = counts_.last_time - time;
  // A clock beyond its range, which damage can leave, would need more than one.
  if (step > type_->wrap / 2 && step <= type_->wrap) {
    ++counts_.missing_overflows;
    note(kOverflow, record, "an overflow record is missing",
         "the clock steps back by " + std::to_string(step),
         "an overflow of " + std::to_string(type_->wrap) + " before it, which is taken as read");
    return true;
  }
  ++counts_.backwards;
  ++damage_.dropped_samples;
  note(kBackwards, record, "the time tags go backwards", "by " + std::to_string(step),
       "a tag of " + std::to_string(counts_.last_time) + " or later; the photon is left out");
  return false;
}

void RecordDecoder::unknown(std::uint64_t record, std::uint32_t word) {
  ++counts_.unknown_records;
  ++damage_.lost_samples;
  note(kUnknown, record, "unknown record", std::to_string(word),
       "a photon, marker or overflow of " + std::string(type_->name));
}

// Records that hold nothing: the time that they took is not known.
void RecordDecoder::leave_out(Fault fault, std::uint64_t record, std::uint64_t records) {
  counts_.unknown_records += records;
  damage_.lost_samples += records;
  state_.behind_break = true;
  (fault == kBlank ? state_.blank : state_.overwritten) += records;
  if (state_.found[fault]++ > 0) return;
  damage_.note(fmt::format(
      "{}: {}, from record {} at byte {}. They are left out; photons behind them may be too early "
      "by the time that they took. A copy from the instrument's computer may be whole; autocorrelate "
      "takes the part before with `start_s` and `duration_s`",
      name_,
      fault == kBlank ? "records that were never written (all bits 0, or all 1)"
                      : fmt::format("records that are no tags of {} (of 64, {} or more are unknown "
                                    "or step back in time)",
                                    type_->name, kMostFaults),
      record, offset_bytes_ + record * kRecordBytes));
}

void RecordDecoder::end_break(std::uint64_t last, std::uint64_t time) {
  state_.behind_break = false;
  if (counts_.photons > 0 || last > 0) breaks_.push_back({last, time});
}

bool RecordDecoder::is_blank(Words words, std::size_t n) const {
  const std::uint32_t word = words[n];
  std::size_t first = n, end = n + 1, before = 0;
  while (first > 0 && n - first < kFewestBlank && words[first - 1] == word) --first;
  while (end < words.size() && end - n < kFewestBlank && words[end] == word) ++end;
  if (first == 0 && last_word_ == word) before = last_equal_;
  return before + (end - first) >= kFewestBlank;
}

// A router has up to eight detectors at one input.
bool RecordDecoder::too_many(std::uint64_t detectors) const {
  constexpr std::uint32_t kRouted = 8;
  return detectors_ > 0 &&
         static_cast<std::uint32_t>(std::popcount(detectors)) > detectors_ + kRouted;
}

template <class Layout>
std::size_t RecordDecoder::decode_as(Words words, std::size_t first, std::size_t end,
                                     Photon* photons) {
  std::size_t found = 0;
  std::uint64_t base = state_.base, last = counts_.last_time, seen = 0;
  const std::uint64_t record = counts_.records - first;
  for (std::size_t n = first; n < end; ++n) {
    const std::uint32_t word = words[n];
    if (word + 1 <= 1 && is_blank(words, n)) [[unlikely]] {
      if (state_.blank == 0 || state_.last_blank + 1 != record + n) ++state_.blank_places;
      state_.last_blank = record + n;
      leave_out(kBlank, record + n, 1);
      continue;
    }
    const Kind kind = Layout::kind(word);
    if (kind == Kind::photon || kind == Kind::sync) [[likely]] {
      std::uint64_t time = base + Layout::clock(word);
      if (state_.behind_break) [[unlikely]] {
        if (time < last) {  // one overflow at least was among them
          const std::uint64_t wraps = (last - time + Layout::kWrap - 1) / Layout::kWrap;
          base += wraps * Layout::kWrap;
          time += wraps * Layout::kWrap;
        }
        end_break(last, time);
      }
      if (time < last) [[unlikely]] {
        counts_.last_time = last;
        if (!step_back(record + n, time)) continue;
        base += Layout::kWrap;
        time += Layout::kWrap;
      }
      last = time;
      const std::uint32_t channel = kind == Kind::sync ? kSyncChannel : Layout::channel(word);
      seen |= std::uint64_t{1} << channel;
      photons[found++] = {time, static_cast<std::uint16_t>(channel),
                          static_cast<std::uint16_t>(Layout::microtime(word))};
    } else if (kind == Kind::overflow) {
      base += Layout::kWrap * Layout::overflows(word);
      ++counts_.overflow_records;
    } else if (kind == Kind::marker) {
      ++counts_.markers;
    } else {
      unknown(record + n, word);
    }
  }
  seen_ = seen;
  state_.base = base;
  counts_.last_time = last;
  counts_.last_clock = std::max({counts_.last_clock, base, last});
  counts_.records += end - first;
  counts_.photons += found;
  return found;
}

std::size_t RecordDecoder::decode_part(Words words, std::size_t first, std::size_t end,
                                       Photon* photons) {
  const bool t3 = type_->mode == TagMode::t3;
  if (type_->family == Family::picoharp)
    return t3 ? decode_as<PicoHarpT3>(words, first, end, photons)
              : decode_as<PicoHarpT2>(words, first, end, photons);
  if (type_->counted_overflow)
    return t3 ? decode_as<HydraHarp<true, kHydraHarpT3Wrap, true>>(words, first, end, photons)
              : decode_as<HydraHarp<false, kHydraHarpT2Wrap, true>>(words, first, end, photons);
  return t3 ? decode_as<HydraHarp<true, kHydraHarpT3Wrap, false>>(words, first, end, photons)
            : decode_as<HydraHarp<false, kHydraHarp1T2Wrap, false>>(words, first, end, photons);
}

// Records that have many faults are decoded anew, some at a time.
std::size_t RecordDecoder::decode_checked(Words words, std::size_t first, std::size_t end,
                                          Photon* photons) {
  const Saved saved = save();
  const std::size_t found = decode_part(words, first, end, photons);
  const std::uint64_t faults = faults_since(saved);
  if (faults == 0 || (faults < kMostFaults && !too_many(seen_))) return found;
  restore(saved);
  if (end - first > kTogether) {
    std::size_t photons_found = 0;
    std::uint64_t seen = 0;
    for (std::size_t n = first; n < end;) {
      const std::size_t next =
          std::min<std::size_t>(end, n + kTogether - counts_.records % kTogether);
      photons_found += decode_checked(words, n, next, photons + photons_found);
      n = next;
      seen |= seen_;
    }
    const std::uint64_t left_out = state_.overwritten - saved.state.overwritten;
    if (kMostPart * left_out < end - first && !too_many(seen)) return photons_found;
    restore(saved);
  }
  seen_ = 0;
  leave_out(kOverwritten, counts_.records, end - first);
  counts_.records += end - first;
  return 0;
}

std::size_t RecordDecoder::decode(Words words, std::size_t count, std::span<Photon> photons) {
  const bool fit = photons.size() >= count;
  if (!fit) waiting_.resize(count);
  Photon* const to = fit ? photons.data() : waiting_.data();
  std::size_t found = 0;
  for (std::size_t n = 0; n < count;) {
    const std::size_t end = std::min<std::size_t>(count, n + kChunk - counts_.records % kChunk);
    found += decode_checked(words, n, end, to + found);
    n = end;
  }
  std::size_t equal = 0;
  while (equal < count && words[count - 1 - equal] == words[count - 1]) ++equal;
  if (equal == count && count > 0 && last_word_ == words[0]) equal += last_equal_;
  if (count > 0) last_word_ = words[count - 1], last_equal_ = equal;
  if (fit) return found;
  waiting_.resize(found);
  given_ = 0;
  return give(photons);
}

std::size_t RecordDecoder::give(std::span<Photon> photons) {
  const std::size_t some = std::min(photons.size(), waiting_.size() - given_);
  std::copy_n(waiting_.begin() + static_cast<std::ptrdiff_t>(given_), some, photons.begin());
  given_ += some;
  return some;
}

void RecordDecoder::finish() {
  std::string text;
  const auto add = [&](std::uint64_t number, const std::string& what) {
    text += (text.empty() ? "" : ", ") + std::to_string(number) + " " + what;
  };
  if (state_.found[kUnknown] > kNamed) add(state_.found[kUnknown], "unknown records");
  if (state_.found[kBackwards] > kNamed) add(state_.found[kBackwards], "tags that go backwards");
  if (state_.found[kOverflow] > kNamed) add(state_.found[kOverflow], "missing overflows");
  if (state_.blank > 0)
    add(state_.blank,
        fmt::format("that were never written in {}", core::counted(state_.blank_places, "place")));
  if (state_.overwritten > 0) add(state_.overwritten, "that are no tags");
  if (!text.empty())
    damage_.note(fmt::format("{}: of {} records in all: {}", name_, counts_.records, text));
}

}  // namespace tautline::formats::ptu
