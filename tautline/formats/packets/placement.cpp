#include "tautline/formats/packets/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/packets/wire_samples.h"

namespace tautline::formats::packets {

namespace {

std::size_t& count_of(Box& box, AxisName axis) {
  return box.count[static_cast<std::size_t>(axis)];
}
std::size_t& first_of(Box& box, AxisName axis) {
  return box.first[static_cast<std::size_t>(axis)];
}

// Sizes that are left out are those of a payload; given sizes must be whole payloads, and one
// payload if packets have no index.
void complete(std::size_t& wanted, std::size_t of_payload, bool numbered, const char* field) {
  if (wanted == 0) wanted = of_payload;
  if (!numbered && wanted > of_payload)
    throw core::Error(core::ErrorKind::config, field, fmt::format("{}", wanted),
                      fmt::format("{}: packets do not say which they are of", of_payload),
                      "give the layout a field for it");
  if (wanted % of_payload != 0)
    throw core::Error(core::ErrorKind::config, field, fmt::format("{}", wanted),
                      fmt::format("a multiple of {}, which a packet's payload has", of_payload));
}

template <std::size_t kBytes>
void copy_fixed(const std::byte* from, std::byte* to) {
  std::memcpy(to, from, kBytes);
}

// A copy of a known short length compiles to one or two moves; a copy of another length is a call.
inline void copy_run(const std::byte* from, std::byte* to, std::size_t bytes) {
  switch (bytes) {
    case 1:
      return copy_fixed<1>(from, to);
    case 2:
      return copy_fixed<2>(from, to);
    case 4:
      return copy_fixed<4>(from, to);
    case 8:
      return copy_fixed<8>(from, to);
    case 16:
      return copy_fixed<16>(from, to);
    case 32:
      return copy_fixed<32>(from, to);
    case 64:
      return copy_fixed<64>(from, to);
    default:
      std::memcpy(to, from, bytes);
  }
}

}  // namespace

Placement::Placement(const PacketLayout& layout, BlockShape shape)
    : layout_(layout), shape_(std::move(shape)) {
  const bool numbers_inputs = layout_.field(Meaning::input) != nullptr;
  complete(shape_.samples, layout_.samples(), true, "block_samples");
  complete(shape_.channels, layout_.extent(AxisName::channel),
           layout_.field(Meaning::channel) != nullptr, "channels");
  complete(shape_.antennas, layout_.extent(AxisName::antenna),
           numbers_inputs || layout_.field(Meaning::antenna) != nullptr, "antennas");
  complete(shape_.polarisations, layout_.extent(AxisName::polarisation),
           numbers_inputs || layout_.field(Meaning::polarisation) != nullptr, "polarisations");
  const std::size_t groups = shape_.antennas / layout_.extent(AxisName::antenna);
  if (!shape_.antenna_numbers.empty() && shape_.antenna_numbers.size() != groups)
    throw core::Error(core::ErrorKind::config, "antenna_numbers",
                      fmt::format("{}", shape_.antenna_numbers.size()), fmt::format("{}", groups));
  lay_out_block();
  make_boxes();
  make_loops();
  if (!layout_.sample.verbatim())
    scratch_.resize(placed_bytes(
        layout_.sample,
        layout_.part_bytes() * 8 / static_cast<std::size_t>(layout_.sample.container_bits)));
}

std::size_t Placement::stride_bits(AxisName axis) const {
  switch (axis) {
    case AxisName::time:
      return block_layout_.time_stride_bits;
    case AxisName::channel:
      return block_layout_.channel_stride_bits;
    case AxisName::antenna:
      return block_layout_.antenna_stride_bits;
    case AxisName::polarisation:
      return block_layout_.polarisation_stride_bits;
  }
  return 0;
}

// The axes of a payload from its fastest on, then the axes that it lacks: time slowest of all where it has none.
void Placement::lay_out_block() {
  const core::SampleFormat format = layout_.sample.placed();
  block_layout_ = {.format = format,
                   .channels = shape_.channels,
                   .antennas = shape_.antennas,
                   .polarisations = shape_.polarisations};
  std::vector<AxisName> fastest_first;
  for (auto axis = layout_.axes.rbegin(); axis != layout_.axes.rend(); ++axis)
    fastest_first.push_back(axis->name);
  for (const AxisName axis :
       {AxisName::polarisation, AxisName::channel, AxisName::antenna, AxisName::time})
    if (std::find(fastest_first.begin(), fastest_first.end(), axis) == fastest_first.end())
      fastest_first.push_back(axis);
  auto stride = static_cast<std::size_t>(format.bits_per_sample());
  for (const AxisName axis : fastest_first) {
    switch (axis) {
      case AxisName::time:
        block_layout_.time_stride_bits = stride;
        stride *= shape_.samples;
        break;
      case AxisName::channel:
        block_layout_.channel_stride_bits = stride;
        stride *= shape_.channels;
        break;
      case AxisName::antenna:
        block_layout_.antenna_stride_bits = stride;
        stride *= shape_.antennas;
        break;
      case AxisName::polarisation:
        block_layout_.polarisation_stride_bits = stride;
        stride *= shape_.polarisations;
        break;
    }
  }
  block_bytes_ = (stride + 7) / 8;
}

// The parts of a payload, first to last, for each group of antennas, channels and polarisations.
void Placement::make_boxes() {
  Box whole;
  std::fill(whole.count.begin(), whole.count.end(), 1);
  for (const Axis& axis : layout_.axes) count_of(whole, axis.name) = axis.extent;
  // A part is a range of one axis, and one place of each slower axis.
  std::size_t left = layout_.parts;
  Box part = whole;
  std::vector<std::pair<AxisName, std::size_t>>
      digits;  // slowest first: how many parts along an axis
  for (const Axis& axis : layout_.axes) {
    const std::size_t along = std::min(left, axis.extent);
    if (axis.extent % along != 0 || left % along != 0)
      throw core::Error(core::ErrorKind::config, "packets", fmt::format("{}", layout_.parts),
                        "packets that each hold a range of one axis of the payload");
    count_of(part, axis.name) = axis.extent / along;
    digits.emplace_back(axis.name, along);
    left /= along;
  }
  if (left > 1)
    throw core::Error(core::ErrorKind::config, "packets", fmt::format("{}", layout_.parts),
                      "no more than the payload's samples");
  for (std::size_t a = 0; a < shape_.antennas; a += whole.size(AxisName::antenna))
    for (std::size_t c = 0; c < shape_.channels; c += whole.size(AxisName::channel))
      for (std::size_t p = 0; p < shape_.polarisations; p += whole.size(AxisName::polarisation))
        for (std::size_t n = 0; n < layout_.parts; ++n) {
          Box box = part;
          first_of(box, AxisName::antenna) = a;
          first_of(box, AxisName::channel) = c;
          first_of(box, AxisName::polarisation) = p;
          std::size_t rest = n;
          for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
            first_of(box, digit->first) += rest % digit->second * part.size(digit->first);
            rest /= digit->second;
          }
          boxes_.push_back(box);
        }
}

