#include "tautline/formats/strided_source.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace tautline::formats {

namespace {

// Moves `bytes` towards the front by `shift` bits, 1 to 7: rows of a file need not begin on a byte,
// rows of a block do.
void shift_down(std::span<std::byte> bytes, unsigned shift) {
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    const auto low = std::to_integer<unsigned>(bytes[k]) >> shift;
    const unsigned high =
        k + 1 < bytes.size() ? std::to_integer<unsigned>(bytes[k + 1]) << (8 - shift) : 0u;
    bytes[k] = static_cast<std::byte>((low | high) & 0xffu);
  }
}

class StridedReader final : public VoltageReader {
 public:
  using AtEnd = std::function<void(std::uint64_t data_bytes, Damage&)>;

  StridedReader(InputFile file, core::VoltageDescription description, std::vector<SampleAxis> axes,
                StridedShape shape, Damage damage, RecordMask mask, AtEnd at_end = {},
                BytesBehind behind = {})
      : file_(std::move(file)),
        axes_(std::move(axes)),
        shape_(shape),
        mask_(std::move(mask)),
        at_end_(std::move(at_end)),
        behind_(std::move(behind)) {
    description_ = std::move(description);
    damage_ = std::move(damage);
    if (shape_.outer_rows == 1) file_.sequential();
  }

  core::RawLayout layout(std::size_t samples) const override {
    return layout_of(axes_, description_.format, samples);
  }
  std::size_t block_bytes(std::size_t samples) const override {
    return shape_.block_bytes(samples);
  }
  std::uint64_t total_samples() const override { return shape_.times; }
  void seek(std::uint64_t first_sample) override {
    next_ = std::min(first_sample, shape_.times);
    file_.forget(offset_of_next());
  }

  std::size_t read(std::size_t samples, core::RawBlock& block) override {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(samples, shape_.times - next_));
    begin(block, samples, next_);  // a short last block keeps the layout of a full one
    if (count == 0) return 0;
    const std::size_t stride_bytes = shape_.row_stride_bits(samples) / 8;
    got_.assign(shape_.outer_rows, count);
    bool whole = true;
    for (std::size_t row = 0; row < shape_.outer_rows; ++row) {
      got_[row] =
          read_row(row, count, std::span(block.bytes).subspan(row * stride_bytes, stride_bytes));
      whole = whole && got_[row] == count;
    }
    if (file_.in_order()) {
      look_behind(count);
      return take_what_came(block);
    }
    block.samples = count;
    damage_.lost_samples += mask_.mark(block);
    if (!whole) mark_lost(count, stride_bytes * 8, block);
    next_ += count;
    if (shape_.outer_rows == 1)
      file_.will_need(shape_.data_offset_bytes + next_ * shape_.inner_bits / 8,
                      shape_.block_bytes(samples));
    return count;
  }

 private:
  std::uint64_t offset_of_next() const {
    return shape_.data_offset_bytes + next_ * shape_.inner_bits / 8;
  }

  // Where the promised samples end among the next `count` times.
  void look_behind(std::size_t count) {
    if (!behind_.look) return;
    const std::uint64_t end = shape_.data_offset_bytes + behind_.data_bytes;
    if (end < offset_of_next() || end - offset_of_next() >= count * shape_.inner_bits / 8) return;
    std::vector<std::byte> bytes(behind_.most_bytes);
    bytes.resize(file_.read(end, bytes));
    behind_.look(bytes);
  }

  std::size_t take_what_came(core::RawBlock& block) {
    const std::size_t count = got_.front();
    block.samples = count;
    next_ += count;
    file_.forget(offset_of_next());
    if (const std::uint64_t size = file_.size();
        size != ForwardBytes::kUnknownSize && next_ < shape_.times) {
      const std::uint64_t data_bytes = size - std::min(size, shape_.data_offset_bytes);
      if (next_ == data_bytes * 8 / shape_.inner_bits) {
        shape_.times = next_;
        at_end_(data_bytes, damage_);
      }
    }
    return count;
  }

  // Reads times [next_, next_ + count) of one outer row to the front of `out`; returns how many of
  // them the file still holds.
  std::size_t read_row(std::size_t row, std::size_t count, std::span<std::byte> out) {
    const std::uint64_t first_bit =
        (static_cast<std::uint64_t>(row) * shape_.times + next_) * shape_.inner_bits;
    const auto shift = static_cast<unsigned>(first_bit % 8);
    const std::uint64_t bits = static_cast<std::uint64_t>(count) * shape_.inner_bits;
    const auto bytes = static_cast<std::size_t>((shift + bits + 7) / 8);
    const std::uint64_t offset = shape_.data_offset_bytes + first_bit / 8;
    std::span<std::byte> target = out.first(std::min(bytes, out.size()));
    if (bytes > out.size()) {  // the shift needs one byte more than the row has room for
      shifted_.resize(bytes);
      target = shifted_;
    }
    const std::size_t got = file_.read(offset, target);
    std::memset(target.data() + got, 0, target.size() - got);
    if (shift != 0) shift_down(target, shift);
    if (target.data() != out.data()) std::memcpy(out.data(), target.data(), out.size());
    if (got == bytes) return count;
    const std::uint64_t got_bits = static_cast<std::uint64_t>(got) * 8;
    return got_bits <= shift ? 0 : static_cast<std::size_t>((got_bits - shift) / shape_.inner_bits);
  }

  // Names the times that an input lacks in any of its rows; `got` holds what each row has.
  void mark_lost(std::size_t count, std::size_t row_stride_bits, core::RawBlock& block) {
    const core::RawLayout& where = block.layout;
    for (std::size_t a = 0; a < where.antennas; ++a)
      for (std::size_t p = 0; p < where.polarisations; ++p) {
        std::size_t whole = count;
        for (std::size_t c = 0; c < where.channels; ++c) {
          const std::size_t bit = c * where.channel_stride_bits + a * where.antenna_stride_bits +
                                  p * where.polarisation_stride_bits;
          whole = std::min(whole, got_[bit / row_stride_bits]);
        }
        if (whole == count) continue;
        block.invalid.push_back({a * where.polarisations + p, whole, count - whole});
        damage_.lost_samples += count - whole;
      }
    name_once(block.first_sample);
  }

  void name_once(std::uint64_t sample) {
    if (named_) return;
    named_ = true;
    damage_.note(file_.path() + ": samples are missing from time sample " + std::to_string(sample) +
                 " on: the file ends before its axes do; they are marked invalid");
  }

  InputFile file_;
  std::vector<SampleAxis> axes_;
  StridedShape shape_;
  RecordMask mask_;
  AtEnd at_end_;
  BytesBehind behind_;
  std::uint64_t next_ = 0;
  std::vector<std::byte> shifted_;
  std::vector<std::size_t> got_;  // times that each outer row of the last block had
  bool named_ = false;
};

}  // namespace

