// rfifind's masks applied to spectra: masked samples are replaced by their channel's mean, or by noise like its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/presto/mask.h"
#include "tautline/pipeline/search/channel_substitutes.h"

namespace tautline::pipeline {

/// A channel's mean is that of its last unmasked interval before, or, when there is none yet, of the first 4,096 samples
/// of the data; noise is drawn from the first 4,096 samples of the same (ChannelSubstitutes). As many channels as are
/// masked in every interval always have their means. Neither depends on how the data are cut into blocks. Means are
/// rounded to whole numbers for integers. Channels masked throughout the file are left to be ignored.
class MaskIntervals {
 public:
  /// Reads the first samples. Throws Error(config) when the mask was made for other channels.
  MaskIntervals(formats::presto::Mask mask, MissingTimes times, formats::FilterbankReader& reader);

  /// Channels in the file's order that are masked throughout.
  const std::vector<std::size_t>& ignored_channels() const { return ignored_; }
  /// Blocks in order of time. Their first samples count the times of gaps before them, as masks do.
  void apply(std::span<std::byte> spectra, std::uint64_t first_sample, std::size_t samples);
  /// Samples (times x channels) replaced so far.
  std::uint64_t masked() const { return masked_; }

 private:
  std::vector<std::size_t> flagged_in(std::size_t interval) const;
  void begin_interval(std::size_t interval);
  template <class Sample>
  void apply_to(Sample* spectra, std::uint64_t first_sample, std::size_t samples);
  void keep(std::span<const std::byte> spectra);
  void take_over(bool all);
  template <class Sample>
  void measure(const Sample* spectra, std::size_t samples, bool all);

  formats::presto::Mask mask_;
  MissingTimes times_;
  formats::FilterbankDescription description_;
  std::vector<std::size_t> ignored_;
  std::vector<std::uint8_t> throughout_, flags_;  ///< [channel]
  std::vector<double> means_, sums_;              ///< [channel]; sums of the interval so far
  ChannelSubstitutes noise_of_;
  std::vector<std::byte> kept_;  ///< first samples of the interval
  double counted_ = 0;
  std::size_t least_ = 0;  ///< channels that are masked in every interval, beside those throughout
  std::vector<std::size_t> flagged_;  ///< channels of this interval
  std::size_t with_means_ = 0;        ///< the first ones of them
  bool started_ = false;
  std::size_t interval_ = 0;
  std::uint64_t masked_ = 0;
};

}  // namespace tautline::pipeline
