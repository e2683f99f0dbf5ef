#include "tautline/pipeline/photons/packet_counts.h"

#include <algorithm>

#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

core::SampleType count_type(const core::SampleFormat& format, const std::string& layout) {
  if (format.is_float() && format.bits == 32) return core::SampleType::f32;
  if (format.encoding == core::Encoding::offset_binary && format.bits == 8)
    return core::SampleType::u8;
  if (format.encoding == core::Encoding::offset_binary && format.bits == 16)
    return core::SampleType::u16;
  throw core::Error(core::ErrorKind::config, "layout", layout, "one of samples u8, u16 or f32");
}

}  // namespace

PacketCounts::PacketCounts(const stream::PacketRowsConfig& config, std::stop_token stop)
    : rows_(config), stopping_(std::move(stop), [this] { own_stop_.request_stop(); }) {
  description_ = {.format = "packets",
                  .type = count_type(rows_.format(), config.layout),
                  .sensors = config.channels};
}

std::pair<std::span<const std::byte>, std::size_t> PacketCounts::read(
    std::size_t samples, std::chrono::milliseconds wait) {
  lost_.clear();
  runs_.clear();
  if (ended_) return {};
  const bool more = rows_.wait(wait, own_stop_.get_token());
  const bool skips = to_skip_ > 0;
  const auto wanted =
      skips ? static_cast<std::size_t>(std::min<std::uint64_t>(to_skip_, samples)) : samples;
  block_.resize(samples * rows_.row_bytes());
  const std::size_t got = rows_.take(wanted, block_, runs_);
  row_ += got;
  ended_ = !more && got == 0;
  if (ended_ || !runs_.empty()) {
    damage_ = rows_.damage();
    damage_.lost_samples = rows_.lost_values();
    damage_.dropped_samples *= description_.sensors;
  }
  if (skips) {
    to_skip_ -= got;
    return {};
  }
  for (const stream::LostRun& run : runs_)
    lost_.push_back({run.first - (row_ - got), run.end - (row_ - got)});
  join_ranges(lost_);
  return {std::span<const std::byte>(block_).first(got * rows_.row_bytes()), got};
}

}  // namespace tautline::pipeline
