// The capture engine: places packets, in any order and from any source, into blocks of samples, and counts the fate of
// each packet.
//
// Each packet is copied straight into the block that its count names. A block is committed when all of its packets have
// come, or when packets `window_samples` later than its end have come; packets for it that come afterwards are late.
// The capture knows neither sockets nor threads: one thread calls it at a time. shared_capture.h shares one capture
// among threads.
//
//   sent = accepted + missing + late + duplicate + invalid,   invalid = early + malformed + foreign
//
// holds at any time for the places of the committed blocks and the packets received, as long as no packet is damaged on
// its way: a damaged packet counts twice, its place as missing and its bytes as malformed. So does a packet whose count
// jumps by mistake, which nothing confirms: its place as missing and the packet as early.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "tautline/core/validity.h"
#include "tautline/core/voltage.h"
#include "tautline/formats/packets/placement.h"

namespace tautline::stream {

/// The fate of packets.
struct CaptureCounters {
  std::uint64_t accepted = 0;   ///< placed in a block
  std::uint64_t late = 0;       ///< the first of their place, after its block was committed
  std::uint64_t duplicate = 0;  ///< of a place that another packet had filled
  std::uint64_t missing = 0;  ///< places of committed blocks, and of gaps, whose packet never came
  /// Counts that jump by more than the window, back or ahead, and were not confirmed.
  std::uint64_t early = 0;
  std::uint64_t malformed = 0;  ///< not packets of the layout
  /// Of antennas, channels, polarisations or sub-arrays that are not selected, or without samples.
  std::uint64_t foreign = 0;
  std::uint64_t reordered = 0;  ///< accepted packets that came after a later one of their flow
  std::uint64_t flagged = 0;    ///< accepted packets that their sender marks invalid
  std::uint64_t jumps = 0;      ///< jumps of the count that were confirmed
  /// Malformed and foreign packets, by reason.
  std::array<std::uint64_t, formats::packets::kRefusals> refused{};

  std::uint64_t invalid() const { return early + malformed + foreign; }
  std::uint64_t sent() const { return accepted + missing + late + duplicate + invalid(); }
};

struct CaptureConfig {
  formats::packets::PacketLayout layout;
  formats::packets::BlockShape shape;
  /// A packet that is older than the newest one by more than this is late: a multiple of a payload's samples, less than
  /// a quarter of the counter's period. 0: the length of `window_blocks` blocks, or an eighth of the period.
  std::size_t window_samples = 0;
  std::size_t window_blocks = 1;
  /// Packets within one window that confirm a jump (and, at the start, the position of the stream); at most half of the
  /// packets of a window.
  std::size_t proof = 8;
  /// Where the stream starts; none: with the first packets that come.
  std::optional<std::uint64_t> first_count;
  std::optional<std::uint64_t> sub_array;  ///< whose packets are accepted; none: all
};

/// The packets of a block that came. Valid during BlockStore::commit.
class CapturedBlock {
 public:
  std::uint64_t segment = 0;  ///< number of the stream's part between jumps, from 0
  /// Count of the segment's first sample, without wraps since the first packet.
  std::uint64_t start_count = 0;
  std::uint64_t first = 0;  ///< the block's first sample since the segment's start
  std::size_t samples = 0;
  std::uint64_t missing = 0;  ///< packets of the block that did not come
  std::uint64_t flagged = 0;  ///< packets whose sender called them invalid

  bool whole() const { return missing == 0 && flagged == 0; }
  /// A row for each [channel][input] (or, with all channels together, for each input): valid where every sample came.
  /// The mask is made anew unless it has that size.
  void validity(bool channels_together, core::ValidityMask& mask) const;
  /// Sets the places of missing packets, which hold old data, to zero.
  void clear_missing(std::byte* block) const;
  /// The invalid spans that validity() describes, by input, as raw blocks have them.
  void invalid_spans(std::vector<core::InvalidSpan>& spans) const;

 private:
  friend class Capture;
  bool came(std::size_t payload, std::size_t flow, bool and_valid) const;

