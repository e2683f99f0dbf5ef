#include "tautline/pipeline/search/level_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "tautline/core/step_fit.h"
#include "tautline/pipeline/search/empty_stretches.h"

namespace tautline::pipeline {

namespace {

using core::fit_step;
using core::StepFit;

using core::kStepBlocks;
using core::kStepSide;
constexpr std::size_t kMostSpectra = 256, kLeastSpectra = 16;  // of a block
// Spectra and bytes that are searched for empty stretches on either side of a join near which there are some, at most.
constexpr std::uint64_t kMostSearched = 65'536, kMostSearchedBytes = std::uint64_t{256} << 20;

// Blocks of kMostSpectra that are compared to find steps inside a file, and the least distance between them; fewer do
// not tell a step from a drift. So many steps are none, but a level that is switched.
constexpr std::size_t kMostProbes = 32, kLeastProbes = 5, kMostInside = 16;
constexpr std::uint64_t kProbeDistance = 1024;
// A change from one of them to the next that is looked at, in those that are usual.
constexpr double kUnusualChange = 8;

using Series = std::array<double, kStepBlocks>;  // a value of each block

// The mean of the middle half; of three the middle one.
double middle_mean(std::vector<double>& values) {
  const std::size_t cut = (values.size() + 1) / 4;
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (std::size_t k = cut; k < values.size() - cut; ++k) sum += values[k];
  return sum / static_cast<double>(values.size() - 2 * cut);
}

// Whether one quantity of the channels steps: together, which few standard deviations of a channel show, or half of
// them each for itself, in whatever direction.
bool quantity_steps(const std::vector<Series>& channels, std::span<const double> times) {
  std::vector<Series> scaled;
  std::vector<double> steps;
  for (const Series& values : channels) {
    const StepFit fit = fit_step(values, times);
    const auto changes = [](auto from, auto to) {
      return std::any_of(from, to, [&](double x) { return x != *from; });
    };
    const auto middle = values.begin() + kStepSide;
    if (!(fit.deviation > 0) || !changes(values.begin(), middle) || !changes(middle, values.end()))
      continue;
    scaled.push_back(values);
    for (double& x : scaled.back()) x = (x - values.front()) / fit.deviation;
    steps.push_back(std::abs(fit.standard_errors));
  }
  if (scaled.empty()) return false;
  Series together;
  std::vector<double> of_block(scaled.size());
  for (std::size_t k = 0; k < kStepBlocks; ++k) {
    for (std::size_t c = 0; c < scaled.size(); ++c) of_block[c] = scaled[c][k];
    together[k] = middle_mean(of_block);
  }
  const auto half = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
  std::nth_element(steps.begin(), half, steps.end());
  return std::abs(fit_step(together, times).standard_errors) > core::kStepStandardErrors ||
         *half > core::kStepStandardErrors;
}

// [channel] of a block; values that are not finite do not count.
struct Levels {
  explicit Levels(std::size_t channels) : count(channels), mean(channels), deviation(channels) {}
  std::vector<double> count, mean, deviation;
};

// Of integers: exact sums, of kMostSpectra at most.
template <class Sample>
Levels levels_of(const Sample* samples, std::size_t spectra, std::size_t channels) {
  using Sum = std::conditional_t<sizeof(Sample) == 1, std::int32_t, std::int64_t>;
  std::vector<Sum> sum(channels, 0), squares(channels, 0);
  for (std::size_t t = 0; t < spectra; ++t)
    for (std::size_t c = 0; c < channels; ++c) {
      const Sum x = samples[t * channels + c];
      sum[c] += x;
      squares[c] += x * x;
    }
  Levels levels(channels);
  const double count = std::max(2.0, static_cast<double>(spectra));
  for (std::size_t c = 0; c < channels; ++c) {
    const auto total = static_cast<double>(sum[c]);
    const double spread = static_cast<double>(squares[c]) - total * total / count;
    levels.count[c] = static_cast<double>(spectra);
    levels.mean[c] = total / count;
    levels.deviation[c] = std::sqrt(std::max(0.0, spread / (count - 1)));
  }
  return levels;
}

Levels levels_of(const float* samples, std::size_t spectra, std::size_t channels) {
  Levels levels(channels);
  // Sums of distances from a value of the channel: squares of high levels would lose the noise.
  std::vector<double> origin(channels, 0), sum(channels, 0), squares(channels, 0);
  for (std::size_t c = 0; c < channels && spectra > 0; ++c) {
    const double x = samples[c];
    if (std::isfinite(x)) origin[c] = x;
  }
  for (std::size_t t = 0; t < spectra; ++t)
    for (std::size_t c = 0; c < channels; ++c) {
      const double x = double{samples[t * channels + c]} - origin[c];
      const bool finite = std::isfinite(x);
      levels.count[c] += finite ? 1 : 0;
      sum[c] += finite ? x : 0;
      squares[c] += finite ? x * x : 0;
    }
  for (std::size_t c = 0; c < channels; ++c) {
    const double count = std::max(2.0, levels.count[c]), mean = sum[c] / count;
    levels.mean[c] = origin[c] + mean;
    levels.deviation[c] =
        std::sqrt(std::max(0.0, (squares[c] - count * mean * mean) / (count - 1)));
  }
  return levels;
}

// Spectra on either side of a join, in order of time, without empty stretches.
struct Surroundings {
  std::vector<SampleRange> before, after;
  std::uint64_t join = 0;  // or the end of an empty stretch that has the join inside
  bool padded = false;
};

std::uint64_t length_of(const std::vector<SampleRange>& pieces) {
  std::uint64_t length = 0;
  for (const SampleRange& piece : pieces) length += piece.count;
  return length;
}

// What [low, high) holds, cut at the join and at empty stretches.
Surroundings look_around(formats::FilterbankReader& reader, std::uint64_t low, std::uint64_t join,
                         std::uint64_t high, const std::vector<std::size_t>& left_out) {
  constexpr std::size_t kBlockBytes = std::size_t{4} << 20;
  const std::size_t sample_bytes = reader.description().sample_bytes();
  std::vector<std::byte> bytes(std::max<std::size_t>(1, kBlockBytes / sample_bytes) * sample_bytes);
  EmptyStretches empty(reader, {low, high - low}, left_out);
  Surroundings found{{}, {}, join, false};
  const auto add = [&](std::uint64_t first, std::uint64_t end) {
    if (first < std::min(end, join)) found.before.push_back({first, std::min(end, join) - first});
    if (std::max(first, join) < end)
      found.after.push_back({std::max(first, join), end - std::max(first, join)});
  };
  for (std::uint64_t done = low; done < high;) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(high - done, bytes.size() / sample_bytes));
    const std::size_t got = reader.read_across(done, wanted, bytes);
    if (got == 0) break;
    const auto stretch = empty.find({bytes.data(), got * sample_bytes}, done - low, 0);
    const std::uint64_t first = stretch ? low + stretch->first : done + got;
    add(done, first);
    done = stretch ? first + stretch->count : first;
    if (!stretch) continue;
    found.padded = true;
    if (first < join && join < done) found.join = done;
  }
  return found;
}

