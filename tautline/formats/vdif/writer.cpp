#include "tautline/formats/vdif/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tautline/core/error.h"
#include "tautline/core/sample_decode.h"

namespace tautline::formats::vdif {

namespace {

using core::Error;
using core::ErrorKind;

constexpr std::size_t kMostPayloadBytes = 8000;
constexpr std::size_t kPayloadStep = 8;  // the header counts bytes in eights
constexpr std::uint32_t kRateVersion = 1;

std::size_t bits_of_thread(const core::VoltageDescription& d) {
  return d.channels * static_cast<std::size_t>(d.format.bits_per_sample());
}

std::int64_t whole_rate_hz(const core::VoltageDescription& d) {
  if (d.rate_hz.denominator != 1 || d.rate_hz.numerator <= 0)
    throw Error(ErrorKind::unsupported, "sample rate",
                fmt::format("{}/{} Hz", d.rate_hz.numerator, d.rate_hz.denominator),
                "a whole number of Hz in VDIF", "write .dada");
  return d.rate_hz.numerator;
}

// The last half-year's begin that is not behind `start`: since 2000, and as an instant.
std::pair<std::uint32_t, core::Instant> epoch_of(const core::Instant& start) {
  for (std::uint32_t epoch = 64; epoch-- > 0;) {
    const core::Instant begin = core::parse_utc(
        fmt::format("{}-{}-01-00:00:00", 2000 + epoch / 2, epoch % 2 == 0 ? "01" : "07"));
    if (!core::before(start, begin)) return {epoch, begin};
  }
  throw Error(ErrorKind::unsupported, "start", core::to_iso(start), "2000 to 2031 in VDIF",
              "write .dada");
}

void put_word(std::byte* bytes, std::size_t word, std::uint32_t value) {
  for (std::size_t k = 0; k < 4; ++k) bytes[word * 4 + k] = static_cast<std::byte>(value >> 8 * k);
}

// Of complex samples, or half of that of real ones: in kHz, or MHz. 0: it is no such number.
std::uint32_t rate_word(std::int64_t rate_hz, bool complex) {
  constexpr std::int64_t kMost = 1 << 23;
  const std::int64_t given = complex ? rate_hz : rate_hz / 2;
  if (!complex && rate_hz % 2 != 0) return 0;
  if (given % 1'000'000 == 0 && given / 1'000'000 < kMost)
    return kRateVersion << 24 | 1u << 23 | static_cast<std::uint32_t>(given / 1'000'000);
  if (given % 1000 == 0 && given / 1000 < kMost)
    return kRateVersion << 24 | static_cast<std::uint32_t>(given / 1000);
  return 0;
}

std::uint32_t station_of_antenna(const core::VoltageDescription& d, std::size_t antenna) {
  if (antenna < d.antenna_names.size() && d.antenna_names[antenna].size() == 2)
    return static_cast<std::uint32_t>(static_cast<unsigned char>(d.antenna_names[antenna][0]))
               << 8 |
           static_cast<unsigned char>(d.antenna_names[antenna][1]);
  return static_cast<std::uint32_t>(antenna);
}

}  // namespace

std::size_t Writer::frame_samples(const core::VoltageDescription& d) {
  const core::SampleFormat& format = d.format;
  if (format.is_float() || format.bits < 4)
    throw Error(ErrorKind::unsupported, "sample format", core::to_string(format),
                "integers of 4, 8 or 16 bits in VDIF", "write .dada");
  if (!std::has_single_bit(d.channels) || bits_of_thread(d) > kMostPayloadBytes)
    throw Error(ErrorKind::unsupported, "channels", std::to_string(d.channels),
                "a power of two, and fewer, in VDIF", "write .dada");
  const std::int64_t rate_hz = whole_rate_hz(d);
  const std::size_t bits = bits_of_thread(d);
  for (std::size_t samples = kMostPayloadBytes * 8 / bits; samples > 0; --samples)
    if (rate_hz % static_cast<std::int64_t>(samples) == 0 &&
        samples * bits % (kPayloadStep * 8) == 0 &&
        rate_hz / static_cast<std::int64_t>(samples) < 1 << 24)
      return samples;
  throw Error(ErrorKind::unsupported, "sample rate", fmt::format("{} Hz", rate_hz),
              "one that whole frames of VDIF make", "write .dada");
}

Writer::Writer(const std::string& path, const core::VoltageDescription& description, bool overwrite)
    : description_(description),
      samples_(frame_samples(description)),
      time_bytes_(bits_of_thread(description) * description.inputs() / 8),
      rate_hz_(whole_rate_hz(description)),
      file_(path, overwrite) {
  const auto [epoch, begin] = epoch_of(description.start);
  // The sample of the second, to the nearest one.
  const std::int64_t sample = core::samples_between({description.start.seconds, 0, 1},
                                                    description.start, description.rate_hz);
  second_ = description.start.seconds - begin.seconds;
  padding_ = static_cast<std::size_t>(sample) % samples_;
  frame_number_ = static_cast<std::uint64_t>(sample) / samples_;
  times_.assign(padding_ * time_bytes_, std::byte{0});
  header_.epoch = epoch;
  header_.version = 1;
  header_.channels = description.channels;
  header_.complex = description.format.complex;
  header_.bits = description.format.bits;
  header_.frame_bytes = kHeaderBytes + samples_ * bits_of_thread(description) / 8;
  if (padding_ > 0)
    for (std::size_t i = 0; i < description.inputs(); ++i) invalid_.push_back({i, 0, padding_});
}

void Writer::mark_invalid(const core::InvalidSpan& span) {
  const std::uint64_t first = padding_ + span.first_sample;
  for (std::size_t i = 0; i < description_.inputs(); ++i)
    if (span.input == i || span.input == core::InvalidSpan::kAllInputs)
      invalid_.push_back({i, first, first + span.samples});
}

void Writer::write(std::span<const std::byte> times) {
  const std::size_t frame_bytes = samples_ * time_bytes_;
  while (!times.empty()) {
    const std::size_t some = std::min(times.size(), frame_bytes - times_.size());
    times_.insert(times_.end(), times.begin(), times.begin() + static_cast<std::ptrdiff_t>(some));
    times = times.subspan(some);
    if (times_.size() == frame_bytes) write_frames();
  }
}

bool Writer::is_valid(std::size_t input, std::uint64_t first, std::uint64_t end) const {
  return std::none_of(invalid_.begin(), invalid_.end(), [&](const Invalid& one) {
    return one.input == input && one.first < end && first < one.end;
  });
}

// One of each input, for the times at hand.
void Writer::write_frames() {
  const std::uint64_t end = begun_ + samples_,
                      per_second = static_cast<std::uint64_t>(rate_hz_) / samples_;
  header_.seconds =
      static_cast<std::uint32_t>(second_ + static_cast<std::int64_t>(frame_number_ / per_second));
  header_.frame = static_cast<std::uint32_t>(frame_number_ % per_second);
  for (std::size_t a = 0; a < description_.antennas; ++a)
    for (std::size_t p = 0; p < description_.polarisations; ++p) {
      header_.invalid = !is_valid(a * description_.polarisations + p, begun_, end);
      write_frame(a, p);
    }
  std::erase_if(invalid_, [&](const Invalid& one) { return one.end <= end; });
  ++frame_number_;
  begun_ = end;
  times_.clear();
}

// A code is the sample less the lowest value.
void Writer::write_frame(std::size_t antenna, std::size_t polarisation) {
  const core::SampleFormat& format = description_.format;
  const std::size_t bits = static_cast<std::size_t>(format.bits), parts = format.complex ? 2 : 1;
  frame_.assign(header_.frame_bytes, std::byte{0});
  put_word(frame_.data(), 0, (header_.invalid ? 1u << 31 : 0u) | header_.seconds);
  put_word(frame_.data(), 1, header_.epoch << 24 | header_.frame);
  put_word(frame_.data(), 2,
           header_.version << 29 |
               static_cast<std::uint32_t>(std::countr_zero(header_.channels)) << 24 |
               static_cast<std::uint32_t>(header_.frame_bytes / kPayloadStep));
  put_word(frame_.data(), 3,
           (header_.complex ? 1u << 31 : 0u) | static_cast<std::uint32_t>(bits - 1) << 26 |
               static_cast<std::uint32_t>(polarisation) << 16 |
               station_of_antenna(description_, antenna));
  put_word(frame_.data(), 4, rate_word(rate_hz_, format.complex));
  const std::size_t input = antenna * description_.polarisations + polarisation,
                    inputs = description_.inputs(), lowest = std::size_t{1} << (bits - 1);
  std::size_t out = kHeaderBytes * 8;
  for (std::size_t t = 0; t < samples_; ++t)
    for (std::size_t c = 0; c < description_.channels; ++c)
      for (std::size_t part = 0; part < parts; ++part, out += bits) {
        const std::size_t at = t * time_bytes_ * 8 + ((c * inputs + input) * parts + part) * bits;
        const int value = core::decode_integer(times_.data(), at, format);
        const auto code = static_cast<std::uint32_t>(value + static_cast<int>(lowest));
        for (std::size_t b = 0; b < bits; b += 8)
          frame_[(out + b) / 8] |= static_cast<std::byte>(code >> b << out % 8);
      }
  file_.write(frame_);
}

void Writer::finish() {
  if (!times_.empty()) {
    const std::uint64_t come = begun_ + times_.size() / time_bytes_;
    for (std::size_t i = 0; i < description_.inputs(); ++i)
      invalid_.push_back({i, come, begun_ + samples_});
    times_.resize(samples_ * time_bytes_);
    write_frames();
  }
  file_.finish();
}

}  // namespace tautline::formats::vdif
