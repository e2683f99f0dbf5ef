#include "tautline/formats/vdif/header.h"

#include <erfa.h>

#include <array>
#include <bit>
#include <cmath>

#include "tautline/core/counted.h"
#include "tautline/formats/input_file.h"

namespace tautline::formats::vdif {

namespace {

constexpr std::size_t kWordBits = 32;
constexpr std::size_t kWordBytes = 4;

std::uint32_t field(std::uint32_t word, unsigned first_bit, unsigned bits) {
  return word >> first_bit & ((1u << bits) - 1u);
}

// Extended versions 1 and 3 give the rate of complex samples, or half that of real ones.
std::int64_t extended_rate_hz(std::uint32_t word, bool complex) {
  const std::int64_t unit = field(word, 23, 1) != 0 ? 1'000'000 : 1'000;
  return unit * field(word, 0, 23) * (complex ? 1 : 2);
}

// TAI less UTC in whole seconds on an instant's day.
int leap_seconds(const core::Instant& instant) {
  constexpr double kJulianDateOfMjd = 2'400'000.5;
  int year = 0, month = 0, day = 0;
  double fraction = 0, difference_s = 0;
  eraJd2cal(kJulianDateOfMjd, std::floor(core::modified_julian_date(instant)), &year, &month, &day,
            &fraction);
  eraDat(year, month, day, 0, &difference_s);
  return static_cast<int>(difference_s);
}

constexpr std::uint32_t kEpochs = 64;  // of 6 bits

core::Instant start_of_epoch(std::uint32_t epoch) {
  return core::parse_utc(std::to_string(2000 + epoch / 2) +
                         (epoch % 2 == 0 ? "-01-01-00:00:00" : "-07-01-00:00:00"));
}

}  // namespace

std::uint32_t word_at(const std::byte* bytes, std::size_t word) {
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < kWordBytes; ++k)
    value |= std::to_integer<std::uint32_t>(bytes[word * kWordBytes + k]) << (8 * k);
  return value;
}

Header decode_header(std::span<const std::byte, kHeaderBytes> bytes) {
  const std::uint32_t w0 = word_at(bytes.data(), 0), w1 = word_at(bytes.data(), 1);
  const std::uint32_t w2 = word_at(bytes.data(), 2), w3 = word_at(bytes.data(), 3);
  Header h;
  h.invalid = field(w0, 31, 1) != 0;
  h.legacy = field(w0, 30, 1) != 0;
  h.seconds = field(w0, 0, 30);
  h.epoch = field(w1, 24, 6);
  h.frame = field(w1, 0, 24);
  h.version = field(w2, 29, 3);
  h.channels = std::size_t{1} << field(w2, 24, 5);
  h.frame_bytes = std::size_t{8} * field(w2, 0, 24);
  h.complex = field(w3, 31, 1) != 0;
  h.bits = static_cast<int>(field(w3, 26, 5)) + 1;
  h.thread = field(w3, 16, 10);
  h.station = field(w3, 0, 16);
  if (h.legacy) return h;
  const std::uint32_t w4 = word_at(bytes.data(), 4);
  h.extended_version = field(w4, 24, 8);
  if (h.extended_version == 1 || h.extended_version == 3)
    h.rate_hz = extended_rate_hz(w4, h.complex);
  return h;
}

bool same_layout(const Header& a, const Header& b) {
  return a.legacy == b.legacy && a.version == b.version && a.channels == b.channels &&
         a.frame_bytes == b.frame_bytes && a.complex == b.complex && a.bits == b.bits;
}

bool same_recording(const Header& a, const Header& b) {
  return a.epoch == b.epoch && same_layout(a, b);
}

std::int64_t epoch_start_s(std::uint32_t epoch) {
  static const std::array<std::int64_t, kEpochs> starts = [] {
    std::array<std::int64_t, kEpochs> table{};
    const core::Instant first = start_of_epoch(0);
    for (std::uint32_t e = 0; e < kEpochs; ++e) {
      const core::Instant start = start_of_epoch(e);
      table[e] = start.seconds - first.seconds + leap_seconds(start) - leap_seconds(first);
    }
    return table;
  }();
  return starts[epoch % kEpochs];
}

std::int64_t Header::seconds_since_2000() const {
  return epoch_start_s(epoch) + seconds;
}

core::Instant Header::second() const {
  core::Instant instant = start_of_epoch(epoch);
  const int at_epoch = leap_seconds(instant);
  instant.seconds += seconds;
  // The count includes leap seconds, which come at the ends of half-years: only writers that keep
  // an old epoch meet any.
  instant.seconds -= leap_seconds(instant) - at_epoch;
  return instant;
}

Packing::Packing(const Header& header)
    : bits_(static_cast<std::size_t>(header.bits)),
      components_(header.channels * (header.complex ? 2 : 1)) {
  if (components_ <= kWordBits / bits_) {
    samples_per_group_ = kWordBits / (bits_ * components_);
    components_per_word_ = components_;
    return;
  }
  // A power of two, so that words hold the same number; components is a power of two, too.
  components_per_word_ = std::bit_floor(kWordBits / bits_);
  words_per_group_ = components_ / components_per_word_;
}

std::size_t Packing::samples_in(std::size_t payload_bytes) const {
  return payload_bytes / kWordBytes / words_per_group_ * samples_per_group_;
}

bool plausible(const Header& header) {
  return header.frame_bytes > header.header_bytes() &&
         Packing(header).samples_in(header.payload_bytes()) > 0;
}

void require_plausible(const std::string& path, const Header& header, std::uint64_t file_bytes) {
  const std::string advice = "check that this is a VDIF file that starts with a frame";
  if (header.frame_bytes <= header.header_bytes())
    throw format_error(path, "frame length at byte 8",
                       std::to_string(header.frame_bytes) + " bytes",
                       "more than its header's " + std::to_string(header.header_bytes()), advice);
  if (header.frame_bytes > file_bytes)
    throw format_error(path, "frame length at byte 8",
                       std::to_string(header.frame_bytes) + " bytes",
                       "at most the file's " + std::to_string(file_bytes), advice);
  if (Packing(header).samples_in(header.payload_bytes()) == 0)
    throw format_error(
        path, "channels at byte 11",
        std::to_string(header.channels) + " of " + core::counted(header.bits, "bit"),
        "as few as fit into a frame of " + std::to_string(header.frame_bytes) + " bytes", advice);
  // Mark 5B payloads inside VDIF frames: sign and magnitude bits, not offset binary.
  if (header.extended_version == 0xab)
    throw core::Error(core::ErrorKind::unsupported, path + ": extended data version at byte 19",
                      "0xab (Mark 5B)", "VDIF's own encoding", "convert the file to plain VDIF");
}

}  // namespace tautline::formats::vdif