// Most joins have no empty stretch near them; beyond one there may be data to compare.
Surroundings look_around(formats::FilterbankReader& reader, std::uint64_t low, std::uint64_t join,
                         std::uint64_t high, std::size_t spectra,
                         const std::vector<std::size_t>& left_out) {
  const auto within = [&](std::uint64_t reach) {
    return look_around(reader, std::max(low, join - std::min(join, reach)), join,
                       std::min(high, join + reach), left_out);
  };
  const std::uint64_t near = kStepSide * spectra;
  const Surroundings found = within(near);
  if (!found.padded) return found;
  const std::uint64_t bytes = reader.description().sample_bytes();
  return within(std::max(near, std::min(kMostSearched, kMostSearchedBytes / bytes)));
}

// Of `spectra` of the pieces' spectra, from the one with the number `skip` on; adds their mean time.
Levels read_levels(formats::FilterbankReader& reader, const std::vector<SampleRange>& pieces,
                   std::uint64_t skip, std::size_t spectra, double& time) {
  const formats::FilterbankDescription& description = reader.description();
  const std::size_t sample_bytes = description.sample_bytes();
  std::vector<std::byte> bytes(spectra * sample_bytes);
  std::size_t got = 0;
  for (const SampleRange& piece : pieces) {
    const std::uint64_t from = std::min(skip, piece.count);
    skip -= from;
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(spectra - got, piece.count - from));
    if (wanted == 0) continue;
    const std::size_t read = reader.read_across(piece.first + from, wanted,
                                                std::span(bytes).subspan(got * sample_bytes));
    time += (static_cast<double>(piece.first + from) + 0.5 * static_cast<double>(read)) *
            static_cast<double>(read) / static_cast<double>(spectra);
    got += read;
  }
  return formats::with_samples(description.delivered, bytes.data(), [&](const auto* samples) {
    return levels_of(samples, got, description.channels);
  });
}

