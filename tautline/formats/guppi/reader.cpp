#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tautline/core/sample_decode.h"
#include "tautline/formats/guppi/block_stream.h"
#include "tautline/formats/guppi/guppi.h"

namespace tautline::formats::guppi {

namespace {

Cards first_cards(const InputFile& file) {
  auto cards = Cards::read(file, 0);
  if (!cards)
    throw format_error(file.path(), "header at byte 0", "no cards up to END",
                       "cards of 80 characters as in GUPPI RAW", "check that the file is whole");
  return *cards;
}

// Two parts of 4 bits to a byte: the file has re in the high half, blocks have it in the low one.
void swap_halves(std::span<std::byte> bytes) {
  for (std::byte& b : bytes) b = b << 4 | b >> 4;
}

class Reader : public VoltageReader {
 public:
  explicit Reader(const std::string& path)
      : file_(path),
        first_(first_cards(file_)),
        geometry_(read_geometry(first_)),
        unit_(find_packet_unit(file_, first_, geometry_)),
        blocks_(file_, first_, geometry_, unit_, damage_) {
    description_ = describe(first_, geometry_, unit_);
    file_.sequential();
    current_ = blocks_.next();
    if (!current_)
      throw first_.error("BLOCSIZE", std::to_string(geometry_.data_bytes),
                         "whole samples in the file's " + std::to_string(file_.size()) + " bytes");
  }

  core::RawLayout layout(std::size_t samples) const override {
    const auto sample = static_cast<std::size_t>(description_.format.bits_per_sample());
    core::RawLayout l;
    l.format = description_.format;
    l.channels = geometry_.channels;
    l.antennas = geometry_.antennas;
    l.polarisations = geometry_.polarisations;
    l.polarisation_stride_bits = sample;
    l.time_stride_bits = sample * l.polarisations;
    l.channel_stride_bits = samples * l.time_stride_bits;
    l.antenna_stride_bits = l.channels * l.channel_stride_bits;
    return l;
  }

  std::size_t block_bytes(std::size_t samples) const override {
    return samples * geometry_.rows() * time_bytes();
  }

  std::uint64_t total_samples() const override { return blocks_.estimate_end(); }

  void seek(std::uint64_t first_sample) override {
    position_ = first_sample;
    while (current_ && current_->position + current_->samples <= position_) {
      damage_ = {};  // what is skipped is no damage to what will be read
      current_ = blocks_.next();
    }
  }

  std::size_t read(std::size_t samples, core::RawBlock& block) override {
    begin(block, samples, position_);
    while (block.samples < samples && current_) {
      if (current_->position + current_->samples <= position_) {
        current_ = blocks_.next();
        continue;
      }
      const std::uint64_t wanted = samples - block.samples;
      if (current_->position > position_) {
        mark_lost(std::min(wanted, current_->position - position_), block);
        continue;
      }
      const std::uint64_t within = position_ - current_->position;
      copy(within, static_cast<std::size_t>(std::min(wanted, current_->samples - within)), block);
    }
    return block.samples;
  }

 private:
  std::size_t time_bytes() const {
    return geometry_.polarisations *
           static_cast<std::size_t>(description_.format.bits_per_sample()) / 8;
  }

  void mark_lost(std::uint64_t count, core::RawBlock& block) {
    const auto samples = static_cast<std::size_t>(count);
    block.invalid.push_back({core::InvalidSpan::kAllInputs, block.samples, samples});
    damage_.lost_samples += count * description_.inputs();
    if (noted_gap_before_ != current_->data_offset) {
      noted_gap_before_ = current_->data_offset;
      damage_.note(
          fmt::format("{}: PKTIDX of the block at byte {}: sample {}, expected {}; the {} "
                      "samples between are marked invalid",
                      file_.path(), current_->data_offset, current_->position, position_,
                      current_->position - position_));
    }
    block.samples += samples;
    position_ += count;
  }

  void copy(std::uint64_t within, std::size_t count, core::RawBlock& block) {
    const std::size_t row_stride = block.layout.channel_stride_bits / 8;
    for (std::size_t row = 0; row < geometry_.rows(); ++row) {
      const std::span out(block.bytes.data() + row * row_stride + block.samples * time_bytes(),
                          count * time_bytes());
      read_row(current_->data_offset + row * geometry_.row_bytes(), within, out);
    }
    block.samples += count;
    position_ += count;
  }

  // Fills `out` with the times of one row from time `within` on.
  void read_row(std::uint64_t row_offset, std::uint64_t within, std::span<std::byte> out) {
    if (geometry_.bits == 2) return read_row_of_2_bits(row_offset, within, out);
    read_exactly(row_offset + within * geometry_.time_bits() / 8, out);
    if (geometry_.bits == 4) swap_halves(out);
  }

  void read_row_of_2_bits(std::uint64_t row_offset, std::uint64_t within,
                          std::span<std::byte> out) {
    constexpr std::size_t kBits = 2;
    const std::uint64_t first_bit = within * geometry_.time_bits();
    const auto skipped = static_cast<std::size_t>(first_bit % 8);
    packed_.resize((skipped + out.size() * kBits + 7) / 8);
    read_exactly(row_offset + first_bit / 8, packed_);
    for (std::size_t k = 0; k < out.size(); ++k) {
      const std::size_t bit = skipped + k * kBits;
      const auto code = std::to_integer<unsigned>(packed_[bit / 8] >> (bit % 8));
      out[k] = static_cast<std::byte>(
          core::decode_code(code, static_cast<int>(kBits), core::Encoding::offset_binary));
    }
  }

  void read_exactly(std::uint64_t offset, std::span<std::byte> out) {
    if (file_.read(offset, out) < out.size())
      throw core::Error(core::ErrorKind::io,
                        file_.path() + ": data at byte " + std::to_string(offset),
                        "the file was cut while it was read", "", "run again when it is whole");
  }

  InputFile file_;
  Cards first_;
  Geometry geometry_;
  std::optional<PacketUnit> unit_;
  BlockStream blocks_;
  std::optional<Block> current_;
  std::uint64_t position_ = 0;
  std::uint64_t noted_gap_before_ = 0;  ///< the data of the block that follows the gap noted last
  std::vector<std::byte> packed_;
};

}  // namespace

bool recognise(std::span<const std::byte> first_bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()),
                              first_bytes.size());
  if (text.size() < kCardBytes || text[8] != '=') return false;
  if (name.ends_with(".raw")) return true;
  for (std::size_t card = 0; card + kCardBytes <= text.size(); card += kCardBytes) {
    if (text.substr(card).starts_with("BLOCSIZE=")) return true;
    if (text.substr(card).starts_with("END ")) return false;
  }
  return false;
}

std::unique_ptr<VoltageReader> open(const std::string& path, const ReaderOptions&) {
  return std::make_unique<Reader>(path);
}

}  // namespace tautline::formats::guppi
