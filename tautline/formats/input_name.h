// The name of an input, wherever a user reads or writes one.
#pragma once

#include <cstddef>
#include <string>

#include "tautline/formats/array_layout.h"

namespace tautline::formats {

/// The antenna's number and the feed, "3x". Antennas' own names stand beside it, where there is room.
inline std::string input_name(const ArrayLayout& array, std::size_t input) {
  const InputLabel& label = array.inputs[input];
  return std::to_string(array.antennas[label.antenna].number) + label.feed;
}

}  // namespace tautline::formats
