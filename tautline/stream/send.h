// Plays files onto the network as the instruments that recorded them would: files of MWA receivers over TCP, one
// connection each, of one clock; voltages of any format over UDP, in packets of any layout, or over TCP as the MWA's
// receivers send them.
#pragma once

#include <stop_token>

#include "tautline/stream/send_config.h"

namespace tautline::stream {

/// Over TCP connects all, then sends. Throws core::Error; after a stop Error(io), "interrupted".
SendSummary send_files(const SendConfig& config, const SendProgress& progress = {},
                       std::stop_token stop = {});

}  // namespace tautline::stream
