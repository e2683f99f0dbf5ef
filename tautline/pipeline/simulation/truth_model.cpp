#include "tautline/pipeline/simulation/truth_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tautline/core/field_text.h"
#include "tautline/formats/astronomy.h"
#include "tautline/pipeline/simulation/kept_amplitude.h"
#include "tautline/pipeline/voltages/visibility_facts.h"

namespace tautline::pipeline::simulation {
namespace {

using formats::Integration;
using formats::VisibilityDescription;

using Complex = std::complex<double>;
constexpr double kFullTurn = 2 * std::numbers::pi;

// The number of channels or integrations that became one; 1 where the file does not say.
std::size_t averaged(const VisibilityDescription& description, const char* name) {
  const auto found = description.extra.find(name);
  if (found == description.extra.end()) return 1;
  return std::max<std::size_t>(1, core::text::read<std::size_t>(found->second));
}

double power_of(const TrueSource& source, char feed) {
  return feed == 'x' ? source.power_x : source.power_y;
}

}  // namespace

TruthModel::TruthModel(const VisibilityDescription& description, const Truth& truth)
    : description_(description),
      truth_(truth),
      rotated_(description.extra.contains(kFringesRotated)),
      channels_in_one_(averaged(description, kAveragedChannels)),
      correlated_s_(description.integration_s /
                    static_cast<double>(averaged(description, kAveragedIntegrations))) {}

// Delays of every source and antenna at the integration's middle, less the delays that a tracked
// phase centre removed, and their change during the integration.
void TruthModel::follow_delays(const Integration& integration) {
  const double since_s = core::seconds_between(truth_.middle, integration.middle);
  const std::size_t antennas = truth_.antenna_numbers.size();
  const std::vector<double> before = tracked_delays(integration, -0.5);
  const std::vector<double> middle = tracked_delays(integration, 0);
  const std::vector<double> after = tracked_delays(integration, 0.5);
  for (auto* values : {&arrival_s_, &arrival_drift_s_, &delay_s_, &drift_s_})
    values->assign(truth_.sources.size() * antennas, 0);
  for (std::size_t s = 0; s < truth_.sources.size(); ++s)
    for (std::size_t a = 0; a < antennas; ++a) {
      const TrueSource& source = truth_.sources[s];
      const double acceleration = source.delay_acceleration_per_s[a];
      const std::size_t at = s * antennas + a;
      arrival_s_[at] =
          source.delay_s[a] + source.delay_rate[a] * since_s + acceleration * since_s * since_s / 2;
      arrival_drift_s_[at] =
          (source.delay_rate[a] + acceleration * since_s) * integration.integration_s;
      delay_s_[at] = arrival_s_[at] - middle[a];
      drift_s_[at] = arrival_drift_s_[at] - (after[a] - before[a]);
    }
  integrations_in_one_ = std::max<std::size_t>(
      1, static_cast<std::size_t>(std::llround(integration.integration_s / correlated_s_)));
}

// Arrival delays of the phase centre, `fraction` of the integration from its middle; zero
// where none is tracked.
std::vector<double> TruthModel::tracked_delays(const Integration& integration,
                                               double fraction) const {
  std::vector<double> delays(truth_.antenna_numbers.size(), 0);
  const formats::PhaseCentre& centre = description_.phase_centre;
  if (!centre.tracked) return delays;
  const auto shift = std::llround(fraction * integration.integration_s * 1e9);
  const core::Instant instant =
      core::advance(integration.middle, shift, core::Rational{1'000'000'000, 1});
  const formats::ApparentPlace place =
      formats::apparent_place(centre.ra_deg, centre.dec_deg, instant,
                              formats::site_of(description_.array), description_.earth);
  for (std::size_t a = 0; a < description_.array.antennas.size(); ++a)
    for (std::size_t known = 0; known < delays.size(); ++known)
      if (truth_.antenna_numbers[known] == description_.array.antennas[a].number)
        delays[known] =
            formats::arrival_delay_s(formats::antenna_offset_m(description_.array, a), place.axes);
  return delays;
}

void TruthModel::follow_phases(double hz) {
  phasor_.resize(delay_s_.size());
  for (std::size_t k = 0; k < delay_s_.size(); ++k)
    phasor_[k] = std::polar(1.0, -kFullTurn * std::remainder(hz * delay_s_[k], 1.0));
  flux_.resize(truth_.sources.size());
  for (std::size_t s = 0; s < flux_.size(); ++s)
    flux_[s] = truth_.power_scale * truth_.sources[s].flux *
               std::pow(hz / truth_.centre_hz, truth_.sources[s].spectral_index);
  hz_ = hz;
}

Complex TruthModel::visibility(const TruePair& pair) const {
  const std::size_t antennas = truth_.antenna_numbers.size();
  Complex sum = 0;
  for (std::size_t s = 0; s < flux_.size(); ++s) {
    const std::size_t one = s * antennas + pair.first, other = s * antennas + pair.second;
    const auto kept = [&](const std::vector<double>& left_s, const std::vector<double>& arrival_s,
                          double hz, std::size_t parts) {
      const double turns = (left_s[other] - left_s[one]) * hz;
      if (!rotated_) return mean_of_turns(turns);
      return mean_of_rotated(turns, (arrival_s[other] - arrival_s[one]) * hz, parts);
    };
    const double smearing =
        kept(delay_s_, arrival_s_, description_.channel_width_hz, channels_in_one_) *
        kept(drift_s_, arrival_drift_s_, hz_, integrations_in_one_);
    sum += flux_[s] * power_of(truth_.sources[s], pair.feed) * smearing * std::conj(phasor_[one]) *
           phasor_[other];
  }
  return sum;
}

Complex TruthModel::reference(const TruePair& pair) const {
  Complex sum = 0;
  for (const TrueSource& source : truth_.sources) {
    const double delay_s = source.delay_s[pair.second] - source.delay_s[pair.first];
    sum += std::polar(source.flux * power_of(source, pair.feed),
                      -kFullTurn * std::remainder(truth_.centre_hz * delay_s, 1.0));
  }
  return sum;
}

Complex TruthModel::listed(const TruePair& pair) const {
  const int one = truth_.antenna_numbers[pair.first], other = truth_.antenna_numbers[pair.second];
  if (const auto found = truth_.listed.find({{one, other}, pair.feed});
      found != truth_.listed.end())
    return found->second;
  if (const auto found = truth_.listed.find({{other, one}, pair.feed});
      found != truth_.listed.end())
    return std::conj(found->second);
  return reference(pair);
}

}  // namespace tautline::pipeline::simulation
