#include "tautline/stream/sent_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/count_reader.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/tiff/tiff.h"

namespace tautline::stream {

namespace {

using core::Error;
using core::ErrorKind;
using core::SampleType;
using formats::packets::PacketLayout;

// Of a file's head, which shows its format.
constexpr std::size_t kSentHeadBytes = std::size_t{64} << 10;

// The type of the packets' values.
SampleType type_of(const PacketLayout& layout) {
  const core::SampleFormat format = layout.sample.placed();
  if (!format.complex && format.is_float() && format.bits == 32) return SampleType::f32;
  const bool whole = !format.complex && format.encoding == core::Encoding::offset_binary &&
                     layout.sample.container_bits == layout.sample.bits;
  if (!whole || (format.bits != 8 && format.bits != 16))
    throw Error(ErrorKind::config, "layout", layout.name,
                "one of samples u8, u16 or f32, for filterbanks and counts",
                "filterbank and counts are such presets");
  return format.bits == 8 ? SampleType::u8 : SampleType::u16;
}

template <class To, class From>
std::uint64_t convert(const std::byte* from, std::byte* to, std::size_t count) {
  if constexpr (std::is_same_v<To, From>) {
    std::memcpy(to, from, count * sizeof(To));
    return 0;
  }
  std::uint64_t clipped = 0;
  for (std::size_t k = 0; k < count; ++k) {
    From value;
    std::memcpy(&value, from + k * sizeof(From), sizeof value);
    To sent;
    if constexpr (std::is_floating_point_v<To>) {
      sent = static_cast<To>(value);
    } else {
      constexpr std::uint64_t kMost = std::numeric_limits<To>::max();
      clipped += value > kMost ? 1 : 0;
      sent = static_cast<To>(std::min<std::uint64_t>(value, kMost));
    }
    std::memcpy(to + k * sizeof(To), &sent, sizeof sent);
  }
  return clipped;
}

template <class From>
std::uint64_t convert_to(SampleType type, const std::byte* from, std::byte* to, std::size_t count) {
  if (type == SampleType::f32) return convert<float, From>(from, to, count);
  if constexpr (!std::is_floating_point_v<From>) {
    if (type == SampleType::u16) return convert<std::uint16_t, From>(from, to, count);
    return convert<std::uint8_t, From>(from, to, count);
  }
  return 0;
}

class Rows : public SentRows {
 public:
  Rows(const SendConfig& config, const PacketLayout& layout, SampleType type, std::size_t channels,
       core::Rational rate_hz, core::Instant start, std::uint64_t total,
       std::span<const formats::DataSegment> segments = {})
      : files_(config.files), from_(type), to_(type_of(layout)) {
    if (from_ == SampleType::f32 && to_ != from_)
      throw Error(
          ErrorKind::unsupported, "samples", "floats", "integers for these packets",
          fmt::format("give a layout of its own: like = \"{}\", sample = \"f32\"", layout.name));
    description_.format = layout.sample.placed();
    description_.channels = channels;
    description_.rate_hz = rate_hz;
    const SentPart part = part_to_send(config, rate_hz, total);
    next_ = part.first;
    end_sample_ = part.end;
    total_ = end_sample_ - next_;
    start_ = start;
    description_.start = end_ =
        core::advance(start, static_cast<std::int64_t>(place_of(segments, next_)), rate_hz);
    if (total_ > 0)
      end_ = core::advance(
          start, static_cast<std::int64_t>(place_of(segments, end_sample_ - 1) + 1), rate_hz);
  }

  const core::VoltageDescription& description() const override { return description_; }
  core::RawLayout layout(std::size_t) const override {
    core::RawLayout layout{.format = description_.format, .channels = description_.channels};
    const auto bits = static_cast<std::size_t>(description_.format.bits);
    layout.channel_stride_bits = layout.polarisation_stride_bits = bits;
    layout.time_stride_bits = layout.antenna_stride_bits = bits * description_.channels;
    return layout;
  }
  std::size_t block_bytes(std::size_t samples) const override {
    return samples * description_.channels * core::bytes_of(to_);
  }
  std::uint64_t total_samples() const override { return total_; }
  const core::Instant& end() const override { return end_; }
  const std::vector<std::string>& files() const override { return files_; }

  std::size_t read(std::size_t samples, core::RawBlock& block, SegmentPlace& segment) override {
    const std::size_t row = description_.channels * core::bytes_of(from_);
    samples = static_cast<std::size_t>(std::min<std::uint64_t>(samples, end_sample_ - next_));
    rows_.resize(samples * row);
    const std::size_t got = samples == 0 ? 0 : read_rows(next_, rows_, segment);
    if (got == 0) return 0;
    block.bytes.resize(block_bytes(got));
    clipped_ += to_wire(got * description_.channels, block.bytes.data());
    block.layout = layout(got);
    block.samples = got;
    block.invalid.clear();
    next_ += got;
    return got;
  }

 protected:
  // Rows from `first` on to the front of `bytes`; none at the end. Sets what a segment's first read says.
  virtual std::size_t read_rows(std::uint64_t first, std::span<std::byte> bytes,
                                SegmentPlace& segment) = 0;
  std::uint64_t first_sample() const { return end_sample_ - total_; }
  core::Instant start_;  // of sample 0

