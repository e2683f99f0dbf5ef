#include "tautline/pipeline/simulation/compare_truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <filesystem>
#include <limits>
#include <map>
#include <numbers>
#include <system_error>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/core/field_text.h"
#include "tautline/core/units.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/pipeline/simulation/kept_amplitude.h"
#include "tautline/pipeline/voltages/visibility_facts.h"

namespace tautline::pipeline {
namespace {

using core::Error;
using core::ErrorKind;
using formats::Integration;
using formats::VisibilityDescription;
using simulation::TrueSource;
using simulation::Truth;

using Complex = std::complex<double>;
constexpr double kDegPerRad = 180 / std::numbers::pi;
constexpr double kFullTurn = 2 * std::numbers::pi;
/// Channels within this distance of a tone, in channel widths, contain power of the tone.
constexpr double kToneChannels = 3;
/// A channel across the edge of the sampled band holds both ends of the band, folded together.
constexpr double kEdgeChannels = 0.75;
constexpr std::size_t kMostClosures = 512;

/// The number of channels or integrations that became one; 1 where the file does not say.
std::size_t averaged(const VisibilityDescription& description, const char* name) {
  const auto found = description.extra.find(name);
  if (found == description.extra.end()) return 1;
  return std::max<std::size_t>(1, core::text::read<std::size_t>(found->second));
}

double wrapped_deg(double degrees) {
  return std::remainder(degrees, 360.0);
}

/// Two inputs of the file with equal feeds, first < second, and the indices of their antennas in
/// the truth.
struct ComparedPair {
  std::size_t first = 0, second = 0;
  std::size_t true_first = 0, true_second = 0;
  char feed = 'x';
  double length_m = 0;
  double weighted_model = 0;     // sum w |M|^2
  Complex weighted_product = 0;  // sum w conj(M) V
};

class Comparison {
 public:
  Comparison(const VisibilityDescription& description, const Truth& truth)
      : description_(description),
        truth_(truth),
        kept_(simulation::kept_by_rounding(description)),
        rotated_(description.extra.contains(kFringesRotated)),
        channels_in_one_(averaged(description, kAveragedChannels)),
        correlated_s_(description.integration_s /
                      static_cast<double>(averaged(description, kAveragedIntegrations))) {
    choose_channels();
    choose_pairs();
    for (std::size_t input = 0; input < inputs(); ++input) recorded_.push_back(recorded(input));
    power_sum_.assign(description.channel_hz.size() * inputs(), 0);
    power_weight_ = power_sum_;
  }

  /// First pass: called with every integration.
  void add_powers(const Integration& integration) {
    for (const std::size_t channel : channels_)
      for (std::size_t input = 0; input < inputs(); ++input) {
        const std::size_t packed = core::baseline_index(input, input);
        const auto count = static_cast<double>(integration.counts(channel, packed));
        const double power = double{integration.visibilities(channel, packed).real()};
        if (!(count > 0) || !std::isfinite(power)) continue;
        power_sum_[channel * inputs() + input] += count * power;
        power_weight_[channel * inputs() + input] += count;
      }
  }

  /// Second pass: called with every integration.
  void add(const Integration& integration) {
    follow_delays(integration);
    for (const std::size_t channel : channels_) {
      follow_phases(description_.channel_hz[channel]);
      for (ComparedPair& pair : pairs_) add_cell(integration, channel, pair);
    }
  }

  TruthComparison finish(const TruthTolerance& tolerance) {
    TruthComparison found;
    std::sort(pairs_.begin(), pairs_.end(),
              [](const ComparedPair& a, const ComparedPair& b) { return a.length_m < b.length_m; });
    for (const ComparedPair& pair : pairs_)
      if (pair.weighted_model > 0) found.visibilities.push_back(compared(pair));
    if (found.visibilities.empty())
      throw Error(ErrorKind::config, "visibilities", "no valid sample of a simulated source",
                  "at least one", "are these files of the same run?");
    close(found);
    summarise(found, tolerance);
    return found;
  }

 private:
  std::size_t inputs() const { return description_.array.inputs.size(); }
  const formats::Antenna& antenna_of(std::size_t input) const {
    return description_.array.antennas[description_.array.inputs[input].antenna];
  }

  /// What the rounding of an input's simulated samples left of correlations and powers.
  simulation::KeptByRounding recorded(std::size_t input) const {
    const auto power =
        truth_.input_power.find({antenna_of(input).number, description_.array.inputs[input].feed});
    if (power == truth_.input_power.end()) return {};
    const double components = truth_.complex ? 2 : 1;
    return simulation::kept_by_recording(std::sqrt(power->second * truth_.power_scale / components),
                                         truth_.largest_step);
  }

