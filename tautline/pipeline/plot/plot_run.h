// What a plot needs while it reads.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "tautline/core/field_words.h"
#include "tautline/device/device.h"

namespace tautline::pipeline {

/// How far the reading is, 0 to 1.
using PlotProgress = std::function<void(double)>;

/// What a plot needs while it reads.
struct PlotRun {
  std::function<std::shared_ptr<const device::Device>()> device =
      {};  ///< opened for voltages alone
  PlotProgress progress = {};
  std::stop_token stop = {};
  core::FieldWords words = {};  ///< of the figure's notes

  /// Tells how far it is. Throws Error(io, "interrupted").
  void at(double fraction) const;
};

}  // namespace tautline::pipeline
