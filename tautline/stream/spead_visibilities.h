// Sends visibilities over UDP: each integration is a self-describing heap of SPEAD 64-48.
//
// | item   | name           | axes                 | type |
// | 0x1600 | time           |                      | f64: middle of the integration, seconds since 1970-01-01, UTC |
// | 0x1601 | integration_s  |                      | f64 |
// | 0x1602 | frequency_hz   | [channel]            | f64: of the channels' centres |
// | 0x1603 | inputs         | [baseline][2]        | u32: of V(i, j) = mean of x_i conj(x_j) |
// | 0x1800 | visibilities   | [channel][baseline]  | cf32 |
// | 0x1801 | counts         | [channel][baseline]  | i64: valid samples |
#pragma once

#include <memory>
#include <string>

#include "tautline/formats/visibility_writer.h"
#include "tautline/stream/endpoint.h"

namespace tautline::stream {

struct SpeadVisibilitiesConfig {
  Endpoint to;
  std::string interface = {};       ///< UdpSender's
  std::size_t packet_bytes = 8192;  ///< most bytes of a heap in one packet
  double gbit_per_s = 1;            ///< the fastest rate of packets; 0: unlimited
};

/// At the end receivers get SPEAD's end of the stream. Throws Error(config) or Error(io).
std::unique_ptr<formats::VisibilityWriter> send_visibilities(
    const SpeadVisibilitiesConfig& config, const formats::VisibilityDescription& description);

}  // namespace tautline::stream