  const formats::packets::Placement* placement_ = nullptr;
  std::size_t payload_samples_ = 1;
  // Rings of rows of words; flags_ may be null.
  const std::uint64_t *come_ = nullptr, *flags_ = nullptr;
  std::size_t row_words_ = 0, ring_rows_ = 0, first_row_ = 0;
};

/// The memory that packets are placed in.
class BlockStore {
 public:
  virtual ~BlockStore() = default;
  /// Memory of another block, Capture::block_bytes of it, after those begun before. May wait.
  virtual std::byte* begin() = 0;
  /// The oldest open block is complete.
  virtual void commit(const CapturedBlock& block) = 0;
};

/// A packet whose header was read.
struct ReadPacket {
  formats::packets::Refusal refusal = formats::packets::Refusal::none;
  /// None where the antenna, channel or polarisation is not selected.
  std::optional<std::size_t> flow;
  formats::packets::PacketHeader header;
};

/// Copies payloads to blocks, perhaps later than their packets are booked.
class PayloadCopier {
 public:
  virtual ~PayloadCopier() = default;
  /// Copies as Placement::place does, at the latest in wait().
  virtual void copy(std::size_t flow, std::size_t sample, const std::byte* payload,
                    std::byte* block) = 0;
  /// Returns when every payload is copied.
  virtual void wait() = 0;
};

class Capture {
 public:
  /// Throws Error(config) that names the field that does not fit the layout.
  Capture(const CaptureConfig& config, BlockStore& store);

  const core::RawLayout& block_layout() const { return placement_.block_layout(); }
  std::size_t block_bytes() const { return placement_.block_bytes(); }
  const formats::packets::Placement& placement() const { return placement_; }
  /// Blocks that may be begun and not committed: engine::Stream::open_blocks.
  std::size_t open_blocks() const {
    return static_cast<std::size_t>(window_ / block_payloads_) + 2;
  }
  /// Memory beside the blocks.
  std::size_t bytes() const;

  /// `source` is the number of the connection or port.
  void place(std::span<const std::byte> packet, std::uint64_t source = 0) {
    book(read(packet, source));
  }
  /// The two parts of place(): reading the header, by any thread at any time, and booking the packet's place.
  ReadPacket read(std::span<const std::byte> packet, std::uint64_t source) const;
  void book(const ReadPacket& packet);
  /// Used from now on; null: payloads are copied when they are booked.
  void set_copier(PayloadCopier* copier) { copier_ = copier; }
  /// Commits blocks up to the latest packet, after a silence; packets of that time that come afterwards are late.
  void flush();
  /// Commits all blocks. `end_count`: the count of the sample after the last one sent, so that missing packets at the
  /// end are counted.
  void finish(std::optional<std::uint64_t> end_count = {});

  const CaptureCounters& counters() const { return counters_; }
  /// Whether packets have confirmed the position of the stream.
  bool locked() const { return locked_; }

 private:
  struct Open {
    std::int64_t first;  // payload
    std::byte* memory;
    std::uint64_t come, flagged;
  };
  struct Candidate {
    std::vector<std::byte> packet;
    std::uint64_t count;
    std::size_t flow;
    bool invalid;
  };

  void refuse(formats::packets::Refusal refusal);
  std::int64_t counts_between(std::uint64_t from, std::uint64_t to) const;
  void accept(std::int64_t payload, std::size_t flow, const formats::packets::PacketHeader& header);
  bool note_arrival(std::int64_t payload, std::size_t flow);
  void place_behind(std::int64_t payload, std::size_t flow,
                    const formats::packets::PacketHeader& header);
  void consider(std::size_t flow, const formats::packets::PacketHeader& header);
  void drop_candidates();
  void believe();
  void begin_segment(std::uint64_t count);
  void jump(std::int64_t payloads);
  void begin_blocks(std::int64_t until);
  void close_front(std::int64_t end);
  std::uint64_t* row(std::vector<std::uint64_t>& ring, std::int64_t payload);

  CaptureConfig config_;
  formats::packets::Placement placement_;
  BlockStore& store_;
  PayloadCopier* copier_ = nullptr;
  std::size_t payload_samples_, row_words_ = 1, ring_rows_ = 1;
  std::int64_t window_, block_payloads_, behind_windows_, history_;  // payloads
  CaptureCounters counters_;

  // Places in time are payloads since the segment's start.
  bool locked_ = false;
  std::uint64_t segment_ = 0, start_count_ = 0;
  // The packets' count at payload head_ - 1, or at the segment's start.
  std::uint64_t reference_count_ = 0;
  std::int64_t reference_ = 0;  // the payload of that count
  std::int64_t before_ = 0;     // from the start, or the last jump back, to the segment's start
  std::uint64_t behind_ = 0;    // packets of committed times, less those that were accepted since
  std::int64_t head_ = 0;       // one after the latest payload that came
  std::int64_t closed_ = 0;     // payloads before it are committed
  std::int64_t begun_ = 0;      // one after the last payload of the last open block
  std::deque<Open> open_;
  std::vector<std::int64_t> flow_latest_;
  std::vector<std::uint64_t> come_, flags_;  // [payload % ring_rows_][word]: a bit for each flow
  std::vector<Candidate> candidates_;
  std::vector<std::vector<std::byte>> spare_;  // memory of candidates that were dropped
  std::size_t against_ = 0;                    // packets accepted since the first candidate
};

}  // namespace tautline::stream
