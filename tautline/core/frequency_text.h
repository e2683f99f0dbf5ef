// Frequencies as people write them.
#pragma once

#include <string>

#include "tautline/core/field_text.h"

namespace tautline::core {

/// "1.28MHz", "10kHz" or "1.28M" as a plain number of hertz: Hz, kHz, MHz and GHz, of which the Hz may be left out.
/// Decimal digits stay as they are; so does every other text. `exponent`: in units of 10^exponent Hz instead.
std::string in_hertz(const std::string& text, int exponent = 0);

/// The form of a field in hertz, or in megahertz, that takes these units.
FieldText<double> hertz_text(const Limit& limit);
FieldText<double> megahertz_text();

}  // namespace tautline::core
