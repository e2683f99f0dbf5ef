// Warnings about counts that seem to be something else: no file of counts says that it is one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/autocorrelate_config.h"

namespace tautline::pipeline {

using OpenCounts = std::function<std::unique_ptr<formats::CountReader>()>;

struct OpenedCounts {
  std::string name;
  formats::CountDescription description;
  double bin_s = 0;
  std::optional<std::uint64_t> bins;  ///< none: live
};

/// Long bins, whose unit may have been forgotten; an array of [sensor][time]; intensities; counts in the other byte order;
/// arrival times. To config.log. `open`: opens the input anew.
void note_doubtful_counts(const AutocorrelateConfig& config, const OpenedCounts& input,
                          const OpenCounts& open);

}  // namespace tautline::pipeline
