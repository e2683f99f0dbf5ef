// DADA output: a header that reads back to the same numbers, then samples as they come.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>

#include "tautline/core/error.h"
#include "tautline/formats/dada/dada.h"
#include "tautline/formats/dada/header.h"
#include "tautline/formats/dada/times_of_rows.h"

namespace tautline::formats::dada {

namespace {

constexpr std::size_t kHeaderStep = 4096;
// Filled in by finish(), when the number is known: as wide as any 63-bit integer.
constexpr std::string_view kFileSizeSpace = "                   ";
constexpr std::string_view kFileSizeKey = "FILE_SIZE        ";

// The shortest decimal of `value` that reads back to the same double, its point moved six places:
// hertz to megahertz without rounding.
std::string megahertz(double value_hz) {
  std::array<char, 64> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                    std::abs(value_hz), std::chars_format::scientific);
  const std::string text(buffer.data(), result.ptr);
  const std::size_t e = text.find('e');
  std::string digits = text.substr(0, 1);
  if (e > 2) digits += text.substr(2, e - 2);
  const int point = std::stoi(text.substr(e + 1)) + 1 - 6;  // digits before the decimal point
  std::string plain;
  if (point <= 0) {
    plain = "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  } else if (static_cast<std::size_t>(point) >= digits.size()) {
    plain = digits + std::string(static_cast<std::size_t>(point) - digits.size(), '0');
  } else {
    plain = digits.substr(0, static_cast<std::size_t>(point)) + "." +
            digits.substr(static_cast<std::size_t>(point));
  }
  return (value_hz < 0 ? "-" : "") + plain;
}

std::string shortest(double value) {
  std::array<char, 64> buffer;
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return {buffer.data(), result.ptr};
}

std::string_view encoding_name(core::Encoding encoding) {
  switch (encoding) {
    case core::Encoding::offset_binary:
      return "OFFSET_BINARY";
    case core::Encoding::ieee_float:
      return "IEEE_FLOAT";
    case core::Encoding::twos_complement:
      break;
  }
  return "TWOS_COMPLEMENT";
}

std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text)
    line += static_cast<unsigned char>(c) < 32 || c == '#' || c == 127 ? ' ' : c;
  return line;
}

void require_writable(const core::VoltageDescription& d, const std::string& order) {
  if (d.rate_hz.numerator <= 0 || d.rate_hz.denominator <= 0)
    throw core::Error(
        core::ErrorKind::config, "sample rate",
        std::to_string(d.rate_hz.numerator) + "/" + std::to_string(d.rate_hz.denominator),
        "a positive rate in Hz");
  if (!std::isfinite(d.bandwidth_hz) || d.bandwidth_hz == 0 || !std::isfinite(d.centre_hz))
    throw core::Error(core::ErrorKind::config, "centre and bandwidth in Hz",
                      shortest(d.centre_hz) + ", " + shortest(d.bandwidth_hz),
                      "finite numbers, the bandwidth not zero");
  const auto axes = parse_order(order, d);
  if (axes.front().letter != 'T')
    throw core::Error(core::ErrorKind::config, "ORDER", order,
                      "T (time) slowest, as a stream is written");
}

// The description of a file written in this order, once it has proved writable.
core::VoltageDescription checked(const core::VoltageDescription& d, const std::string& order) {
  require_writable(d, order);
  return d;
}

}  // namespace