StridedShape shape_of(const std::vector<SampleAxis>& axes, const core::SampleFormat& format) {
  StridedShape shape;
  shape.inner_bits = static_cast<std::size_t>(format.bits_per_sample());
  bool outer = true;
  for (const SampleAxis& axis : axes) {
    if (axis.letter == 'T') {
      outer = false;
    } else {
      (outer ? shape.outer_rows : shape.inner_bits) *= axis.extent;
    }
  }
  return shape;
}

core::RawLayout layout_of(const std::vector<SampleAxis>& axes, const core::SampleFormat& format,
                          std::size_t samples) {
  core::RawLayout layout;
  layout.format = format;
  std::size_t stride = static_cast<std::size_t>(format.bits_per_sample());
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    switch (axis->letter) {
      case 'F':
        layout.channels = axis->extent, layout.channel_stride_bits = stride;
        break;
      case 'A':
        layout.antennas = axis->extent, layout.antenna_stride_bits = stride;
        break;
      case 'P':
        layout.polarisations = axis->extent, layout.polarisation_stride_bits = stride;
        break;
      default:
        layout.time_stride_bits = stride;
        break;
    }
    stride = axis->letter == 'T' ? (samples * stride + 7) / 8 * 8 : stride * axis->extent;
  }
  return layout;
}

core::RawLayout layout_of(std::string_view order, const core::VoltageDescription& description,
                          std::size_t samples) {
  const core::VoltageDescription& d = description;
  std::vector<SampleAxis> axes;
  for (const char letter : order)
    axes.push_back({letter, letter == 'F'   ? d.channels
                            : letter == 'A' ? d.antennas
                            : letter == 'P' ? d.polarisations
                                            : samples});
  return layout_of(axes, d.format, samples);
}

std::unique_ptr<VoltageReader> open_strided(InputFile file, core::VoltageDescription description,
                                            std::vector<SampleAxis> axes, StridedShape shape,
                                            Damage damage, RecordMask mask) {
  return std::make_unique<StridedReader>(std::move(file), std::move(description), std::move(axes),
                                         shape, std::move(damage), std::move(mask));
}

std::unique_ptr<VoltageReader> open_strided_in_order(
    InputFile file, core::VoltageDescription description, std::vector<SampleAxis> axes,
    StridedShape shape, std::function<void(std::uint64_t data_bytes, Damage&)> at_end,
    BytesBehind behind) {
  const std::uint64_t most_bytes = ForwardBytes::kUnknownSize - shape.data_offset_bytes;
  shape.times = most_bytes * 8 / shape.inner_bits;
  return std::make_unique<StridedReader>(std::move(file), std::move(description), std::move(axes),
                                         shape, Damage{}, RecordMask{}, std::move(at_end),
                                         std::move(behind));
}

}  // namespace tautline::formats
