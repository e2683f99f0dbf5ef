// Stretches of a filterbank that hold nothing (docs/design/empty.md): times at which no channel changes, and single
// channels that stop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tautline/core/constant_run.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/filled_values.h"
#include "tautline/pipeline/search/channel_substitutes.h"
#include "tautline/pipeline/search/common_stops.h"
#include "tautline/pipeline/search/sample_range.h"
#include "tautline/pipeline/search/zero_stops.h"

namespace tautline::pipeline {

/// Spectra that must have come behind a block, where nothing at its end stops: to know whether a channel does, and
/// before all do.
std::size_t spectra_ahead(const formats::FilterbankDescription& description,
                          std::span<const std::size_t> left_out);

/// What a part of a filterbank holds nothing in. The same for any cut into blocks: it looks ahead in the reader where a
/// block's end leaves a stretch undecided. Blocks come in order of time. Positions count from the range's start.
class EmptyStretches {
 public:
  /// `left_out`: channels that do not count. `reader` outlives this.
  EmptyStretches(formats::FilterbankReader& reader, const SampleRange& range,
                 std::span<const std::size_t> left_out, MissingTimes times = MissingTimes::mean);

  /// The first stretch of equal spectra that begins at spectrum `from` of a block or later: its whole length, which may
  /// reach beyond the block. `block` begins at position `first`.
  std::optional<SampleRange> find(std::span<const std::byte> block, std::uint64_t first,
                                  std::size_t from);
  /// How many spectra of that block equal the one before: of [from, end), beside the first of them.
  std::uint64_t repeated(std::size_t from, std::size_t end) const;
  /// Replaces what single channels repeat in a piece of a block by means of these channels, or, with
  /// MissingTimes::noise, by noise where more than 1 / kShareWithMeans of the channels that count do. `ahead`: the
  /// samples behind the piece belong to it; false before a stretch. Returns how many values that were finite.
  std::uint64_t mask_channels(std::span<std::byte> piece, std::uint64_t first, bool ahead);
  /// Times of a stretch of this spectrum: adds its values that are not finite to not_finite().
  void count_not_finite(std::span<const std::byte> spectrum, std::uint64_t times);
  /// Before a stretch is filled: measures the channels before it, or, near the range's start, behind it.
  void measure_around(const SampleRange& stretch);
  /// Fills spectra of that stretch, the first one at position `first`, with means or noise.
  void fill(std::span<std::byte> spectra, std::uint64_t first, MissingTimes with) const;

  /// By the last mask_channels(), at positions of the range.
  const std::vector<FilledRun>& replaced() const { return replaced_; }
  /// Those of them in whose place noise came.
  const std::vector<FilledRun>& drawn() const { return drawn_; }
  /// Times that each channel had finite values replaced so far.
  const std::vector<std::uint64_t>& masked() const { return masked_; }
  /// Times that each channel was not finite so far, where that was replaced, or left out or filled with all channels.
  const std::vector<std::uint64_t>& not_finite() const { return not_finite_; }
  /// Times that each channel had the largest value so far in stretches that are data, as clipped pulses are.
  const std::vector<std::uint64_t>& clipped() const { return clipped_; }
  /// Of all channels together.
  std::uint64_t not_finite_values() const { return not_finite_values_; }
  /// Times at which noise was put in so far.
  std::uint64_t noise_samples() const { return noise_samples_; }
  /// Of them, where more than half of the channels had: the first EmptyFound::kListed stretches, in order of time.
  const std::vector<SampleRange>& mostly_masked() const { return mostly_masked_; }
  /// Stretches of equal spectra that may be clipped pulses, and are data; and the first of them.
  std::uint64_t kept() const { return kept_; }
  const SampleRange& first_kept() const { return first_kept_; }
  /// Equal spectra in a row from which on a stretch is empty whatever its values are.
  std::size_t sure_repeats() const { return sure_repeats_; }

