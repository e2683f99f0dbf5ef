#include "tautline/formats/guppi/geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace tautline::formats::guppi {

namespace {

__extension__ using UnsignedInt128 = unsigned __int128;

constexpr std::int64_t kMaxBlockBytes = std::int64_t{1} << 40;
constexpr std::int64_t kMaxChannels = std::int64_t{1} << 24;
constexpr std::int64_t kMaxAntennas = 65'536;
constexpr std::int64_t kUnixEpochMjd = 40'587;  // 1970-01-01
constexpr std::int64_t kLastMjd = 200'000;      // in the year 2406
constexpr std::int64_t kSecondsPerDay = 86'400;

/// The number of blocks whose PKTIDX show the meaning of a step.
constexpr std::size_t kBlocksToKnowUnit = 16;

std::size_t read_bits(const Cards& cards) {
  const std::int64_t bits = cards.integer("NBITS", 2, 16, 8);
  if (bits != 2 && bits != 4 && bits != 8 && bits != 16)
    throw cards.error("NBITS", std::to_string(bits), "2, 4, 8 or 16");
  return static_cast<std::size_t>(bits);
}

// 4 counts the real and imaginary parts, or Stokes parameters, of two polarisations.
std::size_t read_polarisations(const Cards& cards) {
  const std::int64_t npol = cards.integer("NPOL", 1, 4);
  if (npol == 3) throw cards.error("NPOL", "3", "1, 2 or 4 (two complex polarisations)");
  return npol == 1 ? 1 : 2;
}

core::Rational ratio_of(const core::Rational& a, std::int64_t divisor, const Cards& cards,
                        const std::string& keyword) {
  const std::int64_t common = std::gcd(a.numerator, divisor);
  const std::int64_t scale = divisor / common;
  if (a.denominator > std::numeric_limits<std::int64_t>::max() / scale)
    throw cards.error(keyword, cards.text(keyword), "fewer digits");
  return core::make_rational(a.numerator / common, a.denominator * scale);
}

double read_sample_time(const Cards& cards) {
  constexpr double kShortest_s = 1e-12, kLongest_s = 1e3;
  const double tbin_s = cards.number("TBIN");
  if (!(tbin_s >= kShortest_s && tbin_s <= kLongest_s))
    throw cards.error("TBIN", cards.text("TBIN"), "seconds from 1e-12 to 1000");
  return tbin_s;
}

// The rate as TBIN's digits give it; to the millihertz where they are too many for an exact ratio.
core::Rational rate_of_sample_time(const Cards& cards, double tbin_s) {
  try {
    const core::Rational tbin = core::parse_decimal(cards.text("TBIN"));
    return core::make_rational(tbin.denominator, tbin.numerator);
  } catch (const core::Error&) {
    return core::make_rational(std::llround(1e3 / tbin_s), 1000);
  }
}

// 1 / TBIN is often a rounded decimal of OBSBW / channels: where they agree, the latter is exact.
core::Rational read_rate(const Cards& cards, const Geometry& geometry) {
  constexpr double kRounding = 1e-6;
  if (!cards.has("OBSBW")) return rate_of_sample_time(cards, read_sample_time(cards));
  const core::Rational by_bandwidth = ratio_of(
      cards.magnitude("OBSBW", 6), static_cast<std::int64_t>(geometry.channels), cards, "OBSBW");
  if (!cards.has("TBIN")) return by_bandwidth;
  const double tbin_s = read_sample_time(cards);
  return std::abs(by_bandwidth.value() * tbin_s - 1) < kRounding
             ? by_bandwidth
             : rate_of_sample_time(cards, tbin_s);
}

core::Instant read_start(const Cards& cards) {
  constexpr double kPicosecondsPerSecond = 1e12;
  const std::int64_t day = cards.integer("STT_IMJD", kUnixEpochMjd, kLastMjd);
  const std::int64_t second = cards.integer("STT_SMJD", 0, kSecondsPerDay);
  const double offset_s = cards.has("STT_OFFS") ? cards.number("STT_OFFS") : 0;
  if (!(offset_s >= 0 && offset_s < 1))
    throw cards.error("STT_OFFS", cards.text("STT_OFFS"), "a fraction of a second from 0 to 1");
  const core::Instant whole{(day - kUnixEpochMjd) * kSecondsPerDay + second, 0, 1};
  return core::advance(whole, std::llround(offset_s * kPicosecondsPerSecond),
                       core::make_rational(std::int64_t{1'000'000'000'000}, 1));
}

// The steps from block to block of PKTIDX, forward ones only.
std::vector<std::uint64_t> first_steps(const InputFile& file, const Cards& first,
                                       const Geometry& geometry) {
  std::vector<std::uint64_t> steps;
  Cards last = first;
  while (steps.size() + 1 < kBlocksToKnowUnit) {
    const std::uint64_t following = last.offset() + last.bytes() + geometry.data_bytes;
    if (following >= file.reach()) break;  // of a stream: as many as can be kept
    auto next = Cards::read(file, following);
    if (!next || !next->has("PKTIDX")) break;
    try {
      const std::int64_t from = last.integer("PKTIDX", 0, kMaxPacketIndex);
      const std::int64_t to = next->integer("PKTIDX", 0, kMaxPacketIndex);
      if (to > from) steps.push_back(static_cast<std::uint64_t>(to - from));
    } catch (const core::Error&) {
      break;  // the reader of blocks will report the error
    }
    last = *next;
  }
  return steps;
}

// PKTIDX does not count in a unit by which every block would follow a gap.
bool fits(const PacketUnit& unit, std::uint64_t smallest_step, std::size_t steps,
          std::uint64_t new_times) {
  if (unit.numerator == 0 || new_times == 0) return false;
  const UnsignedInt128 product = UnsignedInt128{smallest_step} * unit.numerator;
  if (product % (UnsignedInt128{unit.denominator} * new_times) != 0) return false;
  const UnsignedInt128 blocks = product / (UnsignedInt128{unit.denominator} * new_times);
  return blocks == 1 || steps <= 2;
}

PacketUnit make_unit(std::uint64_t numerator, std::uint64_t denominator) {
  const std::uint64_t common = std::gcd(numerator, denominator);
  return {numerator / common, denominator / common};
}

}  // namespace

