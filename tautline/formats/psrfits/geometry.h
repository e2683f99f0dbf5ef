// The place and the meaning of the samples in a PSRFITS search file, from its headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/psrfits/fits_table.h"

namespace tautline::formats::psrfits {

struct Columns {
  FitsTable::Column data, frequencies, weights, offsets, scales, row_middles;
};

struct Geometry {
  FilterbankDescription
      description;  ///< `delivered`, `zero_level` and `samples` are set by the reader
  Columns columns;
  std::size_t polarisations = 1;
  std::uint64_t row_samples = 0;       ///< NSBLK
  std::uint64_t rows = 0;              ///< that the file holds whole
  std::uint64_t last_row_samples = 0;  ///< of the last one, as NSTOT says
  double zero_off = 0;
  bool offset_binary = false;  ///< 16-bit columns with TZERO 32768
  std::vector<DataSegment> segments;
  Damage damage;
  std::vector<std::string> remarks;

  std::size_t values_per_sample() const { return polarisations * description.channels; }
};

/// Reads the headers, the first row's frequencies and every row's time; leaves the table SUBINT in
/// use.
Geometry read_geometry(FitsTable& table, std::uint64_t file_bytes,
                       const FilterbankOptions& options);

}  // namespace tautline::formats::psrfits
