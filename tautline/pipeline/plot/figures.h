// Panels and figures that plots of files and live monitors share.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tautline/core/correlation_curve.h"
#include "tautline/formats/figure/figure.h"

namespace tautline::pipeline::plot {

/// Pulses by DM against time, as discs whose strength is their S/N. Neither axis goes below zero.
formats::figure::Panel pulse_panel(const std::string& title, const std::vector<double>& time_s,
                                   const std::vector<double>& dm, const std::vector<double>& snr);

/// What surrounds a candidate: cells [row][column] whose row 0 lies at y.low; `colour` is what they are.
formats::figure::Panel pulse_image(const std::string& title, const formats::figure::Axis& x,
                                   formats::figure::Axis y, std::size_t columns,
                                   std::vector<float> values, formats::figure::Axis colour);

/// Rows stand around their DMs; half of the first one, where it would reach below zero, is cut off.
void cut_below_zero(formats::figure::Panel& panel);

/// Count rates of the first few curves, with their stops, which `notes` name. No lines: the file has no rates.
formats::figure::Panel rate_panel(const std::vector<core::CorrelationCurve>& curves,
                                  const std::map<std::string, std::string>& facts,
                                  std::vector<std::string>& notes);

/// G against lag of the first few of `count` curves, and their count rates. `facts`: of their file, which has their stops.
formats::figure::Figure figure_of_curves(const std::string& title,
                                         const std::vector<core::CorrelationCurve>& curves,
                                         std::size_t count,
                                         const std::map<std::string, std::string>& facts = {});

}  // namespace tautline::pipeline::plot
