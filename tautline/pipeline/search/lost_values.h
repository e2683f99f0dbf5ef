// Values of a live filterbank that did not come: earlier ones of their channel, drawn at random, take their place, so that
// it has its mean and its noise there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/filled_values.h"
#include "tautline/stream/packet_rows.h"

namespace tautline::pipeline {

class LostValues {
 public:
  explicit LostValues(const formats::FilterbankDescription& description);

  /// From now on stretches of at least so many spectra, none of whose values came, are left as zeros: who looks for empty
  /// stretches finds them.
  void leave_stretches(std::size_t least_spectra) { least_left_ = least_spectra; }
  /// Spectra in order, from position `first` on, and what of them did not come.
  void replace(std::span<std::byte> spectra, std::uint64_t first,
               std::span<const stream::LostRun> lost);
  /// Values of spectra [first, end) that were replaced, in any order.
  std::vector<FilledRun> replaced(std::uint64_t first, std::uint64_t end) const;
  /// What lies before it is not asked for again.
  void forget(std::uint64_t before);

 private:
  // Spectra that values are drawn from.
  static constexpr std::size_t kDrawnFrom = 1024;

  void mark_left(std::size_t spectra, std::uint64_t first, std::span<const stream::LostRun> lost);
  void draw(std::byte* spectrum, std::size_t channel, std::uint64_t position) const;
  void keep(const std::byte* spectrum, const std::uint8_t* lost);

  std::size_t channels_, value_bytes_;
  std::size_t least_left_ = SIZE_MAX;
  std::vector<std::byte> kept_;          // [spectrum % kDrawnFrom][channel]
  std::vector<std::uint8_t> kept_lost_;  // the same: replaced values
  std::uint64_t kept_count_ = 0;
  std::vector<std::uint8_t> lost_, left_;  // of a piece: [spectrum][channel]; [spectrum]
  std::deque<FilledRun> replaced_;
};

}  // namespace tautline::pipeline