 private:
  std::uint64_t to_wire(std::size_t count, std::byte* to) const {
    switch (from_) {
      case SampleType::u8:
        return convert_to<std::uint8_t>(to_, rows_.data(), to, count);
      case SampleType::u16:
        return convert_to<std::uint16_t>(to_, rows_.data(), to, count);
      case SampleType::u32:
        return convert_to<std::uint32_t>(to_, rows_.data(), to, count);
      default:
        return convert_to<float>(to_, rows_.data(), to, count);
    }
  }

  std::vector<std::string> files_;
  SampleType from_, to_;
  core::VoltageDescription description_;
  core::Instant end_;
  std::uint64_t next_ = 0, end_sample_ = 0, total_ = 0;
  std::vector<std::byte> rows_;
};

class FilterbankRows final : public Rows {
 public:
  FilterbankRows(const SendConfig& config, const PacketLayout& layout,
                 std::unique_ptr<formats::FilterbankReader> reader)
      : Rows(config, layout, formats::sample_type(reader->description().delivered),
             reader->description().channels, reader->description().rate_hz,
             reader->description().start, reader->description().samples, reader->segments()),
        reader_(std::move(reader)) {}

  formats::Damage damage() const override { return reader_->damage(); }

 private:
  std::size_t read_rows(std::uint64_t first, std::span<std::byte> bytes,
                        SegmentPlace& segment) override {
    const std::size_t got =
        reader_->read(first, bytes.size() / reader_->description().sample_bytes(), bytes);
    segment.first_block = first == first_sample();
    for (const formats::DataSegment& one : reader_->segments())
      segment.first_block = segment.first_block || first == one.first_sample;
    // Of the first row of it that is sent.
    segment.start =
        core::advance(start_, static_cast<std::int64_t>(place_of(reader_->segments(), first)),
                      reader_->description().rate_hz);
    return got;
  }

  std::unique_ptr<formats::FilterbankReader> reader_;
};

core::Rational rate_of_counts(double bin_s) {
  constexpr double kFemtoseconds = 1e15;
  return core::make_rational(std::llround(kFemtoseconds),
                             std::max(1LL, std::llround(bin_s * kFemtoseconds)));
}

class CountRows final : public Rows {
 public:
  CountRows(const SendConfig& config, const PacketLayout& layout,
            std::unique_ptr<formats::CountReader> reader)
      : Rows(config, layout, reader->description().type, reader->description().sensors,
             rate_of_counts(bin_of_counts(config, *reader)), {}, reader->total_samples()),
        reader_(std::move(reader)) {
    if (first_sample() > 0) reader_->seek(first_sample());
  }
  formats::Damage damage() const override { return reader_->damage(); }

 private:
  std::size_t read_rows(std::uint64_t first, std::span<std::byte> bytes,
                        SegmentPlace& segment) override {
    segment.first_block = first == first_sample();
    segment.start = description().start;
    return reader_->read(bytes);
  }

  std::unique_ptr<formats::CountReader> reader_;
};

}  // namespace

SentPart part_to_send(const SendConfig& config, const core::Rational& rate_hz,
                      std::uint64_t total) {
  const auto samples_of = [&](double seconds) {
    return static_cast<std::uint64_t>(std::clamp(std::round(seconds * rate_hz.value()), 0.0, 9e15));
  };
  const std::uint64_t first = samples_of(config.start_s);
  if (first > 0 && first >= total)
    throw Error(ErrorKind::config, "start_s", fmt::format("{} s", config.start_s),
                fmt::format("less than the {:.6g} s of input",
                            static_cast<double>(total) / rate_hz.value()));
  return {first,
          config.duration_s < 0 ? total : std::min(total, first + samples_of(config.duration_s))};
}

std::uint64_t place_of(std::span<const formats::DataSegment> segments, std::uint64_t sample) {
  std::uint64_t place = sample;
  for (const formats::DataSegment& one : segments)
    if (sample >= one.first_sample) place = one.grid_sample + (sample - one.first_sample);
  return place;
}

double bin_of_counts(const SendConfig& config, const formats::CountReader& counts) {
  const double bin_s = config.bin_s > 0 ? config.bin_s : counts.description().bin_s;
  constexpr double kLongest_s = 3600;
  // An array whose numbers have no sign may be voltages, too.
  const bool sure = counts.description().format != "NPY" || config.raw.dtype ||
                    config.layout == "counts" || config.bin_s > 0;
  if (!(bin_s > 0 && bin_s <= kLongest_s))
    throw Error(ErrorKind::config, "bin_s", "not given", "the length of the counts' bins",
                std::string("it sets the rate at which they are sent") +
                    (sure ? "" : "; of an array of voltages give `rate_hz`"));
  return bin_s;
}

SentKind kind_to_send(const SendConfig& config) {
  const std::string& path = config.files.front();
  const auto head = formats::InputFile(path).head(kSentHeadBytes);
  if (formats::recognise_filterbank(head, path)) return SentKind::filterbank;
  if (config.bin_s > 0 || config.raw.dtype || config.layout == "counts" ||
      formats::tiff::recognise(head))
    return SentKind::counts;
  return SentKind::voltages;
}

std::unique_ptr<SentRows> open_rows_to_send(const SendConfig& config, SentKind kind,
                                            const PacketLayout& layout) {
  if (kind == SentKind::filterbank)
    return std::make_unique<FilterbankRows>(config, layout, formats::open_filterbank(config.files));
  if (config.files.size() > 1)
    throw Error(ErrorKind::config, "files", std::to_string(config.files.size()),
                "one file of counts");
  return std::make_unique<CountRows>(config, layout,
                                     formats::open_counts(config.files.front(), config.raw));
}

}  // namespace tautline::stream
