// PRESTO's dedispersed series: NAME.dat, floats, with NAME.inf beside it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/presto/inf.h"

namespace tautline::formats::presto {

/// Whether a file of this name is one: NAME.inf, or NAME.dat where NAME.inf exists.
bool recognise(const std::string& name);

/// Opens NAME.dat or NAME.inf and reads both. The size of the .dat decides: bins that the .inf announces and the .dat
/// lacks are damage. The description's refdm is the .inf's DM as it stands, its refdm_constant PRESTO's; its frequency
/// is the highest channel's.
std::unique_ptr<FilterbankReader> open(const std::string& path,
                                       const FilterbankOptions& options = {});

/// The .inf of a series made from a filterbank at `dm` (with `dm_constant`): its DM is written so
/// that PRESTO sees the same delays. Bins are counted by the writer.
Inf inf_of(const FilterbankDescription& description, double dm, double dm_constant);

/// On/off pairs that PRESTO reads of an .inf: with 40 it ends (its MAXNUMONOFF).
inline constexpr std::size_t kMostPairs = 39;

/// Writes NAME.dat and, when finished, NAME.inf. PRESTO wants an even number of bins: an odd last
/// one is left out. Holds no descriptor between writes.
class DatWriter {
 public:
  /// `path` ends with .dat. Throws Error(config) when not, Error(io).
  DatWriter(const std::string& path, Inf inf, bool overwrite);

  /// First and last bin of each segment that holds data, instead of the Inf's: before complete(). Of more than kMostPairs
  /// the longest gaps between them are told, and steps of level.
  void set_on_bins(std::vector<std::pair<std::uint64_t, std::uint64_t>> on_bins) {
    inf_.on_bins = std::move(on_bins);
  }
  /// As AppendFile's.
  void lock() { data_.lock(); }
  /// Writes at once, without a buffer: pass large pieces.
  void write(std::span<const float> samples);
  /// Bins given so far, with an odd last one.
  std::uint64_t samples() const { return samples_; }
  /// Writes the last bytes of both files, which finish() then renames. Nothing may follow.
  void complete();
  void finish();

 private:
  Inf inf_;
  bool completed_ = false;
  std::uint64_t samples_ = 0;
  std::optional<float> waiting_;  // an odd last bin, until the next one comes
  AppendFile data_, text_;
};

}  // namespace tautline::formats::presto
