// Filterbanks and counts as senders of packets take them: as voltages of real samples, [time][channel], of one input.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "tautline/formats/filterbank_reader.h"
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

/// The samples from `first` to before `end`.
struct SentPart {
  std::uint64_t first = 0, end = 0;
};
/// What start_s and duration_s name of `total` samples; gaps take none. Throws Error(config) where nothing is behind
/// start_s.
SentPart part_to_send(const SendConfig& config, const core::Rational& rate_hz, std::uint64_t total);

/// The place of a filterbank's sample on its grid of times, where gaps take samples.
std::uint64_t place_of(std::span<const formats::DataSegment> segments, std::uint64_t sample);

/// Seconds a bin: `bin_s`, else what the counts say. Throws Error(config) where neither does.
double bin_of_counts(const SendConfig& config, const formats::CountReader& counts);

}  // namespace tautline::stream
