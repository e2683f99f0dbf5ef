#include "tautline/pipeline/voltages/partial_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/baseline.h"
#include "tautline/core/counted.h"
#include "tautline/core/few_digits.h"
#include "tautline/core/units.h"
#include "tautline/pipeline/voltages/empty_text.h"
#include "tautline/pipeline/voltages/voltage_streams.h"

namespace tautline::pipeline {

namespace {

constexpr double kMostDegrees = 3;

// Of a source on the equator, at the highest channel.
double turns_per_s(const formats::ArrayLayout& array, std::size_t antenna, double highest_hz) {
  const auto& here = array.antennas[antenna].ecef_m;
  double longest_m = 0;
  for (const formats::Antenna& other : array.antennas)
    longest_m =
        std::max(longest_m, std::hypot(other.ecef_m[0] - here[0], other.ecef_m[1] - here[1]));
  return core::kEarthRotation_rad_per_s * longest_m / core::kSpeedOfLight_m_per_s * highest_hz;
}

}  // namespace

PartialTimes::PartialTimes(const formats::VisibilityDescription& description, bool stopped,
                           std::vector<std::string> input_names)
    : nominal_per_s_(static_cast<double>(description.nominal_count) / description.integration_s),
      names_(std::move(input_names)) {
  const formats::ArrayLayout& array = description.array;
  if (stopped || !array.positions_known || description.autos_only || description.channel_hz.empty())
    return;
  inputs_.resize(array.inputs.size());
  const double highest_hz = *std::ranges::max_element(description.channel_hz);
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    inputs_[i].turns_per_s = turns_per_s(array, array.inputs[i].antenna, highest_hz);
}

void PartialTimes::add(double integration_s, const core::View<const std::int64_t, 2>& counts) {
  const double nominal = nominal_per_s_ * integration_s;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Input& input = inputs_[i];
    double part = 0;  // of the channel that has most
    for (std::size_t c = 0; c < counts.extent(0) && part < IntegrationClock::kLeastPart; ++c)
      part = std::max(part, static_cast<double>(counts(c, core::baseline_index(i, i))) / nominal);
    if (part == 0 || part >= IntegrationClock::kLeastPart) continue;
    const double degrees = 360 * input.turns_per_s * integration_s * (1 - part) / 2;
    if (degrees <= kMostDegrees) continue;
    ++input.integrations;
    most_degrees_ = std::max(most_degrees_, degrees);
  }
}

std::string PartialTimes::text() const {
  std::vector<std::size_t> named;
  std::uint64_t integrations = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].integrations > 0) {
      named.push_back(i);
      integrations = std::max(integrations, inputs_[i].integrations);
    }
  if (named.empty()) return {};
  return fmt::format(
      "less than three quarters of the samples are valid in {}{} of {}. The time of an integration "
      "is its middle, the phase that of its valid samples: fringes may turn by up to {} "
      "degrees between the two. A shorter `integration_s` has less of this, and fringes that are "
      "stopped before the correlation (`delays_path`) have none",
      named.size() > 1 ? "up to " : "", core::counted(integrations, "integration"),
      name_inputs(named, names_), core::few_digits(most_degrees_));
}

}  // namespace tautline::pipeline
