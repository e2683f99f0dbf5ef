#include "tautline/formats/dada/header.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "tautline/core/error.h"
#include "tautline/formats/assumed_values.h"
#include "tautline/formats/dada/key_values.h"

namespace tautline::formats::dada {

namespace {

constexpr std::int64_t kMaxAntennas = 65536;
constexpr std::int64_t kMaxChannels = std::int64_t{1} << 24;
constexpr std::uint64_t kMaxTimeBits = std::uint64_t{1} << 31;  // of one time of everything
constexpr std::int64_t kEndOfYear9999 = 253'402'300'800;        // seconds since 1970

// The sample rate may be above what the bandwidth implies, by oversampling in the instrument's filter bank, and of
// channels below it, where only some are recorded. Samples of one channel hold no wider band than their rate, but for
// rounded headers. Beyond these factors one of TSAMP and BW is wrong (TSAMP in seconds, say) or the samples are detected
// power.
constexpr double kLeastOversampling = 0.5, kLeastOfOneChannel = 0.99;
constexpr double kMostOversampling = 64;

// Back ends that interleave short runs of samples in a way that ORDER's letters cannot say, and
// that do not always write ORDER. Their names are INSTRUMENT values.
constexpr std::array<std::string_view, 3> kInterleavingInstruments{"CASPSR", "MKBF", "CPSR2"};

// ENCODING without case, blanks and underscores: TWOSCOMPLEMENT, OFFSETBINARY, IEEEFLOAT.
std::string plain_word(const std::string& text) {
  std::string word;
  for (const char c : text) {
    if (c == '_' || c == ' ' || c == '-' || c == '\'') continue;
    word += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return word;
}

core::SampleFormat parse_format(const KeyValues& keys) {
  core::SampleFormat format;
  constexpr std::array<int, 6> kBits{1, 2, 4, 8, 16, 32};
  format.bits = static_cast<int>(keys.integer("NBIT", 1, 32));
  if (std::find(kBits.begin(), kBits.end(), format.bits) == kBits.end())
    throw keys.wrong("bits of a sample's component", "NBIT", "1, 2, 4, 8, 16 or 32");
  format.complex = keys.integer("NDIM", 1, 2) == 2;
  const std::string encoding = plain_word(keys.text_or("ENCODING", ""));
  if (encoding == "IEEEFLOAT" || (encoding.empty() && format.bits == 32)) {
    format.encoding = core::Encoding::ieee_float;
  } else if (encoding == "OFFSETBINARY") {
    format.encoding = core::Encoding::offset_binary;
  } else if (!encoding.empty() && encoding != "TWOSCOMPLEMENT") {
    throw keys.wrong("what codes stand for", "ENCODING",
                     "TWOS_COMPLEMENT, OFFSET_BINARY or IEEE_FLOAT");
  }
  if (format.is_float() != (format.bits == 32))
    throw keys.wrong("bits of a sample's component", "NBIT",
                     format.is_float() ? "32 with ENCODING IEEE_FLOAT"
                                       : "1, 2, 4, 8 or 16 with an integer ENCODING",
                     "32-bit integers and other floats are not read: convert the file");
  const std::string endian = plain_word(keys.text_or("ENDIAN", "LITTLE"));
  if (format.bits >= 16 && endian != "LITTLE")
    throw keys.wrong("order of bytes", "ENDIAN", "LITTLE", "swap the bytes and correct the header");
  return format;
}

// 1 / TSAMP exactly, TSAMP cut to attoseconds so that times at this rate stay ratios of integers.
core::Rational rate_of_period(const KeyValues& keys) {
  constexpr std::int64_t kMaxDenominator = 1'000'000'000'000;  // of microseconds
  const std::string text = keys.decimal("TSAMP").magnitude;
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  for (std::string mantissa = text.substr(0, e); !mantissa.empty(); mantissa.pop_back()) {
    try {
      const core::Rational period = core::parse_decimal(mantissa + text.substr(e));
      if (period.denominator > kMaxDenominator || period.numerator > kMaxDenominator) continue;
      return core::make_rational(period.denominator * 1'000'000, period.numerator);
    } catch (const core::Error&) {
      if (mantissa.find('.') == std::string::npos) break;
    }
  }
  throw keys.wrong("sampling interval in microseconds", "TSAMP", "1e-9 to 1e12");
}

core::Rational parse_rate(const KeyValues& keys, bool complex, std::int64_t channels) {
  const double period_s = keys.number("TSAMP", -6);
  if (!(period_s > 0))
    throw keys.wrong("sampling interval in microseconds", "TSAMP", "a positive number");
  const double bandwidth_hz = std::abs(keys.number("BW", 6));
  const double implied_hz = (complex ? 1 : 2) * bandwidth_hz / static_cast<double>(channels);
  const double oversampling = 1 / (period_s * implied_hz);
  const double least = channels == 1 ? kLeastOfOneChannel : kLeastOversampling;
  if (!(oversampling >= least && oversampling <= kMostOversampling))
    throw keys.wrong("sampling interval in microseconds", "TSAMP",
                     "about " + std::to_string(1e6 / implied_hz) + ", as BW " +
                         keys.text_or("BW", "") + " MHz, NCHAN " + std::to_string(channels) +
                         " and NDIM " + (complex ? "2" : "1") + " imply",
                     "correct TSAMP (microseconds) or BW (MHz); detected power is not voltages");
  if (const auto exact = keys.ratio("EXACT_RATE_HZ")) {
    if (!(std::abs(exact->value() * period_s - 1) <= kRateAgreement))
      throw keys.wrong("sample rate", "EXACT_RATE_HZ", "1 / TSAMP", "correct one of them");
    return core::make_rational(exact->numerator, exact->denominator);
  }
  if (std::abs(oversampling - 1) > kRateAgreement) return rate_of_period(keys);
  // BW in Hz is a ratio in lowest terms; NCHAN at most 2^24.
  const Decimal bandwidth = keys.decimal("BW");
  try {
    const core::Rational band = core::parse_decimal(bandwidth.magnitude, 6);
    if (band.denominator > (std::int64_t{1} << 62) / channels ||
        band.numerator > (std::int64_t{1} << 61))
      return rate_of_period(keys);
    return core::make_rational(band.numerator * (complex ? 1 : 2), band.denominator * channels);
  } catch (const core::Error&) {  // too many digits for a ratio of integers
    return rate_of_period(keys);
  }
}

core::Instant parse_start(const KeyValues& keys, const core::VoltageDescription& description,
                          std::uint64_t time_bits) {
  constexpr std::int64_t kPicosecondsPerSecond = 1'000'000'000'000;
  const std::int64_t picoseconds = keys.integer("PICOSECONDS", 0, kPicosecondsPerSecond - 1, 0);
  const auto utc = keys.text("UTC_START");
  core::Instant start;
  try {
    start = core::parse_utc(utc.value_or(""), picoseconds);
  } catch (const core::Error&) {
    throw keys.wrong("start of the observation", "UTC_START", "yyyy-mm-dd-hh:mm:ss (UTC)");
  }
  if (const auto exact = keys.ratio("EXACT_START_S")) {
    const core::Instant better{start.seconds, exact->numerator, exact->denominator};
    if (exact->numerator >= exact->denominator ||
        std::abs(core::seconds_between(start, better)) > 1.5e-12)
      throw keys.wrong("fraction of the start's second", "EXACT_START_S", "PICOSECONDS within 1");
    start = core::advance(better, 0, {1, 1});
  }
  const std::int64_t offset =
      keys.integer("OBS_OFFSET", 0, std::numeric_limits<std::int64_t>::max() / 8, 0);
  if (static_cast<std::uint64_t>(offset) * 8 % time_bits != 0)
    throw keys.wrong("bytes since the observation's start", "OBS_OFFSET",
                     "a multiple of a time sample's " + std::to_string(time_bits) + " bits");
  const auto samples =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(offset) * 8 / time_bits);
  try {
    start = core::advance(start, samples, description.rate_hz);
  } catch (const core::Error&) {
    throw keys.wrong("bytes since the observation's start", "OBS_OFFSET", "a smaller number");
  }
  if (start.seconds >= kEndOfYear9999)
    throw keys.wrong("bytes since the observation's start", "OBS_OFFSET",
                     "a start before the year 10000");
  return start;
}

std::vector<SampleAxis> axes_of(const KeyValues& keys,
                                const core::VoltageDescription& description) {
  const auto order = keys.text("ORDER");
  const std::string& instrument = description.instrument;
  if (!order && std::find(kInterleavingInstruments.begin(), kInterleavingInstruments.end(),
                          instrument) != kInterleavingInstruments.end())
    throw keys.wrong("order of the samples", "ORDER",
                     "ORDER, since INSTRUMENT " + instrument + " interleaves its samples",
                     "rewrite the file in TFAP order and say so with ORDER");
  try {
    return parse_order(order.value_or("TFAP"), description);
  } catch (const core::Error& error) {
    throw keys.wrong("order of the samples", "ORDER", error.limit());
  }
}

}  // namespace

std::uint64_t header_size(std::span<const std::byte> bytes, const std::string& file) {
  const KeyValues keys(bytes, file);
  return static_cast<std::uint64_t>(keys.integer("HDR_SIZE", 1,
                                                 static_cast<std::int64_t>(kMaxHeaderBytes),
                                                 static_cast<std::int64_t>(kDefaultHeaderBytes)));
}

std::vector<SampleAxis> parse_order(const std::string& order,
                                    const core::VoltageDescription& description) {
  const std::array<SampleAxis, 3> spatial{SampleAxis{'F', description.channels},
                                          SampleAxis{'A', description.antennas},
                                          SampleAxis{'P', description.polarisations}};
  const auto fail = [&](const std::string& expected) {
    return core::Error(core::ErrorKind::config, "ORDER", order, expected);
  };
  std::vector<SampleAxis> axes;
  for (const char letter : order) {
    const auto* axis = std::find_if(spatial.begin(), spatial.end(),
                                    [&](const SampleAxis& a) { return a.letter == letter; });
    if (letter != 'T' && axis == spatial.end())
      throw fail("letters T (time), F (channel), A (antenna), P (polarisation), slowest first");
    if (std::any_of(axes.begin(), axes.end(),
                    [&](const SampleAxis& a) { return a.letter == letter; }))
      throw fail("every letter once");
    axes.push_back(letter == 'T' ? SampleAxis{} : *axis);
  }
  if (order.find('T') == std::string::npos) throw fail("T for time among the letters");
  for (const SampleAxis& axis : spatial)
    if (axis.extent > 1 && order.find(axis.letter) == std::string::npos)
      throw fail(std::string("the letter ") + axis.letter + ", an axis of " +
                 std::to_string(axis.extent));
  return axes;
}

Header parse_header(std::span<const std::byte> bytes, const std::string& file) {
  const KeyValues keys(bytes, file);
  Header header;
  header.header_bytes = header_size(bytes, file);
  core::VoltageDescription& d = header.description;
  d.format = parse_format(keys);
  const std::int64_t channels = keys.integer("NCHAN", 1, kMaxChannels, 1);
  const std::int64_t antennas = keys.integer("NANT", 1, kMaxAntennas, 1);
  const std::int64_t polarisations = keys.integer("NPOL", 1, 2, 1);
  d.channels = static_cast<std::size_t>(channels);
  d.antennas = static_cast<std::size_t>(antennas);
  d.polarisations = static_cast<std::size_t>(polarisations);
  // At most 2^24 x 2^16 x 2 x 64: no overflow.
  const std::uint64_t time_bits = static_cast<std::uint64_t>(d.channels) * d.inputs() *
                                  static_cast<std::uint64_t>(d.format.bits_per_sample());
  if (time_bits > kMaxTimeBits)
    throw keys.wrong("channels", "NCHAN",
                     "NCHAN x NANT x NPOL x NDIM x NBIT of at most " +
                         std::to_string(kMaxTimeBits) + " bits, here " + std::to_string(time_bits));
  d.telescope = keys.text_or("TELESCOPE", "");
  d.instrument = keys.text_or("INSTRUMENT", "");
  d.source = keys.text_or("SOURCE", "");
  d.centre_hz = keys.number("FREQ", 6);
  d.bandwidth_hz = keys.number("BW", 6);
  if (d.bandwidth_hz == 0) throw keys.wrong("bandwidth in MHz", "BW", "a number that is not zero");
  d.rate_hz = parse_rate(keys, d.format.complex, channels);
  // Files of tautline may hold channels on one side of a centre that is not known.
  const bool any_band = keys.text("EXACT_RATE_HZ").has_value();
  if (const std::string expected =
          expected_centre(d.centre_hz, any_band ? 0 : d.bandwidth_hz, 1e6, "megahertz");
      !expected.empty())
    throw keys.wrong("centre frequency in MHz", "FREQ", expected);
  d.start = parse_start(keys, d, time_bits);
  header.axes = axes_of(keys, d);
  // Earlier versions said it in the command alone.
  header.has_record = keys.text_or("RECORD", "") == "beside" ||
                      keys.text_or("HISTORY", "").find(" channelize ") != std::string::npos;
  if (keys.text("FILE_SIZE"))
    header.data_bytes =
        static_cast<std::uint64_t>(keys.integer("FILE_SIZE", 0, std::int64_t{1} << 60));
  return header;
}

}  // namespace tautline::formats::dada