  /// Throws unless some channel's centre is in the simulated band.
  void require_shared_band() const {
    const auto [low, high] =
        std::minmax_element(description_.channel_hz.begin(), description_.channel_hz.end());
    const double low_hz = truth_.centre_hz - truth_.bandwidth_hz / 2;
    const double high_hz = truth_.centre_hz + truth_.bandwidth_hz / 2;
    if (low == description_.channel_hz.end() || (*low <= high_hz && *high >= low_hz)) return;
    throw Error(
        ErrorKind::config, "frequencies of the visibilities",
        fmt::format("{:.6f} to {:.6f} MHz", *low / core::kHzPerMhz, *high / core::kHzPerMhz),
        fmt::format("some in the simulated band, {:.6f} to {:.6f} MHz", low_hz / core::kHzPerMhz,
                    high_hz / core::kHzPerMhz),
        "they do not overlap: give the truth of the file that was correlated");
  }

  void choose_channels() {
    require_shared_band();
    for (std::size_t channel = 0; channel < description_.channel_hz.size(); ++channel) {
      const double hz = description_.channel_hz[channel];
      const bool tone =
          std::any_of(truth_.tones_hz.begin(), truth_.tones_hz.end(), [&](double tone_hz) {
            return std::abs(tone_hz - hz) < kToneChannels * description_.channel_width_hz;
          });
      const double to_edge_hz = truth_.bandwidth_hz / 2 - std::abs(hz - truth_.centre_hz);
      if (!tone && to_edge_hz > kEdgeChannels * description_.channel_width_hz)
        channels_.push_back(channel);
    }
    if (channels_.empty())
      throw Error(ErrorKind::config, "channels", "all at the band's edge or near a tone",
                  "one inside the simulated band and clear of tones");
  }

  void choose_pairs() {
    std::map<int, std::size_t> place;
    for (std::size_t a = 0; a < truth_.antenna_numbers.size(); ++a)
      place[truth_.antenna_numbers[a]] = a;
    const auto& inputs = description_.array.inputs;
    for (std::size_t second = 0; second < inputs.size(); ++second)
      for (std::size_t first = 0; first < second; ++first) {
        if (inputs[first].feed != inputs[second].feed) continue;
        const auto one = place.find(antenna_of(first).number);
        const auto other = place.find(antenna_of(second).number);
        if (one == place.end() || other == place.end()) continue;
        const formats::Vector3 side =
            formats::difference(antenna_of(second).ecef_m, antenna_of(first).ecef_m);
        ComparedPair pair;
        pair.first = first;
        pair.second = second;
        pair.true_first = one->second;
        pair.true_second = other->second;
        pair.feed = inputs[first].feed;
        pair.length_m = std::sqrt(formats::dot(side, side));
        pairs_.push_back(pair);
      }
    if (inputs.empty() || std::all_of(inputs.begin(), inputs.end(), [&](const auto& input) {
          return input.antenna == inputs.front().antenna;
        }))
      throw Error(ErrorKind::config, "antennas", "1", "two or more",
                  "simulate and correlate two antennas or more: pairs of them are compared");
    if (pairs_.empty())
      throw Error(ErrorKind::config, "antennas", "no pair that the truth knows",
                  "antenna numbers of the simulated array",
                  "correlate with the array.toml of the simulation");
    if (pairs_.size() > kMostComparedBaselines) {
      std::vector<ComparedPair> kept;
      for (const std::size_t at : spread_rows(pairs_.size(), kMostComparedBaselines))
        kept.push_back(pairs_[at]);
      pairs_ = std::move(kept);
    }
  }

  /// Delays of every source and antenna at the integration's middle, less the delays that a tracked
  /// phase centre removed, and their change during the integration.
  void follow_delays(const Integration& integration) {
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
        arrival_s_[at] = source.delay_s[a] + source.delay_rate[a] * since_s +
                         acceleration * since_s * since_s / 2;
        arrival_drift_s_[at] =
            (source.delay_rate[a] + acceleration * since_s) * integration.integration_s;
        delay_s_[at] = arrival_s_[at] - middle[a];
        drift_s_[at] = arrival_drift_s_[at] - (after[a] - before[a]);
      }
    integrations_in_one_ = std::max<std::size_t>(
        1, static_cast<std::size_t>(std::llround(integration.integration_s / correlated_s_)));
  }

  /// Arrival delays of the phase centre, `fraction` of the integration from its middle; zero
  /// where none is tracked.
  std::vector<double> tracked_delays(const Integration& integration, double fraction) const {
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
          delays[known] = formats::arrival_delay_s(formats::antenna_offset_m(description_.array, a),
                                                   place.axes);
    return delays;
  }

