// Voltages of files to packets over UDP, or to records over TCP, as the instruments of a layout send them.
#pragma once

#include <chrono>
#include <stop_token>
#include <vector>

#include "tautline/stream/endpoint.h"
#include "tautline/stream/send_config.h"

namespace tautline::stream {

SendSummary send_packets(const SendConfig& config, const std::vector<Endpoint>& to,
                         const SendProgress& progress, const std::stop_token& stop);

/// Throws Error(io), "interrupted", after a stop.
void wait_until_due(std::chrono::steady_clock::time_point time, const std::stop_token& stop);

}  // namespace tautline::stream
