#include <algorithm>
#include <limits>
#include <string>

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

RowsWriter::RowsWriter(const std::string& path, const core::SampleFormat& format,
                       std::size_t channels, std::size_t inputs, std::uint64_t expected_samples,
                       bool overwrite)
    : format_(checked(format)),
      channels_(channels),
      inputs_(inputs),
      written_bytes_(format.is_float() ? 8 : 2),
      file_(path, overwrite) {
  // Long enough for any number of samples.
  data_offset_bytes_ = header(std::numeric_limits<std::uint64_t>::max()).size();
  reserve(expected_samples);
  row_samples_ = expected_samples;
}

std::string RowsWriter::header(std::uint64_t samples) const {
  const auto length = static_cast<std::size_t>(data_offset_bytes_);
  if (format_.is_float()) return format_header("<c8", {channels_, inputs_, samples}, length);
  return format_header("|i1", {channels_, inputs_, samples, 2}, length);
}

void RowsWriter::write(const void* samples, std::size_t channel_stride_bytes,
                       std::size_t row_stride_bytes, std::size_t count) {
  if (count > row_samples_ - samples_) {
    const std::uint64_t wanted = std::max(samples_ + count, row_samples_ + row_samples_ / 2);
    reserve(wanted);
    space_rows(wanted);
  }
  const auto* in = static_cast<const std::byte*>(samples);
  for (std::size_t c = 0; c < channels_; ++c)
    for (std::size_t i = 0; i < inputs_; ++i) {
      const std::byte* row = in + c * channel_stride_bytes + i * row_stride_bytes;
      std::span<const std::byte> bytes(row, count * written_bytes_);
      if (format_ == core::kCi4) {
        widened_.resize(count * 2);
        for (std::size_t t = 0; t < count; ++t) {
          const core::ci4 value{std::to_integer<std::uint8_t>(row[t])};
          widened_[2 * t] = static_cast<std::byte>(value.re());
          widened_[2 * t + 1] = static_cast<std::byte>(value.im());
        }
        bytes = widened_;
      }
      const std::uint64_t place = (c * inputs_ + i) * row_samples_ + samples_;
      file_.write_at(data_offset_bytes_ + place * written_bytes_, bytes);
    }
  samples_ += count;
}

// Room in the file for rows of `row_samples`.
void RowsWriter::reserve(std::uint64_t row_samples) {
  file_.allocate(data_offset_bytes_ + array_bytes(format_.is_float() ? "<c8" : "<i2",
                                                  {channels_, inputs_, row_samples}));
}

// Puts rows `row_samples` apart: first row first when they come closer and last row first when they
// part, so that none is overwritten before it has moved.
void RowsWriter::space_rows(std::uint64_t row_samples) {
  const std::uint64_t rows = std::uint64_t{channels_} * inputs_;
  const bool apart = row_samples > row_samples_;
  for (std::uint64_t k = 1; k < rows; ++k) {
    const std::uint64_t row = apart ? rows - k : k;
    move(data_offset_bytes_ + row * row_samples * written_bytes_,
         data_offset_bytes_ + row * row_samples_ * written_bytes_, samples_ * written_bytes_);
  }
  row_samples_ = row_samples;
}

// Within the file; the two places may overlap.
void RowsWriter::move(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
  std::vector<std::byte> piece;
  for (std::uint64_t done = 0; done < bytes && to != from; done += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min(kPieceBytes, bytes - done)));
    const std::uint64_t at = to < from ? done : bytes - done - piece.size();
    file_.read_at(from + at, piece);
    file_.write_at(to + at, piece);
  }
}

void RowsWriter::finish() {
  space_rows(samples_);
  file_.resize(data_offset_bytes_ + samples_ * written_bytes_ * channels_ * inputs_);
  const std::string text = header(samples_);
  file_.write_at(0, std::as_bytes(std::span(text.data(), text.size())));
  file_.finish();
}

}  // namespace tautline::formats::npy
