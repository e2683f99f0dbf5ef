// Which sensors and pairs of an array are correlated: its shape, its mask, sensors added together, and the pairs.
#pragma once

#include <cstddef>
#include <string>

#include "tautline/core/fields.h"

namespace tautline::pipeline {

struct SensorConfig {
  std::size_t rows = 0, columns = 0;          ///< 0: as the file says, or none
  std::string mask_path;                      ///< NPY or text, 0 = bad; empty: all good
  std::size_t bin_rows = 1, bin_columns = 1;  ///< sensors added together
  /// "auto"; "all": every ordered pair; "DX:DY": every sensor a with the sensor DX columns and DY rows further; "A,B"
  /// or "AxB,CxD": these pairs, the earlier one first; else a text file of two sensors a line, a (earlier) and b
  /// (later). Sensors of time tags have their detectors' numbers.
  std::string pairs = "auto";
};
const core::Fields<SensorConfig>& fields(const SensorConfig&);

}  // namespace tautline::pipeline
