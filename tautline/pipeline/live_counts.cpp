#include "tautline/pipeline/live_counts.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

constexpr std::size_t kSkippedBytes = std::size_t{1} << 20;

formats::CountDescription described(const std::string& name, const formats::RawCounts& raw) {
  if (!raw.type)
    throw core::Error(core::ErrorKind::config, name + ": type of the counts", "unknown",
                      "u8, u16, u32 or f32, which raw counts cannot say", "give --dtype");
  if (raw.sensors == 0)
    throw core::Error(core::ErrorKind::config, name + ": number of sensors", "unknown",
                      "1 or more, which raw counts cannot say", "give --sensors or --shape");
  return {.format = "raw", .type = *raw.type, .sensors = raw.sensors};
}

}  // namespace

LiveCounts::LiveCounts(std::unique_ptr<stream::LiveInput> input, const formats::RawCounts& raw)
    : input_(std::move(input)),
      description_(described(input_->name(), raw)),
      row_bytes_(description_.sensors * core::bytes_of(description_.type)),
      header_bytes_(raw.header_bytes),
      to_skip_(raw.header_bytes) {}

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
  if (to_skip_ > 0) {
    skip_bytes(wait);
  } else if (!ended_) {
    block_.resize(std::max(block_.size(), samples * row_bytes_));
    held_ += input_->read(std::span(block_).subspan(held_, samples * row_bytes_ - held_), wait);
    std::size_t rows = held_ / row_bytes_;
    if (description_.type == core::CountType::f32) {
      const auto floats = std::span<const std::byte>(block_).first(rows * row_bytes_);
      const std::size_t good = formats::first_bad_float(floats);
      if (good < rows * description_.sensors) {
        rows = good / description_.sensors;
        damage_.note(input_->name() + ": count at time " + std::to_string(rows_ + rows) +
                     ", sensor " + std::to_string(good % description_.sensors) +
                     ": NaN, infinite or below zero, expected a count; the stream is left there");
        damage_.dropped_samples +=
            held_ / row_bytes_ * description_.sensors - rows * description_.sensors;
        held_ = rows * row_bytes_;
        ended_ = true;
      }
    }
    given_ = rows * row_bytes_;
    rows_ += rows;
  }
  if (!ended_ && input_->ended()) finish();
  return {std::span<const std::byte>(block_).first(given_), given_ / row_bytes_};
}

void LiveCounts::finish() {
  ended_ = true;
  if (const std::string fault = input_->fault(); !fault.empty()) damage_.note(fault);
  if (to_skip_ > 0 && input_->given_bytes() < header_bytes_)
    damage_.note(input_->name() + ": ended after " + std::to_string(input_->given_bytes()) +
                 " bytes, expected a header of " + std::to_string(header_bytes_));
  const std::size_t left = held_ - given_;
  if (left == 0) return;
  damage_.trailing_bytes += left;
  damage_.note(input_->name() + ": last " + std::to_string(left) + " bytes, from byte " +
               std::to_string(input_->given_bytes() - left) + ", expected whole times of " +
               std::to_string(row_bytes_) + " bytes; they are left out");
}

}  // namespace tautline::pipeline
