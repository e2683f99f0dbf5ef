#include "tautline/stream/packet_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "tautline/core/error.h"

namespace tautline::stream {

namespace {

using formats::packets::PacketLayout;

// A block waits until it is full.
constexpr double kBlock_s = 0.05;

PacketVoltagesConfig config_of(const PacketRowsConfig& config) {
  PacketVoltagesConfig packets;
  packets.network.listen = {parse_endpoint("path", config.listen)};
  packets.network.interface = config.interface;
  packets.network.buffer_bytes = config.buffer_bytes;
  PacketLayout layout = formats::packets::read_layout(config.layout);
  layout.rate_hz = config.rate_hz;
  const double payloads = std::max(
      1.0, std::floor(kBlock_s * config.rate_hz.value() / static_cast<double>(layout.samples())));
  packets.capture.shape.samples = static_cast<std::size_t>(payloads) * layout.samples();
  packets.capture.shape.channels = config.channels;
  packets.capture.window_samples = config.window_samples;
  packets.capture.first_count = config.first_count;
  if (!formats::packets::instant_of(layout, 0)) packets.described.start = config.start;
  packets.capture.layout = std::move(layout);
  packets.wait_s = config.wait_s;
  packets.silence_s = config.silence_s;
  packets.log = config.log;
  return packets;
}

}  // namespace

PacketRows::PacketRows(const PacketRowsConfig& config)
    : voltages_(config_of(config)),
      longest_gap_s_(config.longest_gap_s),
      start_(config.start),
      first_count_(config.first_count) {
  const PacketLayout layout = formats::packets::read_layout(config.layout);
  step_ = layout.step;
  payload_ = layout.samples();
  if (first_count_) start_ = formats::packets::instant_of(layout, *first_count_).value_or(start_);
  const core::VoltageDescription& d = voltages_.description();
  if (d.format.complex || d.inputs() != 1)
    throw core::Error(core::ErrorKind::config, "layout", config.layout,
                      "packets of real samples of one antenna and polarisation",
                      "voltages are received by the node `packets`");
}

std::size_t PacketRows::row_bytes() const {
  const core::VoltageDescription& d = voltages_.description();
  return d.channels * static_cast<std::size_t>(d.format.bits) / 8;
}

bool PacketRows::wait(std::chrono::milliseconds most, const std::stop_token& stop) {
  const auto until = std::chrono::steady_clock::now() + most;
  voltages_.start(stop);
  while (used_ == block_.samples && !ended_) {
    if (!voltages_.all_read()) {
      next_block();
      break;
    }
    if (!voltages_.receive() && voltages_.all_read()) ended_ = true;
    if (std::chrono::steady_clock::now() > until) break;
  }
  if (gap_ > 0 && stop.stop_requested()) end_at({});
  return !ended_;
}

// Rows go on at the place that the packets' count gives; where it went back or far ahead, the stream is over.
void PacketRows::next_block() {
  SegmentPlace segment;
  voltages_.read(voltages_.block_samples(), block_, segment);
  used_ = 0;
  valid_ = voltages_.validity();
  begun_ = true;
  if (!first_count_) {
    first_count_ = voltages_.start_count();
    start_ = segment.start;
  }
  const std::int64_t counts = static_cast<std::int64_t>(voltages_.start_count() - *first_count_);
  const auto payload = static_cast<std::int64_t>(payload_);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / payload / 2;
  const std::int64_t row =
      std::clamp(counts / static_cast<std::int64_t>(step_), -most, most) * payload +
      static_cast<std::int64_t>(block_.first_sample);
  const std::int64_t gap = row - static_cast<std::int64_t>(row_);
  const double gap_s = static_cast<double>(gap) / voltages_.description().rate_hz.value();
  if (gap < 0) {
    end_at(fmt::format("{}: the sender's count went back after {} times; the stream is left there",
                       name(), row_));
  } else if (gap_s > longest_gap_s_) {
    end_at(fmt::format(
        "{}: the sender's count is {:.6g} s ahead after {} times, and gaps of at most {:.6g} s are "
        "filled; the stream is left there{}",
        name(), gap_s, row_, longest_gap_s_,
        row_ == 0 ? ": give the `first_count` of a packet that comes, or none" : ""));
  } else {
    gap_ = static_cast<std::uint64_t>(gap);
  }
}

void PacketRows::end_at(std::string fault) {
  ended_ = true;
  gap_ = 0;
  if (!fault.empty()) dropped_rows_ += block_.samples;
  used_ = block_.samples = 0;
  fault_ = std::move(fault);
}

std::size_t PacketRows::take(std::size_t rows, std::span<std::byte> to,
                             std::vector<LostRun>& lost) {
  const std::size_t channels = voltages_.description().channels;
  const auto none = static_cast<std::size_t>(std::min<std::uint64_t>(gap_, rows));
  if (none > 0) {
    std::memset(to.data(), 0, none * row_bytes());
    lost.push_back({LostRun::kAllChannels, row_, row_ + none});
    lost_values_ += none * channels;
    gap_ -= none;
    row_ += none;
  }
  const std::size_t got = std::min(rows - none, block_.samples - used_);
  copy_rows(got, to.data() + none * row_bytes());
  for (std::size_t c = 0; c < (got > 0 ? valid_.rows() : 0); ++c)
    for (std::size_t t = used_, end = t; t < used_ + got; t = end) {
      const bool valid = valid_.valid(c, t);
      while (end < used_ + got && valid_.valid(c, end) == valid) ++end;
      if (valid) continue;
      lost.push_back({c, row_ + (t - used_), row_ + (end - used_)});
      lost_values_ += end - t;
    }
  used_ += got;
  row_ += got;
  return none + got;
}

void PacketRows::copy_rows(std::size_t rows, std::byte* to) const {
  const core::RawLayout& from = block_.layout;
  const auto bytes = static_cast<std::size_t>(from.format.bits) / 8;
  for (std::size_t t = 0; t < rows; ++t, to += row_bytes()) {
    const std::byte* row =
        block_.bytes.data() + (from.offset_bits + (used_ + t) * from.time_stride_bits) / 8;
    if (from.channels == 1 || from.channel_stride_bits == 8 * bytes) {
      std::memcpy(to, row, row_bytes());
      continue;
    }
    for (std::size_t c = 0; c < from.channels; ++c)
      std::memcpy(to + c * bytes, row + c * from.channel_stride_bits / 8, bytes);
  }
}

formats::Damage PacketRows::damage() const {
  formats::Damage damage;
  const std::uint64_t channels = voltages_.description().channels;
  damage.lost_samples = (lost_values_ + channels - 1) / channels;
  damage.dropped_samples = dropped_rows_;
  const formats::Damage found = voltages_.damage();
  for (const std::string& text : found.messages) damage.note(text);
  damage.logged = found.logged;
  if (!fault_.empty()) damage.note(fault_);
  if (lost_values_ > 0)
    damage.note(fmt::format("{}: packets did not come, or too late: {} values of {} are missing",
                            name(), lost_values_, row_ * channels));
  return damage;
}

}  // namespace tautline::stream
