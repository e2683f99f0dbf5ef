// Padding at the beginning and the end of a file of counts: bins in which no sensor counts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "tautline/formats/count_reader.h"

namespace tautline::pipeline {

/// Bins.
struct Padding {
  std::uint64_t before = 0, after = 0;
};

/// Padding of the `samples` bins from `first` on: stopped_steps() of all sensors together that are also
/// beyond_darkness(). `open` opens the file anew: a thousandth of it at either end is searched, and all of it where one
/// of these has no count.
Padding find_padding(const std::function<std::unique_ptr<formats::CountReader>()>& open,
                     std::uint64_t first, std::uint64_t samples, double bin_s);

}  // namespace tautline::pipeline
