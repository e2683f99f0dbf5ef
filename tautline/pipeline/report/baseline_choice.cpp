#include "tautline/pipeline/report/baseline_choice.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>
#include <utility>

#include "tautline/core/baseline.h"

namespace tautline::pipeline::report {
namespace {

struct RankedBaseline {
  std::size_t first = 0, second = 0;
  double length_m = 0;
  double strength = 0;
};

double distance_m(const formats::Antenna& a, const formats::Antenna& b) {
  return std::hypot(a.ecef_m[0] - b.ecef_m[0], a.ecef_m[1] - b.ecef_m[1],
                    a.ecef_m[2] - b.ecef_m[2]);
}

/// At most this many products are looked at to find the strongest baselines: half a second.
constexpr std::size_t kProductsToRank = std::size_t{1} << 26;
/// Products of one place in the band, and the fewest places at which a baseline is looked at.
constexpr std::size_t kProductsAPlace = 6, kFewestPlaces = 16;

class Chooser {
 public:
  Chooser(const formats::VisibilityDescription& description, const formats::Integration& first,
          std::size_t most)
      : array_(description.array),
        flagged_(description.flagged_channels),
        first_(first),
        most_(most),
        full_count_(static_cast<double>(description.nominal_count)) {
    collect();
  }

  BaselineChoice run(std::size_t closure_antennas) {
    close_triangles(closure_antennas);
    const auto stronger = [](const RankedBaseline& a, const RankedBaseline& b) {
      return a.strength > b.strength;
    };
    const auto shorter = [](const RankedBaseline& a, const RankedBaseline& b) {
      return a.length_m < b.length_m;
    };
    std::stable_sort(same_feed_.begin(), same_feed_.end(), stronger);
    // One feed serves for the lengths: the other's baselines are as long.
    std::vector<RankedBaseline> by_length;
    for (const RankedBaseline& candidate : same_feed_)
      if (array_.inputs[candidate.first].feed == array_.inputs[0].feed)
        by_length.push_back(candidate);
    std::stable_sort(by_length.begin(), by_length.end(), shorter);

    // In turn, so that each kind gets its share however few there is room for.
    const std::size_t share = std::clamp<std::size_t>(by_length.size() / 4, 1, most_ / 4 + 1);
    for (std::size_t rank = 0; rank < std::min(share, by_length.size()); ++rank) {
      keep(same_feed_[rank], "strongest");
      if (!array_.positions_known) continue;
      keep(by_length[rank], "shortest");
      keep(by_length[by_length.size() - 1 - rank], "longest");
    }
    for (const RankedBaseline& candidate : same_feed_) {
      if (full()) break;
      keep(candidate, "other");
    }
    for (const RankedBaseline& candidate : cross_hand_) {
      if (full()) break;
      keep(candidate, "cross-hand");
    }
    return std::move(choice_);
  }

 private:
  void collect() {
    const std::size_t inputs = array_.inputs.size();
    // With thousands of inputs every k-th pair stands for its neighbours.
    const std::size_t pairs = core::baseline_count(inputs);
    const std::size_t step = 1 + pairs * kFewestPlaces * kProductsAPlace / kProductsToRank;
    places_ = std::max(kFewestPlaces,
                       kProductsToRank / (kProductsAPlace * std::max<std::size_t>(1, pairs)));
    std::size_t turn = 0;
    for (std::size_t second = 0; second < inputs; ++second)
      for (std::size_t first = 0; first < second; ++first) {
        const formats::InputLabel& a = array_.inputs[first];
        const formats::InputLabel& b = array_.inputs[second];
        if (turn++ % step != 0) continue;
        RankedBaseline candidate{first, second,
                                 distance_m(array_.antennas[a.antenna], array_.antennas[b.antenna]),
                                 strength(second, first)};
        (a.feed == b.feed ? same_feed_ : cross_hand_).push_back(candidate);
      }
  }

  // Coefficients of few spectra are large whatever was received: what noise does not make is compared.
  double strength(std::size_t i, std::size_t j) const {
    const std::size_t channels = first_.counts.extent(0);
    const std::size_t step = std::max<std::size_t>(1, channels / places_);
    double counted = 0;
    std::size_t looked_at = 0;
    for (std::size_t channel = 0; channel < channels; channel += step, ++looked_at)
      if (!std::ranges::binary_search(flagged_, channel))
        counted += static_cast<double>(first_.counts(channel, core::baseline_index(i, j)));
    return fringe_coefficient(first_, i, j, places_, flagged_) *
           std::sqrt(counted / static_cast<double>(looked_at) / full_count_);
  }

  bool full() const { return choice_.baselines.size() >= most_; }

