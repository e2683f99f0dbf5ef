// Cut-outs of pulse candidates in HDF5: the file that `your`'s Candidate.save_h5 writes and FETCH reads.
// docs/guide/formats.md lists datasets and attributes.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// The contents of a cut-out of any program; the sizes of the arrays may differ from ours.
struct CutoutFile {
  std::string id, source, file;  ///< empty: not said
  double time_s = 0, dm = 0, snr = 0;
  std::uint64_t width_samples = 1;
  double tsamp_s = 0;  ///< sample time of the searched file; a column lasts half the width
  double fch1_mhz = 0, foff_mhz = 0;  ///< of the file's channels
  std::size_t channels = 0;           ///< of the file
  std::size_t times = 0, rows = 0;    ///< of frequency_time
  std::vector<float> frequency_time;  ///< [time][row of channels], in the file's order
  std::size_t dms = 0, dm_times = 0;  ///< of dm_time
  std::vector<float> dm_time;         ///< [dm][time], 0 to twice the candidate's DM

  /// The duration of a column of either array.
  double column_s() const {
    return tsamp_s * static_cast<double>(width_samples > 1 ? width_samples : 2) / 2;
  }
};

/// Whether an HDF5 file is a cut-out, by the names of its datasets; false for a file that cannot be read.
bool holds_cutout(const std::string& path);
/// Throws Error(format) that names the dataset or the attribute.
CutoutFile read(const std::string& path);

}  // namespace tautline::formats::cutout_hdf5
