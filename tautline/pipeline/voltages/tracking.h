// The direction that a correlation points at, and whether voltages are delayed or fringes rotated.
#pragma once

#include <memory>
#include <string>

#include "tautline/core/time.h"
#include "tautline/core/voltage.h"
#include "tautline/formats/delays/delays.h"
#include "tautline/formats/visibility_writer.h"

namespace tautline::pipeline {

/// That of array.toml, or unknown positions, for voltages like these. Throws core::Error where they do not fit.
formats::ArrayLayout array_for(const std::string& array_path,
                               const core::VoltageDescription& description);

struct Tracking {
  std::shared_ptr<const formats::delays::Table> table;  ///< null: unprojected
  bool before_filter = false;  ///< delay the voltages; else rotate the fringes of visibilities
  formats::PhaseCentre centre;
};

/// delays_path: a delays.toml, or empty. phase_centre: "NAME=RA_DEG,DEC_DEG", or the name of the
/// table in delays_path, or empty. Throws core::Error when both name different places or the table
/// does not say where its centre is or does not cover [start, end]. A table keeps the earth
/// orientation that it was made with.
Tracking choose_tracking(const std::string& delays_path, const std::string& phase_centre,
                         const formats::ArrayLayout& array, const core::Instant& start,
                         const core::Instant& end, const formats::EarthOrientation& earth = {});

}  // namespace tautline::pipeline
