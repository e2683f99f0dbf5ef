// Filterbanks and counts as senders of packets take them: as voltages of real samples, [time][channel], of one input.
#pragma once

#include <cstdint>
#include <memory>

#include "tautline/formats/packets/packet_layout.h"
#include "tautline/stream/send_config.h"
#include "tautline/stream/voltage_stream.h"

namespace tautline::stream {

/// Rows of values, in the type of the packets' samples.
class SentRows : public VoltageStream {
 public:
  /// Values that the packets' samples cannot hold, so far.
  std::uint64_t clipped() const { return clipped_; }

 protected:
  std::uint64_t clipped_ = 0;
};

/// What config.files hold.
enum class SentKind { voltages, filterbank, counts };
/// Told by the first file and, for counts, whose files may say nothing, by `bin_s` or `raw.dtype`.
SentKind kind_to_send(const SendConfig& config);

/// The filterbank or the counts, from start_s on, duration_s long. Throws the readers' errors, and Error(config) where
/// the layout's samples are not u8, u16 or f32 or cannot hold floats.
std::unique_ptr<SentRows> open_rows_to_send(const SendConfig& config, SentKind kind,
                                            const formats::packets::PacketLayout& layout);

/// Seconds a bin: `bin_s`, else what the counts say. Throws Error(config) where neither does.
double bin_of_counts(const SendConfig& config, const formats::CountReader& counts);

}  // namespace tautline::stream
