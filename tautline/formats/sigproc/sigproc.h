// sigproc filterbanks (.fil) and time series (.tim), read. docs/guide/formats.md says what is
// understood. Writers: writers.h.
#pragma once

#include <memory>
#include <string>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/sigproc/header.h"

namespace tautline::formats::sigproc {

/// Throws Error(format) on a header that contradicts itself, Error(config) for IFs that the file
/// does not have, Error(io).
std::unique_ptr<FilterbankReader> open(const std::string& path,
                                       const FilterbankOptions& options = {});

/// The contents of a header, without the number of samples. `path`: for errors.
FilterbankDescription describe(const std::string& path, const ParsedHeader& parsed,
                               const FilterbankOptions& options);

/// The header that says of a filterbank what its description says, for files made from it:
/// channels, band, times, place and source. Samples are 32-bit floats of one IF until told
/// otherwise.
Header header_of(const FilterbankDescription& description);

}  // namespace tautline::formats::sigproc
