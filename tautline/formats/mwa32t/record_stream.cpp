#include "tautline/formats/mwa32t/record_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tautline/core/counted.h"

namespace tautline::formats::mwa32t {

namespace {

// Enough records to divide among several threads. Of a stream, what is waited for and kept.
constexpr std::size_t kBufferBytes = std::size_t{4} << 20,
                      kStreamBufferBytes = std::size_t{1} << 20;

/// How far a position that was estimated from skipped bytes may be wrong either way.
constexpr std::uint64_t kHalfPeriod = kCounterPeriod / 2;

std::uint64_t less_or_zero(std::uint64_t value, std::uint64_t amount) {
  return value > amount ? value - amount : 0;
}

const char* name_of(Mode mode) {
  return mode == Mode::one_byte ? "1-byte" : "2-byte";
}

}  // namespace

RecordStream::RecordStream(InputFile file, Mode mode, Damage& damage)
    : file_(std::move(file)),
      buffer_bytes_(file_.in_order() ? kStreamBufferBytes : kBufferBytes),
      damage_(damage) {
  file_.sequential();
  buffer_.reserve(buffer_bytes_);
  find_first_record(mode);
}

void RecordStream::find_first_record(Mode wanted) {
  load(1);
  std::optional<Detected> found;
  if (wanted == Mode::detect) {
    found = detect_mode(buffer_, buffer_is_last());
  } else if (const auto offset = find_first(buffer_, wanted, buffer_is_last())) {
    found = Detected{wanted, *offset};
  } else if (file_.size() == record_bytes(wanted)) {
    found = Detected{wanted, 0};
  }
  if (!found)
    throw format_error(
        path(),
        fmt::format("no records in the first {} bytes",
                    std::min<std::uint64_t>(buffer_bytes_, file_.size())),
        "no counters that go up by one",
        wanted == Mode::detect
            ? std::string("records of 34 bytes (2-byte mode) or 18 bytes (1-byte mode)")
            : fmt::format("records of {} bytes ({} mode)", record_bytes(wanted), name_of(wanted)),
        "check that this is an MWA receiver's file");
  mode_ = found->mode;
  record_ = record_bytes(mode_);
  choose_first_record(found->offset);
}

// A gap among the first records must not lose the records before the gap: the stream begins with the first record on
// the proved alignment whose counter leads up to the proof.
void RecordStream::choose_first_record(std::uint64_t proof) {
  const std::uint16_t proof_counter = counter_at(buffer_.data() + proof);
  offset_ = proof;
  for (std::uint64_t start = proof % record_; start < proof; start += record_) {
    const auto steps =
        static_cast<std::uint16_t>(proof_counter - counter_at(buffer_.data() + start));
    const std::uint64_t records = (proof - start) / record_;
    if (steps < records || steps >= records + kMaxBackstep) continue;
    offset_ = start;
    proof_offset_ = proof;
    proof_position_ = steps;
    break;
  }
  first_offset_ = offset_;
  first_counter_ = counter_at(here());
  if (offset_ == 0) return;
  damage_.trailing_bytes += offset_;
  damage_.note(
      fmt::format("{}: {} before the first record, at byte 0, expected a counter; "
                  "they are skipped",
                  path(), core::counted(offset_, "byte")));
}

// The byte where the file's last records end: bytes that are none may follow, as the zeros of a file that was made
// longer than what was written. Only where none are near the end they are looked for, by halves.
std::uint64_t RecordStream::records_end() const {
  constexpr std::uint64_t kWindow = 2 * kUnalignedProof;
  const std::uint64_t records = (file_.size() - first_offset_) / record_;
  std::uint64_t end = first_offset_ + records * record_;
  if (file_.in_order()) return end;
  std::vector<std::byte> bytes((kWindow + 1) * record_);
  const auto has_records = [&](std::uint64_t first) {
    const std::uint64_t at = first_offset_ + first * record_;
    const auto window = std::span(bytes).first(file_.read(at, bytes));
    const std::size_t found = end_of_records(window, record_, at + window.size() >= file_.size());
    if (found > 0) end = at + found;
    return found > 0;
  };
  std::uint64_t with = 0, without = less_or_zero(records, kWindow);
  if (has_records(without) || !has_records(with)) return end;
  while (without - with > 1) {
    const std::uint64_t middle = with + (without - with) / 2;
    (has_records(middle) ? with : without) = middle;
  }
  return end;
}

// A place where counters do not go up by one is passed over.
std::uint64_t RecordStream::estimate_end() const {
  constexpr std::uint64_t kMostPlaces = 256;
  const std::uint64_t records = (records_end() - first_offset_) / record_;
  if (file_.in_order()) return records;
  const std::uint64_t step = std::max<std::uint64_t>(kHalfPeriod, records / kMostPlaces);
  std::vector<std::byte> bytes(kAlignedProof * record_);
  std::uint64_t place = 0, position = 0;  // of the last counter that was believed
  std::uint16_t counter = first_counter_;
  const auto look_at = [&](std::uint64_t at, std::size_t proof) {
    const auto window = std::span(bytes).first(proof * record_);
    if (at <= place || file_.read(first_offset_ + at * record_, window) < window.size() ||
        consecutive_records(window, record_, proof) < proof)
      return;
    // Records that come again step back a little.
    const auto ahead = static_cast<std::uint16_t>(counter_at(window.data()) - counter -
                                                  static_cast<std::uint16_t>(at - place));
    position += at - place;
    position = ahead < kCounterPeriod - kMaxBackstep
                   ? position + ahead
                   : less_or_zero(position, kCounterPeriod - ahead);
    place = at;
    counter = counter_at(window.data());
  };
  for (std::uint64_t at = step; at + kAlignedProof < records; at += step)
    look_at(at, kAlignedProof);
  look_at(less_or_zero(records, kAlignedProof), kAlignedProof);
  look_at(less_or_zero(records, kLeastProof), kLeastProof);
  return position + (records - place);
}

void RecordStream::foresee(Damage& damage) const {
  if (file_.in_order()) return;
  const std::uint64_t last = records_end(), records = (last - first_offset_) / record_,
                      end = estimate_end();
  if (end > records) {
    damage.lost_samples += (end - records) * kInputsPerReceiver;
    damage.note(
        fmt::format("{}: {}, expected {} by their counters: {} missing "
                    "(or that and a multiple of {})",
                    path(), core::counted(records, "record"), end,
                    core::counted(end - records, "sample is", "samples are"), kCounterPeriod));
  }
  if (const std::uint64_t off = (last - first_offset_) % record_; off > 0)
    damage.note(
        fmt::format("{}: record boundary lost: the last records begin {} behind a multiple "
                    "of {}",
                    path(), core::counted(off, "byte"), record_));
  const std::uint64_t rest = file_.size() - last;
  if (rest == 0) return;
  damage.trailing_bytes += rest;
  damage.note(fmt::format("{}: {} at the end, from byte {} on, expected records of {} bytes",
                          path(), core::counted(rest, "byte"), last, record_));
}

// True when `bytes` bytes of the file from offset_ on are in the buffer.
bool RecordStream::load(std::size_t bytes) {
  if (offset_ >= buffer_offset_ && offset_ + bytes <= buffer_end()) return true;
  if (offset_ + bytes > file_.size() && offset_ >= file_.size()) return false;
  buffer_offset_ = offset_;
  file_.forget(offset_);
  buffer_.resize(
      static_cast<std::size_t>(std::min<std::uint64_t>(buffer_bytes_, file_.size() - offset_)));
  buffer_.resize(file_.read(offset_, buffer_));
  // Whether a stream ends here is known once more has been asked for.
  std::byte next{};
  if (file_.in_order()) (void)file_.read(buffer_end(), {&next, 1});
  return buffer_.size() >= bytes;
}

// The first offset at or after `from` where counters go up by one again. `from` is a record boundary unless bytes were
// lost. Of a stream the search forgets what it has passed where there is no room for more.
std::optional<std::uint64_t> RecordStream::find_proof(std::uint64_t from) {
  if (from >= buffer_offset_ && from < buffer_end()) {
    const auto rest = std::span<const std::byte>(buffer_).subspan(
        static_cast<std::size_t>(from - buffer_offset_));
    if (const auto hit = find_alignment(rest, record_, 0, buffer_is_last(), kLeastProof))
      return from + *hit;
    if (buffer_is_last()) return std::nullopt;
  }
  std::vector<std::byte> window(buffer_bytes_);
  for (std::uint64_t start = from;;) {
    if (start + window.size() > file_.reach()) {
      file_.forget(start);
      searched_from_ = start;
    }
    const std::size_t got = file_.read(start, window);
    const bool last = start + got >= file_.size() || got < window.size();
    const auto phase = static_cast<std::size_t>((start - from) % record_);
    if (const auto hit = find_alignment(std::span<const std::byte>(window).first(got), record_,
                                        phase, last, kLeastProof))
      return start + *hit;
    if (last) return std::nullopt;
    start += got - kUnalignedProof * record_;
  }
}

bool RecordStream::next(Run& run) {
  while (!ended_) {
    if (!load(record_)) {
      finish();
    } else if (offset_ < proof_offset_) {
      if (take_unproved(run) && deliver(run)) return true;
    } else if (counter_at(here()) != expected_counter()) {
      finish();  // only when no proof was found in the rest of the file
    } else if (take_consecutive(run) && deliver(run)) {
      return true;
    }
  }
  return false;
}

// The last record before a break or before the buffer's end waits until its successor is seen: when
// the record boundary is lost, it is the one that lacks bytes.
bool RecordStream::take_consecutive(Run& run) {
  load(2 * record_);
  const std::span<const std::byte> bytes(here(), static_cast<std::size_t>(buffer_end() - offset_));
  const std::size_t available = bytes.size() / record_;
  std::size_t count = consecutive_records(bytes, record_, available);
  const bool all_of_file = count == available && buffer_is_last();
  if (!all_of_file && count == 1) return take_last_before_break(run);
  if (!all_of_file) --count;
  run = {position_, here(), count};
  position_ += count;
  offset_ += count * record_;
  return true;
}

bool RecordStream::take_last_before_break(Run& run) {
  const std::uint64_t next = offset_ + record_;
  auto proof = find_proof(next);
  // A record that lacks bytes is shorter: the next one may begin before `next`.
  if (proof && *proof > next && *proof - next < record_) {
    const std::byte* const before = here() + (*proof - next);
    std::byte counter[2];
    file_.read(*proof, counter);
    if (static_cast<std::uint16_t>(counter_at(before) + 1) == counter_at(counter))
      *proof -= record_;
  }
  const bool kept = !proof || (*proof - offset_) % record_ == 0;
  if (proof) {
    // Where bytes were lost the proof's time is later than its place in the file suggests, where bytes were added it is
    // earlier. Where the boundary was kept only the counter gives the time, which may then step back a little.
    const std::uint64_t estimate = position_ + (*proof - offset_) / record_;
    std::byte counter[2];
    file_.read(*proof, counter);
    proof_offset_ = *proof;
    proof_position_ =
        position_of(counter_at(counter), less_or_zero(estimate, kept ? kMaxBackstep : kHalfPeriod));
  }
  if (!kept) {
    repeated_.note(
        damage_, "lost record boundaries", offset_,
        fmt::format("{}: record boundary lost in the record at byte {}; counters go up by "
                    "one again from byte {}, {} bytes later; what lies between is dropped",
                    path(), offset_, *proof, *proof - offset_));
    offset_ = *proof;
    position_ = proof_position_;
    return false;
  }
  run = {position_, here(), 1};
  offset_ = next;
  ++position_;
  if (proof && searched_from_ > offset_) drop_until(*proof);
  if (proof && offset_ == *proof) position_ = proof_position_;
  return true;
}

// Of records that the search for a proof had no room to keep.
void RecordStream::drop_until(std::uint64_t proof) {
  const std::uint64_t records = (proof - offset_) / record_;
  damage_.dropped_samples += records * kInputsPerReceiver;
  damage_.note(fmt::format("{}: {} from byte {} on: counters do not go up by one; dropped", path(),
                           core::counted(records, "record"), offset_));
  offset_ = proof;
}

// A record between a break and the next proof: kept when its counter fits between them.
bool RecordStream::take_unproved(Run& run) {
  const std::uint16_t counter = counter_at(here());
  const std::uint64_t position = position_of(counter, less_or_zero(position_, kMaxBackstep));
  const bool fits = position >= delivered_ && position < proof_position_;
  if (fits) {
    run = {position, here(), 1};
    position_ = position;
  } else {
    damage_.dropped_samples += kInputsPerReceiver;
    repeated_.note(damage_, "counters of dropped records", offset_,
                   fmt::format("{}: counter at byte {}: {}, expected {}; the record is dropped",
                               path(), offset_, counter, expected_counter()));
  }
  ++position_;
  offset_ += record_;
  if (offset_ == proof_offset_) position_ = proof_position_;
  return fits;
}

bool RecordStream::deliver(Run& run) {
  const std::uint64_t at =
      buffer_offset_ + static_cast<std::uint64_t>(run.records - buffer_.data());
  const auto counter = counter_at(run.records);
  const auto expected = static_cast<std::uint16_t>(first_counter_ + delivered_);
  if (run.position > delivered_)
    repeated_.note(damage_, "missing samples", at,
                   fmt::format("{}: counter at byte {}: {}, expected {}; {} missing (or "
                               "that and a multiple of {}) and marked invalid",
                               path(), at, counter, expected,
                               core::counted(run.position - delivered_, "sample is", "samples are"),
                               kCounterPeriod));
  if (run.position < delivered_) {
    if (!stepping_back_)
      repeated_.note(damage_, "counters that step back", at,
                     fmt::format("{}: counter steps back at byte {}: {}, expected {}; repeated "
                                 "records are dropped",
                                 path(), at, counter, expected));
    const auto repeated =
        static_cast<std::size_t>(std::min<std::uint64_t>(run.count, delivered_ - run.position));
    damage_.dropped_samples += repeated * kInputsPerReceiver;
    run.position += repeated;
    run.records += repeated * record_;
    run.count -= repeated;
  }
  stepping_back_ = run.count == 0;
  if (run.count == 0) return false;
  delivered_ = run.position + run.count;
  return true;
}

void RecordStream::finish() {
  ended_ = true;
  const std::uint64_t rest = file_.size() - std::min(offset_, file_.size());
  if (rest == 0) return;
  damage_.trailing_bytes += rest;
  if (rest < record_)
    damage_.note(
        fmt::format("{}: ends inside the record at byte {}: {}, expected {}; the "
                    "samples before it are whole",
                    path(), offset_, core::counted(rest, "byte"), record_));
  else
    damage_.note(
        fmt::format("{}: no consecutive counters in the last {} bytes, from byte {} on; "
                    "they are dropped",
                    path(), rest, offset_));
}

std::uint64_t RecordStream::position_of(std::uint16_t counter, std::uint64_t least) const {
  const auto at_least = static_cast<std::uint16_t>(first_counter_ + least);
  return least + static_cast<std::uint16_t>(counter - at_least);
}

}  // namespace tautline::formats::mwa32t
