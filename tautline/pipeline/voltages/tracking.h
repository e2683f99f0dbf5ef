// The direction that a correlation points at, by delayed voltages or rotated fringes.
#pragma once

#include <memory>
#include <string>

#include "tautline/core/time.h"
#include "tautline/core/voltage.h"
#include "tautline/formats/delays/delays.h"
#include "tautline/formats/visibility_writer.h"

namespace tautline::pipeline {

/// The layout of array.toml, or unknown positions, for voltages of this description. Throws core::Error where they do
/// not match.
formats::ArrayLayout array_for(const std::string& array_path,
                               const core::VoltageDescription& description);

struct Tracking {
  std::shared_ptr<const formats::delays::Table> table;  ///< null: unprojected
  bool before_filter = false;  ///< delay the voltages; else rotate the fringes of visibilities
  formats::PhaseCentre centre;
  std::string
      warning;  ///< where delays of voltages leave a large part of an input without data; else empty
};

/// delays_path: a delays.toml, or empty. phase_centre: "NAME=RA_DEG,DEC_DEG", or the name of the table in delays_path,
/// or empty. Throws core::Error when both name different places, when the table lacks the position of its centre or
/// does not cover [start, end], when an input's delay takes all its data out of [start, end], and when the centre is a place and `start` is not known (core::is_known_start). A table
/// keeps the earth orientation that it was made with.
Tracking choose_tracking(const std::string& delays_path, const std::string& phase_centre,
                         const formats::ArrayLayout& array, const core::Instant& start,
                         const core::Instant& end, const formats::EarthOrientation& earth = {});

}  // namespace tautline::pipeline
