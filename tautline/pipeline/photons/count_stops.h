// Stretches of a file of counts in which no sensor counts, or all repeat their counts: padding, a shutter that closed, a
// receiver that stopped; and those in which one of several sensors has no count again and again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tautline/formats/count_reader.h"
#include "tautline/pipeline/photons/empty_counts.h"

namespace tautline::pipeline {

/// Stops of all sensors together in the `samples` bins from `first` on, in order and as bins of that part: stretches
/// without a count that are stopped_steps() and is_left_out(), and those of two steps and 1,000 bins or more in
/// which every bin repeats the one before it; and repeated_stops(). `open` opens the file anew. Of each thousandth of the
/// part, as much is read as shows that its bins differ, and as a place inside it is without a count; all of it once more
/// where stretches without a count are long enough, or where it has 64 MiB or less. `of_each`: also single_stops() of each
/// sensor, of 2 to 16 sensors.
Stops find_stops(const std::function<std::unique_ptr<formats::CountReader>()>& open,
                 std::uint64_t first, std::uint64_t samples, double bin_s, bool of_each = true);

}  // namespace tautline::pipeline
