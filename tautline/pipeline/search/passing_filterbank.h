// A live filterbank as a FilterbankReader: the newest spectra may be read again, and later ones are waited for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/formats/filterbank_reader.h"
#include "tautline/pipeline/search/channel_substitutes.h"
#include "tautline/pipeline/search/lost_values.h"
#include "tautline/stream/live_spectra.h"

namespace tautline::pipeline {

/// What EmptyStretches reads again before a block at most, and what it waits for behind one in the first kMeanSamples,
/// whose means are those of later samples.
inline constexpr std::uint64_t kReadBehind = 2 * kMeanSamples, kFirstAhead = 5 * kMeanSamples;

class PassingFilterbank final : public formats::FilterbankReader {
 public:
  /// Ends after `most_samples` spectra.
  PassingFilterbank(std::unique_ptr<stream::LiveSpectra> filterbank, std::uint64_t most_samples,
                    std::size_t block_samples);
  /// Beside a block, kReadBehind spectra before it and `ahead`, at first kFirstAhead, after it can be read.
  /// `stretch`: where so many spectra or more of packets did not come, they are zeros, which are found as stretches that
  /// hold nothing; other values of packets that did not come are replaced.
  /// `past_lead`: where the stream begins with equal spectra, those behind them can be read, however many come first.
  void look_around(std::uint64_t ahead, std::size_t stretch, bool past_lead = false);

  void shorten_blocks(std::uint64_t samples) { block_samples_ = samples; }

  /// The next read is that of a block; those until the next call are around it. Once `stop` is requested what had come
  /// by then is still given.
  void begin_block(const std::stop_token& stop);
  /// Waits for spectra that have not come. Fewer at the end of the stream and too far ahead of the block.
  std::size_t read(std::uint64_t first_sample, std::size_t count,
                   std::span<std::byte> destination) override;
  /// Values of spectra [first, end), not yet forgotten, that were replaced.
  std::vector<FilledRun> replaced(std::uint64_t first, std::uint64_t end) const {
    return lost_ ? lost_->replaced(first, end) : std::vector<FilledRun>();
  }
  /// Of packets.
  std::map<std::string, std::uint64_t> packets() const { return filterbank_->counters(); }
  std::uint64_t bytes() const { return most_kept() * description_.sample_bytes(); }

 private:
  // Spectra are forgotten in pieces of so many.
  std::uint64_t piece() const { return std::max(behind_, block_samples_); }
  std::uint64_t most_kept() const {
    return behind_ + piece() + block_samples_ + std::max(ahead_, first_ahead_);
  }
  void begin_at(std::uint64_t position);
  void wait_for(std::uint64_t end);
  void shorten_lead();
  std::uint64_t limit() const;

  std::unique_ptr<stream::LiveSpectra> filterbank_;
  std::optional<LostValues> lost_;  // of packets
  std::uint64_t most_samples_, block_samples_;
  std::uint64_t behind_ = 0, ahead_ = 0, first_ahead_ = 0;
  bool past_lead_ = false;
  // Of the equal spectra at the stream's begin one is kept, and their number.
  std::vector<std::byte> lead_spectrum_;
  std::uint64_t lead_ = 0;
  std::vector<std::byte> kept_;              // spectra first_kept_ to came_
  std::uint64_t first_kept_ = 0, came_ = 0;  // since the stream's begin
  std::uint64_t position_ = 0, limit_ = 0;   // of this block and its reads
  bool begins_ = true, ended_ = false;
  std::stop_token stop_;
};

}  // namespace tautline::pipeline
