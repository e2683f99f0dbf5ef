#include "tautline/pipeline/search/candidate_levels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "tautline/core/step_fit.h"
#include "tautline/pipeline/search/level_blocks.h"

namespace tautline::pipeline {

namespace {

using core::kStepBlocks;
using core::kStepSide;

// As far as half of a running mean reaches: the level on either side of a candidate is looked at, and an end of the data
// makes candidates.
constexpr double kReach_s = 1;
// A change that is looked at: of the candidate's height; in standard errors at an end of the data.
constexpr double kOfHeight = 0.5, kLeastErrors = 5;
// Spectra of a block beside a narrow candidate, and the fewest that tell a channel's noise.
constexpr std::uint64_t kLevelSpectra = 16, kLeastLevelSpectra = 4;

class LevelsBeside {
 public:
  LevelsBeside(formats::FilterbankReader& reader, const SampleRange& data,
               const CandidatePlace& candidate, const std::vector<bool>& counts)
      : reader_(reader), counts_(counts), data_(data), candidate_(candidate) {
    const double rate = reader.description().rate_hz.value();
    reach_ = static_cast<std::uint64_t>(std::lround(kReach_s * rate));
    reach_ = std::max(reach_, kStepSide / 2 * candidate.width);
    const auto channels = static_cast<double>(std::count(counts.begin(), counts.end(), true));
    height_ = candidate.snr / std::sqrt(static_cast<double>(candidate.width) * channels);
    // A step of twice the height, as one that makes a candidate is, then has some 17 standard errors at S/N 12 and above.
    const double part = std::min(0.25, 36 / (candidate.snr * candidate.snr));
    block_ = std::max(kLevelSpectra,
                      static_cast<std::uint64_t>(part * static_cast<double>(candidate.width)));
  }

  // From 16 blocks before the candidate to 16 behind it, which no pulse of even height has, however long
  // (core/step_fit.h).
  bool step() {
    const std::uint64_t end = data_.first + data_.count, width = candidate_.width;
    const std::uint64_t before = candidate_.first - std::min(candidate_.first, width);
    const std::uint64_t behind = candidate_.first + 2 * width + candidate_.sweep;
    if (before <= data_.first || behind >= end) return false;
    const std::uint64_t low = std::max(data_.first, before - std::min(before, reach_));
    const std::uint64_t high = std::min(end, behind + reach_);
    const std::uint64_t spectra =
        std::min({(before - low) / kStepSide, (high - behind) / kStepSide, block_});
    if (spectra < kLeastLevelSpectra) return false;
    std::vector<double> values, times;
    add_levels({low, before - low}, spectra, values, times);
    add_levels({behind, high - behind}, spectra, values, times);
    const core::StepFit fit = core::fit_step(values, times);
    return std::abs(fit.height) > kOfHeight * height_ &&
           std::abs(fit.standard_errors) > core::kStepStandardErrors;
  }

  // The level at an end of the data against that of the second and third second from it.
  bool settles(bool at_end) {
    const std::uint64_t width = candidate_.width, end = data_.first + data_.count;
    const std::uint64_t away = at_end ? end - std::min(end, candidate_.first + candidate_.width)
                                      : candidate_.first - data_.first;
    const std::uint64_t length = std::min(3 * reach_, data_.count);
    if (away > reach_ || length < 3 * kStepSide * kLeastLevelSpectra) return false;
    const SampleRange far{at_end ? end - length : data_.first + length / 3, length - length / 3};
    const std::uint64_t spectra = std::min(block_, far.count / kStepSide);
    std::vector<double> values, times;
    add_levels(far, spectra, values, times);
    const std::uint64_t ends = std::min(length / 3, width);
    const double near = level({at_end ? end - ends : data_.first, ends});
    std::vector<double> changes;
    for (std::size_t k = 1; k < values.size(); ++k)
      changes.push_back(std::abs(values[k] - values[k - 1]));
    // Of the end's level, by the mean of the middle half of the changes from block to block.
    const double error = 1.4826 * middle_mean(changes) *
                         std::sqrt(static_cast<double>(spectra) / static_cast<double>(2 * ends));
    const double change = std::abs(near - middle_mean(values));
    return change > kOfHeight * height_ && change > kLeastErrors * error;
  }

 private:
  // From that of the block that is looked at first, in a channel's noise there; the mean of the middle half of the
  // channels.
  double level(const SampleRange& block) {
    const BlockLevels levels = levels_in(reader_, {block});
    if (!first_) first_ = levels;
    std::vector<double> changes;
    for (std::size_t c = 0; c < counts_.size(); ++c)
      if (counts_[c] && first_->deviation[c] > 0)
        changes.push_back((levels.mean[c] - first_->mean[c]) / first_->deviation[c]);
    return changes.empty() ? 0 : middle_mean(changes);
  }
  // Of 16 blocks evenly spread over a range.
  void add_levels(const SampleRange& range, std::uint64_t spectra, std::vector<double>& values,
                  std::vector<double>& times) {
    for (std::size_t k = 0; k < kStepSide; ++k) {
      const std::uint64_t first = range.first + k * (range.count - spectra) / (kStepSide - 1);
      values.push_back(level({first, spectra}));
      times.push_back(static_cast<double>(first));
    }
  }

  formats::FilterbankReader& reader_;
  const std::vector<bool>& counts_;
  const SampleRange data_;
  const CandidatePlace candidate_;
  std::uint64_t reach_ = 0, block_ = 0;  // spectra
  double height_ = 0;                    // of the candidate, in a channel's noise
  std::optional<BlockLevels> first_;
};

}  // namespace

bool level_changes_at(formats::FilterbankReader& reader, const SampleRange& data,
                      const CandidatePlace& candidate, const std::vector<bool>& counts) {
  LevelsBeside levels(reader, data, candidate, counts);
  return levels.step() || levels.settles(false) || levels.settles(true);
}

std::string changing_level_text(std::span<const core::Candidate> candidates, bool channels) {
  constexpr std::size_t kNamed = 3;
  if (candidates.empty()) return {};
  std::string where;
  for (std::size_t k = 0; k < std::min(kNamed, candidates.size()); ++k)
    where += fmt::format("{}at {:.6g} s (S/N {:.3g}, DM {:.6g})", k > 0 ? ", " : "",
                         candidates[k].time_s, candidates[k].snr, candidates[k].dm);
  if (candidates.size() > kNamed) where += fmt::format(", and {} more", candidates.size() - kNamed);
  return fmt::format(
      "the level of most channels changes where candidates are, {}, and does not return: such a "
      "change is no pulse, unless one is cut there, but makes candidates. {} takes it away; "
      "`start_s` and `duration_s` "
      "choose other times",
      where, channels ? "`zero_dm`" : "A series that was made with `zero_dm`");
}

}  // namespace tautline::pipeline