 private:
  bool holds_nothing(const std::byte* spectrum, const SampleRange& run, const std::byte* before,
                     const std::byte* behind);
  // [spectrum] of consecutive spectra: whether it equals the spectrum before it; whether it equals lost_; whether a window
  // of wide_ begins with it that lies within these spectra, and at whose two ends enough channels have equal values;
  // how many channels are zero, where zeros_ are looked for.
  struct Marks {
    std::vector<std::uint8_t> same, lost, wide;
    std::vector<std::uint32_t> zeros;
  };
  void mark(std::span<const std::byte> spectra, std::uint64_t first, bool windows,
            Marks& marks) const;
  void mark_windows(const SpectraInTwoPlaces& spectra, std::size_t t, bool window,
                    Marks& marks) const;
  bool is_lost(const std::byte* spectrum) const;
  bool lost_beside(const std::byte* before, const std::byte* behind) const;
  std::optional<core::ConstantRun> next_run(const Marks& marks, std::size_t from,
                                            core::ConstantRun& lost) const;
  bool repeated_beside(const std::byte* spectrum, SampleRange run);
  const std::byte* spectrum_at(std::uint64_t position, std::vector<std::byte>& into);
  std::uint64_t end_of_run(std::span<const std::byte> spectrum, std::uint64_t from);
  std::size_t read_ahead(std::uint64_t first, std::size_t most);
  std::size_t changing_ahead(std::uint64_t first);
  std::size_t read_piece(std::uint64_t first);
  void read_before(std::uint64_t position);
  void read_behind(std::uint64_t position);
  bool knows_all() const;
  void measure_unknown();
  // Samples [from, to) of a channel in a piece, the whole of a run or what a run goes on with.
  struct Stopped {
    std::size_t channel, from, to;
    bool begins, goes_on;
  };
  std::vector<Stopped> find_stopped(std::span<const std::byte> piece, std::uint64_t first,
                                    std::size_t total);
  struct ChannelRun {
    std::size_t channel;
    core::ConstantRun run;
  };
  bool is_largest(const std::byte* spectrum, std::size_t channel) const;
  struct Clipped {
    std::uint64_t first = 0, count = 0,
                  data_end = 0;  // positions of the range; data_end: stopped from there on
    bool goes_on = false;
  };
  void count_clipped(std::span<Clipped* const> runs, std::span<const std::size_t> channels,
                     std::uint64_t first, std::uint64_t end);
  void add_clipped(std::vector<ChannelRun>& runs, std::span<const Clipped> before,
                   std::uint64_t first, std::size_t count, std::size_t total,
                   std::vector<Stopped>& stopped);
  bool may_stop(const SpectraInTwoPlaces& spectra, std::uint64_t first, std::size_t k) const;
  // Spectra of a piece and what is ahead, and up to kBesideWide before and behind these as they were read.
  class WithBeside;
  std::vector<ChannelRun> wide_stops(const SpectraInTwoPlaces& spectra, WithBeside& beside,
                                     std::uint64_t first, std::size_t total);
  std::vector<ChannelRun> zero_stops(const SpectraInTwoPlaces& spectra, WithBeside& beside,
                                     std::uint64_t first, std::size_t total);
  void measure_first(std::span<const Stopped> stopped, std::span<const std::byte> block,
                     std::uint64_t first);
  bool measured_before(const Stopped& run, std::uint64_t first) const {
    return run.begins && first + run.from >= kMeanSamples;
  }
  std::vector<std::uint8_t> noise_times(std::span<const Stopped> stopped, std::size_t times,
                                        std::uint64_t first);
  bool finite_at(const std::byte* spectrum, std::size_t channel) const;
  bool replace(std::byte* piece, const Stopped& run, std::uint64_t first,
               std::span<const std::uint8_t> noise);
  std::uint64_t next_change(std::size_t channel, const std::byte* value, std::uint64_t from);

  formats::FilterbankReader& reader_;
  SampleRange range_;
  bool live_;  // a limited number of spectra can be read ahead
  std::size_t channels_, value_bytes_, sample_bytes_;
  // Equal spectra in a row from which on a stretch may be empty, and is; equal samples of one channel from which it is.
  std::size_t spectra_repeats_ = 1, sure_repeats_ = 1, channel_repeats_ = 1;
  bool each_channel_ = true;                      // is looked at by itself
  std::vector<std::byte> ahead_;                  // spectra after a block
  std::vector<std::byte> before_, behind_;        // spectra beside a stretch
  std::vector<std::byte> beside_;                 // several of them
  std::optional<std::uint64_t> measured_behind_;  // all channels, from there on
  MissingTimes times_;
  ChannelSubstitutes substitutes_;
  std::size_t counting_;  // channels
  CommonStops common_, wide_;
  ZeroStops zeros_;
  std::vector<std::byte> lost_;  // a spectrum that is empty by itself, or none
  SampleRange looked_{0, 0};     // the block that find() looked at last,
  Marks marks_, marks_ahead_;    // and what it found there
  core::ConstantRun next_lost_;
  std::vector<std::uint8_t> left_out_, open_, equal_;  // [channel]; open: the run continues
  std::vector<std::uint64_t> masked_, not_finite_;     // [channel]
  std::vector<std::uint64_t> clipped_;                 // [channel]
  std::vector<std::byte> largest_;                     // value of a channel; none of floats
  std::uint64_t most_clipped_ = 0;     // samples of the largest value from which on they are a stop
  std::vector<Clipped> clipped_runs_;  // [channel] at the last piece's end
  std::vector<FilledRun> replaced_, drawn_;
  std::vector<std::size_t> known_;  // [channel] end of the run seen last
  std::uint64_t not_finite_values_ = 0, noise_samples_ = 0;
  std::vector<SampleRange> mostly_masked_;
  std::uint64_t kept_ = 0, kept_end_ = 0;
  SampleRange first_kept_;
};

}  // namespace tautline::pipeline
