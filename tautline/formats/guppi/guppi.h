// GUPPI RAW files: blocks of channelized voltages, each behind a header of 80-character cards.
//
// A block holds [antenna][channel][time][polarisation], complex. The last OVERLAP times of a block
// are repeated by the next one and dropped. A block's place in time comes from PKTIDX.
//
// | buffer of read() | axes                                   | type                                 |             |
// | block.bytes      | [antenna][channel][time][polarisation] | ci4 (NBITS 4), ci8 (2, 8), ci16 (16) | overwritten |
//
// 8 and 16 bits are two's complement, re first, little-endian. 4 bits are two's complement with re
// in the high half, as rawspec reads them. 2 bits are offset binary from the low end (-3 -1 +1 +3),
// as DSPSR reads them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tautline/formats/input_file.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats::guppi {

/// True when the bytes start with cards that name a block size, or with a card in a file named
/// .raw.
bool recognise(std::span<const std::byte> first_bytes, const std::string& name);

/// The headers say everything; the options are not used.
std::unique_ptr<VoltageReader> open(InputFile file, const ReaderOptions& options);

}  // namespace tautline::formats::guppi
