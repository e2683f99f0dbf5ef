#include "tautline/stream/live_photons.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/formats/pt3/pt3.h"
#include "tautline/formats/ptu/ptu.h"

namespace tautline::stream {

namespace {

using formats::ptu::kRecordBytes;
using formats::ptu::RecordDecoder;

// The longest wait of one reading.
constexpr std::chrono::milliseconds kReadPatience{100};
constexpr std::size_t kBlockRecords = std::size_t{1} << 14;
constexpr std::size_t kSkippedBytes = std::size_t{1} << 16;
constexpr std::size_t kFirstBytes = 16;
// What follows the last record is counted up to so many bytes, and until nothing has come for so many readings.
constexpr std::uint64_t kMostSpareBytes = std::uint64_t{1} << 30;
constexpr int kMostPauses = 10;

}  // namespace

LivePhotons::LivePhotons(std::unique_ptr<LiveInput> input) : input_(std::move(input)) {
  const bool ptu = formats::ptu::recognise(input_->head(kFirstBytes));
  const formats::ptu::HeaderSource source{input_->name(), std::numeric_limits<std::uint64_t>::max(),
                                          [this](std::uint64_t offset, std::span<std::byte> bytes) {
                                            return read_header_bytes(offset, bytes);
                                          }};
  auto header = ptu ? formats::ptu::read_header(source) : formats::pt3::read_header(source);
  (void)read_header_bytes(header.size_bytes, {});
  description_ = std::move(header.description);
  decoder_ = std::make_unique<RecordDecoder>(input_->name(), *header.type, header.size_bytes,
                                             description_.channels, formats::Damage{});
}

// Reads from front to back; bytes between two readings are skipped.
std::size_t LivePhotons::read_header_bytes(std::uint64_t offset, std::span<std::byte> bytes) {
  const auto take = [&](std::span<std::byte> to) {
    std::size_t done = 0;
    while (done < to.size() && !input_->ended())
      done += input_->read(to.subspan(done), kReadPatience);
    place_ += done;
    return done;
  };
  std::vector<std::byte> passed(kSkippedBytes);
  while (place_ < offset && !input_->ended())
    take(std::span(passed).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(kSkippedBytes, offset - place_))));
  return take(bytes);
}

std::size_t LivePhotons::read(std::span<formats::Photon> photons) {
  static_assert(std::endian::native == std::endian::little, "records are read as they lie");
  if (const std::size_t waiting = decoder_->give(photons); waiting > 0) return waiting;
  if (ended_ || photons.empty() || std::exchange(paused_, false)) return 0;
  const std::uint64_t left = description_.stated_records > 0
                                 ? description_.stated_records - counts().records
                                 : std::numeric_limits<std::uint64_t>::max();
  words_.resize(static_cast<std::size_t>(
      std::min<std::uint64_t>(kBlockRecords + RecordDecoder::kAhead, left)));
  const auto bytes = std::as_writable_bytes(std::span(words_));
  held_ += input_->read(bytes.subspan(held_), kReadPatience);
  paused_ = held_ < bytes.size();
  const auto words = std::span(words_).first(held_ / kRecordBytes);
  const bool last = words.size() == left || input_->ended();
  const std::size_t count = last ? words.size() : records_ready(words);
  const std::size_t found = decoder_->decode(words, count, photons);
  description_.records = counts().records;
  held_ -= count * kRecordBytes;
  std::memmove(words_.data(), words_.data() + count, held_);
  if (last) finish();
  return found;
}

// Damage is judged chunk by chunk, as in files, as long as a chunk is whole: where fewer records came, by groups of them,
// and where not even a group came since the last reading, as they are. The last records that may be the first ones of a
// blank stretch wait for those that follow.
std::size_t LivePhotons::records_ready(std::span<const std::uint32_t> words) const {
  std::size_t sure = words.size();
  while (sure > 0 && words.size() - sure < RecordDecoder::kAhead && words[sure - 1] + 1 <= 1 &&
         words[sure - 1] == words.back())
    --sure;
  const std::uint64_t done = counts().records;
  for (const std::size_t together : {RecordDecoder::kChunk, RecordDecoder::kTogether})
    if (const std::uint64_t end = (done + sure) / together * together; end > done)
      return static_cast<std::size_t>(end - done);
  return sure;
}

void LivePhotons::finish() {
  ended_ = true;
  decoder_->finish();
  formats::Damage& damage = decoder_->damage();
  if (const std::string fault = input_->fault(); !fault.empty()) damage.note(fault);
  if (held_ > 0) {
    damage.trailing_bytes += held_;
    damage.note(input_->name() + ": last " + core::counted(held_, "byte") + ", from byte " +
                std::to_string(input_->given_bytes() - held_) + ", expected whole records of " +
                std::to_string(kRecordBytes) + "; they are left out");
  }
  const std::uint64_t stated = description_.stated_records, records = counts().records;
  if (stated > 0 && records == stated) pass_spare_bytes();
  if (records >= stated || input_->stopped()) return;
  damage.lost_samples += stated - records;
  damage.note(input_->name() + ": cut short after " + std::to_string(records) +
              " whole records, expected " + std::to_string(stated) + " as the header says");
}

// Behind the records that the header states.
void LivePhotons::pass_spare_bytes() {
  const std::uint64_t first = input_->given_bytes();
  std::uint64_t spare = 0;
  std::vector<std::byte> passed(kSkippedBytes);
  for (int pauses = 0; pauses < kMostPauses && spare < kMostSpareBytes && !input_->ended();) {
    const std::size_t came = input_->read(passed, kReadPatience);
    pauses = came > 0 ? 0 : pauses + 1;
    spare += came;
  }
  if (spare == 0) return;
  formats::Damage& damage = decoder_->damage();
  damage.trailing_bytes += spare;
  damage.note(input_->name() + ": bytes behind the records, byte " + std::to_string(first) + ": " +
              std::to_string(spare) + (input_->ended() ? "" : " or more") +
              ", expected none; they are left out");
}

void LivePhotons::rewind() {
  throw core::Error(core::ErrorKind::unsupported, input_->name(), "read twice",
                    "once: what comes through a pipe is gone", "give the file's name");
}

}  // namespace tautline::stream
