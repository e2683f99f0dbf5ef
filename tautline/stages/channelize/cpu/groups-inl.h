// The base of both CPU kernels: a tile is several groups of kLanes spectra, and requantised
// channels are collected in cache for the times of a whole tile. Included once per instruction set.
//
// Rows of [channel][input][time] are far apart, often by a power of two. Storing 16 or 32 bytes to
// each of a thousand rows costs a TLB entry and a cache line each; the lines map to few cache sets,
// and are evicted before the next group stores the rest of the line.
#if defined(TAUTLINE_CHANNELIZE_GROUPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTLINE_CHANNELIZE_GROUPS_INL_H
#undef TAUTLINE_CHANNELIZE_GROUPS_INL_H
#else
#define TAUTLINE_CHANNELIZE_GROUPS_INL_H
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "tautline/core/validity.h"
#include "tautline/stages/channelize/cpu/kernels.h"
#include "tautline/stages/channelize/cpu/output-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::stages::channelize::HWY_NAMESPACE {

class GroupKernel : public Kernel {
 public:
  explicit GroupKernel(const Bank& bank)
      : channels_(bank.channels),
        staged_(bank.requantised()),
        corner_turned_(bank.config.output != Output::spectra_float),
        value_bytes_(bank.value_bytes()) {}

  std::size_t tile_spectra() const final { return kTile; }
  std::size_t scratch_bytes() const final {
    return staged_ ? staging_bytes() + group_scratch_bytes() : group_scratch_bytes();
  }

  std::uint64_t run(const Tile& tile, std::byte* scratch) const final {
    const Rows out = output_rows(tile);
    const Rows staging{scratch, static_cast<std::ptrdiff_t>(kTile * value_bytes_)};
    std::byte* rest = staged_ ? scratch + staging_bytes() : scratch;
    std::uint64_t clipped = 0;
    for (std::size_t done = 0; done < tile.count;) {
      Tile group = tile;
      const std::size_t place = aligned() ? (tile.index + done) % kLanes : 0;
      group.count = std::min(tile.count - done, kLanes - place);
      group.samples += done * hop_bytes();
      group.first += done;
      group.index += done;
      group.valid = tile.valid >> done & core::low_bits(group.count);
      Rows rows = staged_ ? staging : out;
      rows.first += static_cast<std::ptrdiff_t>(done * value_bytes_);
      clipped += run_group(group, rows, rest);
      done += group.count;
    }
    if (staged_) flush(staging, out, tile);
    if (tile.past_cache) hwy::FlushStream();
    return clipped;
  }

 protected:
  virtual std::uint64_t run_group(const Tile& group, const Rows& rows,
                                  std::byte* scratch) const = 0;
  virtual std::size_t group_scratch_bytes() const = 0;
  virtual std::size_t hop_bytes() const = 0;

 private:
  /// Times of a channel that are stored at once: two cache lines of ci8, one of ci4.
  static constexpr std::size_t kTile = 64;

  std::size_t staging_bytes() const { return channels_ * kTile * value_bytes_; }

  Rows output_rows(const Tile& tile) const {
    if (!corner_turned_) return {};
    const auto row = tile.output->samples.slice(1, tile.input, 1).slice(2, tile.first, 1);
    return {static_cast<std::byte*>(row.data()),
            row.stride(0) * static_cast<std::ptrdiff_t>(value_bytes_)};
  }

  void flush(const Rows& from, const Rows& to, const Tile& tile) const {
    const std::size_t bytes = tile.count * value_bytes_;
    if (tile.past_cache && to.whole_lines() && bytes % 64 == 0) return stream(from, to, bytes);
    for (std::size_t c = 0; c < channels_; ++c) std::memcpy(to.row(c), from.row(c), bytes);
  }

  // Writes whole lines without reading them first.
  void stream(const Rows& from, const Rows& to, std::size_t bytes) const {
    const hn::ScalableTag<std::uint8_t> d;
    for (std::size_t c = 0; c < channels_; ++c) {
      const auto* source = reinterpret_cast<const std::uint8_t*>(from.row(c));
      auto* sink = reinterpret_cast<std::uint8_t*>(to.row(c));
      for (std::size_t n = 0; n < bytes; n += hn::Lanes(d))
        hn::Stream(hn::Load(d, source + n), d, sink + n);
    }
  }

  std::size_t channels_;
  bool staged_;  // kLanes complex floats fill whole lines without staging
  bool corner_turned_;
  std::size_t value_bytes_;
};

}  // namespace tautline::stages::channelize::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
