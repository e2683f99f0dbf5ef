// Numbers, units and axes as figures print them.
#pragma once

#include <cstdint>
#include <string>

#include "tautline/formats/figure/figure.h"

namespace tautline::pipeline::plot {

/// "1,234,567".
std::string grouped(std::uint64_t count);
/// "1.235 MHz", "3.2 ms": six digits and a unit that suits.
std::string in_hertz(double hz);
std::string in_seconds(double seconds);
/// The last part of a path.
std::string name_of(const std::string& path);

/// An axis of time from `first_s` on, in the unit that suits its span; `scale` gets that unit's seconds.
formats::figure::Axis time_axis(double first_s, double span_s, double& scale);
/// Amplitude and colour ranges are of the data.
formats::figure::Axis axis(std::string label, std::string unit, double low = 0, double high = 1);

/// What a reader must know of averaged cells; empty where nothing was averaged.
std::string averaged_note(std::uint64_t samples_of_cell, std::uint64_t channels_of_cell);

}  // namespace tautline::pipeline::plot
