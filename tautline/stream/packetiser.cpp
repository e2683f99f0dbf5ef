#include "tautline/stream/packetiser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/core/sample_decode.h"
#include "tautline/formats/packets/wire_samples.h"

namespace tautline::stream {

namespace {

using formats::packets::AxisName;
using formats::packets::Box;
using formats::packets::Meaning;
using formats::packets::PacketLayout;

formats::packets::BlockShape shape_of(const PacketLayout& layout,
                                      const core::VoltageDescription& d) {
  return {layout.samples(), d.channels, d.antennas, d.polarisations, 0, {}};
}

bool are_coded_alike(const PacketLayout& layout, const core::SampleFormat& format) {
  return layout.sample.verbatim() && layout.sample.placed() == format && format.bits % 8 == 0;
}

// A sample, or the samples of two polarisations, of a size known to the compiler.
inline void copy_short(const std::byte* from, std::byte* to, std::size_t bytes) {
  switch (bytes) {
    case 2:
      std::memcpy(to, from, 2);
      return;
    case 4:
      std::memcpy(to, from, 4);
      return;
    case 8:
      std::memcpy(to, from, 8);
      return;
    default:
      std::memcpy(to, from, bytes);
  }
}

// Errors about the shape of blocks are about the voltages, whose shape they have.
formats::packets::Placement placement_of(const PacketLayout& layout,
                                         const core::VoltageDescription& description) {
  try {
    return {layout, shape_of(layout, description)};
  } catch (const core::Error& error) {
    for (const auto& [several, one] : {std::pair{"channels", "channel"},
                                       {"antennas", "antenna"},
                                       {"polarisations", "polarisation"}})
      if (error.field() == several)
        throw core::Error(core::ErrorKind::config, "layout", layout.name,
                          fmt::format("packets of the {} {} that the voltages have", error.value(),
                                      error.value() == "1" ? one : several),
                          fmt::format("this layout takes {}{}", error.limit(),
                                      error.advice().empty() ? "" : "; " + error.advice()));
    throw;
  }
}

void check_samples(const PacketLayout& layout, const core::SampleFormat& format) {
  const core::SampleFormat sent = layout.sample.placed();
  if (sent.complex != format.complex)
    throw core::Error(core::ErrorKind::config, "layout", layout.name,
                      format.complex ? "one of complex samples, as the file's"
                                     : "one of real samples, as the file's");
  if ((sent.is_float() || format.is_float()) && !are_coded_alike(layout, format))
    throw core::Error(core::ErrorKind::unsupported, "samples", to_string(format),
                      "integers in the file and the packets",
                      "requantise the file, or choose another layout");
}

}  // namespace

Packetiser::Packetiser(const PacketLayout& layout, const core::VoltageDescription& description,
                       std::uint64_t first_count, Send send, const SenderShare& share)
    : layout_(layout),
      description_(description),
      placement_(placement_of(layout, description)),
      first_count_(first_count),
      send_(std::move(send)),
      can_flag_(layout.field(Meaning::invalid) != nullptr),
      parts_(description.format.complex ? 2 : 1),
      copies_(are_coded_alike(layout, description.format)),
      valid_(description.inputs(), layout.samples()),
      payload_(layout.part_bytes()) {
  check_samples(layout_, description_.format);
  take_share(share);
  if (copies_)
    copied_.resize(placement_.block_bytes());
  else
    frame_.resize(layout.samples() * description.channels * description.inputs() * parts_);
}

// All parts of a payload are one sender's.
void Packetiser::take_share(const SenderShare& share) {
  const std::uint64_t payloads = placement_.flows() / layout_.parts;
  if (share.senders < 1 || share.senders > payloads)
    throw core::Error(
        core::ErrorKind::config, "senders", fmt::format("{}", share.senders),
        payloads == 1 ? "1" : fmt::format("1 to {}", payloads),
        fmt::format("packets of {} divide these samples so at each time, by their antenna, channel "
                    "and polarisation",
                    layout_.name));
  if (share.sender >= share.senders)
    throw core::Error(core::ErrorKind::config, "sender", fmt::format("{}", share.sender),
                      fmt::format("below {}", share.senders), "senders count from 0");
  first_flow_ = share.sender * payloads / share.senders * layout_.parts;
  end_flow_ = (share.sender + 1) * payloads / share.senders * layout_.parts;
  const Box &first = placement_.box(first_flow_), &last = placement_.box(end_flow_ - 1);
  first_antenna_ = first.begin(AxisName::antenna);
  end_antenna_ = last.begin(AxisName::antenna) + last.size(AxisName::antenna);
}

double Packetiser::packets_per_s() const {
  return description_.rate_hz.value() / static_cast<double>(layout_.samples()) *
         static_cast<double>(end_flow_ - first_flow_);
}

std::uint64_t Packetiser::sources() const {
  std::uint64_t count = 1;
  for (std::size_t flow = 0; flow < placement_.flows(); ++flow)
    count = std::max(count, placement_.source(flow) + 1);
  return count;
}

void Packetiser::take(const core::RawBlock& block) {
  if (block.first_sample != next_sample_) {
    counters_.trailing_samples += filled_;
    filled_ = 0;
  }
  const std::size_t times = layout_.samples();
  core::ValidityMask block_valid;
  if (!block.invalid.empty()) {
    block_valid = core::ValidityMask(description_.inputs(), block.samples);
    for (const core::InvalidSpan& span : block.invalid) {
      if (span.first_sample >= block.samples) continue;
      const std::size_t samples = std::min(span.samples, block.samples - span.first_sample);
      for (std::size_t i = 0; i < description_.inputs(); ++i)
        if (span.input == i || span.input == core::InvalidSpan::kAllInputs)
          block_valid.set(i, span.first_sample, samples, false);
    }
  }
  for (std::size_t t = 0; t < block.samples; ++t) {
    const std::uint64_t sample = block.first_sample + t;
    if (filled_ == 0 && sample % times != 0) {
      ++counters_.trailing_samples;
      continue;
    }
    if (filled_ == 0) valid_.fill(true);
    if (copies_)
      copy(block, t, filled_);
    else
      decode(block, t, filled_);
    for (std::size_t i = 0; !block.invalid.empty() && i < description_.inputs(); ++i)
      if (!block_valid.valid(i, t)) valid_.set(i, filled_, 1, false);
    if (++filled_ < times) continue;
    send_payloads(sample / times);
    filled_ = 0;
  }
  next_sample_ = block.first_sample + block.samples;
}

void Packetiser::finish() {
  counters_.trailing_samples += filled_;
  filled_ = 0;
}

// Copies one time of a block, of the share's antennas, to one of the frame.
void Packetiser::decode(const core::RawBlock& block, std::size_t sample, std::size_t place) {
  const core::RawLayout& raw = block.layout;
  const auto bits = static_cast<std::size_t>(raw.format.bits);
  const std::size_t time = raw.offset_bits + sample * raw.time_stride_bits;
  for (std::size_t c = 0; c < raw.channels; ++c) {
    int* out = frame_.data() + ((place * raw.channels + c) * raw.antennas + first_antenna_) *
                                   raw.polarisations * parts_;
    for (std::size_t a = first_antenna_; a < end_antenna_; ++a)
      for (std::size_t p = 0; p < raw.polarisations; ++p) {
        const std::size_t at = time + c * raw.channel_stride_bits + a * raw.antenna_stride_bits +
                               p * raw.polarisation_stride_bits;
        for (std::size_t k = 0; k < parts_; ++k)
          *out++ = core::decode_integer(block.bytes.data(), at + k * bits, raw.format);
      }
  }
}

// The same where bytes need no change.
void Packetiser::copy(const core::RawBlock& block, std::size_t sample, std::size_t place) {
  const core::RawLayout &from = block.layout, &to = placement_.block_layout();
  const auto bits = static_cast<std::size_t>(from.format.bits_per_sample());
  const bool together =
      from.polarisation_stride_bits == bits && to.polarisation_stride_bits == bits;
  const std::size_t runs = together ? 1 : from.polarisations;
  const std::size_t bytes = (together ? from.polarisations : 1) * bits / 8;
  const std::byte* const source =
      block.bytes.data() + (from.offset_bits + sample * from.time_stride_bits) / 8;
  std::byte* const target = copied_.data() + place * to.time_stride_bits / 8;
  for (std::size_t a = first_antenna_; a < end_antenna_; ++a)
    for (std::size_t p = 0; p < runs; ++p) {
      const std::byte* in =
          source + (a * from.antenna_stride_bits + p * from.polarisation_stride_bits) / 8;
      std::byte* out = target + (a * to.antenna_stride_bits + p * to.polarisation_stride_bits) / 8;
      for (std::size_t c = 0; c < from.channels; ++c) {
        copy_short(in, out, bytes);
        in += from.channel_stride_bits / 8;
        out += to.channel_stride_bits / 8;
      }
    }
}

bool Packetiser::is_valid(const Box& box) const {
  for (std::size_t a = 0; a < box.size(AxisName::antenna); ++a)
    for (std::size_t p = 0; p < box.size(AxisName::polarisation); ++p) {
      const std::size_t input = (box.begin(AxisName::antenna) + a) * description_.polarisations +
                                box.begin(AxisName::polarisation) + p;
      const std::size_t times = box.size(AxisName::time);
      if (core::count_valid(valid_.row(input), box.begin(AxisName::time), times) != times)
        return false;
    }
  return true;
}

// A packet's components in the order of its axes.
void Packetiser::gather(const Box& box) {
  components_.clear();
  std::size_t samples = 1;
  for (const std::size_t count : box.count) samples *= count;
  for (std::size_t n = 0; n < samples; ++n) {
    std::array<std::size_t, formats::packets::kAxes> at = box.first;
    std::size_t rest = n;
    for (auto axis = layout_.axes.rbegin(); axis != layout_.axes.rend(); ++axis) {
      at[static_cast<std::size_t>(axis->name)] += rest % box.size(axis->name);
      rest /= box.size(axis->name);
    }
    const auto [time, channel, antenna, polarisation] = at;
    const std::size_t input = antenna * description_.polarisations + polarisation;
    const int* sample =
        frame_.data() +
        ((time * description_.channels + channel) * description_.inputs() + input) * parts_;
    components_.insert(components_.end(), sample, sample + parts_);
  }
}

void Packetiser::fill_payload(std::size_t flow) {
  if (copies_) return placement_.take(flow, 0, copied_.data(), payload_.data());
  gather(placement_.box(flow));
  counters_.clipped +=
      formats::packets::integers_to_wire(layout_.sample, components_, payload_.data());
}

void Packetiser::send_payloads(std::uint64_t number) {
  for (std::size_t flow = first_flow_; flow < end_flow_; ++flow) {
    const Box& box = placement_.box(flow);
    const bool valid = is_valid(box);
    if (!valid && !can_flag_) {
      ++counters_.left_out;
      continue;
    }
    fill_payload(flow);
    formats::packets::PacketHeader header = placement_.header(flow);
    header.count = first_count_ + number * layout_.step;
    header.invalid = !valid;
    header.payload = payload_;
    encode(layout_, header, packet_);
    ++counters_.packets;
    counters_.flagged += valid ? 0 : 1;
    send_(packet_, placement_.source(flow));
  }
}

}  // namespace tautline::stream
