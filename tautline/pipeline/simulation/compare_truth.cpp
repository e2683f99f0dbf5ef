#include "tautline/pipeline/simulation/compare_truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <filesystem>
#include <limits>
#include <map>
#include <numbers>
#include <span>
#include <string>
#include <system_error>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/core/few_digits.h"
#include "tautline/core/units.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/pipeline/simulation/kept_amplitude.h"
#include "tautline/pipeline/simulation/truth_model.h"

namespace tautline::pipeline {
namespace {

using core::Error;
using core::ErrorKind;
using formats::Integration;
using formats::VisibilityDescription;
using simulation::Truth;

using Complex = std::complex<double>;
constexpr double kDegPerRad = 180 / std::numbers::pi;
/// Channels within this distance of a tone, in channel widths, contain power of the tone.
constexpr double kToneChannels = 3;
/// A channel across the edge of the sampled band holds both ends of the band, folded together.
constexpr double kEdgeChannels = 0.75;
/// Powers of fewer samples fluctuate together with the visibilities: weights made of them favour low visibilities, by
/// two parts in as many as there are samples where an input is all signal.
constexpr double kSamplesOfPower = 1024;

/// Two inputs of the file with equal feeds, first < second, and their antennas in the truth.
struct ComparedPair {
  std::size_t first = 0, second = 0;
  simulation::TruePair truth;
  double length_m = 0;
  double weighted_model = 0;     // sum w |M|^2
  Complex weighted_product = 0;  // sum w conj(M) V
};

class Comparison {
 public:
  Comparison(const VisibilityDescription& description, const Truth& truth)
      : description_(description),
        truth_(truth),
        model_(description, truth),
        kept_(simulation::kept_by_rounding(description)) {
    choose_channels();
    choose_pairs();
    require_same_array();
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

  /// Between the passes. A channel of fewer than kSamplesOfPower samples gets the mean power of as many neighbouring
  /// channels as have them together.
  void smooth_powers() {
    power_.assign(power_sum_.size(), 0);
    std::vector<double> sums(channels_.size() + 1), weights(sums);
    for (std::size_t input = 0; input < inputs(); ++input) {
      for (std::size_t k = 0; k < channels_.size(); ++k) {
        const std::size_t at = channels_[k] * inputs() + input;
        sums[k + 1] = sums[k] + power_sum_[at];
        weights[k + 1] = weights[k] + power_weight_[at];
      }
      for (std::size_t k = 0; k < channels_.size(); ++k) {
        std::size_t first = k, end = k + 1;
        for (std::size_t more = 1;
             weights[end] - weights[first] < kSamplesOfPower && end - first < channels_.size();
             more *= 2) {
          first = k - std::min(k, more);
          end = std::min(channels_.size(), k + more + 1);
        }
        const double weight = weights[end] - weights[first];
        if (weight > 0)
          power_[channels_[k] * inputs() + input] = (sums[end] - sums[first]) / weight;
      }
    }
  }

  /// Second pass: called with every integration.
  void add(const Integration& integration) {
    model_.follow_delays(integration);
    for (const std::size_t channel : channels_) {
      model_.follow_phases(description_.channel_hz[channel]);
      for (ComparedPair& pair : pairs_) add_cell(integration, channel, pair);
    }
  }

  TruthComparison finish(const TruthTolerance& tolerance) {
    TruthComparison found;
    std::sort(pairs_.begin(), pairs_.end(),
              [](const ComparedPair& a, const ComparedPair& b) { return a.length_m < b.length_m; });
    for (const ComparedPair& pair : pairs_)
      if (pair.weighted_model > 0) found.visibilities.push_back(compared(pair));
    if (found.visibilities.empty() && !products_counted_)
      throw Error(ErrorKind::config, "visibilities", "no valid product of two antennas",
                  "cross products", "correlate without `autos_only`");
    if (found.visibilities.empty())
      throw Error(ErrorKind::config, "visibilities", "no valid sample of a simulated source",
                  "at least one", "are these files of the same run?");
    found.without_data = pairs_.size() - found.visibilities.size();
    found.closures = closures_of(found.visibilities, antenna_numbers());
    found.power_ratio = power_ratio();
    found.other_antennas = other_antennas();
    judge(found, tolerance);
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
        pair.truth = {one->second, other->second, inputs[first].feed};
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

  /// Throws where most baselines are none of the simulated array's: antennas have small numbers in any array.
  void require_same_array() const {
    constexpr double kOther = 0.5;  // of a baseline's length: no error of a position
    if (truth_.antenna_ecef_m.empty() || !description_.array.positions_known) return;
    std::size_t others = 0;
    for (const ComparedPair& pair : pairs_) {
      const auto measured =
          formats::difference(antenna_of(pair.second).ecef_m, antenna_of(pair.first).ecef_m);
      const auto off = formats::difference(
          measured, formats::difference(truth_.antenna_ecef_m[pair.truth.second],
                                        truth_.antenna_ecef_m[pair.truth.first]));
      if (formats::dot(off, off) > kOther * kOther * formats::dot(measured, measured)) ++others;
    }
    if (2 * others > pairs_.size())
      throw Error(
          ErrorKind::config, "baselines of the visibilities",
          fmt::format("{} of {} unlike those of the simulated array", others, pairs_.size()),
          "antennas where they were simulated",
          "give the truth of the file that was correlated, and correlate with the "
          "array.toml of the simulation");
  }

  void add_cell(const Integration& integration, std::size_t channel, ComparedPair& pair) {
    const std::size_t packed = core::baseline_index(pair.second, pair.first);
    const auto count = static_cast<double>(integration.counts(channel, packed));
    // The mean of the run: the powers of one integration fluctuate together with its visibilities,
    // and weights made of them would favour low visibilities.
    const auto power = [&](std::size_t input) { return power_[channel * inputs() + input]; };
    products_counted_ = products_counted_ || count > 0;
    const double variance = power(pair.first) * power(pair.second) / count;
    const Complex value(integration.visibilities(channel, packed));
    if (!(count > 0) || !(variance > 0) || !std::isfinite(std::abs(value))) return;
    const double recorded =
        std::sqrt(recorded_[pair.first].correlation * recorded_[pair.second].correlation);
    const Complex expected = kept_.correlation * recorded * model_.visibility(pair.truth);
    pair.weighted_model += std::norm(expected) / variance;
    pair.weighted_product += std::conj(expected) * value / variance;
  }

  ComparedVisibility compared(const ComparedPair& pair) const {
    const Complex truth = model_.listed(pair.truth), reference = model_.reference(pair.truth);
    const Complex measured = pair.weighted_product / pair.weighted_model * reference;
    // Of the real and of the imaginary part.
    const double error = std::abs(reference) / std::sqrt(2 * pair.weighted_model);
    const Complex difference = (measured - truth) * std::polar(1.0, -std::arg(truth));
    ComparedVisibility row;
    row.ant_1 = antenna_of(pair.first).number;
    row.ant_2 = antenna_of(pair.second).number;
    row.feed = pair.truth.feed;
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

  /// In the order of the inputs, each once.
  std::vector<int> antenna_numbers() const {
    std::vector<int> numbers;
    for (std::size_t input = 0; input < inputs(); ++input) {
      const int number = antenna_of(input).number;
      if (std::find(numbers.begin(), numbers.end(), number) == numbers.end())
        numbers.push_back(number);
    }
    return numbers;
  }

  /// Antennas of the file that the truth has elsewhere, or calls otherwise.
  std::string other_antennas() const {
    constexpr double kOff_m = 0.01;  // files keep positions to a micrometre
    constexpr std::size_t kMostNamed = 3;
    if (!description_.array.positions_known) return {};
    std::vector<std::string> others;
    for (const formats::Antenna& antenna : description_.array.antennas) {
      const auto found = std::ranges::find(truth_.antenna_numbers, antenna.number);
      if (found == truth_.antenna_numbers.end()) continue;
      const auto k = static_cast<std::size_t>(found - truth_.antenna_numbers.begin());
      std::string other;
      if (!truth_.antenna_ecef_m.empty()) {
        const auto off = formats::difference(antenna.ecef_m, truth_.antenna_ecef_m[k]);
        if (const double off_m = std::sqrt(formats::dot(off, off)); !(off_m <= kOff_m))
          other = fmt::format(" is {} m from where it was simulated", core::few_digits(off_m, 3));
      }
      if (!truth_.antenna_names.empty() && antenna.name != truth_.antenna_names[k])
        other += fmt::format("{} is called {}, and {} in the simulation",
                             other.empty() ? "" : " and", antenna.name, truth_.antenna_names[k]);
      if (!other.empty()) others.push_back(fmt::format("antenna {}{}", antenna.number, other));
    }
    const std::size_t named = std::min(others.size(), kMostNamed);
    return fmt::format(
        "{}{}", fmt::join(std::span(others).first(named), "; "),
        others.size() > named ? fmt::format("; and {} more", others.size() - named) : "");
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

  const VisibilityDescription& description_;
  const Truth& truth_;
  simulation::TruthModel model_;
  simulation::KeptByRounding kept_;                   // by the correlator
  std::vector<simulation::KeptByRounding> recorded_;  // [input] by the recorder
  std::vector<std::size_t> channels_;
  std::vector<ComparedPair> pairs_;
  bool products_counted_ = false;                 // of two antennas
  std::vector<double> power_sum_, power_weight_;  // [channel][input]
  std::vector<double> power_;                     // the same, for weights
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
  comparison.smooth_powers();
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
