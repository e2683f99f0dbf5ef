// The capture engine: packets in any order, from anywhere, to blocks of samples and counts of what became of each
// packet.
//
// Each packet is placed straight into the memory of the block that its count says. A block is given on when all of it
// has come, or when packets `window_samples` later than its end have; packets for it that come afterwards are late.
// Nothing here knows of sockets or threads: one thread calls at a time. What several threads share is in shared_capture.h.
//
//   sent = accepted + missing + late + duplicate + invalid,   invalid = early + malformed + foreign
//
// holds at any time for the places of the blocks given on and the packets that came, as long as no packet is damaged on
// its way: of one that is, both its place (missing) and its bytes (malformed) are counted.
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

/// What became of packets.
struct CaptureCounters {
  std::uint64_t accepted = 0;   ///< in a block
  std::uint64_t late = 0;       ///< the first of their place, after its block was given on
  std::uint64_t duplicate = 0;  ///< of a place that another packet had
  std::uint64_t missing = 0;    ///< places of blocks given on, and of gaps, whose packet never came
  std::uint64_t early =
      0;  ///< jumped by more than the window, back or ahead, and were not believed
  std::uint64_t malformed = 0;  ///< are no packets of the layout
  std::uint64_t foreign =
      0;  ///< of antennas, channels, polarisations or sub-arrays that are not wanted, or of no samples
  std::uint64_t reordered = 0;  ///< of the accepted: came after a later one of their flow
  std::uint64_t flagged = 0;    ///< of the accepted: their sender calls them invalid
  std::uint64_t jumps = 0;      ///< that were believed
  std::array<std::uint64_t, formats::packets::kRefusals>
      refused{};  ///< of malformed and foreign: by reason

  std::uint64_t invalid() const { return early + malformed + foreign; }
  std::uint64_t sent() const { return accepted + missing + late + duplicate + invalid(); }
};

struct CaptureConfig {
  formats::packets::PacketLayout layout;
  formats::packets::BlockShape shape;
  /// What decides which packets are late: a multiple of a payload's samples, less than a quarter of the counter's
  /// period. 0: `window_blocks` blocks', or an eighth of the period.
  std::size_t window_samples = 0;
  std::size_t window_blocks = 1;
  /// Packets within a window of each other that make a jump believed (and, at the start, that say where the stream is);
  /// no more than half of those that a window has.
  std::size_t proof = 8;
  std::optional<std::uint64_t>
      first_count;  ///< where the stream starts; none: with the first packets that come
  std::optional<std::uint64_t> sub_array;  ///< whose packets are wanted; none: all
};

/// Which packets of a block came. Valid during BlockStore::commit.
class CapturedBlock {
 public:
  std::uint64_t segment = 0;  ///< counts the parts of the stream between jumps, from 0
  std::uint64_t start_count =
      0;  ///< count of the segment's first sample, without wraps since the first packet
  std::uint64_t first = 0;  ///< the block's first sample since the segment's start
  std::size_t samples = 0;
  std::uint64_t missing = 0;  ///< packets of the block that did not come
  std::uint64_t flagged = 0;  ///< packets whose sender called them invalid

  bool whole() const { return missing == 0 && flagged == 0; }
  /// A row for each [channel][input] (or, with all channels together, for each input): valid where every sample came.
  /// The mask is made anew unless it has that size.
  void validity(bool channels_together, core::ValidityMask& mask) const;
  /// Zeros in the places of packets that did not come, which hold whatever was there before.
  void clear_missing(std::byte* block) const;
  /// The same as validity() of inputs, as raw blocks have it.
  void invalid_spans(std::vector<core::InvalidSpan>& spans) const;

 private:
  friend class Capture;
  bool came(std::size_t payload, std::size_t flow, bool and_valid) const;

  const formats::packets::Placement* placement_ = nullptr;
  std::size_t payload_samples_ = 1;
  const std::uint64_t *come_ = nullptr,
                      *flags_ = nullptr;  // rings of rows of words; flags_ may be null
  std::size_t row_words_ = 0, ring_rows_ = 0, first_row_ = 0;
};

/// Whose memory the packets are placed in.
class BlockStore {
 public:
  virtual ~BlockStore() = default;
  /// Memory of another block, Capture::block_bytes of it, after those begun before. May wait.
  virtual std::byte* begin() = 0;
  /// The block that was begun first is done.
  virtual void commit(const CapturedBlock& block) = 0;
};

/// A packet whose header was read.
struct ReadPacket {
  formats::packets::Refusal refusal = formats::packets::Refusal::none;
  std::optional<std::size_t> flow;  ///< none: not of what is wanted
  formats::packets::PacketHeader header;
};

/// Who copies payloads to blocks later than their packets are placed there.
class PayloadCopier {
 public:
  virtual ~PayloadCopier() = default;
  /// As Placement::place, at the latest with wait().
  virtual void copy(std::size_t flow, std::size_t sample, const std::byte* payload,
                    std::byte* block) = 0;
  /// Until everything was copied.
  virtual void wait() = 0;
};

class Capture {
 public:
  /// Throws Error(config) that names what does not fit the layout.
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
  /// What place() does, in two parts: the header, by any thread at any time, and the packet's place.
  ReadPacket read(std::span<const std::byte> packet, std::uint64_t source) const;
  void book(const ReadPacket& packet);
  /// From now on; null: payloads are copied when they are placed.
  void set_copier(PayloadCopier* copier) { copier_ = copier; }
  /// Gives on what has come, up to the latest packet, when nothing has come for a while; what comes later of that
  /// time is late.
  void flush();
  /// Gives on everything. `end_count`: the count behind the last sample that was sent, to count what is missing at
  /// the end.
  void finish(std::optional<std::uint64_t> end_count = {});

  const CaptureCounters& counters() const { return counters_; }
  /// Whether packets have said where the stream is.
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
  void place_behind(std::int64_t payload, std::size_t flow,
                    const formats::packets::PacketHeader& header);
  void consider(std::size_t flow, const formats::packets::PacketHeader& header);
  void drop_candidates();
  void believe();
  void begin_segment(std::uint64_t count);
  void begin_blocks(std::int64_t until);
  void close_front(std::int64_t end);
  std::uint64_t* row(std::vector<std::uint64_t>& ring, std::int64_t payload);

  CaptureConfig config_;
  formats::packets::Placement placement_;
  BlockStore& store_;
  PayloadCopier* copier_ = nullptr;
  std::size_t payload_samples_, row_words_ = 1, ring_rows_ = 1;
  std::int64_t window_, block_payloads_, history_;  // payloads
  CaptureCounters counters_;

  // Places in time are payloads since the segment's start.
  bool locked_ = false;
  std::uint64_t segment_ = 0, start_count_ = 0;
  std::uint64_t reference_count_ =
      0;                        // as packets have it, of payload head_ - 1 or the segment's start
  std::int64_t reference_ = 0;  // its payload
  std::int64_t head_ = 0;       // one behind the latest that came
  std::int64_t closed_ = 0;     // everything before it was given on
  std::int64_t begun_ = 0;      // one behind the last block's last
  std::deque<Open> open_;
  std::vector<std::int64_t> flow_latest_;
  std::vector<std::uint64_t> come_, flags_;  // [payload % ring_rows_][word]: a bit for each flow
  std::vector<Candidate> candidates_;
  std::vector<std::vector<std::byte>> spare_;  // memory of candidates that are gone
  std::size_t against_ = 0;                    // packets accepted since the first candidate
};

}  // namespace tautline::stream
