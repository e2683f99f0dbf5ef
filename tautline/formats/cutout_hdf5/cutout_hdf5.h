// Cut-outs of pulse candidates in HDF5: the file that `your`'s Candidate.save_h5 writes and FETCH reads.
// docs/guide/formats.md lists datasets and attributes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tautline/formats/candidates/candidates.h"
#include "tautline/formats/filterbank_reader.h"

namespace tautline::formats::cutout_hdf5 {

/// Times, channels and DMs of each array.
inline constexpr std::size_t kSide = 256;

struct Cutout {
  candidates::YourCandidate candidate;
  std::vector<std::string> files;     ///< files in which the candidate was found, consecutive
  std::vector<bool> left_out;         ///< [channel]; empty: all are used
  std::vector<float> frequency_time;  ///< [time][channel], dedispersed
  std::vector<float> dm_time;         ///< [dm][time], 0 to twice the candidate's DM
};

/// Throws Error(unsupported) where nothing can be written: a build without HDF5, an absent module.
void require(const std::string& path);

/// Creates or empties the file `name`; messages speak of `path`. Throws Error(io).
void write(const std::string& name, const std::string& path, const Cutout& cutout,
           const FilterbankDescription& description);

}  // namespace tautline::formats::cutout_hdf5
