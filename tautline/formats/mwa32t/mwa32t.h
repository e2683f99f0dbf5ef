// The stream of the MWA's 32-antenna prototype: receivers of 16 inputs with 16-bit sample counters.
//
// A record is one sample time of one receiver: a little-endian 16-bit counter, which goes up by one
// each record and wraps at 65536, then 16 complex samples. Two-byte mode: the low byte's low 5 bits
// are the real part, the high byte's low 5 bits the imaginary part, two's complement. One-byte
// mode: 4 + 4 bits, the real part in the low half.
//
// | buffer of read() | axes           | type                                  |             |
// | block.bytes      | [time][input]  | ci8 (two-byte mode), ci4 (one-byte)   | overwritten |
//
// The counter is the only record of time: the length of a gap is known modulo 65536 samples (51.2 ms at 1.28 MHz), so
// that a longer gap is taken for the remainder, and receivers must start within 32767 samples of each other.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/input_file.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::formats::mwa32t {

inline constexpr std::size_t kAntennasPerReceiver = 8;
inline constexpr std::size_t kInputsPerReceiver = 16;
inline constexpr std::int64_t kDefaultRateHz = 1'280'000;
/// Coarse channel 121 of 1.28 MHz, taken when the options name no centre.
inline constexpr double kDefaultCentreHz = 154.88e6;

/// The instrument in a receiver's description.
inline constexpr const char* kInstrument = "mwa32t";

enum class Mode { detect, two_byte, one_byte };

constexpr std::size_t record_bytes(Mode mode) {
  return 2 + kInputsPerReceiver * (mode == Mode::one_byte ? 1 : 2);
}

/// True when the bytes hold records of either mode, or the name ends in .mwa32t.
bool recognise(std::span<const std::byte> first_bytes, const std::string& name);

/// One receiver: 16 inputs.
std::unique_ptr<VoltageReader> open(const std::string& path, const ReaderOptions& options);
/// The same, also of bytes that come in order.
std::unique_ptr<VoltageReader> open_in_order(InputFile file, const ReaderOptions& options);

/// Receivers of one array, aligned by counter: 16 inputs each, in the order of the paths. The
/// stream starts with the first sample that every receiver has and ends with the last that any has.
std::unique_ptr<VoltageReader> open_receivers(const std::vector<std::string>& paths,
                                              const ReaderOptions& options,
                                              Mode mode = Mode::detect);

}  // namespace tautline::formats::mwa32t
