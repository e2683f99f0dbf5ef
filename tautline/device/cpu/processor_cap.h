// TAUTLINE_CPU, which has the processor taken for a lesser one: a machine then tests what others do.
#pragma once

#include <cstddef>
#include <limits>

#include "tautline/device/device.h"

namespace tautline::device::cpu {

struct ProcessorCap {
  InstructionSet set = InstructionSet::amx;                     ///< the highest that may be used
  std::size_t cores = std::numeric_limits<std::size_t>::max();  ///< most that may be used
};

/// What TAUTLINE_CPU says now: SET or SET:CORES, as "avx2:1". Nothing is capped where it is unset or
/// empty; Error(config) for any other value.
ProcessorCap processor_cap();

/// The cores that this process may use, TAUTLINE_CPU's cap included.
std::size_t cores();

/// Whether oneTBB was used before this process was forked: its threads are the parent's, and one of them may have held a
/// lock, which nobody opens here.
bool is_without_tbb();

}  // namespace tautline::device::cpu
