#include "tautline/pipeline/photons/live_counts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/npy/header.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;
using core::SampleType;

constexpr std::size_t kSkippedBytes = std::size_t{1} << 20;

// The bytes of a NPY header: the magic, a version, and its length in two bytes or, since version 2, in
// four.
std::vector<std::byte> npy_header(stream::LiveInput& input) {
  constexpr std::size_t kBeforeText = 12;
  const auto first = input.head(kBeforeText);
  if (first.size() < kBeforeText) return first;
  const bool wide = std::to_integer<int>(first[6]) > 1;
  std::size_t length = 0;
  for (std::size_t b = 0; b < (wide ? 4 : 2); ++b)
    length |= std::to_integer<std::size_t>(first[8 + b]) << 8 * b;
  return input.head(std::min(formats::npy::kMaxHeaderBytes, length + (wide ? 12 : 10)));
}

}  // namespace

LiveLayout npy_layout(stream::LiveInput& input, std::optional<SampleType> dtype) {
  const std::string& name = input.name();
  const formats::npy::Header header = formats::npy::parse_header(npy_header(input), name);
  LiveLayout layout{formats::describe_npy(header, name), header.data_offset_bytes, header.shape[0]};
  using enum SampleType;
  const auto types = {u8, u16, u32, f32};
  if (header.type.starts_with('>') ||
      std::find(types.begin(), types.end(), layout.description.type) == types.end())
    throw formats::format_error(name, "type of the elements, descr", header.type,
                                "bool or little-endian u1, u2, u4 or f4 through a pipe",
                                "convert the array, for example with astype('uint16')");
  if (dtype && *dtype != layout.description.type)
    throw Error(ErrorKind::config, "dtype", std::string(core::to_string(*dtype)),
                std::string(core::to_string(layout.description.type)) + ", what the array holds",
                "leave it out: counts that come through a pipe are not converted");
  return layout;
}

LiveCounts::LiveCounts(std::unique_ptr<stream::LiveInput> input, LiveLayout layout)
    : input_(std::move(input)),
      layout_(std::move(layout)),
      row_bytes_(layout_.description.sensors * core::bytes_of(layout_.description.type)),
      to_skip_(layout_.header_bytes) {}

void LiveCounts::skip(std::uint64_t samples) {
  to_skip_ += samples * row_bytes_;
  rows_ = samples;
}

void LiveCounts::skip_bytes(std::chrono::milliseconds wait) {
  block_.resize(std::max(block_.size(), kSkippedBytes));
  const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(to_skip_, kSkippedBytes));
  to_skip_ -= input_->read(std::span(block_).first(some), wait);
}

std::pair<std::span<const std::byte>, std::size_t> LiveCounts::read(
    std::size_t samples, std::chrono::milliseconds wait) {
  if (held_ > given_) std::memmove(block_.data(), block_.data() + given_, held_ - given_);
  held_ -= given_;
  given_ = 0;
  const std::uint64_t stated = layout_.stated_samples.value_or(rows_ + samples);
  samples =
      static_cast<std::size_t>(std::min<std::uint64_t>(samples, stated - std::min(stated, rows_)));
  if (samples == 0 && !ended_) {
    finish();
  } else if (to_skip_ > 0) {
    skip_bytes(wait);
  } else if (!ended_) {
    block_.resize(std::max(block_.size(), samples * row_bytes_));
    held_ += input_->read(std::span(block_).subspan(held_, samples * row_bytes_ - held_), wait);
    std::size_t rows = held_ / row_bytes_;
    if (layout_.description.type == SampleType::f32) drop_bad_floats(rows);
    given_ = rows * row_bytes_;
    rows_ += rows;
  }
  if (!ended_ && input_->ended()) finish();
  return {std::span<const std::byte>(block_).first(given_), given_ / row_bytes_};
}

// Keeps the rows before the first float that is no count; the stream ends there.
void LiveCounts::drop_bad_floats(std::size_t& rows) {
  const std::size_t sensors = layout_.description.sensors;
  const std::size_t good =
      formats::first_bad_float(std::span<const std::byte>(block_).first(rows * row_bytes_));
  if (good == rows * sensors) return;
  damage_.dropped_samples += (rows - good / sensors) * sensors;
  rows = good / sensors;
  damage_.note(input_->name() + ": count at time " + std::to_string(rows_ + rows) + ", sensor " +
               std::to_string(good % sensors) +
               ": NaN, infinite or below zero, expected a count; the stream is left there");
  held_ = rows * row_bytes_;
  ended_ = true;
}

void LiveCounts::finish() {
  ended_ = true;
  const std::string& name = input_->name();
  if (const std::string fault = input_->fault(); !fault.empty()) damage_.note(fault);
  if (input_->given_bytes() < layout_.header_bytes)
    damage_.note(name + ": ended after " + std::to_string(input_->given_bytes()) +
                 " bytes, expected a header of " + std::to_string(layout_.header_bytes));
  if (const std::size_t left = held_ - given_; left > 0) {
    damage_.trailing_bytes += left;
    damage_.note(name + ": last " + core::counted(left, "byte") + ", from byte " +
                 std::to_string(input_->given_bytes() - left) + ", expected whole times of " +
                 core::counted(row_bytes_, "byte") + "; they are left out");
  }
  if (!layout_.stated_samples || rows_ >= *layout_.stated_samples || input_->stopped()) return;
  damage_.lost_samples += (*layout_.stated_samples - rows_) * layout_.description.sensors;
  damage_.note(name + ": cut short: " + core::counted(rows_, "time") + ", expected " +
               std::to_string(*layout_.stated_samples) + " as the header says");
}

}  // namespace tautline::pipeline
