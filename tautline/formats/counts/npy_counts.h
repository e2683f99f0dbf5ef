// Counts in an array of NumPy: [time], [time][sensor] or [time][row][column].
#pragma once

#include <memory>
#include <string>

#include "tautline/formats/count_reader.h"

namespace tautline::formats {

/// `raw` may say the type to count in. Throws Error(format) for other shapes and types.
std::unique_ptr<CountReader> open_npy_counts(const std::string& path, const RawCounts& raw);

}  // namespace tautline::formats