  void follow_phases(double hz) {
    phasor_.resize(delay_s_.size());
    for (std::size_t k = 0; k < delay_s_.size(); ++k)
      phasor_[k] = std::polar(1.0, -kFullTurn * std::remainder(hz * delay_s_[k], 1.0));
    flux_.resize(truth_.sources.size());
    for (std::size_t s = 0; s < flux_.size(); ++s)
      flux_[s] = truth_.power_scale * truth_.sources[s].flux *
                 std::pow(hz / truth_.centre_hz, truth_.sources[s].spectral_index);
    hz_ = hz;
  }

  /// The mean over the channel and the integration of conj(x_1) x_2.
  Complex model(const ComparedPair& pair) const {
    const std::size_t antennas = truth_.antenna_numbers.size();
    Complex sum = 0;
    for (std::size_t s = 0; s < flux_.size(); ++s) {
      const std::size_t one = s * antennas + pair.true_first;
      const std::size_t other = s * antennas + pair.true_second;
      const TrueSource& source = truth_.sources[s];
      const auto kept = [&](const std::vector<double>& left_s, const std::vector<double>& arrival_s,
                            double hz, std::size_t parts) {
        const double turns = (left_s[other] - left_s[one]) * hz;
        if (!rotated_) return simulation::mean_of_turns(turns);
        return simulation::mean_of_rotated(turns, (arrival_s[other] - arrival_s[one]) * hz, parts);
      };
      const double smearing =
          kept(delay_s_, arrival_s_, description_.channel_width_hz, channels_in_one_) *
          kept(drift_s_, arrival_drift_s_, hz_, integrations_in_one_);
      sum += flux_[s] * (pair.feed == 'x' ? source.power_x : source.power_y) * smearing *
             std::conj(phasor_[one]) * phasor_[other];
    }
    return sum;
  }

  void add_cell(const Integration& integration, std::size_t channel, ComparedPair& pair) {
    const std::size_t packed = core::baseline_index(pair.second, pair.first);
    const auto count = static_cast<double>(integration.counts(channel, packed));
    // The mean of the run: the powers of one integration fluctuate together with its visibilities,
    // and weights made of them would favour low visibilities.
    const auto power = [&](std::size_t input) {
      const std::size_t at = channel * inputs() + input;
      return power_weight_[at] > 0 ? power_sum_[at] / power_weight_[at] : 0;
    };
    const double variance = power(pair.first) * power(pair.second) / count;
    const Complex value(integration.visibilities(channel, packed));
    if (!(count > 0) || !(variance > 0) || !std::isfinite(std::abs(value))) return;
    const double recorded =
        std::sqrt(recorded_[pair.first].correlation * recorded_[pair.second].correlation);
    const Complex expected = kept_.correlation * recorded * model(pair);
    pair.weighted_model += std::norm(expected) / variance;
    pair.weighted_product += std::conj(expected) * value / variance;
  }

  /// The model at the band's centre and the run's middle.
  Complex reference_model(const ComparedPair& pair) const {
    Complex sum = 0;
    for (const TrueSource& source : truth_.sources) {
      const double delay_s = source.delay_s[pair.true_second] - source.delay_s[pair.true_first];
      sum += std::polar(source.flux * (pair.feed == 'x' ? source.power_x : source.power_y),
                        -kFullTurn * std::remainder(truth_.centre_hz * delay_s, 1.0));
    }
    return sum;
  }

  /// The same from the list of the truth file, which includes the small loss of the simulator;
  /// large arrays are not listed.
  Complex true_visibility(const ComparedPair& pair) const {
    const int one = antenna_of(pair.first).number, other = antenna_of(pair.second).number;
    if (const auto found = truth_.listed.find({{one, other}, pair.feed});
        found != truth_.listed.end())
      return found->second;
    if (const auto found = truth_.listed.find({{other, one}, pair.feed});
        found != truth_.listed.end())
      return std::conj(found->second);
    return reference_model(pair);
  }

