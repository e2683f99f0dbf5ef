// A source of raw voltages, or of a filterbank, and of triggers between its blocks, in the order in which a buffer gets
// them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "tautline/engine/node.h"
#include "tautline/pipeline/filterbank_stream.h"
#include "tautline/pipeline/trigger.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::tests {

/// How samples lie in blocks: those of files, of what readers decode, and of packets.
enum class BlockOrder { times, rows, swapped, payloads };

struct BufferStream {
  core::VoltageDescription description;
  BlockOrder order = BlockOrder::times;
  std::size_t block_samples = 100;
  std::uint64_t samples = 1000;
  std::vector<std::byte> bytes;  ///< [time][channel][antenna][polarisation], all of them
  /// Sample -> how many times are left out there: a gap begins another segment.
  std::map<std::uint64_t, std::uint64_t> gaps = {};
  /// Sample -> how many times earlier than it should a segment says that it begins there: a clock that was set back.
  std::map<std::uint64_t, std::uint64_t> set_back = {};
  std::vector<core::InvalidSpan> invalid = {};  ///< counted from sample 0
  /// After which block, by its number, they come.
  std::map<std::size_t, pipeline::Triggers> triggers = {};
  std::function<bool(std::size_t block)> wait_after = {};  ///< called again and again until true
  bool live = false;  ///< goes on until it is stopped, without data
  /// Instead of voltages: then `bytes` are [time][channel] as it is delivered.
  std::optional<formats::FilterbankDescription> filterbank = {};

  std::size_t sample_bits() const {
    return static_cast<std::size_t>(description.format.bits_per_sample());
  }
  std::size_t time_bytes() const {
    if (filterbank) return filterbank->sample_bytes();
    return description.channels * description.inputs() * sample_bits() / 8;
  }
};

inline BufferStream random_buffer_stream(std::mt19937_64& random, std::uint64_t samples) {
  BufferStream stream;
  core::VoltageDescription& d = stream.description;
  d.format = random() % 3 == 0 ? core::kCi4 : random() % 2 == 0 ? core::kCi8 : core::kCi16;
  d.antennas = 1 + random() % 3;
  d.polarisations = 1 + random() % 2;
  d.channels = 1 + random() % 4;
  d.rate_hz = core::make_rational(1000, 1);
  d.start = core::parse_utc("2026-03-20-14:00:00");
  d.centre_hz = 150e6;
  d.bandwidth_hz = 1e3 * static_cast<double>(d.channels);
  stream.order = static_cast<BlockOrder>(random() % 4);
  stream.samples = samples;
  stream.bytes.resize(samples * stream.time_bytes());
  for (std::byte& byte : stream.bytes) byte = static_cast<std::byte>(random());
  return stream;
}

class BufferSource final : public engine::Node {
 public:
  explicit BufferSource(BufferStream stream) : stream_(std::move(stream)) {}

  std::vector<engine::Stream> open(std::span<const engine::Stream>) override {
    const core::VoltageDescription& d = stream_.description;
    engine::Stream voltages{
        .kind = "raw voltages",
        .arrays = {{"bytes",
                    core::SampleType::u8,
                    {"byte"},
                    {stream_.block_samples * stream_.time_bytes() + 8}}},
        .rate_hz = d.rate_hz,
        .start = d.start,
        .total_samples = stream_.live ? 0 : stream_.samples,
        .max_samples = stream_.block_samples,
        .details = pipeline::RawVoltages{d, layout(stream_.block_samples), d.start, {}, {}, {}}};
    if (stream_.filterbank) {
      voltages.kind = "filterbank";
      pipeline::FilterbankStream filterbank;
      filterbank.beams = {*stream_.filterbank};
      filterbank.parts = {{{{0, stream_.samples}, 0}}};
      voltages.details = filterbank;
    }
    return {voltages, pipeline::trigger_stream(voltages)};
  }
  bool live() const override { return stream_.live; }

  bool produce(engine::Outputs& outputs) override {
    if (next_ >= stream_.samples) {
      if (stream_.live && !outputs.stop().stop_requested()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        give_triggers({}, outputs);
        return true;
      }
      return false;
    }
    give_block(outputs);
    if (const auto found = stream_.triggers.find(blocks_); found != stream_.triggers.end())
      give_triggers(found->second, outputs);
    while (stream_.wait_after && !stream_.wait_after(blocks_)) give_triggers({}, outputs);
    ++blocks_;
    return true;
  }