bool level_steps_at(formats::FilterbankReader& reader, const Surroundings& around,
                    std::size_t spectra, const std::vector<bool>& counts) {
  std::vector<Series> means(counts.size()), deviations(counts.size());
  std::vector<bool> known = counts;
  Series times{};
  const std::uint64_t skipped = length_of(around.before) - kStepSide * spectra;
  for (std::size_t k = 0; k < kStepBlocks; ++k) {
    const bool before = k < kStepSide;
    const Levels levels =
        before ? read_levels(reader, around.before, skipped + k * spectra, spectra, times[k])
               : read_levels(reader, around.after, (k - kStepSide) * spectra, spectra, times[k]);
    for (std::size_t c = 0; c < counts.size(); ++c) {
      means[c][k] = levels.mean[c];
      deviations[c][k] = levels.deviation[c];
      if (levels.count[c] < kLeastSpectra / 2) known[c] = false;
    }
  }
  const auto keep_known = [&](std::vector<Series>& channels) {
    std::size_t kept = 0;
    for (std::size_t c = 0; c < known.size(); ++c)
      if (known[c]) channels[kept++] = channels[c];
    channels.resize(kept);
  };
  keep_known(means);
  keep_known(deviations);
  const std::span<const double> spacing = around.padded ? times : std::span<const double>{};
  return quantity_steps(means, spacing) || quantity_steps(deviations, spacing);
}

std::size_t spectra_of_blocks(std::uint64_t before, std::uint64_t after) {
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(kMostSpectra, std::min(before, after) / kStepSide));
}

// The step near `sample`, between `low` and `high`, by blocks of `least` spectra or more.
std::optional<std::uint64_t> step_at(formats::FilterbankReader& reader, std::uint64_t low,
                                     std::uint64_t sample, std::uint64_t high, std::size_t least,
                                     const std::vector<bool>& counts,
                                     const std::vector<std::size_t>& left_out) {
  const std::size_t most = spectra_of_blocks(sample - low, high - sample);
  if (most < least) return std::nullopt;
  const Surroundings around = look_around(reader, low, sample, high, most, left_out);
  const std::size_t spectra = spectra_of_blocks(length_of(around.before), length_of(around.after));
  if (spectra < least || !level_steps_at(reader, around, spectra, counts)) return std::nullopt;
  return around.join;
}

// Steps inside a file, one after the other. The levels of blocks are compared, then the place of a change is found.
class StepsInside {
 public:
  StepsInside(formats::FilterbankReader& reader, const std::vector<bool>& counts,
              const std::vector<std::size_t>& left_out)
      : reader_(reader), counts_(counts), left_out_(left_out) {}

  std::vector<std::uint64_t> of(const SampleRange& range) {
    const auto probes = static_cast<std::size_t>(
        std::min<std::uint64_t>(kMostProbes, range.count / kProbeDistance));
    if (probes < kLeastProbes) return {};
    const auto first = [&](std::size_t k) {
      return range.first + k * (range.count - kMostSpectra) / (probes - 1);
    };
    std::vector<double> changes;
    Levels before = levels_at(first(0));
    for (std::size_t k = 1; k < probes; ++k) {
      Levels levels = levels_at(first(k));
      changes.push_back(std::abs(change(before, levels)));
      before = std::move(levels);
    }
    const double unusual = kUnusualChange * usual(changes);
    std::vector<std::uint64_t> steps;
    for (std::size_t k = 0; k + 1 < probes; ++k) {
      if (changes[k] < unusual) continue;
      const std::uint64_t low = steps.empty() ? range.first : steps.back();
      const std::uint64_t place = place_of(first(k), first(k + 1));
      if (place <= low) continue;
      const auto step =
          step_at(reader_, low, place, range.first + range.count, kMostSpectra, counts_, left_out_);
      if (step && *step > low) steps.push_back(*step);
    }
    return steps.size() > kMostInside ? std::vector<std::uint64_t>() : steps;
  }

