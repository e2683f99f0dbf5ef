// Values in the place of samples that channels lack: means, or noise like the channel's own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/common_stops.h"
#include "tautline/pipeline/search/zero_stops.h"

namespace tautline::pipeline {

/// What takes the place of samples at times at which channels are missing, masked or stopped, that are there at others.
enum class MissingTimes {
  mean,  ///< the channel's mean: the noise of the sums is smaller at these times
  noise  ///< noise like the channel's where more than 1 / kShareWithMeans of the channels are missing, else the mean
};

/// Means of a sixteenth of the channels lower the noise of the sums by 3 %.
inline constexpr std::size_t kShareWithMeans = 16;

/// Samples that a channel's mean is taken over.
inline constexpr std::uint64_t kMeanSamples = 4096;

/// The mean of each channel over a piece of a filterbank, and noise that is drawn from the channel's samples in the
/// piece: it has their mean and their distribution in any number of bits. At one time the samples of all channels that
/// were measured in one piece are drawn from one spectrum, so that the noise that channels have in common stays; none is
/// drawn from spectra that stand out, as impulses do. Samples that are not finite take no part, nor
/// do those that hold nothing (docs/design/empty.md), nor equal ones at the piece's edges, which may be the end of a
/// stretch that holds nothing.
class ChannelSubstitutes {
 public:
  /// `left_out`: channels that do not count.
  ChannelSubstitutes(const formats::FilterbankDescription& description,
                     std::span<const std::size_t> left_out, MissingTimes times);

  /// The piece to measure: up to kMeanSamples samples [first, first + count) of a reader, which are read once. Returns
  /// how many there are.
  std::size_t read(formats::FilterbankReader& reader, std::uint64_t first, std::uint64_t count);
  /// The same, of spectra in memory from `position` on.
  void take(std::span<const std::byte> spectra, std::uint64_t position = 0);
  /// From now on a channel's values are those of the piece. A piece that has hardly any samples of the channel leaves
  /// those of the piece before. Returns whether they are now those of a piece that has more. As long as no piece has
  /// samples of a channel, its mean is the first finite value that it repeats.
  bool measure(std::size_t channel);
  /// Whether the channel was measured in a piece that has samples of it.
  bool knows(std::size_t channel) const { return counts_[channel] > 0; }
  /// Whether the piece has samples of the channel.
  bool has_samples(std::size_t channel);
  /// The channel counts as not measured.
  void forget(std::size_t channel);
  void measure_all();
  /// Whether there are samples of the channel to draw from. With MissingTimes::noise.
  bool has_noise(std::size_t channel) const { return !drawn_from_[channel].empty(); }
  /// Puts the channels of `missing` that get their means at a time before those that get noise, and returns the number
  /// of the former: `least` of them, which are missing at every time, and those without noise; all of them where the
  /// others are not more than 1 / kShareWithMeans of `counting` channels.
  std::size_t put_means_first(std::vector<std::size_t>& missing, std::size_t least,
                              std::size_t counting) const;

  /// One spectrum as the reader delivers them, rounded for integers; 0 before measure().
  const std::vector<std::byte>& means() const { return means_; }
  /// Draws a channel's samples at times [from, to) of `spectra`. Which they are depends on the time alone:
  /// `position` is that of time 0. With MissingTimes::noise.
  void draw(std::byte* spectra, std::size_t channel, std::size_t from, std::size_t to,
            std::uint64_t position) const;

 private:
  bool holds_window(std::size_t from, std::size_t end) const;
  void find_zeros(std::span<const std::byte> spectra, std::uint64_t position);
  template <class Sample>
  bool holds_zeros(Sample value, std::size_t from, std::size_t end) const;
  void find_unusual(std::span<const std::byte> spectra);
  template <class Sample>
  struct Kept {
    std::vector<Sample> samples;
    std::vector<std::uint16_t> times;  // of the piece
  };
  template <class Sample>
  Kept<Sample> samples_of(const Sample* column) const;
  template <class Sample>
  void keep_to_draw(const Kept<Sample>& kept, std::size_t channel);
  template <class Sample>
  void measure_as(const Sample* column, std::size_t channel);
  template <class Sample>
  void repeat_value(const Sample* column, std::size_t channel);
  template <class Call>
  auto with_column(std::size_t channel, const Call& call);

  formats::FilterbankDescription description_;
  MissingTimes times_;
  std::size_t spectra_repeats_, channel_repeats_;
  std::size_t samples_ = 0;             // of the piece
  std::optional<std::uint64_t> first_;  // of the piece read last
  std::uint64_t piece_ = 0;             // its number, from 1
  std::vector<std::byte> columns_;      // [channel][time] of the piece
  std::vector<std::uint8_t> empty_;     // [time] of the piece: no channel changes
  std::vector<std::uint8_t> unusual_;   // [time] of the piece: the sum over channels stands out
  // A rule for channels that stop together, and the times of the piece from which on some do.
  struct Together {
    CommonStops rule;
    std::vector<std::size_t> windows;
  };
  std::array<Together, 2> together_;
  ZeroStops zeros_;
  std::vector<std::size_t> zero_windows_, zero_begins_;
  std::vector<std::byte> lost_;   // a spectrum that is empty by itself, or none
  std::vector<std::byte> means_;  // [channel]
  std::vector<std::uint8_t>
      valued_;  // [channel] whose mean is that of samples, or a value that it repeats
  std::vector<std::size_t> counts_;                 // [channel] of samples measured
  std::vector<std::uint64_t> seen_;                 // [channel] the piece measured last
  std::vector<std::vector<std::byte>> drawn_from_;  // [channel][time], with MissingTimes::noise
};

}  // namespace tautline::pipeline
