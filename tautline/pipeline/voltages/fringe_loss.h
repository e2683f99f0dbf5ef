// The amplitude that fringes lose where they are not stopped before the correlation.
#pragma once

#include <cstddef>
#include <string>

#include "tautline/core/time.h"
#include "tautline/formats/delays/delays.h"
#include "tautline/formats/visibility_writer.h"

namespace tautline::pipeline {

/// The warning about fringes that lose more than a tenth of their amplitude before they are rotated; empty where none
/// does. A fringe that turns x times keeps |sin(pi x) / (pi x)| of its amplitude. With the delay d between the two inputs
/// of a baseline, its fringe turns f d' T times within an integration T, of the highest channel's frequency f, and d W
/// times across a channel of width W. Named is the baseline whose fringe turns most from `start` to `end`, of
/// integrations and channels as `description` has them before any averaging. Where `end` is not after `start`, only
/// `start` counts.
std::string fringe_loss_text(const formats::VisibilityDescription& description,
                             const formats::delays::Table& rotation, const core::Instant& start,
                             const core::Instant& end);

/// The same warning of visibilities without a phase centre, whose fringes nothing stops: of a source at the zenith, which
/// moves by w x u, w the earth's rotation and u the direction to it. No warning where the antennas' positions are not
/// known. `averaged`: integrations that become one.
std::string drift_loss_text(const formats::VisibilityDescription& description, std::size_t averaged,
                            const core::Instant& start, const core::Instant& end);

}  // namespace tautline::pipeline
