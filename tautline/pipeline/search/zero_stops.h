// Channels of a filterbank that are zero together for a few samples, as where packets were lost and zeros were written
// in their place (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/empty_rule.h"

namespace tautline::pipeline {

/// The rule: a 64th of the channels, and at least 4, are zero in two consecutive spectra of which the first has a
/// position that is a multiple of kEvery, three quarters of them in three spectra or more, and independent values that
/// are zero as often as these channels are beside them would be so less than once in 1e9 hours. Stops of five samples
/// or more hold such a window.
class ZeroStops {
 public:
  static constexpr std::size_t kEvery = kWideEvery;
  /// Spectra before and behind a window's first one that stop_at() looks at.
  static constexpr std::size_t kBefore = 16, kBehind = 18;
  /// Spectra by their distance from the first of a piece; null where there is none.
  using Spectra = std::function<const std::byte*(std::ptrdiff_t)>;

  /// `left_out`: channels that do not count.
  ZeroStops(const formats::FilterbankDescription& description,
            std::span<const std::size_t> left_out);

  /// Whether zeros are looked for: of 8 bits or more, in 64 channels or more.
  bool used() const { return channels_ > 0; }
  /// The first window that begins at spectrum k or later of spectra from `position` on.
  std::size_t next_window(std::size_t k, std::uint64_t position) const;
  /// Channels that must be zero in a window, and zero.
  std::size_t channels() const { return channels_; }
  const std::byte* zero() const { return zeros_.data(); }
  /// A quick test of a window's first spectrum: false where stop_at() would be false, which is nearly always.
  bool may_stop_at(const std::byte* spectrum) const;
  /// Whether channels are zero in the window that begins at spectrum t.
  bool stop_at(const Spectra& spectra, std::ptrdiff_t t);
  /// [channel] 1 where the channel is zero in the last window of stop_at(), if that was true.
  std::span<const std::uint8_t> stopped() const { return stopped_; }
  /// Every window's first spectrum, in order of time: a channel that was zero in more than half of those looked at in
  /// the kLearnt spectra before does not count. Positions are those of next_window().
  void learn(const std::byte* spectrum, std::uint64_t position);

 private:
  static constexpr std::uint64_t kLearnt = 4096, kLearnEvery = 128;

  std::size_t zeros_in(const std::byte* spectrum, std::vector<std::uint8_t>& flags) const;

  std::size_t value_bytes_;
  std::vector<std::byte> zeros_;  // a spectrum
  std::size_t all_, counting_ = 0;
  std::size_t channels_ = 0;                               // so many or more; 0: not used
  double chance_;                                          // logarithm
  std::vector<std::uint8_t> left_out_, counts_, stopped_;  // [channel]
  std::vector<std::uint8_t> inside_, flags_;               // [channel] of a spectrum
  std::vector<std::uint32_t> zero_;                        // [channel] how often, in this piece
  std::uint32_t looks_ = 0;
  std::uint64_t piece_ = 0;
};

}  // namespace tautline::pipeline
