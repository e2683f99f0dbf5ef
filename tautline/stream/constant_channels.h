// Channels of channelized voltages that never change (docs/design/empty.md).
#pragma once

#include <string>
#include <vector>

#include "tautline/formats/voltage_reader.h"
#include "tautline/stream/constant_channel.h"

namespace tautline::stream {

/// By channel, then by input. Looks at 16 parts of 64 times, spread over the files, which it opens for itself; says
/// nothing of voltages that are not channelized, and of inputs that change too seldom to tell. Throws the readers'
/// core::Error.
std::vector<ConstantChannel> find_constant_channels(const std::vector<std::string>& files,
                                                    const formats::ReaderOptions& options);

}  // namespace tautline::stream