std::uint64_t PacketUnit::samples(std::uint64_t packets) const {
  const UnsignedInt128 exact = UnsignedInt128{packets} * numerator / denominator;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  return exact > kMost ? kMost : static_cast<std::uint64_t>(exact);
}

Geometry read_geometry(const Cards& cards) {
  if (cards.text("PKTFMT") == "SIMPLE")
    throw cards.error("PKTFMT", "SIMPLE (time slowest)",
                      "channel slowest, as in every other format");
  Geometry g;
  g.data_bytes = static_cast<std::uint64_t>(cards.integer("BLOCSIZE", 1, kMaxBlockBytes));
  const std::int64_t rows = cards.integer("OBSNCHAN", 1, kMaxChannels);
  const std::int64_t antennas = cards.integer("NANTS", 1, kMaxAntennas, 1);
  if (rows % antennas != 0)
    throw cards.error("OBSNCHAN", std::to_string(rows),
                      fmt::format("a multiple of NANTS, {}", antennas));
  g.antennas = static_cast<std::size_t>(antennas);
  g.channels = static_cast<std::size_t>(rows / antennas);
  g.polarisations = read_polarisations(cards);
  g.bits = static_cast<int>(read_bits(cards));
  if (g.data_bytes % g.rows() != 0 || g.row_bytes() * 8 % g.time_bits() != 0)
    throw cards.error("BLOCSIZE", std::to_string(g.data_bytes),
                      fmt::format("whole times of {} channels x {} bits", g.rows(), g.time_bits()));
  g.overlap = static_cast<std::uint64_t>(cards.integer("OVERLAP", 0, kMaxBlockBytes, 0));
  if (g.overlap >= g.times())
    throw cards.error("OVERLAP", std::to_string(g.overlap),
                      fmt::format("fewer than the block's {} times", g.times()));
  return g;
}

std::optional<PacketUnit> find_packet_unit(const InputFile& file, const Cards& first,
                                           const Geometry& geometry) {
  if (!first.has("PKTIDX")) return std::nullopt;
  const auto steps = first_steps(file, first, geometry);
  std::vector<PacketUnit> candidates;
  if (const std::int64_t packets = first.integer("PIPERBLK", 0, kMaxBlockBytes, 0); packets > 0)
    candidates.push_back(make_unit(geometry.new_times(), static_cast<std::uint64_t>(packets)));
  if (const std::int64_t bytes = first.integer("PKTSIZE", 0, kMaxBlockBytes, 0); bytes > 0)
    candidates.push_back(make_unit(static_cast<std::uint64_t>(bytes) * 8,
                                   std::uint64_t{geometry.rows()} * geometry.time_bits()));
  if (steps.empty()) return candidates.empty() ? std::nullopt : std::optional(candidates.front());
  const std::uint64_t smallest = *std::min_element(steps.begin(), steps.end());
  for (const PacketUnit& unit : candidates)
    if (fits(unit, smallest, steps.size(), geometry.new_times())) return unit;
  return make_unit(geometry.new_times(), smallest);
}

core::VoltageDescription describe(const Cards& first, const Geometry& geometry,
                                  const std::optional<PacketUnit>& unit) {
  core::VoltageDescription d;
  d.format = geometry.bits == 16 ? core::kCi16 : geometry.bits == 4 ? core::kCi4 : core::kCi8;
  d.antennas = geometry.antennas;
  d.polarisations = geometry.polarisations;
  d.channels = geometry.channels;
  d.rate_hz = read_rate(first, geometry);
  d.start = read_start(first);
  if (unit) {
    // The time is that of packet PKTSTART, or of packet 0.
    const std::int64_t index = first.integer("PKTIDX", 0, kMaxPacketIndex);
    const std::int64_t start = first.integer("PKTSTART", 0, kMaxPacketIndex, 0);
    const auto packets = static_cast<std::uint64_t>(index >= start ? index - start : index);
    try {
      d.start =
          core::advance(d.start, static_cast<std::int64_t>(unit->samples(packets)), d.rate_hz);
    } catch (const core::Error&) {
      throw first.error("PKTIDX", std::to_string(index), "a packet number of this recording");
    }
  }
  d.centre_hz = first.number("OBSFREQ") * 1e6;
  d.bandwidth_hz = first.has("OBSBW") ? first.number("OBSBW") * 1e6
                                      : d.rate_hz.value() * static_cast<double>(geometry.channels);
  if (const std::string expected = expected_centre(d.centre_hz, d.bandwidth_hz, 1e6, "megahertz");
      !expected.empty())
    throw first.error("OBSFREQ", first.text("OBSFREQ"), expected);
  d.telescope = first.text("TELESCOP");
  d.instrument = first.text("BACKEND", "GUPPI");
  d.source = first.text("SRC_NAME");
  return d;
}

}  // namespace tautline::formats::guppi
