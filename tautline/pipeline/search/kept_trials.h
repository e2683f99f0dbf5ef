// The last samples of a few trials of a live search, whose data cannot be read again: its noise is measured in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tautline/core/sample_view.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/search/empty_found.h"
#include "tautline/pipeline/search/noise_of_widths.h"
#include "tautline/pipeline/search/read_trial.h"
#include "tautline/pipeline/search/search_part.h"

namespace tautline::pipeline {

class KeptTrials {
 public:
  /// kMost trials at most, evenly spread over those of `parts`.
  explicit KeptTrials(std::span<const SearchPart> parts);

  /// A stretch of data without gaps begins.
  void begin_segment(std::uint64_t first_sample);
  /// The next samples, [trial][time], of the trials of a part, in memory of the queue's device.
  void take(const SearchPart& part, const core::SampleView<2>& series, device::Queue& queue);

  /// noise_of_widths() of the trial nearest to `dm` whose samples scatter, without the times that hold no data.
  /// `width_samples`: of the input. None where the samples are too few.
  std::optional<WidthNoise> noise_of(double dm, std::size_t width_samples, bool whole_numbers,
                                     const EmptyFound& empty) const;

  static constexpr std::size_t kMost = 8;

 private:
  struct Trial {
    std::size_t index = 0;  // over all parts
    double dm = 0;
    std::size_t downsample = 1, baseline_samples = 0, most_samples = 0;
    std::uint64_t max_delay = 0;
    std::vector<TrialStretch> pieces;  // in order of time, which counts samples of the trial
  };
  std::vector<WidthNoise> noise_in(const Trial& trial, std::size_t width_samples,
                                   bool whole_numbers, const EmptyFound& empty) const;

  std::vector<Trial> trials_;
  std::vector<std::byte> block_;
};

}  // namespace tautline::pipeline
