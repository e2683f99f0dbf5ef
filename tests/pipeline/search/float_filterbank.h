// A filterbank of 32-bit floats.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/sigproc/writers.h"
#include "tests/support/scratch.h"

namespace tautline::tests {

/// [time][channel], a channel each 4 MHz down from 1,500, a sample each millisecond, replaced where it is there.
inline std::string write_floats(const ScratchFolder& folder, const std::vector<float>& samples,
                                std::size_t channels) {
  formats::sigproc::Header header;
  header.nchans = channels;
  header.nbits = 32;
  header.fch1_mhz = 1500;
  header.foff_mhz = -4;
  header.tsamp_s = 1e-3;
  header.tstart_mjd = 60000;
  formats::sigproc::FilterbankWriter writer(folder / "f.fil", header, true);
  writer.write(std::span<const float>(samples));
  writer.finish();
  return folder / "f.fil";
}

}  // namespace tautline::tests
