// VDIF files: frames of one thread each, in any order of threads within a frame number.
//
// An input is one thread of one station, in ascending order of station and thread, or all threads of a station where
// these are bands. Bands, and frames with several channels, make an already channelized stream: [input][channel].
//
// | buffer of read() | axes                   | type                                 |             |
// | block.bytes      | [input][channel][time] | i8 or ci8 (1 to 8 bits in the file), | overwritten |
// |                  |                        | i16 or ci16 (9 to 16), f32 or cf32   |             |
//
// Values are offset binary as core/sample_decode.h decodes them: 1 bit -1 +1, 2 bits -3 -1 +1 +3,
// otherwise the code minus half its range.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tautline/formats/input_file.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats::vdif {

/// True when the bytes start with two frames' headers that agree, or three behind damaged ones, or the name ends in .vdif.
bool recognise(std::span<const std::byte> first_bytes, const std::string& name);

/// The sample rate is options.assumed.rate_hz if given, else the header's (extended data version 3),
/// else what the frame numbers show where seconds end, else the header's (version 1). VDIF says
/// nothing about frequency: the centre is options.assumed's, the bandwidth what the rate implies,
/// negative when options.assumed's is. Frames that were lost or marked invalid by their writer are
/// invalid spans.
std::unique_ptr<VoltageReader> open(const std::string& path, const ReaderOptions& options);
/// The same, also of bytes that come in order: threads, the rate and the first time are told by the first 4,096 frames
/// and the first two seconds, or by as many of them as can be kept, and later frames of other threads are dropped and
/// counted, as those of a file are.
std::unique_ptr<VoltageReader> open(InputFile file, const ReaderOptions& options);

}  // namespace tautline::formats::vdif
