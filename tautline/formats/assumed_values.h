// What the user says of voltages beside what their file says, and what is possible.
#pragma once

#include <string>

#include "tautline/core/voltage.h"

namespace tautline::formats {

/// Throws Error(config) where what the user gave (zero: nothing) cannot be true of the stream that it made:
/// - a centre below 1 MHz whose band reaches below 0 Hz, as of a centre in MHz;
/// - a centre above 10 THz, as of hertz with a unit of megahertz;
/// - a bandwidth that differs from the one that the rate implies by more than 0.1 % or, of channels, whose spacing the
///   user may know better (oversampled ones, every second one), by more than ten times.
void require_possible(const core::VoltageDescription& given,
                      const core::VoltageDescription& stream);

/// "`rate_hz`: 2e6 Hz as given, though the header says 1e6 Hz"; empty where both agree, or one of them is 0.
std::string override_text(const std::string& field, double given_hz, const std::string& teller,
                          double told_hz);

/// What a header's centre should be instead, in units of `unit_hz`, for an error: at most 1 THz, as of hertz that are
/// taken for megahertz, and half of the band or more, as of gigahertz, or 0, which is not known. A
/// bandwidth of 0 is not looked at. Empty where the centre is possible.
std::string expected_centre(double centre_hz, double bandwidth_hz, double unit_hz,
                            const std::string& unit);

}  // namespace tautline::formats
