#include "tautline/formats/memory/memory_readers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/strided_source.h"

namespace tautline::formats {

namespace {

using core::Error;
using core::ErrorKind;
using core::SampleType;

const std::byte* element(const void* data, std::ptrdiff_t index, std::size_t bytes) {
  return static_cast<const std::byte*>(data) + index * static_cast<std::ptrdiff_t>(bytes);
}

// Elements of Bytes bytes whose rows are not dense, in tiles: each cache line of 16 columns is read for all rows that
// it holds, and 16 elements of a row are written at a time. 0.6 to 1.5 ns an element of 1,024 columns with rows of time
// (Zen 3), where whole columns took 3.6 ns: lines that are written a power of two apart drive each other out of the
// cache.
template <std::size_t Bytes>
void copy_scattered_rows(const core::SampleView<2>& from, std::uint64_t first, std::size_t count,
                         std::byte* to) {
  constexpr std::size_t kRows = 64, kColumns = 16;
  const std::size_t columns = from.extent(1);
  for (std::size_t top = 0; top < count; top += kRows)
    for (std::size_t left = 0; left < columns; left += kColumns)
      for (std::size_t row = top; row < std::min(top + kRows, count); ++row)
        for (std::size_t c = left; c < std::min(left + kColumns, columns); ++c)
          std::memcpy(to + (row * columns + c) * Bytes,
                      element(from.data(),
                              static_cast<std::ptrdiff_t>(first + row) * from.stride(0) +
                                  static_cast<std::ptrdiff_t>(c) * from.stride(1),
                              Bytes),
                      Bytes);
}

// Rows [first, first + count) of a view, one behind the other. `copy_rows`: none for the host's memory.
void copy_memory_rows(const core::SampleView<2>& from, std::uint64_t first, std::size_t count,
                      std::byte* to, const CopyRows& copy_rows) {
  const std::size_t bytes = core::bytes_of(from.type()), columns = from.extent(1);
  if (copy_rows) {
    if (count > 0)
      copy_rows(to, columns * bytes,
                element(from.data(), static_cast<std::ptrdiff_t>(first) * from.stride(0), bytes),
                from.stride(0) * static_cast<std::ptrdiff_t>(bytes), columns * bytes, count);
    return;
  }
  if (from.stride(1) != 1 && columns > 1) {
    if (bytes == 1) return copy_scattered_rows<1>(from, first, count, to);
    if (bytes == 2) return copy_scattered_rows<2>(from, first, count, to);
    return copy_scattered_rows<4>(from, first, count, to);
  }
  for (std::size_t row = 0; row < count; ++row, to += columns * bytes)
    std::memcpy(
        to, element(from.data(), static_cast<std::ptrdiff_t>(first + row) * from.stride(0), bytes),
        columns * bytes);
}

// Whole rows are copied from a device's memory.
void require_dense_rows(const core::SampleView<2>& view, const std::string& field) {
  if (view.extent(1) > 1 && view.stride(1) != 1)
    throw Error(ErrorKind::config, field,
                "a stride of " + std::to_string(view.stride(1)) + " along the last axis", "1",
                "copy the array on its device");
}

class MemoryCounts final : public CountReader {
 public:
  MemoryCounts(const core::SampleView<2>& counts, CountDescription description, CopyRows copy)
      : counts_(counts), copy_(std::move(copy)) {
    if (copy_) require_dense_rows(counts, "counts");
    const SampleType type = counts.type();
    if (type != SampleType::u8 && type != SampleType::u16 && type != SampleType::u32 &&
        type != SampleType::f32)
      counts.refuse("counts", "one of u8 u16 u32 f32");
    if (counts.extent(1) == 0)
      throw Error(ErrorKind::config, "counts", "no sensors", "at least one");
    description_ = std::move(description);
    description_.type = type;
    description_.sensors = counts.extent(1);
  }
  std::uint64_t total_samples() const override { return counts_.extent(0); }
  void seek(std::uint64_t first_sample) override {
    next_ = std::min<std::uint64_t>(first_sample, counts_.extent(0));
  }
  std::size_t read(std::span<std::byte> to) override {
    const std::size_t row_bytes = description_.sensors * core::bytes_of(description_.type);
    const auto rows = static_cast<std::size_t>(
        std::min<std::uint64_t>(to.size() / row_bytes, counts_.extent(0) - next_));
    copy_memory_rows(counts_, next_, rows, to.data(), copy_);
    if (description_.type == SampleType::f32 && !copy_) check_counts(to.first(rows * row_bytes));
    next_ += rows;
    return rows;
  }

