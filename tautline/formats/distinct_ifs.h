// The choice of IFs to add up, in any format of filterbanks.
#pragma once

#include "tautline/formats/filterbank_reader.h"

namespace tautline::formats {

/// Throws Error(config) for an IF that is chosen twice.
void require_distinct_ifs(const FilterbankOptions& options);

}  // namespace tautline::formats
