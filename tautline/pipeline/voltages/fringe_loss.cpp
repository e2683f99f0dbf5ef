#include "tautline/pipeline/voltages/fringe_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "tautline/core/few_digits.h"
#include "tautline/core/units.h"
#include "tautline/pipeline/voltages/empty_text.h"

namespace tautline::pipeline {

namespace {

constexpr double kMostLost = 0.1;
// Instants that are looked at: fringe rates change over hours.
constexpr int kInstants = 100;

struct Fringe {
  double turns = 0;
  std::size_t first = 0, second = 0;  // the inputs
};

double lost(double turns) {
  const double angle = std::numbers::pi * turns;
  return turns == 0 ? 0 : 1 - std::abs(std::sin(angle) / angle);
}

// The two inputs whose values differ most, if by more than those of `fringe` do.
void keep_largest(const std::vector<double>& turns, Fringe& fringe) {
  const auto least = std::ranges::min_element(turns), most = std::ranges::max_element(turns);
  if (*most - *least <= fringe.turns) return;
  const auto a = static_cast<std::size_t>(least - turns.begin()),
             b = static_cast<std::size_t>(most - turns.begin());
  fringe = {*most - *least, std::min(a, b), std::max(a, b)};
}

// Less than `integration_s` where the data end before.
double integrated_s(double integration_s, const core::Instant& start, const core::Instant& end) {
  const double data_s = core::seconds_between(start, end);
  return data_s > 0 ? std::min(integration_s, data_s) : integration_s;
}

// "up to 30 % within an integration of 10 s, in which those of baseline 0x-5x turn 0.45 times"
std::string loss_text(const Fringe& fringe, const std::string& where,
                      const std::vector<std::string>& names) {
  return fmt::format("up to {} % {}, in which those of baseline {}-{} turn {} times",
                     core::few_digits(100 * lost(fringe.turns)), where, names[fringe.first],
                     names[fringe.second], core::few_digits(fringe.turns));
}

}  // namespace

std::string fringe_loss_text(const formats::VisibilityDescription& description,
                             const formats::delays::Table& rotation, const core::Instant& start,
                             const core::Instant& end) {
  if (description.channel_hz.empty() || rotation.inputs.size() < 2) return {};
  const double highest_hz = *std::ranges::max_element(description.channel_hz);
  const double data_s = std::max(0.0, core::seconds_between(start, end));
  const double integration_s = integrated_s(description.integration_s, start, end);
  Fringe in_time, in_channel;
  std::vector<double> turns_in_time(rotation.inputs.size()), turns_in_channel(turns_in_time);
  for (int k = 0; k < (data_s > 0 ? kInstants : 1); ++k) {
    const core::Instant at =
        core::advance(start, std::llround(1000 * data_s * k / (kInstants - 1)), {1000, 1});
    for (std::size_t i = 0; i < rotation.inputs.size(); ++i) {
      const formats::delays::Delay delay = formats::delays::evaluate(rotation.inputs[i], at);
      turns_in_time[i] = delay.delay_rate * highest_hz * integration_s;
      turns_in_channel[i] = delay.delay_s * description.channel_width_hz;
    }
    keep_largest(turns_in_time, in_time);
    keep_largest(turns_in_channel, in_channel);
  }
  const std::vector<std::string> names = names_of_inputs(description.array);
  std::vector<std::string> losses, remedies{
                                       "Fringes that are stopped before the correlation "
                                       "(`delays_path`) lose none of it"};
  const auto add = [&](const Fringe& fringe, const std::string& where, const std::string& remedy) {
    if (lost(fringe.turns) <= kMostLost) return;
    losses.push_back(loss_text(fringe, where, names));
    remedies.push_back(remedy);
  };
  add(in_time, fmt::format("within an integration of {:.6g} s", integration_s),
      "a shorter `integration_s` with `average_time`");
  add(in_channel, fmt::format("across a channel of {:.6g} kHz", description.channel_width_hz / 1e3),
      "a larger number of `channels`");
  if (losses.empty()) return {};
  return fmt::format(
      "fringes are rotated after the correlation, and have lost amplitude before: {}. {}; {} less",
      fmt::join(losses, ", and "), remedies.front(),
      remedies.size() > 2 ? remedies[1] + " and " + remedies[2] + " lose" : remedies[1] + " loses");
}

std::string drift_loss_text(const formats::VisibilityDescription& description, std::size_t averaged,
                            const core::Instant& start, const core::Instant& end) {
  const formats::ArrayLayout& array = description.array;
  if (!array.positions_known || description.channel_hz.empty() || array.inputs.size() < 2)
    return {};
  const double highest_hz = *std::ranges::max_element(description.channel_hz);
  const double integration_s =
      integrated_s(description.integration_s * static_cast<double>(averaged), start, end);
  const double latitude = array.latitude_deg * core::kRadPerDeg,
               longitude = array.longitude_deg * core::kRadPerDeg;
  // The delay of an antenna at r from the centre, -(r . u) / c, changes by (w x u) . r / c a second.
  const double east_s =
      core::kEarthRotation_rad_per_s * std::cos(latitude) / core::kSpeedOfLight_m_per_s;
  std::vector<double> turns;
  for (const formats::InputLabel& input : array.inputs) {
    const auto& at_m = array.antennas[input.antenna].ecef_m;
    const double east_m = at_m[1] * std::cos(longitude) - at_m[0] * std::sin(longitude);
    turns.push_back(east_s * east_m * highest_hz * integration_s);
  }
  Fringe fringe;
  keep_largest(turns, fringe);
  if (lost(fringe.turns) <= kMostLost) return {};
  return fmt::format(
      "there is no phase centre, so fringes turn within integrations: those of a source at the "
      "zenith lose {}. A shorter `integration_s` loses less; fringes that are stopped before the "
      "correlation (`delays_path`) lose none of it",
      loss_text(fringe, fmt::format("within {:.6g} s", integration_s), names_of_inputs(array)));
}

}  // namespace tautline::pipeline