 private:
  void check_counts(std::span<const std::byte> floats) const {
    const std::size_t bad = first_bad_float(floats);
    if (bad == floats.size() / sizeof(float)) return;
    float value;
    std::memcpy(&value, floats.data() + bad * sizeof value, sizeof value);
    throw Error(ErrorKind::format,
                description_.format + ": time " +
                    std::to_string(next_ + bad / description_.sensors) + ", sensor " +
                    std::to_string(bad % description_.sensors),
                std::to_string(value), "a finite count, 0 or more");
  }

  core::SampleView<2> counts_;
  CopyRows copy_;
  std::uint64_t next_ = 0;
};

class MemoryVoltages final : public VoltageReader {
 public:
  MemoryVoltages(const core::SampleView<3>& samples, core::VoltageDescription description,
                 CopyRows copy)
      : samples_(samples), copy_(std::move(copy)) {
    description_ = std::move(description);
    const auto format = core::voltage_format(samples.type());
    if (!format) samples.refuse("voltages", "one of ci8 ci16 cf32 i8 i16 f32");
    description_.format = *format;
    description_.channels = samples.extent(0);
    const std::size_t inputs = samples.extent(1), polarisations = description_.polarisations;
    if (polarisations == 0 || inputs == 0 || inputs % polarisations != 0)
      throw Error(ErrorKind::config, "polarisations", std::to_string(polarisations),
                  "a divisor of the " + std::to_string(inputs) + " inputs");
    description_.antennas = inputs / polarisations;
    if (samples.extent(2) > 1 && samples.stride(2) != 1)
      throw Error(ErrorKind::config, "voltages",
                  "a stride of " + std::to_string(samples.stride(2)) + " along time", "1");
  }
  core::RawLayout layout(std::size_t samples) const override {
    return layout_of("FAPT", description_, samples);
  }
  std::size_t block_bytes(std::size_t samples) const override {
    return samples_.extent(0) * samples_.extent(1) * samples * sample_bytes();
  }
  std::uint64_t total_samples() const override { return samples_.extent(2); }
  void seek(std::uint64_t first_sample) override {
    next_ = std::min<std::uint64_t>(first_sample, samples_.extent(2));
  }
  std::size_t read(std::size_t samples, core::RawBlock& block) override {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(samples, samples_.extent(2) - next_));
    begin(block, samples, next_);  // a short last block keeps the layout of a full one
    const std::size_t inputs = samples_.extent(1), row = samples * sample_bytes();
    for (std::size_t c = 0; c < samples_.extent(0) && count > 0; ++c) {
      std::byte* to = block.bytes.data() + c * inputs * row;
      const auto from = [&](std::size_t input) {
        return element(samples_.data(),
                       static_cast<std::ptrdiff_t>(c) * samples_.stride(0) +
                           static_cast<std::ptrdiff_t>(input) * samples_.stride(1) +
                           static_cast<std::ptrdiff_t>(next_),
                       sample_bytes());
      };
      if (copy_)
        copy_(to, row, from(0), samples_.stride(1) * static_cast<std::ptrdiff_t>(sample_bytes()),
              count * sample_bytes(), inputs);
      else
        for (std::size_t i = 0; i < inputs; ++i)
          std::memcpy(to + i * row, from(i), count * sample_bytes());
    }
    block.samples = count;
    next_ += count;
    return count;
  }

 private:
  std::size_t sample_bytes() const { return core::bytes_of(samples_.type()); }

  core::SampleView<3> samples_;
  CopyRows copy_;
  std::uint64_t next_ = 0;
};

// Two's complement to unsigned integers of which half the range stands for 0.
template <class T>
void flip_signs(std::span<std::byte> samples) {
  for (std::size_t at = 0; at < samples.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, samples.data() + at, sizeof value);
    value = static_cast<T>(value ^ (T{1} << (8 * sizeof(T) - 1)));
    std::memcpy(samples.data() + at, &value, sizeof value);
  }
}

