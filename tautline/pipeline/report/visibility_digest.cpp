#include "tautline/pipeline/report/visibility_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tautline/core/baseline.h"
#include "tautline/core/error.h"
#include "tautline/formats/few_samples.h"

namespace tautline::pipeline::report {
namespace {

using core::Error;
using core::ErrorKind;

bool finite(std::complex<float> value) {
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

void require(bool condition, const char* field, std::size_t value, std::string limit) {
  if (!condition) throw Error(ErrorKind::config, field, fmt::to_string(value), std::move(limit));
}

/// Adds up the rows of each group: group g is rows [first[g], first[g + 1]).
template <class T>
void merge_rows(std::vector<T>& values, std::size_t row, const std::vector<std::size_t>& first) {
  for (std::size_t group = 0; group + 1 < first.size(); ++group)
    for (std::size_t k = 0; k < row; ++k) {
      T sum{};
      for (std::size_t from = first[group]; from < first[group + 1]; ++from)
        sum += values[from * row + k];
      values[group * row + k] = sum;
    }
  values.resize((first.size() - 1) * row);
}

constexpr std::size_t kNotThere = static_cast<std::size_t>(-1);

/// [time][item][row] after another choice of items: `from` has the place that each had, or kNotThere.
template <class T>
void rearrange(std::vector<T>& values, std::size_t times, std::size_t items, std::size_t row,
               const std::vector<std::size_t>& from) {
  std::vector<T> moved;
  moved.reserve(values.capacity());
  moved.resize(times * from.size() * row);
  for (std::size_t time = 0; time < times; ++time)
    for (std::size_t k = 0; k < from.size(); ++k)
      if (from[k] != kNotThere)
        std::copy_n(&values[(time * items + from[k]) * row], row,
                    &moved[(time * from.size() + k) * row]);
  values = std::move(moved);
}

/// The places in `before` of each of `now`, by `same`.
template <class T, class Same>
std::vector<std::size_t> places_in(const std::vector<T>& before, const std::vector<T>& now,
                                   const Same& same) {
  std::vector<std::size_t> places;
  for (const T& one : now) {
    const auto found =
        std::ranges::find_if(before, [&](const T& other) { return same(one, other); });
    places.push_back(found == before.end() ? kNotThere
                                           : static_cast<std::size_t>(found - before.begin()));
  }
  return places;
}

/// Valid samples of all inputs.
std::int64_t counts_of(const formats::Integration& integration, std::size_t inputs) {
  std::int64_t sum = 0;
  for (std::size_t channel = 0; channel < integration.counts.extent(0); ++channel)
    for (std::size_t input = 0; input < inputs; ++input)
      sum += integration.counts(channel, core::baseline_index(input, input));
  return sum;
}

/// Sums of fractions are rounded; no run is long enough to miss less than this.
constexpr double kWhole = 1 - 1e-12;

/// A cell is closed when the next integration starts later than this many integrations after it.
constexpr double kGapIntegrations = 1.5;

}  // namespace

ChannelBins::ChannelBins(const std::vector<double>& channel_hz, std::size_t most)
    : channels(channel_hz.size()),
      per_bin((channels + most - 1) / most),
      bins((channels + per_bin - 1) / per_bin),
      descending(channel_hz.front() > channel_hz.back()) {}

std::vector<double> ChannelBins::centres_hz(const std::vector<double>& channel_hz) const {
  std::vector<double> sum(bins), members(bins);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    sum[bin_of(channel)] += channel_hz[channel];
    members[bin_of(channel)] += 1;
  }
  for (std::size_t bin = 0; bin < bins; ++bin) sum[bin] /= members[bin];
  return sum;
}

VisibilityDigest::VisibilityDigest(formats::VisibilityDescription description, DigestLimits limits)
    : description_(std::move(description)), limits_(limits) {
  require(!description_.channel_hz.empty(), "channel_hz", 0, "one channel or more");
  require(inputs() > 0, "array.inputs", 0, "one input or more");
  require(description_.nominal_count > 0, "nominal_count", 0, "a positive count");
  require(description_.integration_s > 0, "integration_s", 0, "a positive time");
  require(limits_.baselines > 0, "limits.baselines", 0, "1 or more");
  require(limits_.times >= 2 && limits_.times % 2 == 0, "limits.times", limits_.times,
          "an even number, 2 or more");
  require(limits_.channels > 0, "limits.channels", 0, "1 or more");
  channel_bins_ = ChannelBins(description_.channel_hz, limits_.channels);
  const std::size_t spectrum_channels =
      std::clamp<std::size_t>(limits_.spectrum_cells / inputs(), 1, limits_.channels);
  spectrum_bins_ = ChannelBins(description_.channel_hz, spectrum_channels);
  spectrum_sum_.assign(inputs() * spectrum_bins_.bins, 0);
  spectrum_weight_.assign(inputs() * spectrum_bins_.bins, 0);
  spectrum_expected_.assign(spectrum_bins_.bins, 0);
}

std::size_t VisibilityDigest::bytes() const {
  const std::size_t pairs = inputs() * (inputs() - 1) / 2;
  const std::size_t baselines = std::min(limits_.baselines, pairs);
  const std::size_t n = limits_.closure_antennas;
  const std::size_t triangles = n < 3 ? 0 : n * (n - 1) * (n - 2) / 6;
  return limits_.times *
             (baselines * channel_bins_.bins * (sizeof(std::complex<float>) + sizeof(float)) +
              inputs() * 2 * sizeof(double) + triangles * sizeof(std::complex<double>) +
              sizeof(TimeCell)) +
         spectrum_bins_.bins * (2 * inputs() + 1) * sizeof(double) +
         triangles * channel_bins_.bins * sizeof(std::complex<double>);
}

void VisibilityDigest::begin(const formats::Integration& first) {
  choice_ = choose_baselines(description_, first, limits_.baselines, limits_.closure_antennas);
  chosen_counts_ = counts_of(first, inputs());
  choices_ = 1;
  start_middle_ = first.middle;
  start_half_s_ = first.integration_s / 2;
  start_unix_s_ = core::seconds_between(core::Instant{}, first.middle) - start_half_s_;
  const std::size_t row = choice_.baselines.size() * channel_bins_.bins;
  times_.reserve(limits_.times);
  visibility_sum_.reserve(limits_.times * row);
  visibility_weight_.reserve(limits_.times * row);
  power_sum_.reserve(limits_.times * inputs());
  valid_sum_.reserve(limits_.times * inputs());
  bispectrum_sum_.reserve(limits_.times * choice_.triangles.size());
  closure_spectrum_.assign(choice_.triangles.size() * channel_bins_.bins, 0);
}

// The integration by which the baselines were chosen may have lost most of its samples: one with more than twice as many
// chooses again. What came before of baselines that were not kept is missing.
void VisibilityDigest::choose_anew(const formats::Integration& integration) {
  const std::int64_t counts = counts_of(integration, inputs());
  if (counts / 2 <= chosen_counts_) return;
  chosen_counts_ = counts;
  ++choices_;
  const BaselineChoice before = std::exchange(
      choice_,
      choose_baselines(description_, integration, limits_.baselines, limits_.closure_antennas));
  const auto baselines = places_in(
      before.baselines, choice_.baselines,
      [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; });
  const auto triangles =
      places_in(before.triangles, choice_.triangles,
                [](const auto& a, const auto& b) { return a.inputs == b.inputs; });
  const std::size_t times = times_.size(), bins = channel_bins_.bins;
  rearrange(visibility_sum_, times, before.baselines.size(), bins, baselines);
  rearrange(visibility_weight_, times, before.baselines.size(), bins, baselines);
  rearrange(bispectrum_sum_, times, before.triangles.size(), 1, triangles);
  rearrange(closure_spectrum_, 1, before.triangles.size(), bins, triangles);
}

void VisibilityDigest::open_cell(double start_s) {
  if (times_.size() == limits_.times) merge_pairs();
  times_.push_back({start_s, start_s, 0, 0});
  const std::size_t row = choice_.baselines.size() * channel_bins_.bins;
  visibility_sum_.resize(times_.size() * row);
  visibility_weight_.resize(times_.size() * row);
  power_sum_.resize(times_.size() * inputs());
  valid_sum_.resize(times_.size() * inputs());
  bispectrum_sum_.resize(times_.size() * choice_.triangles.size());
}

bool VisibilityDigest::flagged(std::size_t channel) const {
  return std::ranges::binary_search(description_.flagged_channels, channel);
}

bool VisibilityDigest::gap_before(double start_s) const {
  return !times_.empty() &&
         start_s - times_.back().end_s > kGapIntegrations * description_.integration_s;
}

std::vector<std::size_t> VisibilityDigest::pairs_to_merge() const {
  const double gap_s = kGapIntegrations * description_.integration_s;
  std::vector<std::size_t> first{0};
  while (first.back() < times_.size()) {
    const std::size_t at = first.back();
    const bool pair = at + 1 < times_.size() && times_[at + 1].start_s - times_[at].end_s <= gap_s;
    first.push_back(at + (pair ? 2 : 1));
  }
  // A stream that is mostly gaps: neighbours are merged across them, or memory would run out.
  if (first.size() - 1 > times_.size() * 3 / 4) {
    first.clear();
    for (std::size_t at = 0; at <= times_.size(); at += 2) first.push_back(at);
  }
  return first;
}

void VisibilityDigest::merge_pairs() {
  const std::vector<std::size_t> first = pairs_to_merge();
  for (std::size_t group = 0; group + 1 < first.size(); ++group) {
    TimeCell merged = times_[first[group]];
    for (std::size_t from = first[group] + 1; from < first[group + 1]; ++from) {
      merged.end_s = times_[from].end_s;
      merged.expected += times_[from].expected;
      merged.integrations += times_[from].integrations;
    }
    times_[group] = merged;
    longest_expected_ = std::max(longest_expected_, merged.expected);
  }
  times_.resize(first.size() - 1);
  merge_rows(visibility_sum_, choice_.baselines.size() * channel_bins_.bins, first);
  merge_rows(visibility_weight_, choice_.baselines.size() * channel_bins_.bins, first);
  merge_rows(power_sum_, inputs(), first);
  merge_rows(valid_sum_, inputs(), first);
  merge_rows(bispectrum_sum_, choice_.triangles.size(), first);
  integrations_per_cell_ *= 2;
}

void VisibilityDigest::add(const formats::Integration& integration) {
  const std::size_t channels = description_.channel_hz.size();
  const std::size_t baselines = core::baseline_count(inputs());
  const auto shape = [&](const auto& view) {
    return view.extent(0) == channels && view.extent(1) == baselines;
  };
  if (!shape(integration.visibilities) || !shape(integration.counts))
    throw Error(ErrorKind::config, "integration.visibilities",
                fmt::format("{} x {} (counts {} x {})", integration.visibilities.extent(0),
                            integration.visibilities.extent(1), integration.counts.extent(0),
                            integration.counts.extent(1)),
                fmt::format("{} channels x {} baselines", channels, baselines));
  integrations_ == 0 ? begin(integration) : choose_anew(integration);

  const double middle_s = core::seconds_between(start_middle_, integration.middle) + start_half_s_;
  const double start_s = middle_s - integration.integration_s / 2;
  if (times_.empty() || gap_before(start_s) || times_.back().integrations >= integrations_per_cell_)
    open_cell(start_s);

  const double expected = integration.integration_s / description_.integration_s;
  TimeCell& cell = times_.back();
  cell.end_s = middle_s + integration.integration_s / 2;
  cell.expected += expected;
  cell.integrations += 1;
  longest_expected_ = std::max(longest_expected_, cell.expected);
  integrations_ += 1;
  covered_s_ += integration.integration_s;
  expected_total_ += expected;
  add_baselines(integration);
  add_inputs(integration, expected);
  add_closures(integration);
}

void VisibilityDigest::add_baselines(const formats::Integration& integration) {
  const double full = static_cast<double>(description_.nominal_count);
  for (std::size_t b = 0; b < choice_.baselines.size(); ++b) {
    const KeptBaseline& kept = choice_.baselines[b];
    const std::size_t packed = core::baseline_index(kept.second, kept.first);
    for (std::size_t channel = 0; channel < channel_bins_.channels; ++channel) {
      const std::complex<float> value = integration.visibilities(channel, packed);
      const auto weight =
          static_cast<float>(static_cast<double>(integration.counts(channel, packed)) / full);
      if (!(weight > 0) || !finite(value) || flagged(channel)) continue;
      const std::size_t cell = cell_of(times_.size() - 1, b, channel_bins_.bin_of(channel));
      visibility_sum_[cell] += value * weight;
      visibility_weight_[cell] += weight;
    }
  }
}

void VisibilityDigest::add_inputs(const formats::Integration& integration, double expected) {
  const double full = static_cast<double>(description_.nominal_count);
  double* power = &power_sum_[(times_.size() - 1) * inputs()];
  double* valid = &valid_sum_[(times_.size() - 1) * inputs()];
  for (std::size_t channel = 0; channel < spectrum_bins_.channels; ++channel) {
    const std::size_t bin = spectrum_bins_.bin_of(channel);
    spectrum_expected_[bin] += expected;
    for (std::size_t input = 0; input < inputs(); ++input) {
      const std::size_t packed = core::baseline_index(input, input);
      const std::complex<float> value = integration.visibilities(channel, packed);
      const double weight = static_cast<double>(integration.counts(channel, packed)) / full;
      if (!(weight > 0) || flagged(channel)) continue;
      if (!finite(value)) {
        ++values_not_finite_;
        continue;
      }
      power[input] += double{value.real()} * weight;
      valid[input] += weight;
      spectrum_sum_[input * spectrum_bins_.bins + bin] += double{value.real()} * weight;
      spectrum_weight_[input * spectrum_bins_.bins + bin] += weight;
    }
  }
}

void VisibilityDigest::add_closures(const formats::Integration& integration) {
  const auto& visibilities = integration.visibilities;
  const auto full = static_cast<double>(description_.nominal_count);
  for (std::size_t t = 0; t < choice_.triangles.size(); ++t) {
    const auto [a, b, c] = choice_.triangles[t].inputs;
    for (std::size_t channel = 0; channel < channel_bins_.channels; ++channel) {
      const auto value = [&](std::size_t second, std::size_t first) {
        return std::complex<double>(visibilities(channel, core::baseline_index(second, first)));
      };
      const auto count = [&](std::size_t second, std::size_t first) {
        return integration.counts(channel, core::baseline_index(second, first));
      };
      const std::int64_t fewest = std::min({count(b, a), count(c, b), count(c, a)});
      if (fewest <= 0 || flagged(channel)) continue;
      const double weight = static_cast<double>(fewest) / full;
      const double power = value(a, a).real() * value(b, b).real() * value(c, c).real();
      if (!(power > 0)) continue;
      const std::complex<double> product =
          value(b, a) * value(c, b) * std::conj(value(c, a)) / power;
      if (!std::isfinite(product.real()) || !std::isfinite(product.imag())) continue;
      bispectrum_sum_[(times_.size() - 1) * choice_.triangles.size() + t] += weight * product;
      closure_spectrum_[t * channel_bins_.bins + channel_bins_.bin_of(channel)] += weight * product;
    }
  }
}

double VisibilityDigest::valid_fraction() const {
  double sum = 0;
  for (double valid : valid_sum_) sum += valid;
  const double expected = expected_total_ * static_cast<double>(inputs() * channel_bins_.channels);
  const double fraction = expected > 0 ? sum / expected : 0;
  return fraction > kWhole ? 1 : fraction;
}

std::complex<float> VisibilityDigest::visibility(std::size_t time, std::size_t baseline,
                                                 std::size_t bin) const {
  const std::size_t cell = cell_of(time, baseline, bin);
  const float weight = visibility_weight_[cell];
  return weight > 0 ? visibility_sum_[cell] / weight : std::complex<float>{};
}

double VisibilityDigest::weight(std::size_t time, std::size_t baseline, std::size_t bin) const {
  return double{visibility_weight_[cell_of(time, baseline, bin)]} / expected(time, bin);
}

std::size_t VisibilityDigest::members(std::size_t bin) const {
  return std::min(channel_bins_.per_bin, channel_bins_.channels - bin * channel_bins_.per_bin);
}

double VisibilityDigest::expected(std::size_t time, std::size_t bin) const {
  return times_[time].expected * static_cast<double>(members(bin));
}

bool VisibilityDigest::present(std::size_t time, std::size_t baseline, std::size_t bin) const {
  const auto full = static_cast<double>(description_.nominal_count);
  return formats::says_something(double{visibility_weight_[cell_of(time, baseline, bin)]} * full,
                                 longest_expected_ * static_cast<double>(members(bin)) * full);
}

double VisibilityDigest::fraction(std::size_t time, std::size_t baseline) const {
  double valid = 0, whole = 0;
  for (std::size_t bin = 0; bin < channel_bins_.bins; ++bin) {
    if (!present(time, baseline, bin)) continue;
    valid += double{visibility_weight_[cell_of(time, baseline, bin)]};
    whole += expected(time, bin);
  }
  return whole > 0 ? valid / whole : 0;
}

double VisibilityDigest::power(std::size_t time, std::size_t input) const {
  const double weight = valid_sum_[time * inputs() + input];
  const auto full = static_cast<double>(description_.nominal_count),
             channels = static_cast<double>(channel_bins_.channels);
  return formats::says_something(weight * full, longest_expected_ * channels * full)
             ? power_sum_[time * inputs() + input] / weight
             : 0;
}

double VisibilityDigest::valid(std::size_t time, std::size_t input) const {
  return valid_sum_[time * inputs() + input] /
         (times_[time].expected * static_cast<double>(channel_bins_.channels));
}

std::complex<double> VisibilityDigest::bispectrum(std::size_t time, std::size_t triangle) const {
  return bispectrum_sum_[time * choice_.triangles.size() + triangle];
}

double VisibilityDigest::spectrum(std::size_t input, std::size_t bin) const {
  const std::size_t cell = input * spectrum_bins_.bins + bin;
  return spectrum_weight_[cell] > 0 ? spectrum_sum_[cell] / spectrum_weight_[cell] : 0;
}

double VisibilityDigest::valid_spectrum(std::size_t input, std::size_t bin) const {
  return spectrum_expected_[bin] > 0
             ? spectrum_weight_[input * spectrum_bins_.bins + bin] / spectrum_expected_[bin]
             : 0;
}

std::complex<double> VisibilityDigest::closure_spectrum(std::size_t triangle,
                                                        std::size_t bin) const {
  return closure_spectrum_[triangle * channel_bins_.bins + bin];
}

}  // namespace tautline::pipeline::report
