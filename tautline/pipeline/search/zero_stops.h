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

/// Two rules, of values that are independent and zero as often as the spectra beside tell: these would be zero so less
/// than once in 1e9 hours. A 64th of the channels, and at least 4, are zero in two consecutive spectra of which the
/// first has a position that is a multiple of kEvery, and three quarters of them in three spectra or more; stops of five
/// samples or more hold such a window. Or a sixteenth of the channels become zero at any spectrum, even for one.
class ZeroStops {
 public:
  static constexpr std::size_t kEvery = kWideEvery;
  /// Spectra before and behind a window's first one that stop_at() looks at.
  static constexpr std::size_t kBefore = 16, kBehind = 18;
  /// Spectra before and behind spectrum t that begins_at() looks at.
  static constexpr std::size_t kBeside = kBesideWide;
  /// Spectra by their distance from the first of a piece; null where there is none.
  using Spectra = std::function<const std::byte*(std::ptrdiff_t)>;

  /// `left_out`: channels that do not count.
  ZeroStops(const formats::FilterbankDescription& description,
            std::span<const std::size_t> left_out);

  /// Whether zeros are looked for: of 8 bits or more, in 64 channels or more.
  bool used() const { return channels_ > 0; }
  const std::byte* zero() const { return zeros_.data(); }
  /// How many channels of a spectrum are zero.
  std::size_t count(const std::byte* spectrum) const;
  /// Of a spectrum with fewer zeros stop_at() and begins_at() are false: of nearly every one.
  std::size_t least_of_stop() const { return channels_; }
  std::size_t least_of_begin() const { return least_of_begin_; }
  /// Whether channels are zero in the window that begins at spectrum t.
  bool stop_at(const Spectra& spectra, std::ptrdiff_t t);
  /// Whether channels become zero at spectrum t, which has least_of_begin() zeros or more.
  bool begins_at(const Spectra& spectra, std::ptrdiff_t t);
  /// [channel] 1 where the channel is zero in the window of stop_at(), or becomes so in begins_at(), whichever was last
  /// called, if that was true.
  std::span<const std::uint8_t> stopped() const { return stopped_; }
  /// Every spectrum whose position is a multiple of kEvery, in order of time. Of those looked at in the kLearnt spectra
  /// before: a channel that was zero in more than half does not count, and channels begin to be zero only where more
  /// are so than chance makes of the zeros of the middle one.
  void learn(const std::byte* spectrum, std::uint64_t position);

 private:
  static constexpr std::uint64_t kLearnt = 4096, kLearnEvery = 128;

  std::size_t zeros_in(const std::byte* spectrum, std::vector<std::uint8_t>& flags) const;
  bool still_zero(const std::byte* spectrum, std::size_t stopped, std::size_t& left);
  double log_chance(std::size_t channels, std::size_t spectra, double q) const;
  void learn_chance();
  // How often values are zero or near it: of the channels that begin, in beside_; of the others, in the first spectrum,
  // where a level that falls in all channels shows.
  struct NearZero {
    double beside, others;
  };
  NearZero near_zero(const std::byte* first, std::size_t stopped);

  formats::Delivered delivered_;
  std::size_t value_bytes_;
  std::vector<std::byte> zeros_;  // a spectrum
  std::size_t all_, counting_ = 0;
  std::size_t channels_ = 0;  // so many or more; 0: not used
  // Channels that begin to be zero, and with them zeros of channels that do not count.
  std::size_t beginning_ = 0, least_of_begin_ = 0;
  double chance_;                                          // logarithm
  std::vector<std::uint8_t> left_out_, counts_, stopped_;  // [channel]
  std::vector<std::uint8_t> inside_, flags_;               // [channel] of a spectrum
  std::vector<const std::byte*> beside_;                   // spectra
  std::vector<float> sums_;                                // [channel] of these
  std::vector<std::uint32_t> zero_;                        // [channel] how often, in this piece
  std::vector<std::size_t> looks_;                         // zeros of each spectrum looked at
  std::uint64_t piece_ = 0;
};

}  // namespace tautline::pipeline
