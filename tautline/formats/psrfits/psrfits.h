// PSRFITS search mode, read through cfitsio. docs/guide/formats.md lists the understood fields.
#pragma once

#include <memory>
#include <string>

#include "tautline/formats/filterbank_reader.h"

namespace tautline::formats::psrfits {

/// Samples are ((data - ZERO_OFF) DAT_SCL + DAT_OFFS) DAT_WTS, added over the polarisations that
/// make total intensity: AA and BB, or I. Where no row scales anything (DAT_SCL 1, DAT_OFFS 0,
/// weights 0 or 1, ZERO_OFF whole) integers are delivered as they are, and ZERO_OFF is their
/// zero_level. Throws Error(format) on tables that contradict themselves or the file,
/// Error(unsupported) for folded data, Error(config) for polarisations that the file does not have,
/// Error(io).
std::unique_ptr<FilterbankReader> open(const std::string& path,
                                       const FilterbankOptions& options = {});

}  // namespace tautline::formats::psrfits