  std::optional<std::size_t> find(std::size_t first, std::size_t second) const {
    for (std::size_t place = 0; place < choice_.baselines.size(); ++place)
      if (choice_.baselines[place].first == first && choice_.baselines[place].second == second)
        return place;
    return std::nullopt;
  }

  /// Adds the pair if there is room; one that is already kept gains a reason.
  std::optional<std::size_t> keep(const RankedBaseline& candidate, const std::string& reason) {
    std::optional<std::size_t> place = find(candidate.first, candidate.second);
    if (!place) {
      if (full()) return std::nullopt;
      choice_.baselines.push_back({candidate.first,
                                   candidate.second,
                                   array_.positions_known ? candidate.length_m : 0,
                                   candidate.strength,
                                   {reason}});
      return choice_.baselines.size() - 1;
    }
    std::vector<std::string>& reasons = choice_.baselines[*place].reasons;
    if (reason != "other" && std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
      reasons.push_back(reason);
    return place;
  }

  /// The strongest pair's two antennas, then each time the one that correlates best with them.
  std::vector<std::size_t> strongest_clique(std::size_t antennas) const {
    if (same_feed_.empty()) return {};
    const auto strongest = std::max_element(
        same_feed_.begin(), same_feed_.end(),
        [](const RankedBaseline& a, const RankedBaseline& b) { return a.strength < b.strength; });
    std::vector<std::size_t> members{strongest->first, strongest->second};
    const char feed = array_.inputs[strongest->first].feed;
    while (members.size() < antennas) {
      double best = -1;
      std::size_t chosen = 0;
      for (std::size_t input = 0; input < array_.inputs.size(); ++input) {
        if (array_.inputs[input].feed != feed) continue;
        if (std::find(members.begin(), members.end(), input) != members.end()) continue;
        double strength = 0;
        for (std::size_t member : members)
          strength += this->strength(std::max(input, member), std::min(input, member));
        if (strength > best) {
          best = strength;
          chosen = input;
        }
      }
      if (best < 0) break;
      members.push_back(chosen);
    }
    std::sort(members.begin(), members.end());
    return members;
  }

  void close_triangles(std::size_t closure_antennas) {
    const std::vector<std::size_t> members = strongest_clique(closure_antennas);
    const std::size_t n = members.size();
    if (n < 3 || n * (n - 1) / 2 > most_) return;
    auto side = [&](std::size_t a, std::size_t b) {
      const auto& one = array_.antennas[array_.inputs[a].antenna];
      const auto& other = array_.antennas[array_.inputs[b].antenna];
      return *keep({a, b, distance_m(one, other), strength(b, a)}, "closure");
    };
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = a + 1; b < n; ++b)
        for (std::size_t c = b + 1; c < n; ++c)
          choice_.triangles.push_back({{members[a], members[b], members[c]},
                                       {side(members[a], members[b]), side(members[b], members[c]),
                                        side(members[a], members[c])}});
  }

  const formats::ArrayLayout& array_;
  const std::vector<std::size_t>& flagged_;
  const formats::Integration& first_;
  std::size_t most_, places_ = kFewestPlaces;
  double full_count_;
  std::vector<RankedBaseline> same_feed_, cross_hand_;
  BaselineChoice choice_;
};

}  // namespace

double fringe_coefficient(const formats::Integration& integration, std::size_t i, std::size_t j,
                          std::size_t places, const std::vector<std::size_t>& flagged) {
  const auto& visibilities = integration.visibilities;
  const std::size_t channels = visibilities.extent(0);
  const auto coefficient = [&](std::size_t channel) -> std::optional<std::complex<double>> {
    const double power = double{visibilities(channel, core::baseline_index(i, i)).real()} *
                         double{visibilities(channel, core::baseline_index(j, j)).real()};
    const std::complex<double> value = visibilities(channel, core::baseline_index(i, j));
    if (!(power > 0) || !std::isfinite(power) || !std::isfinite(std::abs(value)) ||
        std::ranges::binary_search(flagged, channel))
      return std::nullopt;
    return value / std::sqrt(power);
  };
  if (channels == 1) return std::abs(coefficient(0).value_or(0));
  const std::size_t step = std::max<std::size_t>(1, (channels - 1) / places);
  std::complex<double> sum = 0;
  std::size_t used = 0;
  for (std::size_t channel = 0; channel + 1 < channels; channel += step) {
    const auto here = coefficient(channel), next = coefficient(channel + 1);
    if (!here || !next) continue;
    sum += *next * std::conj(*here);
    ++used;
  }
  return used == 0 ? 0 : std::sqrt(std::abs(sum) / static_cast<double>(used));
}

BaselineChoice choose_baselines(const formats::VisibilityDescription& description,
                                const formats::Integration& first, std::size_t most,
                                std::size_t closure_antennas) {
  return Chooser(description, first, most).run(closure_antennas);
}

}  // namespace tautline::pipeline::report
