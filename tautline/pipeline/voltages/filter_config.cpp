#include "tautline/pipeline/voltages/filter_config.h"

namespace tautline::pipeline {

bool is_filtered(const core::VoltageDescription& description, const FilterConfig& filter) {
  return !description.channelized() || filter.fine > 0;
}

std::size_t bank_channels(const core::VoltageDescription& description, const FilterConfig& filter) {
  return description.channelized() ? filter.fine : filter.channels;
}

std::size_t channels_of(const core::VoltageDescription& description, const FilterConfig& filter) {
  return is_filtered(description, filter)
             ? description.channels * bank_channels(description, filter)
             : description.channels;
}

stages::channelize::Output output_of(Requantise requantise) {
  using stages::channelize::Output;
  if (requantise == Requantise::bits8) return Output::corner_turned_ci8;
  return requantise == Requantise::bits4 ? Output::corner_turned_ci4 : Output::corner_turned_float;
}

}  // namespace tautline::pipeline
