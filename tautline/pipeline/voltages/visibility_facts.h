// Names of facts in files of visibilities (VisibilityDescription::extra) that say how the visibilities were made.
#pragma once

namespace tautline::pipeline {

/// Bits of the voltages after rounding.
inline constexpr const char* kRequantisedBits = "requantised_bits";
/// The fringes were rotated after correlation: the means over a channel and an integration are those of the fringes
/// before rotation.
inline constexpr const char* kFringesRotated = "fringes_rotated";
/// How many channels and integrations became one, after correlation and rotation.
inline constexpr const char* kAveragedChannels = "averaged_channels";
inline constexpr const char* kAveragedIntegrations = "averaged_integrations";

}  // namespace tautline::pipeline