class MemoryFilterbank final : public FilterbankReader {
 public:
  MemoryFilterbank(const core::SampleView<2>& samples, FilterbankDescription description,
                   CopyRows copy)
      : samples_(samples), copy_(std::move(copy)) {
    if (copy_) require_dense_rows(samples, "filterbank");
    description_ = std::move(description);
    const SampleType type = samples.type();
    FilterbankDescription& d = description_;
    d.is_signed = type == SampleType::i8 || type == SampleType::i16;
    if (type == SampleType::u8 || type == SampleType::i8)
      d.delivered = Delivered::u8;
    else if (type == SampleType::u16 || type == SampleType::i16)
      d.delivered = Delivered::u16;
    else if (type == SampleType::f32)
      d.delivered = Delivered::f32;
    else
      samples.refuse("filterbank", "one of u8 i8 u16 i16 f32");
    d.bits = static_cast<int>(8 * core::bytes_of(type));
    d.zero_level = d.is_signed && !copy_ ? 1U << (d.bits - 1) : 0;
    d.channels = samples.extent(1);
    d.samples = samples.extent(0);
    d.summed_ifs = {0};
    if (d.channels == 0 || d.channel_mhz.size() != d.channels)
      throw Error(ErrorKind::config, "frequencies", std::to_string(d.channel_mhz.size()),
                  std::to_string(d.channels) + ", one for each channel");
    d.fch1_mhz = d.channel_mhz.front();
    d.foff_mhz = d.channels == 1
                     ? 0
                     : (d.channel_mhz.back() - d.fch1_mhz) / static_cast<double>(d.channels - 1);
    d.evenly_spaced = true;
    for (std::size_t c = 0; c < d.channels; ++c)
      if (std::abs(d.channel_mhz[c] - d.fch1_mhz - static_cast<double>(c) * d.foff_mhz) >
          1e-9 * std::abs(d.fch1_mhz))
        d.evenly_spaced = false;
    d.tstart_mjd = core::modified_julian_date(d.start);
    if (d.samples > 0) segments_.push_back({0, d.samples, d.start, 0});
    if (type == SampleType::u8 || type == SampleType::u16) find_bits();
  }
  std::size_t read(std::uint64_t first_sample, std::size_t count,
                   std::span<std::byte> to) override {
    first_sample = std::min<std::uint64_t>(first_sample, samples_.extent(0));
    count = limit_to(count, samples_.extent(0) - first_sample, to);
    copy_memory_rows(samples_, first_sample, count, to.data(), copy_);
    if (copy_) return count;
    const auto written = to.first(count * description_.sample_bytes());
    if (samples_.type() == SampleType::i8) flip_signs<std::uint8_t>(written);
    if (samples_.type() == SampleType::i16) flip_signs<std::uint16_t>(written);
    return count;
  }

 private:
  // Values of one or two bits repeat more often than those of a whole byte: what is empty depends on it.
  void find_bits() {
    if (copy_) return;
    std::vector<std::byte> rows(description_.sample_bytes() * 64);
    std::uint32_t most = 0;
    for (std::uint64_t done = 0; done < description_.samples && most <= 3;) {
      const std::size_t count = read(done, 64, rows);
      done += count;
      with_samples(description_.delivered, rows.data(), [&](const auto* values) {
        for (std::size_t k = 0; k < count * description_.channels; ++k)
          most = std::max(most, static_cast<std::uint32_t>(values[k]));
      });
    }
    if (most <= 3) description_.bits = most <= 1 ? 1 : 2;
  }

  core::SampleView<2> samples_;
  CopyRows copy_;
};

}  // namespace

std::unique_ptr<CountReader> open_memory_counts(const core::SampleView<2>& counts,
                                                CountDescription description, CopyRows copy) {
  return std::make_unique<MemoryCounts>(counts, std::move(description), std::move(copy));
}

std::unique_ptr<VoltageReader> open_memory_voltages(const core::SampleView<3>& samples,
                                                    core::VoltageDescription description,
                                                    CopyRows copy) {
  return std::make_unique<MemoryVoltages>(samples, std::move(description), std::move(copy));
}

std::unique_ptr<FilterbankReader> open_memory_filterbank(const core::SampleView<2>& samples,
                                                         FilterbankDescription description,
                                                         CopyRows copy) {
  return std::make_unique<MemoryFilterbank>(samples, std::move(description), std::move(copy));
}

}  // namespace tautline::formats