  ComparedVisibility compared(const ComparedPair& pair) const {
    const Complex truth = true_visibility(pair), reference = reference_model(pair);
    const Complex measured = pair.weighted_product / pair.weighted_model * reference;
    // Of the real and of the imaginary part.
    const double error = std::abs(reference) / std::sqrt(2 * pair.weighted_model);
    const Complex difference = (measured - truth) * std::polar(1.0, -std::arg(truth));
    ComparedVisibility row;
    row.ant_1 = antenna_of(pair.first).number;
    row.ant_2 = antenna_of(pair.second).number;
    row.feed = pair.feed;
    row.length_m = pair.length_m;
    row.measured_amplitude = std::abs(measured);
    row.true_amplitude = std::abs(truth);
    row.amplitude_error = error;
    row.measured_phase_deg = std::arg(measured) * kDegPerRad;
    row.true_phase_deg = std::arg(truth) * kDegPerRad;
    row.phase_error_deg = std::min(180.0, error / std::abs(measured) * kDegPerRad);
    row.amplitude_sigmas = difference.real() / error;
    row.phase_sigmas = difference.imag() / error;
    return row;
  }

  /// Triangles of antennas that follow each other, and some wide ones.
  void close(TruthComparison& found) const {
    std::map<std::pair<std::pair<int, int>, char>, const ComparedVisibility*> row_of;
    for (const ComparedVisibility& row : found.visibilities)
      row_of[{{row.ant_1, row.ant_2}, row.feed}] = &row;
    std::vector<int> numbers;
    for (const auto& input : description_.array.inputs) {
      const int number = description_.array.antennas[input.antenna].number;
      if (std::find(numbers.begin(), numbers.end(), number) == numbers.end())
        numbers.push_back(number);
    }
    for (std::size_t step = 1; 2 * step < numbers.size(); step *= 2)
      for (std::size_t a = 0; a + 2 * step < numbers.size(); ++a)
        for (const char feed : {'x', 'y'}) {
          const std::array<int, 3> antennas{numbers[a], numbers[a + step], numbers[a + 2 * step]};
          const auto side = [&](int one, int other) {
            const auto row = row_of.find({{one, other}, feed});
            return row == row_of.end() ? nullptr : row->second;
          };
          const ComparedVisibility* sides[3] = {side(antennas[0], antennas[1]),
                                                side(antennas[1], antennas[2]),
                                                side(antennas[0], antennas[2])};
          if (!sides[0] || !sides[1] || !sides[2] || found.closures.size() >= kMostClosures)
            continue;
          found.closures.push_back(closure(antennas, feed, sides));
        }
  }

  static ComparedClosure closure(const std::array<int, 3>& antennas, char feed,
                                 const ComparedVisibility* const (&sides)[3]) {
    ComparedClosure row{antennas, feed};
    double variance = 0;
    for (int k = 0; k < 3; ++k) {
      const double sign = k == 2 ? -1 : 1;
      row.measured_deg += sign * sides[k]->measured_phase_deg;
      row.true_deg += sign * sides[k]->true_phase_deg;
      variance += std::pow(sides[k]->phase_error_deg, 2);
    }
    row.measured_deg = wrapped_deg(row.measured_deg);
    row.true_deg = wrapped_deg(row.true_deg);
    row.error_deg = std::min(180.0, std::sqrt(variance));
    row.sigmas = wrapped_deg(row.measured_deg - row.true_deg) / row.error_deg;
    return row;
  }

  /// Measured over true power, the mean over inputs and channels. The true power contains tones,
  /// and channels near them are left out: with tones there is no ratio.
  double power_ratio() const {
    double sum = 0, weight = 0;
    for (const std::size_t channel : channels_)
      for (std::size_t input = 0; input < inputs(); ++input) {
        const auto truth = truth_.input_power.find(
            {antenna_of(input).number, description_.array.inputs[input].feed});
        const std::size_t at = channel * inputs() + input;
        if (truth == truth_.input_power.end() || !(power_weight_[at] > 0)) continue;
        sum += power_sum_[at] /
               (kept_.power * recorded_[input].power * truth->second * truth_.power_scale);
        weight += power_weight_[at];
      }
    return truth_.tones_hz.empty() && weight > 0 ? sum / weight
                                                 : std::numeric_limits<double>::quiet_NaN();
  }

