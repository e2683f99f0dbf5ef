// What would hold nothing in a filterbank that is all data, because the configuration says so (`keep_constant`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/sample_range.h"

namespace tautline::pipeline {

/// Looks at the spectra of one file as they pass. It compares a few bytes of most of them, and leaves them as they are.
class KeptEmpty {
 public:
  explicit KeptEmpty(const formats::FilterbankDescription& description);

  /// The next spectra. `position`: of the first one.
  void look(std::span<const std::byte> spectra, std::uint64_t position);
  /// What follows does not go on with the last spectrum.
  void end();

  /// Equal spectra in a row that are sure to hold nothing (docs/design/empty.md): how many stretches, their times, and
  /// the first kMost of them.
  std::uint64_t stretches() const { return stretches_; }
  std::uint64_t samples() const { return samples_; }
  const std::vector<SampleRange>& list() const { return list_; }
  /// Channels that had one value in every spectrum of each sixteen that was looked at.
  std::size_t channels() const;

  static constexpr std::size_t kMost = 3;

 private:
  void look_at_channels(const std::byte* spectrum);

  std::size_t sample_bytes_, value_bytes_, least_, least_seen_;
  std::vector<std::byte> last_, first_;  // spectra
  std::vector<std::size_t> same_;        // channels that have not changed yet
  std::size_t all_channels_, seen_ = 0;
  SampleRange run_{0, 0};  // of equal spectra, the last one of which came last
  std::uint64_t stretches_ = 0, samples_ = 0, looked_ = 0;
  std::vector<SampleRange> list_;
};

}  // namespace tautline::pipeline
