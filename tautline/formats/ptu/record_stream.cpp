#include "tautline/formats/ptu/record_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace tautline::formats::ptu {

namespace {

// Records read at once: 256 KiB, which stay in the cache while they are decoded.
constexpr std::size_t kBlockRecords = std::size_t{1} << 16;

}  // namespace

RecordStream::RecordStream(InputFile file, PhotonDescription description, const RecordType& type,
                           std::uint64_t offset_bytes, Damage damage)
    : file_(std::move(file)),
      description_(std::move(description)),
      decoder_(file_.path(), type, offset_bytes, description_.channels, std::move(damage)) {
  file_.sequential();
}

std::size_t RecordStream::read(std::span<Photon> photons) {
  static_assert(std::endian::native == std::endian::little, "records are read as they lie");
  constexpr std::size_t kChunk = RecordDecoder::kChunk;
  // Whole chunks, whatever is asked for.
  const std::size_t most = std::clamp(photons.size() / kChunk * kChunk, kChunk, kBlockRecords);
  std::size_t found = decoder_.give(photons);
  while (found == 0 && !photons.empty() && counts().records < description_.records) {
    const std::size_t count = static_cast<std::size_t>(
        std::min<std::uint64_t>(most, description_.records - counts().records));
    words_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(
        count + RecordDecoder::kAhead, description_.records - counts().records)));
    file_.read_whole(decoder_.offset_bytes() + counts().records * kRecordBytes,
                     std::as_writable_bytes(std::span(words_)));
    found = decoder_.decode(words_, count, photons);
    if (counts().records == description_.records) {
      require_tags();
      decoder_.finish();
      check_length();
    }
  }
  return found;
}

void RecordStream::require_tags() const {
  constexpr std::uint64_t kLeastPart = 10;
  const std::uint64_t written = decoder_.written(), good = written - decoder_.overwritten();
  if (decoder_.overwritten() == 0 || good >= written / kLeastPart) return;
  throw format_error(
      file_.path(), "records, from byte " + std::to_string(decoder_.offset_bytes()) + " on",
      fmt::format("{} of {} are no photons, markers or overflows in order of time",
                  decoder_.overwritten(), written),
      fmt::format("tags of {}", description_.record_type),
      "the records are shifted by some bytes, are of another type than the header says, or were "
      "written over: copy the file anew from the instrument's computer");
}

// Bytes that were written over can read as overflows of any length.
void RecordStream::check_length() {
  constexpr double kMostTimes = 1.25, kSlack_s = 0.01;  // lengths are stated to the millisecond
  const double said_s = description_.acquisition_s;
  const double length_s = static_cast<double>(counts().last_clock) * description_.time_unit_s;
  if (said_s > 0 && length_s > kMostTimes * said_s + kSlack_s)
    decoder_.damage().note(fmt::format(
        "{}: the records' clock runs to {:.6g} s, expected the {:.6g} s of the header; overflows "
        "may be damaged, and times behind them too late",
        file_.path(), length_s, said_s));
}

std::unique_ptr<PhotonReader> open_records(
    InputFile file, const std::function<TagHeader(const HeaderSource&)>& read_header) {
  TagHeader tags = read_header(source_of(file));
  Damage damage;
  tags.description.records =
      count_records(file, tags.size_bytes, tags.description.stated_records, damage);
  return std::make_unique<RecordStream>(std::move(file), std::move(tags.description), *tags.type,
                                        tags.size_bytes, std::move(damage));
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
