// Dedispersed series in an array, [dm][time], as `dedisperse` writes them, with PATH.json beside. Read as a filterbank
// with a channel for each trial, or, where there is one trial, as a series like those of PRESTO and sigproc.
#pragma once

#include <memory>
#include <string>

#include "tautline/formats/filterbank_reader.h"

namespace tautline::formats::npy {

/// The number of trials by the record beside an array; 0 where there is no such record.
std::size_t trials_of_series(const std::string& path);

/// Whether it is an array of one trial, with its record.
bool recognise_series(const std::string& path);

/// Series of any number of trials. Whole numbers are delivered as floats: sums above 2^24 are rounded. Throws
/// Error(format) when the record and the array contradict each other.
std::unique_ptr<FilterbankReader> open_series(const std::string& path,
                                              const FilterbankOptions& options);

}  // namespace tautline::formats::npy