  void summarise(TruthComparison& found, const TruthTolerance& tolerance) const {
    double amplitude = 0, phase = 0, closure = 0, ratio = 0, weight = 0;
    const double noise = tolerance.sigmas;
    const auto beyond = [](double sigmas, double limit) { return !(std::abs(sigmas) <= limit); };
    for (const ComparedVisibility& row : found.visibilities) {
      amplitude += std::pow(row.amplitude_sigmas, 2);
      phase += std::pow(row.phase_sigmas, 2);
      const double error = row.amplitude_error / row.true_amplitude;
      ratio += (1 + row.amplitude_sigmas * error) / (error * error);
      weight += 1 / (error * error);
      if (error < 0.1) ++found.strong;
      found.outside += beyond(row.amplitude_sigmas, noise + tolerance.amplitude_fraction / error) ||
                       beyond(row.phase_sigmas, noise + tolerance.phase_deg / kDegPerRad / error);
      found.beyond_noise += beyond(row.amplitude_sigmas, noise) || beyond(row.phase_sigmas, noise);
    }
    for (const ComparedClosure& row : found.closures) {
      closure += std::pow(row.sigmas, 2);
      found.outside += beyond(row.sigmas, noise + tolerance.phase_deg / row.error_deg);
      found.beyond_noise += beyond(row.sigmas, noise);
    }
    const auto rms = [](double sum, std::size_t count) {
      return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
    };
    found.amplitude_rms_sigmas = rms(amplitude, found.visibilities.size());
    found.phase_rms_sigmas = rms(phase, found.visibilities.size());
    found.closure_rms_sigmas = rms(closure, found.closures.size());
    found.mean_amplitude_ratio = ratio / weight;
    found.power_ratio = power_ratio();
    found.agrees = found.outside == 0 && found.strong > 0;
    found.verdict = verdict_of(found, tolerance);
  }

  static std::string verdict_of(const TruthComparison& found, const TruthTolerance& tolerance) {
    const std::size_t rows = found.visibilities.size() + found.closures.size();
    const std::string limit =
        fmt::format("{} standard errors plus {} % of the amplitude or {} deg", tolerance.sigmas,
                    100 * tolerance.amplitude_fraction, tolerance.phase_deg);
    const char* const what = "visibilities and closure phases are off by";
    if (found.outside > 0)
      return fmt::format("does not agree: {} of {} {} more than {}", found.outside, rows, what,
                         limit);
    if (found.strong == 0)
      return "too noisy to tell: no visibility is 10 times its noise; simulate for longer";
    if (found.beyond_noise == 0)
      return fmt::format("agrees: all {} {} at most {} standard errors", rows, what,
                         tolerance.sigmas);
    return fmt::format(
        "agrees: all {} {} at most {}, the accuracy of the simulation; {} of them by more than {} "
        "standard errors alone",
        rows, what, limit, found.beyond_noise, tolerance.sigmas);
  }

  const VisibilityDescription& description_;
  const Truth& truth_;
  simulation::KeptByRounding kept_;                   // by the correlator
  std::vector<simulation::KeptByRounding> recorded_;  // [input] by the recorder
  bool rotated_;  ///< the fringes, after correlation; else the voltages were delayed
  std::size_t channels_in_one_, integrations_in_one_ = 1;
  double correlated_s_;
  std::vector<std::size_t> channels_;
  std::vector<ComparedPair> pairs_;
  // Of the integration at hand, [source][antenna], as the signals arrived and less the phase centre's; and of the
  // channel at hand.
  std::vector<double> arrival_s_, arrival_drift_s_, delay_s_, drift_s_;
  std::vector<Complex> phasor_;
  std::vector<double> flux_;
  double hz_ = 0;
  std::vector<double> power_sum_, power_weight_;  // [channel][input]
};

}  // namespace

std::vector<std::size_t> spread_rows(std::size_t count, std::size_t most) {
  std::vector<std::size_t> places;
  const std::size_t chosen = std::min(count, most);
  for (std::size_t k = 0; k < chosen; ++k)
    places.push_back(chosen == 1 ? 0 : k * (count - 1) / (chosen - 1));
  return places;
}

TruthComparison compare_truth(formats::VisibilityReader& visibilities, const Truth& truth,
                              const TruthTolerance& tolerance) {
  Comparison comparison(visibilities.description(), truth);
  for (std::size_t k = 0; k < visibilities.integrations(); ++k)
    comparison.add_powers(visibilities.read(k));
  for (std::size_t k = 0; k < visibilities.integrations(); ++k)
    comparison.add(visibilities.read(k));
  return comparison.finish(tolerance);
}

// Before the truth is read: if the two files do not belong together, the wrong file is named.
static void require_visibilities(const std::string& path) {
  std::error_code ignored;
  const std::string kind = formats::seeming_kind(path);
  if (kind == "HDF5" || !std::filesystem::is_regular_file(path, ignored)) return;
  throw formats::other_kind(
      path, "visibilities, or the list of candidates that search wrote",
      "give what correlate or search wrote, then the .truth.json of simulate");
}

TruthComparison compare_truth(const std::string& visibilities_path, const std::string& truth_path,
                              const TruthTolerance& tolerance) {
  require_visibilities(visibilities_path);
  const Truth truth = simulation::read_truth(truth_path);
  const auto reader = formats::open_visibilities(visibilities_path);
  return compare_truth(*reader, truth, tolerance);
}

}  // namespace tautline::pipeline
