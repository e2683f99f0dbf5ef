#include "tautline/stream/live_photons.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/pt3/pt3.h"
#include "tautline/formats/ptu/ptu.h"

namespace tautline::stream {

namespace {

using formats::ptu::kRecordBytes;

// The longest wait of one reading.
constexpr std::chrono::milliseconds kReadPatience{100};
constexpr std::size_t kBlockRecords = std::size_t{1} << 16;
constexpr std::size_t kSkippedBytes = std::size_t{1} << 16;
constexpr std::size_t kFirstBytes = 16;

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
  decoder_ = std::make_unique<formats::ptu::RecordDecoder>(
      input_->name(), *header.type, header.size_bytes, description_.channels, formats::Damage{});
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
  if (ended_ || photons.empty() || std::exchange(paused_, false)) return 0;
  std::uint64_t wanted = std::min(kBlockRecords, photons.size());
  if (description_.stated_records > 0)
    wanted = std::min(wanted, description_.stated_records - counts().records);
  words_.resize(std::max<std::size_t>(1, static_cast<std::size_t>(wanted)));
  const auto bytes = std::as_writable_bytes(std::span(words_));
  if (wanted > 0) held_ += input_->read(bytes.subspan(held_), kReadPatience);
  paused_ = held_ < bytes.size();
  const std::size_t whole = held_ / kRecordBytes;
  const std::size_t found = decoder_->decode(std::span(words_).first(whole), whole, photons.data());
  description_.records = counts().records;
  held_ -= whole * kRecordBytes;
  std::memmove(words_.data(), words_.data() + whole, held_);
  const bool complete =
      description_.stated_records > 0 && counts().records == description_.stated_records;
  if (complete || input_->ended()) finish();
  return found;
}

void LivePhotons::finish() {
  ended_ = true;
  decoder_->finish();
  formats::Damage& damage = decoder_->damage();
  if (const std::string fault = input_->fault(); !fault.empty()) damage.note(fault);
  if (held_ > 0) {
    damage.trailing_bytes += held_;
    damage.note(input_->name() + ": last " + std::to_string(held_) + " bytes, from byte " +
                std::to_string(input_->given_bytes() - held_) + ", expected whole records of " +
                std::to_string(kRecordBytes) + "; they are left out");
  }
  const std::uint64_t stated = description_.stated_records, records = counts().records;
  if (records >= stated || input_->stopped()) return;
  damage.lost_samples += stated - records;
  damage.note(input_->name() + ": cut short after " + std::to_string(records) +
              " whole records, expected " + std::to_string(stated) + " as the header says");
}

void LivePhotons::rewind() {
  throw core::Error(core::ErrorKind::unsupported, input_->name(), "read twice",
                    "once: what comes through a pipe is gone", "give the file's name");
}

}  // namespace tautline::stream