// Copies of the longest runs that are whole in payload and block, and the loops around them.
void Placement::make_loops() {
  std::size_t run = static_cast<std::size_t>(layout_.sample.placed().bits_per_sample());
  std::size_t payload_stride = run;
  const Box& box = boxes_.front();
  std::vector<Loop> inside_out;  // in bits
  for (auto axis = layout_.axes.rbegin(); axis != layout_.axes.rend(); ++axis) {
    const std::size_t count = box.size(axis->name), stride = stride_bits(axis->name);
    if (count > 1 && inside_out.empty() && stride == run)
      run *= count;
    else if (count > 1 && !inside_out.empty() &&
             stride == inside_out.back().count * inside_out.back().block_bytes &&
             payload_stride == inside_out.back().count * inside_out.back().payload_bytes)
      inside_out.back().count *= count;
    else if (count > 1)
      inside_out.push_back({count, payload_stride, stride});
    payload_stride *= count;
  }
  bool whole_bytes = run % 8 == 0 && layout_.samples() * block_layout_.time_stride_bits % 8 == 0;
  for (Loop& loop : inside_out) {
    whole_bytes = whole_bytes && loop.payload_bytes % 8 == 0 && loop.block_bytes % 8 == 0;
    loop.payload_bytes /= 8;
    loop.block_bytes /= 8;
  }
  for (const Box& flow : boxes_) {
    std::size_t bits = 0;
    for (const AxisName axis :
         {AxisName::time, AxisName::channel, AxisName::antenna, AxisName::polarisation})
      bits += flow.begin(axis) * stride_bits(axis);
    whole_bytes = whole_bytes && bits % 8 == 0;
    bases_.push_back(bits / 8);
  }
  if (!whole_bytes)
    throw core::Error(core::ErrorKind::config, "axes",
                      fmt::format("samples of {} bits", layout_.sample.placed().bits_per_sample()),
                      "axes whose fastest one fills whole bytes");
  run_bytes_ = run / 8;
  loops_.assign(inside_out.rbegin(), inside_out.rend());
}

// Calls copy(byte of the payload, byte of the block) for every run.
template <class Copy>
void Placement::for_runs(Copy copy) const {
  static constexpr Loop kOnce{1, 0, 0};
  const std::size_t n = loops_.size();
  const Loop& outer = n > 2 ? loops_[n - 3] : kOnce;
  const Loop& middle = n > 1 ? loops_[n - 2] : kOnce;
  const Loop& inner = n > 0 ? loops_[n - 1] : kOnce;
  const Loop& outmost = n > 3 ? loops_[n - 4] : kOnce;
  for (std::size_t h = 0; h < outmost.count; ++h)
    for (std::size_t i = 0; i < outer.count; ++i)
      for (std::size_t j = 0; j < middle.count; ++j) {
        std::size_t from =
            h * outmost.payload_bytes + i * outer.payload_bytes + j * middle.payload_bytes;
        std::size_t to = h * outmost.block_bytes + i * outer.block_bytes + j * middle.block_bytes;
        for (std::size_t k = 0; k < inner.count; ++k) {
          copy(from, to);
          from += inner.payload_bytes;
          to += inner.block_bytes;
        }
      }
}

