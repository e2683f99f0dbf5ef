#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "tautline/core/sample_decode.h"
#include "tautline/core/threads.h"
#include "tautline/formats/guppi/block_stream.h"
#include "tautline/formats/guppi/guppi.h"
#include "tautline/formats/strided_source.h"

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

using FourCodes = std::array<std::array<std::byte, 4>, 256>;

// The codes of a byte of four, decoded.
constexpr FourCodes four_codes() {
  FourCodes table{};
  for (unsigned byte = 0; byte < 256; ++byte)
    for (unsigned k = 0; k < 4; ++k)
      table[byte][k] = static_cast<std::byte>(
          core::decode_code(byte >> (2 * k) & 3u, 2, core::Encoding::offset_binary));
  return table;
}

// out[k] = code `skipped` + k.
void decode_codes_of_2_bits(std::span<const std::byte> packed, std::size_t skipped,
                            std::span<std::byte> out) {
  static constexpr FourCodes kTable = four_codes();
  const auto codes = [&](std::size_t k) -> const std::array<std::byte, 4>& {
    return kTable[std::to_integer<std::size_t>(packed[(skipped + k) / 4])];
  };
  std::size_t k = 0;
  const auto to_whole_byte = std::min(out.size(), (4 - skipped % 4) % 4);
  for (; k < to_whole_byte; ++k) out[k] = codes(k)[(skipped + k) % 4];
  for (; k + 4 <= out.size(); k += 4) std::memcpy(out.data() + k, codes(k).data(), 4);
  for (; k < out.size(); ++k) out[k] = codes(k)[(skipped + k) % 4];
}

class Reader : public VoltageReader {
 public:
  Reader(InputFile file, const ReaderOptions& options)
      : file_(std::move(file)),
        pieces_(options.decoding_pieces),
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
    return layout_of("AFTP", description_, samples);
  }

  std::size_t block_bytes(std::size_t samples) const override {
    return samples * geometry_.rows() * time_bytes();
  }

  std::uint64_t total_samples() const override { return blocks_.estimate_end(); }

  Damage foreseen_damage() const override {
    Damage damage = damage_;
    try {
      blocks_.foresee(damage);
      blocks_.require_unchanged_until(total_samples());
    } catch (const core::Error& change) {  // of which reading makes an error, where it comes so far
      damage.note(change.what());
    }
    return damage;
  }

  void require_readable(std::uint64_t first_sample, std::uint64_t samples) const override {
    blocks_.require_unchanged_until(first_sample + samples - 1);
  }

  void seek(std::uint64_t first_sample) override {
    position_ = first_sample;
    while (current_ && current_->position + current_->samples <= position_) {
      damage_ = {};  // damage in skipped data is not counted
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

  // Several threads read and decode rows, and pieces of long rows, at the same time.
  void copy(std::uint64_t within, std::size_t count, core::RawBlock& block) {
    constexpr std::size_t kRowPieceBytes = std::size_t{1} << 20;
    const std::size_t row_stride = block.layout.channel_stride_bits / 8;
    const std::size_t times = std::max<std::size_t>(1, kRowPieceBytes / time_bytes());
    const std::size_t cuts = (count + times - 1) / times;  // of a row
    const std::size_t bytes = geometry_.rows() * count * time_bytes();
    core::in_pieces(geometry_.rows() * cuts, pieces_ > 0 ? pieces_ : bytes / kLeastDecodedBytes,
                    [&](std::size_t, std::size_t begin, std::size_t end) {
                      std::vector<std::byte> packed;
                      for (std::size_t item = begin; item < end; ++item) {
                        const std::size_t row = item / cuts, first = item % cuts * times;
                        const std::span out(block.bytes.data() + row * row_stride +
                                                (block.samples + first) * time_bytes(),
                                            std::min(times, count - first) * time_bytes());
                        read_row(current_->data_offset + row * geometry_.row_bytes(),
                                 within + first, out, packed);
                      }
                    });
    block.samples += count;
    position_ += count;
  }

  // Fills `out` with the times of one row from time `within` on. `packed` is scratch memory.
  void read_row(std::uint64_t row_offset, std::uint64_t within, std::span<std::byte> out,
                std::vector<std::byte>& packed) const {
    constexpr std::size_t kCodesPerByte = 4;
    const std::uint64_t first_bit = within * geometry_.time_bits();
    if (geometry_.bits == 2) {
      const auto skipped = static_cast<std::size_t>(first_bit % 8 / 2);
      packed.resize((skipped + out.size() + kCodesPerByte - 1) / kCodesPerByte);
      read_exactly(row_offset + first_bit / 8, packed);
      return decode_codes_of_2_bits(packed, skipped, out);
    }
    read_exactly(row_offset + first_bit / 8, out);
    if (geometry_.bits == 4) swap_halves(out);
  }

  void read_exactly(std::uint64_t offset, std::span<std::byte> out) const {
    if (file_.read(offset, out) < out.size())
      throw core::Error(core::ErrorKind::io,
                        file_.path() + ": data at byte " + std::to_string(offset),
                        "the file was cut while it was read", "", "run again when it is whole");
  }

  InputFile file_;
  std::size_t pieces_;
  Cards first_;
  Geometry geometry_;
  std::optional<PacketUnit> unit_;
  BlockStream blocks_;
  std::optional<FileBlock> current_;
  std::uint64_t position_ = 0;
  std::uint64_t noted_gap_before_ = 0;  ///< the data of the block that follows the gap noted last
};

}  // namespace

bool recognise(std::span<const std::byte> first_bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()),
                              first_bytes.size());
  if (text.size() < kCardBytes || text[8] != '=') return false;
  // Any byte of raw counts may be '='.
  if (text.substr(0, 8).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_- ") != text.npos)
    return false;
  if (name.ends_with(".raw")) return true;
  for (std::size_t card = 0; card + kCardBytes <= text.size(); card += kCardBytes) {
    if (text.substr(card).starts_with("BLOCSIZE=")) return true;
    if (text.substr(card).starts_with("END ")) return false;
  }
  return false;
}

std::unique_ptr<VoltageReader> open(InputFile file, const ReaderOptions& options) {
  return std::make_unique<Reader>(std::move(file), options);
}

}  // namespace tautline::formats::guppi
