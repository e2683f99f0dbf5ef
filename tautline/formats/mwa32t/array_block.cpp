#include "tautline/formats/mwa32t/array_block.h"

#include <algorithm>
#include <cstring>

#include "tautline/core/threads.h"

namespace tautline::formats::mwa32t {

namespace {

// The low 5 bits of each byte, sign extended.
void widen_two_byte(const std::byte* in, std::byte* out) {
  for (std::size_t k = 0; k < 2 * kInputsPerReceiver; ++k) {
    const unsigned code = std::to_integer<unsigned>(in[k]);
    out[k] = static_cast<std::byte>(((code & 31u) ^ 16u) - 16u);
  }
}

}  // namespace

core::VoltageDescription describe_array(const core::VoltageDescription& assumed,
                                        std::size_t receivers, Mode mode) {
  core::VoltageDescription d = assumed;
  d.format = mode == Mode::one_byte ? core::kCi4 : core::kCi8;
  d.antennas = receivers * kAntennasPerReceiver;
  d.polarisations = kInputsPerReceiver / kAntennasPerReceiver;
  d.channels = 1;
  if (d.rate_hz.numerator <= 0) d.rate_hz = core::make_rational(kDefaultRateHz, 1);
  if (d.centre_hz == 0) d.centre_hz = kDefaultCentreHz;
  d.bandwidth_hz = assumed.bandwidth_hz < 0 ? -d.rate_hz.value() : d.rate_hz.value();
  if (d.telescope.empty()) d.telescope = "MWA-32T";
  if (d.instrument.empty()) d.instrument = kInstrument;
  return d;
}

std::size_t slice_bytes(Mode mode) {
  return kInputsPerReceiver * (mode == Mode::one_byte ? 1 : 2);
}

void place_records(Mode mode, const std::byte* records, std::size_t count,
                   std::span<std::byte> block, std::size_t receivers, std::size_t index,
                   std::size_t start) {
  const std::size_t slice = slice_bytes(mode), time_stride = receivers * slice;
  const std::size_t record = record_bytes(mode);
  const std::byte* in = records + 2;
  std::byte* out = block.data() + start * time_stride + index * slice;
  const auto copy = [&](std::size_t, std::size_t first, std::size_t last) {
    if (mode == Mode::two_byte)
      for (std::size_t t = first; t < last; ++t)
        widen_two_byte(in + t * record, out + t * time_stride);
    else
      for (std::size_t t = first; t < last; ++t)
        std::memcpy(out + t * time_stride, in + t * record, slice);
  };
  constexpr std::size_t kLeastRecords = std::size_t{1} << 14;
  core::in_pieces(count, std::min(core::spare_threads(), count / kLeastRecords), copy);
}

}  // namespace tautline::formats::mwa32t