 private:
  Levels levels_at(std::uint64_t first) {
    double time = 0;
    return read_levels(reader_, {{first, kMostSpectra}}, 0, kMostSpectra, time);
  }
  // In standard deviations of a channel: the mean of the middle half of the channels.
  double change(const Levels& from, const Levels& to) const {
    std::vector<double> changes;
    for (std::size_t c = 0; c < counts_.size(); ++c)
      if (changes_in(c, from, to))
        changes.push_back((to.mean[c] - from.mean[c]) /
                          std::hypot(from.deviation[c], to.deviation[c]) * std::numbers::sqrt2);
    return changes.empty() ? 0 : middle_mean(changes);
  }
  bool changes_in(std::size_t c, const Levels& from, const Levels& to) const {
    return counts_[c] && from.deviation[c] > 0 && to.deviation[c] > 0;
  }
  // The median, and at least that of white noise in half of the channels.
  double usual(std::vector<double> changes) const {
    const auto half = changes.begin() + static_cast<std::ptrdiff_t>((changes.size() - 1) / 2);
    std::nth_element(changes.begin(), half, changes.end());
    const auto channels = static_cast<double>(std::count(counts_.begin(), counts_.end(), true));
    return std::max(*half, std::sqrt(2 / (kMostSpectra * std::max(1.0, channels / 2))));
  }
  // Where the level turns from that at `low` into that at `high`: between two blocks, then between two spectra.
  std::uint64_t place_of(std::uint64_t low, std::uint64_t high) {
    const Levels before = levels_at(low), after = levels_at(high);
    const double whole = change(before, after);
    while (high - low > kMostSpectra) {
      const std::uint64_t middle = low + (high - low) / 2;
      const double part = change(before, levels_at(middle));
      (part / whole > 0.5 ? high : low) = middle;
    }
    const auto wanted = static_cast<std::size_t>(high - low) + kMostSpectra;
    std::vector<std::byte> bytes(wanted * reader_.description().sample_bytes());
    const std::size_t got = reader_.read_across(low, wanted, bytes);
    const std::vector<double> sums = formats::with_samples(
        reader_.description().delivered, bytes.data(),
        [&](const auto* spectra) { return sums_before(spectra, got, before, after); });
    double best = -1;
    std::uint64_t place = low;
    for (std::size_t t = 1; t < got; ++t) {
      const auto n = static_cast<double>(got), k = static_cast<double>(t);
      const double step = sums[t] - sums[got] * k / n, squared = step * step / (k * (n - k));
      if (squared > best) best = squared, place = low + t;
    }
    return place;
  }
  // [t] the sum over all spectra before t, of the channels in their noise.
  template <class Sample>
  std::vector<double> sums_before(const Sample* spectra, std::size_t count, const Levels& before,
                                  const Levels& after) const {
    std::vector<double> sums(count + 1, 0);
    for (std::size_t t = 0; t < count; ++t, spectra += counts_.size()) {
      sums[t + 1] = sums[t];
      for (std::size_t c = 0; c < counts_.size(); ++c) {
        const double x = static_cast<double>(spectra[c]) - before.mean[c];
        if (changes_in(c, before, after) && std::isfinite(x))
          sums[t + 1] += x / before.deviation[c];
      }
    }
    return sums;
  }

  formats::FilterbankReader& reader_;
  const std::vector<bool>& counts_;
  const std::vector<std::size_t>& left_out_;
};

// The file that has a sample, where files join.
std::string file_of(const std::vector<formats::FileJoin>& joins, std::uint64_t sample) {
  if (joins.empty()) return {};
  std::string file = joins.front().before;
  for (const formats::FileJoin& join : joins)
    if (join.sample <= sample) file = join.after;
  return file;
}

}  // namespace

std::vector<LevelStep> find_level_steps(formats::FilterbankReader& reader,
                                        const std::vector<PlacedRange>& segments,
                                        const std::vector<std::size_t>& left_out) {
  std::vector<bool> counts(reader.description().channels, true);
  for (const std::size_t c : left_out) counts[c] = false;
  const auto& joins = reader.joins();
  std::vector<LevelStep> steps;
  for (const auto& [range, grid_first] : segments)
    for (std::size_t k = 0; k < joins.size(); ++k) {
      const std::uint64_t join = joins[k].sample;
      if (join <= range.first || join >= range.first + range.count) continue;
      const std::uint64_t low = std::max(range.first, k > 0 ? joins[k - 1].sample : 0);
      const std::uint64_t high = std::min(range.first + range.count,
                                          k + 1 < joins.size() ? joins[k + 1].sample : UINT64_MAX);
      if (const auto step = step_at(reader, low, join, high, kLeastSpectra, counts, left_out))
        steps.push_back({grid_first + (*step - range.first), joins[k].before, joins[k].after});
    }
  std::vector<PlacedRange> parts = segments;
  split_at_steps(steps, parts);
  StepsInside inside(reader, counts, left_out);
  for (const auto& [range, grid_first] : parts)
    for (const std::uint64_t step : inside.of(range)) {
      const std::string file = file_of(joins, step);
      steps.push_back({grid_first + (step - range.first), file, file});
    }
  std::ranges::sort(steps, {}, &LevelStep::sample);
  return steps;
}

void split_at_steps(const std::vector<LevelStep>& steps, std::vector<PlacedRange>& segments) {
  std::vector<PlacedRange> parts;
  for (PlacedRange left : segments) {
    for (const LevelStep& step : steps) {
      if (step.sample <= left.grid_first || step.sample >= left.grid_first + left.range.count)
        continue;
      const std::uint64_t count = step.sample - left.grid_first;
      parts.push_back({{left.range.first, count}, left.grid_first});
      left = {{left.range.first + count, left.range.count - count}, step.sample};
    }
    parts.push_back(left);
  }
  segments = std::move(parts);
}

nlohmann::ordered_json level_steps(const std::vector<LevelStep>& steps) {
  auto list = nlohmann::ordered_json::array();
  for (const LevelStep& step : steps)
    list.push_back({{"sample", step.sample}, {"before", step.before}, {"after", step.after}});
  return list;
}

}  // namespace tautline::pipeline
