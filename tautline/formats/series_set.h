// Dedispersed series of one observation in a file each, as PRESTO and sigproc have them: read together, a channel for
// each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tautline/formats/filterbank_reader.h"

namespace tautline::formats {

struct FolderSeries {
  std::vector<std::string> paths;
  std::string
      left_out;  ///< a remark: how many files of which endings are not among them; empty for none
};

/// The series in a folder: its .dat files, or its .tim files where there are none. Throws Error(io) where there are
/// none of either.
FolderSeries series_in_folder(const std::string& folder);

/// Whether two series are trials of one observation (they begin together and differ in DM), not consecutive parts of
/// one series.
bool are_trials(const FilterbankDescription& a, const FilterbankDescription& b);

using OpenSeries = std::function<std::unique_ptr<FilterbankReader>(const std::string& path)>;

/// In order of DM, as long as the shortest. Holds no file open between reads, as there may be thousands. Throws
/// Error(format) for series that differ in start or sampling, and for two of one DM.
std::unique_ptr<FilterbankReader> open_series_set(const std::vector<std::string>& paths,
                                                  OpenSeries open);

}  // namespace tautline::formats
