// What was wrong with the data of a run over filterbanks, in words.
#pragma once

#include <string>
#include <vector>

#include "tautline/pipeline/search/filterbank_run.h"

namespace tautline::pipeline {

/// "2 channels never changed, left out", a text for each kind of times and channels without data.
std::vector<std::string> empty_texts(const FilterbankRunSummary& summary);

/// "2 channels that never change kept as data, as `keep_constant` says", a text for each kind; none where that was not
/// asked for.
std::vector<std::string> kept_texts(const FilterbankRunSummary& summary);

/// The warning of a run over samples that all held nothing; empty for any other.
std::string nothing_text(const FilterbankRunSummary& summary);

/// The warning where so many spectra equal the one before that S/N are too high; empty: not so.
std::string repeated_text(const FilterbankRunSummary& summary);

/// Damage, values that are not finite, and times and channels without data.
std::vector<std::string> data_warnings(const FilterbankRunSummary& summary);

}  // namespace tautline::pipeline
