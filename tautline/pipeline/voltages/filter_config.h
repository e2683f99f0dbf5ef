// How voltages become channels, and the type of the samples behind the filter bank.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tautline/core/field_text.h"
#include "tautline/core/fields.h"
#include "tautline/core/voltage.h"
#include "tautline/core/window.h"
#include "tautline/stages/channelize/channelize.h"

namespace tautline::pipeline {

/// How voltages become channels. A stream that is channelized already keeps its (coarse) channels, and all fields
/// except `output` are ignored, unless `fine` is set: then each coarse channel goes through a filter bank of its own.
struct FilterConfig {
  std::size_t channels = 128;       ///< channels across the band
  std::size_t fine = 0;             ///< channels inside each coarse channel; 0: none
  std::size_t taps = 8;             ///< taps of the polyphase filter
  core::Window window;              ///< window of its prototype
  double cutoff = 1.0;              ///< of the prototype, in channel widths
  std::vector<float> coefficients;  ///< the user's own prototype; empty: designed
  std::size_t oversample_numerator = 1;
  std::size_t oversample_denominator = 1;
  stages::channelize::Output output = stages::channelize::Output::corner_turned_ci8;
  /// Fields that the user set, as "taps": refused when no filter bank is used, and a window beside coefficients.
  std::vector<std::string> named;
};
const core::Fields<FilterConfig>& fields(const FilterConfig&);

/// Whether voltages go through a filter bank, the channels of each bank, and the channels of the stream after it.
bool is_filtered(const core::VoltageDescription& description, const FilterConfig& filter);
std::size_t bank_channels(const core::VoltageDescription& description, const FilterConfig& filter);
std::size_t channels_of(const core::VoltageDescription& description, const FilterConfig& filter);

/// The samples' type between the filter bank and the correlator.
enum class Requantise { off, bits4, bits8 };
core::FieldText<Requantise> requantise_names();
/// The filter bank's corner-turned output in that type.
stages::channelize::Output output_of(Requantise requantise);

}  // namespace tautline::pipeline
