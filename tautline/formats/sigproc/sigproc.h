// sigproc filterbanks (.fil) and time series (.tim), read. docs/guide/formats.md says what is
// understood. Writers: writers.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/sigproc/header.h"

namespace tautline::formats::sigproc {

/// Throws Error(format) on a header that contradicts itself, Error(config) for IFs that the file
/// does not have, Error(io).
std::unique_ptr<FilterbankReader> open(const std::string& path,
                                       const FilterbankOptions& options = {});

/// Samples as files have them to what description.delivered says: unpacked, unsigned, the chosen IFs added up.
class SampleSums {
 public:
  /// Writes `times` spectra that begin in raw with sample number `skipped`, which is not 0 where samples of less than a
  /// byte do not begin on one.
  void deliver(const FilterbankDescription& description, std::span<const std::byte> raw,
               std::size_t skipped, std::size_t times, std::byte* to);

 private:
  std::vector<std::uint8_t> unpacked_;
};

/// That IFs are added up whose meaning the format does not say; empty for two or fewer.
std::string ifs_remark(const FilterbankDescription& description);

/// The contents of a header, without the number of samples. `path`: for errors.
FilterbankDescription describe(const std::string& path, const ParsedHeader& parsed,
                               const FilterbankOptions& options);

/// The header that says of a filterbank what its description says, for files made from it:
/// channels, band, times, place and source. Samples are 32-bit floats of one IF until told
/// otherwise.
Header header_of(const FilterbankDescription& description);

}  // namespace tautline::formats::sigproc
