#include "tautline/pipeline/voltages/tracking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tautline/core/angle.h"
#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/formats/delays/track.h"
#include "tautline/pipeline/voltages/empty_text.h"

namespace tautline::pipeline {

namespace {

using core::Error;
using core::ErrorKind;

// Margin of the models beyond the samples: an integration's middle may be a filter's span later.
constexpr double kMargin_s = 60;

struct NamedPlace {
  std::string name;
  std::optional<formats::delays::Position> position;
};

NamedPlace parse_place(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {text, std::nullopt};
  formats::delays::Position position;
  try {
    const auto parts = core::text::split(text.substr(equals + 1), ',');
    if (parts.size() == 2 && equals > 0) {
      position.ra_deg = core::read_angle_deg(parts[0], core::AngleUnit::hours);
      position.dec_deg = core::read_angle_deg(parts[1], core::AngleUnit::degrees);
      if (position.ra_deg >= 0 && position.ra_deg < 360 && position.dec_deg >= -90 &&
          position.dec_deg <= 90)
        return {text.substr(0, equals), position};
    }
  } catch (const Error&) {  // reported below, with the expected form
  }
  throw Error(ErrorKind::config, "phase_centre", text,
              "NAME=RA,DEC in degrees, or hh:mm:ss and dd:mm:ss, RA from 0 to 360 degrees and Dec "
              "from -90 to 90");
}

// At the end that a delay shifts the data away from there are none. Throws Error(config) where that is all of
// [start, end]; a warning where it is more than a hundredth.
std::string left_without_data(const formats::delays::Table& table,
                              const formats::ArrayLayout& array, const core::Instant& start,
                              const core::Instant& end) {
  const double data_s = core::seconds_between(start, end);
  const auto named = [&](std::size_t input, double delay_s) {
    return fmt::format("{:.6g} s of input {}", delay_s, names_of_inputs(array)[input]);
  };
  double longest_s = 0;
  std::size_t longest = 0, inputs = 0;
  for (std::size_t k = 0; k < table.inputs.size(); ++k) {
    const double first_s = formats::delays::evaluate(table.inputs[k], start).delay_s,
                 last_s = formats::delays::evaluate(table.inputs[k], end).delay_s;
    if (data_s > 0 && std::min(std::abs(first_s), std::abs(last_s)) >= data_s)
      throw Error(ErrorKind::config, "delays_path", "a delay of " + named(k, first_s),
                  fmt::format("less than the {:.6g} s of data", data_s),
                  "delays are in seconds; none of this input's data would be left");
    const double delay_s = std::abs(first_s) > std::abs(last_s) ? first_s : last_s;
    if (std::abs(delay_s) <= data_s / 100) continue;
    ++inputs;
    if (std::abs(delay_s) > std::abs(longest_s)) longest_s = delay_s, longest = k;
  }
  if (inputs == 0) return {};
  return fmt::format(
      "delays leave {} without data for more than a hundredth of the {:.6g} s: the longest is {}",
      core::counted(inputs, "input"), data_s, named(longest, longest_s));
}

}  // namespace

formats::ArrayLayout array_for(const std::string& array_path,
                               const core::VoltageDescription& description) {
  formats::ArrayLayout array =
      array_path.empty() ? formats::unknown_array(description.antennas, description.polarisations,
                                                  description.antenna_names)
                         : formats::read_array_layout(array_path);
  formats::assume_polarisations(array, description.polarisations);
  formats::require_inputs(array, description.inputs());
  formats::require_antennas(array, description.antennas, description.polarisations);
  return array;
}

Tracking choose_tracking(const std::string& delays_path, const std::string& phase_centre,
                         const formats::ArrayLayout& array, const core::Instant& start,
                         const core::Instant& end, const formats::EarthOrientation& earth) {
  Tracking tracking;
  if (delays_path.empty() && phase_centre.empty()) return tracking;
  const NamedPlace place = parse_place(phase_centre);
  tracking.centre.tracked = true;
  if (!delays_path.empty()) {
    auto table = formats::delays::read_delays(delays_path, array);
    if (!table.position)
      throw Error(ErrorKind::format, delays_path + ": position", "none",
                  "ra_deg and dec_deg of the phase centre", "the output must say where it points");
    if (!phase_centre.empty() && (place.position || place.name != table.phase_centre))
      throw Error(ErrorKind::config, "phase_centre", phase_centre,
                  "the name in `delays_path` (" + table.phase_centre + ") or no `delays_path`");
    tracking.centre.name = table.phase_centre;
    tracking.centre.ra_deg = table.position->ra_deg;
    tracking.centre.dec_deg = table.position->dec_deg;
    tracking.before_filter = phase_centre.empty();
    formats::delays::require_cover(table, array.inputs.size(), start, end);
    if (tracking.before_filter) tracking.warning = left_without_data(table, array, start, end);
    tracking.table = std::make_shared<const formats::delays::Table>(std::move(table));
    return tracking;
  }
  if (!place.position)
    throw Error(ErrorKind::config, "phase_centre", phase_centre, "NAME=RA_DEG,DEC_DEG",
                "a name alone goes with `delays_path`");
  if (!array.positions_known)
    throw Error(ErrorKind::config, "phase_centre", phase_centre, "known antenna positions",
                "give `array_path`");
  if (!core::is_known_start(start))
    throw Error(ErrorKind::config, "utc_start", "not given",
                "the UTC of the first sample, as 2026-01-02-03:04:05",
                "the input does not say it, and `phase_centre` turns with the sky");
  tracking.centre.name = place.name;
  tracking.centre.ra_deg = place.position->ra_deg;
  tracking.centre.dec_deg = place.position->dec_deg;
  const double duration_s = core::seconds_between(start, end);
  tracking.table = std::make_shared<const formats::delays::Table>(formats::delays::track(
      array, place.name, *place.position, start, duration_s + kMargin_s, {.earth = earth}));
  return tracking;
}

}  // namespace tautline::pipeline
