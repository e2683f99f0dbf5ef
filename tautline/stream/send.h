// Plays files onto the network as the instruments that recorded them would: several files as several senders of one clock.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/core/fields.h"

namespace tautline::stream {

enum class SendLayout { mwa32t, mwa32t_1byte };

struct SendConfig {
  std::vector<std::string> files;  ///< each is a connection, in this order
  std::string to;                  ///< tcp://HOST:PORT
  SendLayout layout = SendLayout::mwa32t;
  double rate = 1;             ///< times real time; 0: as fast as it is taken
  double rate_hz = 1'280'000;  ///< samples (times) a second at rate 1
  std::string impair;          ///< parse_impairment()
  double connect_s = 10;       ///< how long somebody who listens is waited for
};
/// Of `layout`, `to` and those below.
const core::Fields<SendConfig>& fields(const SendConfig&);

struct SendSummary {
  std::uint64_t records = 0, bytes = 0;                   ///< sent
  std::uint64_t lost = 0, duplicated = 0, corrupted = 0;  ///< records, on purpose
  double stream_s = 0, elapsed_s = 0;
  double behind_s = 0;  ///< most by which a piece was sent later than its time
};

/// Told the fraction done, now and then.
using SendProgress = std::function<void(double done)>;

/// Connects all, then sends. Throws core::Error; after a stop Error(io), "interrupted".
SendSummary send_files(const SendConfig& config, const SendProgress& progress = {},
                       std::stop_token stop = {});

}  // namespace tautline::stream
