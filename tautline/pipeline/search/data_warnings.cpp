#include "tautline/pipeline/search/data_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/counted.h"

namespace tautline::pipeline {

namespace {

// What became of stretches in which no channel changes.
std::string treatment_text(const EmptyFound& empty) {
  if (empty.filled == 0) return "left out as gaps are";
  if (empty.filled == empty.stretches) return "filled";
  return fmt::format("{} filled, {} left out as gaps are", empty.filled,
                     empty.stretches - empty.filled);
}

// " 403 samples from 17000, ...", the first of them.
std::string places_text(const std::vector<EmptyTimes>& list, std::uint64_t all) {
  constexpr std::size_t kNamed = 3;
  std::string text;
  for (std::size_t k = 0; k < std::min(kNamed, list.size()); ++k)
    text += fmt::format("{} {} from {}", k > 0 ? "," : "", core::counted(list[k].samples, "sample"),
                        list[k].first_sample);
  return text + (all > kNamed ? " ..." : "");
}

}  // namespace

std::vector<std::string> empty_texts(const FilterbankRunSummary& s) {
  std::vector<std::string> texts;
  if (s.empty.stretches > 0) {
    std::string text = fmt::format(
        "{} {}, {}:", core::counted(s.empty.stretches, "stretch", "stretches"),
        s.empty.told > 0 ? "without data in the filterbank" : "in which no channel changes",
        treatment_text(s.empty));
    texts.push_back(text + places_text(s.empty.list, s.empty.stretches));
  }
  const auto stopped = static_cast<std::size_t>(std::count_if(
      s.empty.channels.begin(), s.empty.channels.end(), [](std::uint64_t n) { return n > 0; }));
  if (stopped > 0)
    texts.push_back(fmt::format("{} stopped for a while; means took their place",
                                core::counted(stopped, "channel")));
  if (s.empty.noise_samples > 0)
    texts.push_back(
        fmt::format("noise for {} in which more than a sixteenth of the channels stopped",
                    core::counted(s.empty.noise_samples, "sample")));
  if (s.empty.kept > 0)
    texts.push_back(fmt::format(
        "{} of equal spectra kept as data, as clipped pulses are, the first of {} from {}: "
        "candidates there may be a recorder's fault",
        core::counted(s.empty.kept, "stretch", "stretches"),
        core::counted(s.empty.first_kept.samples, "sample"), s.empty.first_kept.first_sample));
  if (std::string clipped = clipped_text(s.empty); !clipped.empty())
    texts.push_back(std::move(clipped));
  if (s.constant_channels > 0)
    texts.push_back(
        fmt::format("{} never changed, left out (`keep_constant` takes values that hardly vary for "
                    "data)",
                    core::counted(s.constant_channels, "channel")));
  return texts;
}

std::vector<std::string> kept_texts(const FilterbankRunSummary& s) {
  const KeptAsData& kept = s.empty.kept_as_data;
  std::vector<std::string> texts;
  if (kept.stretches > 0)
    texts.push_back(fmt::format("{} without data, of {}, kept as data, as `keep_constant` says:{}",
                                core::counted(kept.stretches, "stretch", "stretches"),
                                core::counted(kept.samples, "sample"),
                                places_text(kept.list, kept.stretches)));
  if (kept.channels > 0)
    texts.push_back(fmt::format(
        "{} kept as data, as `keep_constant` says",
        core::counted(kept.channels, "channel that never changes", "channels that never change")));
  return texts;
}

std::string nothing_text(const FilterbankRunSummary& s) {
  if (s.samples == 0 || s.empty.samples < s.samples) return {};  // both of all beams together
  return fmt::format(
      "no channel changes in any of the {} samples: there was nothing to search or dedisperse. "
      "Check what wrote the input; `keep_constant` takes it for data",
      s.samples);
}

// Of n equal samples in a row the sum has n times the noise of one, not sqrt(n) times.
std::string repeated_text(const FilterbankRunSummary& s) {
  constexpr double kMuch = 0.25;
  const auto repeated = static_cast<double>(s.empty.repeated),
             compared = static_cast<double>(s.empty.compared);
  if (s.empty.repeated == 0 || repeated < kMuch * compared) return {};
  return fmt::format(
      "{} of {} spectra equal the one before them, as where each stands {} times: S/N of pulses "
      "wider than that are up to {:.2g} times too high. Keep one of each",
      s.empty.repeated, s.empty.compared,
      std::max(2L, std::lround(compared / (compared - repeated + 1))),
      std::sqrt(compared / (compared - repeated + 1)));
}

namespace {

std::string steps_text(const std::vector<LevelStep>& steps) {
  const std::string more =
      steps.size() < 2 ? ""
                       : fmt::format(" and at {}", core::counted(steps.size() - 1, "more place"));
  return fmt::format(
      "the level, or the noise, steps at sample {}{}. Nothing is levelled: pulses whose sweep "
      "crosses such a place are lost, or too weak",
      steps.front().sample, more);
}

}  // namespace

std::vector<std::string> data_warnings(const FilterbankRunSummary& summary) {
  std::vector<std::string> warnings = summary.damage.messages;
  if (summary.not_finite > 0)
    warnings.push_back(not_finite_text(summary.empty, summary.not_finite));
  if (std::string nothing = nothing_text(summary); !nothing.empty()) {
    warnings.push_back(std::move(nothing));
    return warnings;
  }
  for (std::string& text : empty_texts(summary)) warnings.push_back(std::move(text));
  if (!summary.level_steps.empty()) warnings.push_back(steps_text(summary.level_steps));
  if (std::string repeated = repeated_text(summary); !repeated.empty())
    warnings.push_back(std::move(repeated));
  return warnings;
}

}  // namespace tautline::pipeline
