#include "tautline/formats/mwa32t/record_parser.h"

#include <algorithm>

namespace tautline::formats::mwa32t {

namespace {

constexpr auto kPeriod = static_cast<std::int64_t>(kCounterPeriod);

// The time with this counter that is nearest to `near`.
std::int64_t nearest_time(std::uint16_t counter, std::int64_t near) {
  const auto ahead = static_cast<std::uint16_t>(counter - static_cast<std::uint16_t>(near));
  return near + (ahead < kPeriod / 2 ? ahead : ahead - kPeriod);
}

}  // namespace

RecordParser::Found RecordParser::look(std::span<const std::byte> bytes, bool last,
                                       std::int64_t near) {
  const std::size_t whole = bytes.size() / record_;
  if (whole == 0) return last && !bytes.empty() ? skip_invalid(bytes.size()) : Found{};
  if (!placed_) return find_first(bytes, last, near);
  if (unproved_ > 0) return read_unproved(bytes);
  std::size_t count = 0;
  auto expected = static_cast<std::uint16_t>(next_);
  while (count < whole && counter_at(bytes.data() + count * record_) == expected)
    ++count, ++expected;
  return count > 0 ? run(bytes, count) : find_again(bytes, last);
}

void RecordParser::take(std::size_t records) {
  next_ += static_cast<std::int64_t>(records);
  floor_ = std::max(floor_, next_);
  unproved_ -= std::min(unproved_, records);
}

void RecordParser::restart() {
  placed_ = false;
  unproved_ = 0;
}

// Records of times that have come already are passed over.
RecordParser::Found RecordParser::run(std::span<const std::byte> bytes, std::size_t count) {
  if (next_ >= floor_) return {0, next_, bytes.data(), count};
  const auto repeated =
      static_cast<std::size_t>(std::min(floor_ - next_, static_cast<std::int64_t>(count)));
  next_ += static_cast<std::int64_t>(repeated);
  unproved_ -= std::min(unproved_, repeated);
  counts_.repeated += repeated;
  return {repeated * record_, next_, bytes.data() + repeated * record_, count - repeated};
}

RecordParser::Found RecordParser::skip_invalid(std::size_t bytes) {
  counts_.invalid_bytes += bytes;
  return {bytes, next_, nullptr, 0};
}

std::optional<std::size_t> RecordParser::find_proof(std::span<const std::byte> bytes, bool last,
                                                    Found& without) {
  const auto window = bytes.first(std::min(bytes.size(), kWindowBytes));
  const bool is_last = last && window.size() == bytes.size();
  const auto proof = find_alignment(window, record_, 0, is_last, kLeastProof);
  if (proof || (!is_last && window.size() < kWindowBytes)) return proof;
  // Whole records are skipped, so that a record boundary stays one.
  const std::size_t kept = is_last ? 0 : kUnalignedProof * record_;
  without = skip_invalid(is_last ? window.size() : (window.size() - kept) / record_ * record_);
  return proof;
}

RecordParser::Found RecordParser::find_first(std::span<const std::byte> bytes, bool last,
                                             std::int64_t near) {
  Found without;
  const auto proof = find_proof(bytes, last, without);
  if (!proof) return without;
  next_ = nearest_time(counter_at(bytes.data() + *proof), near);
  placed_ = true;
  return *proof > 0 ? skip_invalid(*proof) : look(bytes, last, near);
}

// The counter does not follow the one before: the stream continues at the counter that the next ones prove.
RecordParser::Found RecordParser::find_again(std::span<const std::byte> bytes, bool last) {
  Found without;
  const auto proof = find_proof(bytes, last, without);
  if (!proof) return without;
  ++counts_.jumps;
  const auto ahead = static_cast<std::uint16_t>(counter_at(bytes.data() + *proof) -
                                                static_cast<std::uint16_t>(next_));
  const bool steps_back = kCounterPeriod - ahead <= kMaxBackstep;
  proof_ = next_ + ahead - (steps_back ? kPeriod : 0);
  if (*proof % record_ == 0 && *proof > 0 && !steps_back) {
    unproved_ = *proof / record_;
    return read_unproved(bytes);
  }
  next_ = proof_;
  return *proof > 0 ? skip_invalid(*proof) : look(bytes, last, 0);
}

// A record before the proof stands where its counter says, if the records between have room there.
RecordParser::Found RecordParser::read_unproved(std::span<const std::byte> bytes) {
  const auto steps =
      static_cast<std::uint16_t>(static_cast<std::uint16_t>(proof_) - counter_at(bytes.data()));
  const std::int64_t time = proof_ - steps;
  if (steps >= unproved_ && time >= next_) {
    next_ = time;
    const Found found = run(bytes, 1);
    if (unproved_ == 0) next_ = proof_;  // it was a repeat
    return found;
  }
  if (--unproved_ == 0) next_ = proof_;
  return skip_invalid(record_);
}

}  // namespace tautline::formats::mwa32t