std::string format_header(const core::VoltageDescription& d, const std::string& order,
                          const std::vector<std::pair<std::string, std::string>>& extra) {
  constexpr std::int64_t kPicosecondsPerSecond = 1'000'000'000'000;
  __extension__ using Int128 = __int128;
  const auto picoseconds =
      static_cast<std::int64_t>(static_cast<Int128>(d.start.fraction_numerator) *
                                kPicosecondsPerSecond / d.start.fraction_denominator);
  const double period_us = 1e6 / d.rate_hz.value();
  std::vector<std::pair<std::string, std::string>> keys{
      {"HEADER", "DADA"},
      {"HDR_VERSION", "1.0"},
      {"TELESCOPE", d.telescope},
      {"INSTRUMENT", d.instrument},
      {"SOURCE", d.source},
      {"UTC_START", core::to_dada(d.start)},
      {"PICOSECONDS", std::to_string(picoseconds)},
      {"OBS_OFFSET", "0"},
      {"FREQ", megahertz(d.centre_hz)},
      {"BW", megahertz(d.bandwidth_hz)},
      {"TSAMP", shortest(period_us)},
      {"NBIT", std::to_string(d.format.bits)},
      {"NDIM", d.format.complex ? "2" : "1"},
      {"NPOL", std::to_string(d.polarisations)},
      {"NANT", std::to_string(d.antennas)},
      {"NCHAN", std::to_string(d.channels)},
      {"ORDER", order},
      {"ENCODING", std::string(encoding_name(d.format.encoding))},
      {"EXACT_RATE_HZ",
       std::to_string(d.rate_hz.numerator) + "/" + std::to_string(d.rate_hz.denominator)},
      {"EXACT_START_S", std::to_string(d.start.fraction_numerator) + "/" +
                            std::to_string(d.start.fraction_denominator)}};
  keys.insert(keys.end(), extra.begin(), extra.end());
  std::string text;
  for (const auto& [key, value] : keys) {
    if (value.empty()) continue;
    text += one_line(key);
    text.append(key.size() < 16 ? 17 - key.size() : 1, ' ');
    text += one_line(value) + "\n";
  }
  text += std::string(kFileSizeKey) + std::string(kFileSizeSpace) + "\n";
  // HDR_SIZE counts its own line.
  constexpr std::size_t kSizeLine = 32;
  const std::size_t size = (text.size() + kSizeLine + kHeaderStep - 1) / kHeaderStep * kHeaderStep;
  const std::size_t after_first = text.find("HDR_VERSION");
  text.insert(after_first, "HDR_SIZE         " + std::to_string(size) + "\n");
  text.resize(size, '\0');
  return text;
}

Writer::Writer(const std::string& path, const core::VoltageDescription& description,
               const WriteOptions& options)
    : description_(checked(description, options.order)),
      layout_(layout_of(parse_order(options.order, description), description.format, 1)),
      time_bits_(static_cast<std::uint64_t>(description.channels) * description.inputs() *
                 static_cast<std::uint64_t>(description.format.bits_per_sample())),
      file_(path, options.overwrite) {
  const std::string header = format_header(description_, options.order, options.extra);
  header_bytes_ = header.size();
  file_size_at_ = header.rfind(kFileSizeKey) + kFileSizeKey.size();
  file_.write(header);
}

void Writer::write(std::span<const std::byte> samples) {
  if (samples.size() * 8 % time_bits_ != 0)
    throw core::Error(core::ErrorKind::config, "bytes to write", std::to_string(samples.size()),
                      "whole times of " + std::to_string(time_bits_) + " bits");
  file_.write(samples);
}

void Writer::write_rows(const void* samples, std::size_t channel_stride_bytes,
                        std::size_t row_stride_bytes, std::size_t count) {
  const auto bits = static_cast<std::size_t>(description_.format.bits_per_sample());
  if (bits % 8 != 0)
    throw core::Error(core::ErrorKind::config, "sample format",
                      core::to_string(description_.format), "samples of whole bytes",
                      "pack the samples and use write()");
  const std::size_t bytes = bits / 8;
  const auto time_bytes = static_cast<std::size_t>(time_bits_ / 8);
  const auto* in = static_cast<const std::byte*>(samples);
  rows_.resize(time_bytes / bytes);
  for (std::size_t c = 0; c < layout_.channels; ++c)
    for (std::size_t a = 0; a < layout_.antennas; ++a)
      for (std::size_t p = 0; p < layout_.polarisations; ++p)
        rows_[(c * layout_.channel_stride_bits + a * layout_.antenna_stride_bits +
               p * layout_.polarisation_stride_bits) /
              bits] =
            in + c * channel_stride_bytes + (a * layout_.polarisations + p) * row_stride_bytes;
  // Written while they are in a cache.
  constexpr std::size_t kTransposedBytes = std::size_t{4} << 20;
  const std::size_t step = std::max<std::size_t>(1, kTransposedBytes / time_bytes);
  for (std::size_t first = 0; first < count; first += step) {
    const std::size_t times = std::min(step, count - first);
    transposed_.resize(times * time_bytes);
    times_of_rows(rows_, bytes, first, times, transposed_.data());
    file_.write(transposed_);
  }
}

std::uint64_t Writer::samples() const {
  return (file_.written_bytes() - header_bytes_) * 8 / time_bits_;
}

void Writer::finish() {
  const std::string size = std::to_string(file_.written_bytes() - header_bytes_);
  file_.write_at(file_size_at_, std::as_bytes(std::span(size.data(), size.size())));
  file_.finish();
}

}  // namespace tautline::formats::dada
