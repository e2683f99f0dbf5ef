#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "tautline/core/complex_int.h"
#include "tautline/core/error.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/npy/npy.h"

namespace tautline::formats::npy {

namespace {

std::uint64_t array_bytes(const std::string& type, const std::vector<std::uint64_t>& shape) {
  std::uint64_t bytes = element_bytes(type);
  if (bytes == 0)
    throw core::Error(core::ErrorKind::config, "NPY type", type, "a type such as <f4 or |i1");
  for (const std::uint64_t extent : shape) {
    if (extent != 0 && bytes > std::numeric_limits<std::int64_t>::max() / extent)
      throw core::Error(core::ErrorKind::config, "NPY shape", std::to_string(extent),
                        "an array that a file can hold");
    bytes *= extent;
  }
  return bytes;
}

core::SampleFormat checked(const core::SampleFormat& format) {
  if (format == core::kCf32 || format == core::kCi8 || format == core::kCi4) return format;
  throw core::Error(core::ErrorKind::config, "NPY sample format", core::to_string(format),
                    "cf32, ci8 or ci4");
}

}  // namespace

ArrayWriter::ArrayWriter(const std::string& path, const std::string& type,
                         const std::vector<std::uint64_t>& shape, bool overwrite)
    : expected_bytes_(array_bytes(type, shape)), file_(path, overwrite) {
  const std::string header = format_header(type, shape);
  expected_bytes_ += header.size();
  file_.write(header);
}

void ArrayWriter::write(std::span<const std::byte> bytes) {
  file_.write(bytes);
}

void ArrayWriter::finish() {
  if (file_.written_bytes() != expected_bytes_)
    throw core::Error(core::ErrorKind::config, file_.path() + ": bytes written",
                      std::to_string(file_.written_bytes()), std::to_string(expected_bytes_));
  file_.finish();
}

GrowingRows::GrowingRows(const std::string& path, std::size_t rows, std::size_t sample_bytes,
                         std::uint64_t expected_samples, bool overwrite, Header header)
    : rows_(rows), sample_bytes_(sample_bytes), header_(std::move(header)), file_(path, overwrite) {
  // Long enough for any number of samples.
  data_offset_bytes_ = header_(std::numeric_limits<std::uint64_t>::max(), 0).size();
  reserve(expected_samples);
  row_samples_ = expected_samples;
}

void GrowingRows::write(std::size_t count,
                        const std::function<std::span<const std::byte>(std::size_t row)>& row) {
  if (count > row_samples_ - samples_) {
    const std::uint64_t wanted = std::max(samples_ + count, row_samples_ + row_samples_ / 2);
    reserve(wanted);
    space_rows(wanted);
  }
  // One thread: several wait for each other's turn at one file's end (3.4 GB/s for 12, 4.2 for one).
  for (std::size_t k = 0; k < rows_; ++k)
    file_.write_at(data_offset_bytes_ + (k * row_samples_ + samples_) * sample_bytes_, row(k));
  samples_ += count;
}

// Room in the file for rows of `row_samples`.
void GrowingRows::reserve(std::uint64_t row_samples) {
  file_.allocate(data_offset_bytes_ +
                 array_bytes("|V" + std::to_string(sample_bytes_), {rows_, row_samples}));
}

// Puts rows `row_samples` apart: first row first when they come closer and last row first when they
// part, so that none is overwritten before it has moved.
void GrowingRows::space_rows(std::uint64_t row_samples) {
  const bool apart = row_samples > row_samples_;
  for (std::uint64_t k = 1; k < rows_; ++k) {
    const std::uint64_t row = apart ? rows_ - k : k;
    move(data_offset_bytes_ + row * row_samples * sample_bytes_,
         data_offset_bytes_ + row * row_samples_ * sample_bytes_, samples_ * sample_bytes_);
  }
  row_samples_ = row_samples;
}

// Within the file; the two places may overlap.
void GrowingRows::move(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
  std::vector<std::byte> piece;
  for (std::uint64_t done = 0; done < bytes && to != from; done += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min(kPieceBytes, bytes - done)));
    const std::uint64_t at = to < from ? done : bytes - done - piece.size();
    file_.read_at(from + at, piece);
    file_.write_at(to + at, piece);
  }
}

void GrowingRows::finish() {
  space_rows(samples_);
  file_.resize(data_offset_bytes_ + samples_ * sample_bytes_ * rows_);
  const std::string text = header_(samples_, static_cast<std::size_t>(data_offset_bytes_));
  file_.write_at(0, std::as_bytes(std::span(text.data(), text.size())));
  file_.finish();
}

RowsWriter::RowsWriter(const std::string& path, const core::SampleFormat& format,
                       std::size_t channels, std::size_t inputs, std::uint64_t expected_samples,
                       bool overwrite)
    : format_(checked(format)),
      inputs_(inputs),
      rows_(path, channels * inputs, format.is_float() ? 8 : 2, expected_samples, overwrite,
            [channels, inputs, whole = !format.is_float()](std::uint64_t samples,
                                                           std::size_t least_bytes) {
              return whole ? format_header("|i1", {channels, inputs, samples, 2}, least_bytes)
                           : format_header("<c8", {channels, inputs, samples}, least_bytes);
            }) {}

void RowsWriter::write(const void* samples, std::size_t channel_stride_bytes,
                       std::size_t row_stride_bytes, std::size_t count) {
  const auto* in = static_cast<const std::byte*>(samples);
  rows_.write(count, [&](std::size_t k) -> std::span<const std::byte> {
    const std::byte* row = in + k / inputs_ * channel_stride_bytes + k % inputs_ * row_stride_bytes;
    if (format_ != core::kCi4) return {row, count * (format_.is_float() ? 8 : 2)};
    widened_.resize(count * 2);
    for (std::size_t t = 0; t < count; ++t) {
      const core::ci4 value{std::to_integer<std::uint8_t>(row[t])};
      widened_[2 * t] = static_cast<std::byte>(value.re());
      widened_[2 * t + 1] = static_cast<std::byte>(value.im());
    }
    return widened_;
  });
}

}  // namespace tautline::formats::npy