 private:
  core::RawLayout layout(std::size_t samples) const {
    const core::VoltageDescription& d = stream_.description;
    core::RawLayout l;
    l.format = d.format;
    l.channels = d.channels, l.antennas = d.antennas, l.polarisations = d.polarisations;
    const std::size_t bits = stream_.sample_bits(), row = (samples * bits + 7) / 8 * 8;
    if (stream_.order == BlockOrder::times) {
      l.polarisation_stride_bits = bits;
      l.antenna_stride_bits = d.polarisations * bits;
      l.channel_stride_bits = d.inputs() * bits;
      l.time_stride_bits = d.channels * d.inputs() * bits;
    } else if (stream_.order == BlockOrder::rows) {
      l.time_stride_bits = bits;
      l.channel_stride_bits = row;
      l.polarisation_stride_bits = d.channels * row;
      l.antenna_stride_bits = d.polarisations * l.polarisation_stride_bits;
    } else if (stream_.order == BlockOrder::payloads) {
      l.polarisation_stride_bits = bits;
      l.time_stride_bits = d.polarisations * bits;
      l.channel_stride_bits = samples * l.time_stride_bits;
      l.antenna_stride_bits = d.channels * l.channel_stride_bits;
    } else {
      l.channel_stride_bits = bits;
      l.antenna_stride_bits = d.channels * bits;
      l.polarisation_stride_bits = d.antennas * l.antenna_stride_bits;
      l.time_stride_bits = d.channels * d.inputs() * bits;
    }
    return l;
  }

  void give_block(engine::Outputs& outputs) {
    if (const auto gap = stream_.gaps.find(next_); gap != stream_.gaps.end() && gap->second > 0) {
      next_ += gap->second;
      ++segment_;
      segment_first_ = next_;
    }
    if (const auto step = stream_.set_back.find(next_); step != stream_.set_back.end()) {
      back_ += step->second;
      ++segment_;
      segment_first_ = next_;
    }
    std::uint64_t end = std::min(next_ + stream_.block_samples, stream_.samples);
    if (const auto gap = stream_.gaps.upper_bound(next_); gap != stream_.gaps.end())
      end = std::min(end, gap->first);
    engine::Block& block = outputs.begin(0);
    block.samples = static_cast<std::size_t>(end - next_);
    block.segment = segment_;
    block.segment_start =
        core::advance(stream_.description.start, static_cast<std::int64_t>(segment_first_ - back_),
                      stream_.description.rate_hz);
    block.first = next_ - segment_first_;
    if (stream_.filterbank) {
      std::memcpy(block.arrays[0].data, stream_.bytes.data() + next_ * stream_.time_bytes(),
                  block.samples * stream_.time_bytes());
      next_ = end;
      outputs.commit(0);
      return;
    }
    auto& raw = block.payload_of<core::RawBlock>();
    raw.bytes.lend({static_cast<std::byte*>(block.arrays[0].data), block.arrays[0].extents[0]});
    raw.layout = layout(stream_.block_samples);
    raw.samples = block.samples;
    raw.invalid.clear();
    for (const core::InvalidSpan& span : stream_.invalid) {
      const std::uint64_t from = std::max<std::uint64_t>(span.first_sample, next_),
                          to = std::min<std::uint64_t>(span.first_sample + span.samples, end);
      if (from < to)
        raw.invalid.push_back({span.input, static_cast<std::size_t>(from - next_),
                               static_cast<std::size_t>(to - from)});
    }
    fill(raw);
    next_ = end;
    outputs.commit(0);
  }

  void fill(core::RawBlock& raw) const {
    const core::RawLayout& l = raw.layout;
    const std::size_t bits = stream_.sample_bits();
    std::fill(raw.bytes.begin(), raw.bytes.end(), std::byte{0xa5});
    std::size_t from = next_ * stream_.time_bytes() * 8;
    for (std::size_t t = 0; t < raw.samples; ++t)
      for (std::size_t c = 0; c < l.channels; ++c)
        for (std::size_t a = 0; a < l.antennas; ++a)
          for (std::size_t p = 0; p < l.polarisations; ++p, from += bits) {
            const std::size_t to = t * l.time_stride_bits + c * l.channel_stride_bits +
                                   a * l.antenna_stride_bits + p * l.polarisation_stride_bits;
            std::memcpy(raw.bytes.data() + to / 8, stream_.bytes.data() + from / 8, bits / 8);
          }
  }

  void give_triggers(pipeline::Triggers triggers, engine::Outputs& outputs) const {
    engine::Block& block = outputs.begin(1);
    block.segment = 0;
    block.segment_start = stream_.description.start;
    block.first = next_;
    block.samples = 0;
    block.payload_of<pipeline::Triggers>() = std::move(triggers);
    outputs.commit(1);
  }

  BufferStream stream_;
  std::uint64_t next_ = 0, segment_ = 0, segment_first_ = 0, back_ = 0;
  std::size_t blocks_ = 0;
};

}  // namespace tautline::tests
