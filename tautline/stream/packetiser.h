// Voltages to packets, as an instrument with this layout would send them: the inverse of a capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tautline/core/validity.h"
#include "tautline/core/voltage.h"
#include "tautline/formats/packets/placement.h"

namespace tautline::stream {

struct PacketiserCounters {
  std::uint64_t packets = 0;  ///< given to send()
  std::uint64_t flagged = 0;  ///< packets marked invalid, as some of their samples are
  /// Packets not sent: some of their samples are invalid, and the layout cannot mark them.
  std::uint64_t left_out = 0;
  std::uint64_t clipped = 0;           ///< components that did not fit the layout's bits
  std::uint64_t trailing_samples = 0;  ///< times at the end, and around gaps, that fill no payload
};

/// Which of several senders of one array: each sends as many of the packets of a time, or one more or less, in the order
/// of antennas, channels and polarisations.
struct SenderShare {
  std::uint64_t sender = 0, senders = 1;
};

class Packetiser {
 public:
  using Send = std::function<void(std::span<const std::byte> packet, std::uint64_t source)>;

  /// `first_count` is that of the description's first sample. Throws Error(config) for samples or inputs that the
  /// layout cannot carry, and for more senders than packets that differ in antenna, channel or polarisation.
  Packetiser(const formats::packets::PacketLayout& layout,
             const core::VoltageDescription& description, std::uint64_t first_count, Send send,
             const SenderShare& share = {});

  /// Takes blocks in order of time; the counter follows `first_sample`. Times that do not fill a payload wait for the
  /// next block, and are dropped on both sides of a gap.
  void take(const core::RawBlock& block);
  /// After the last block.
  void finish();

  const PacketiserCounters& counters() const { return counters_; }
  /// Packets a second of the share, of all its sources together, at the description's rate.
  double packets_per_s() const;
  /// Number of values of `source`, whatever the share: 1 where the layout does not use it.
  std::uint64_t sources() const;

 private:
  void take_share(const SenderShare& share);
  void decode(const core::RawBlock& block, std::size_t sample, std::size_t place);
  void copy(const core::RawBlock& block, std::size_t sample, std::size_t place);
  void fill_payload(std::size_t flow);
  void send_payloads(std::uint64_t number);
  void gather(const formats::packets::Box& box);
  bool is_valid(const formats::packets::Box& box) const;

  formats::packets::PacketLayout layout_;
  core::VoltageDescription description_;
  formats::packets::Placement placement_;
  std::size_t first_flow_ = 0, end_flow_ = 0;        // of the share
  std::size_t first_antenna_ = 0, end_antenna_ = 0;  // of which it has packets
  std::uint64_t first_count_;
  Send send_;
  bool can_flag_;
  std::size_t parts_;  // components of a sample: 2 of complex ones
  PacketiserCounters counters_;
  bool copies_;                    // the voltages are coded as payloads are: bytes are copied
  std::vector<int> frame_;         // the times of a payload: [time][channel][input][component], or
  std::vector<std::byte> copied_;  // as the placement's blocks have them
  core::ValidityMask valid_;
  std::size_t filled_ = 0;         // times of it that are filled
  std::uint64_t next_sample_ = 0;  // after the last one taken
  std::vector<int> components_;    // of one packet, in its order
  std::vector<std::byte> payload_, packet_;
};

}  // namespace tautline::stream