std::optional<std::size_t> Placement::flow(const PacketHeader& header) const {
  std::uint64_t antenna = header.antenna, polarisation = header.polarisation;
  if (layout_.field(Meaning::input) != nullptr) {
    antenna = header.input / shape_.polarisations;
    polarisation = header.input % shape_.polarisations;
  }
  const std::size_t antennas = layout_.extent(AxisName::antenna),
                    channels = layout_.extent(AxisName::channel);
  const std::size_t polarisations = layout_.extent(AxisName::polarisation);
  if (!shape_.antenna_numbers.empty()) {
    const auto& numbers = shape_.antenna_numbers;
    const auto found = std::find(numbers.begin(), numbers.end(), antenna);
    if (found == numbers.end()) return {};
    antenna = static_cast<std::uint64_t>(found - numbers.begin()) * antennas;
  }
  if (antenna >= shape_.antennas || antenna % antennas != 0) return {};
  if (polarisation >= shape_.polarisations || polarisation % polarisations != 0) return {};
  std::uint64_t channel = 0;
  if (layout_.field(Meaning::channel) != nullptr) {
    if (header.channel < shape_.first_channel) return {};
    channel = header.channel - shape_.first_channel;
  }
  if (channel >= shape_.channels || channel % channels != 0) return {};
  if (header.part >= layout_.parts) return {};
  const std::uint64_t channel_groups = shape_.channels / channels;
  const std::uint64_t polarisation_groups = shape_.polarisations / polarisations;
  const std::uint64_t group =
      (antenna / antennas * channel_groups + channel / channels) * polarisation_groups +
      polarisation / polarisations;
  return static_cast<std::size_t>(group * layout_.parts + header.part);
}

PacketHeader Placement::header(std::size_t flow) const {
  const std::size_t part = flow % layout_.parts;
  const Box& box = boxes_[flow - part];
  PacketHeader header;
  header.part = part;
  header.antenna = box.begin(AxisName::antenna);
  header.polarisation = box.begin(AxisName::polarisation);
  header.input = header.antenna * shape_.polarisations + header.polarisation;
  header.channel = box.begin(AxisName::channel) + shape_.first_channel;
  if (!shape_.antenna_numbers.empty())
    header.antenna = shape_.antenna_numbers[header.antenna / layout_.extent(AxisName::antenna)];
  if (const Field* sub_array = layout_.field(Meaning::sub_array))
    header.sub_array = sub_array->value;
  return header;
}

std::uint64_t Placement::source(std::size_t flow) const {
  const PacketHeader fields = header(flow);
  for (const Field& field : layout_.fields) {
    if (!field.from_source) continue;
    std::uint64_t value = 0;
    if (field.meaning == Meaning::antenna) value = fields.antenna;
    if (field.meaning == Meaning::polarisation) value = fields.polarisation;
    if (field.meaning == Meaning::channel) value = fields.channel;
    if (field.meaning == Meaning::input) value = fields.input;
    return (value - static_cast<std::uint64_t>(field.add)) /
           static_cast<std::uint64_t>(field.scale);
  }
  return 0;
}

void Placement::place(std::size_t flow, std::size_t sample, const std::byte* payload,
                      std::byte* block) {
  if (!scratch_.empty()) {
    from_wire(layout_.sample, payload,
              layout_.part_bytes() * 8 / static_cast<std::size_t>(layout_.sample.container_bits),
              scratch_.data());
    payload = scratch_.data();
  }
  std::byte* const base = block + bases_[flow] + sample * block_layout_.time_stride_bits / 8;
  for_runs(
      [&](std::size_t from, std::size_t to) { copy_run(payload + from, base + to, run_bytes_); });
}

void Placement::clear(std::size_t flow, std::size_t sample, std::byte* block) const {
  std::byte* const base = block + bases_[flow] + sample * block_layout_.time_stride_bits / 8;
  for_runs([&](std::size_t, std::size_t to) { std::memset(base + to, 0, run_bytes_); });
}

void Placement::take(std::size_t flow, std::size_t sample, const std::byte* block,
                     std::byte* payload) {
  const std::byte* const base = block + bases_[flow] + sample * block_layout_.time_stride_bits / 8;
  std::byte* const samples = scratch_.empty() ? payload : scratch_.data();
  for_runs(
      [&](std::size_t from, std::size_t to) { copy_run(base + to, samples + from, run_bytes_); });
  if (!scratch_.empty())
    to_wire(layout_.sample, samples,
            layout_.part_bytes() * 8 / static_cast<std::size_t>(layout_.sample.container_bits),
            payload);
}

}  // namespace tautline::formats::packets
