#include "tautline/pipeline/search/lost_values.h"

#include <algorithm>
#include <cstring>

#include "tautline/core/random_bits.h"

namespace tautline::pipeline {

using stream::LostRun;

LostValues::LostValues(const formats::FilterbankDescription& description)
    : channels_(description.channels),
      value_bytes_(formats::bytes_of(description.delivered)),
      kept_(kDrawnFrom * description.sample_bytes()),
      kept_lost_(kDrawnFrom * description.channels) {}

// Marks the values of a piece that did not come, and the spectra that are left.
void LostValues::mark_left(std::size_t spectra, std::uint64_t first,
                           std::span<const LostRun> lost) {
  lost_.assign(spectra * channels_, 0);
  std::vector<std::size_t> count(spectra, 0);
  for (const LostRun& run : lost)
    for (std::uint64_t t = run.first - first; t < run.end - first; ++t) {
      const bool all = run.channel == LostRun::kAllChannels;
      std::fill_n(
          lost_.begin() + static_cast<std::ptrdiff_t>(t * channels_ + (all ? 0 : run.channel)),
          all ? channels_ : 1, std::uint8_t{1});
      count[t] += all ? channels_ : 1;
    }
  left_.assign(spectra, 0);
  for (std::size_t t = 0, end = 0; t < spectra; t = end) {
    for (end = t; end < spectra && (count[end] == channels_) == (count[t] == channels_);) ++end;
    if (count[t] == channels_ && end - t >= least_left_)
      std::fill_n(left_.begin() + static_cast<std::ptrdiff_t>(t), end - t, std::uint8_t{1});
  }
}

// One of the channel's values that came, unless a few tries meet none.
void LostValues::draw(std::byte* spectrum, std::size_t channel, std::uint64_t position) const {
  constexpr int kTries = 8;
  const std::uint64_t there = std::min<std::uint64_t>(kept_count_, kDrawnFrom);
  if (there == 0) return;
  std::uint64_t bits = core::random_bits(position * channels_ + channel);
  std::size_t from = 0;
  for (int k = 0; k < kTries; ++k, bits = core::scatter_bits(bits)) {
    from = static_cast<std::size_t>((bits >> 32) * there >> 32) * channels_ + channel;
    if (kept_lost_[from] == 0) break;
  }
  std::memcpy(spectrum + channel * value_bytes_, kept_.data() + from * value_bytes_, value_bytes_);
}

void LostValues::keep(const std::byte* spectrum, const std::uint8_t* lost) {
  const std::size_t place = static_cast<std::size_t>(kept_count_++ % kDrawnFrom) * channels_;
  std::memcpy(kept_.data() + place * value_bytes_, spectrum, channels_ * value_bytes_);
  if (lost != nullptr)
    std::copy_n(lost, channels_, kept_lost_.begin() + static_cast<std::ptrdiff_t>(place));
  else
    std::fill_n(kept_lost_.begin() + static_cast<std::ptrdiff_t>(place), channels_,
                std::uint8_t{0});
}

void LostValues::replace(std::span<std::byte> spectra, std::uint64_t first,
                         std::span<const LostRun> lost) {
  const std::size_t spectrum_bytes = channels_ * value_bytes_;
  const std::size_t count = spectra.size() / spectrum_bytes;
  if (lost.empty()) {
    for (std::size_t t = count - std::min(count, kDrawnFrom); t < count; ++t)
      keep(spectra.data() + t * spectrum_bytes, nullptr);
    return;
  }
  mark_left(count, first, lost);
  for (std::size_t t = 0; t < count; ++t) {
    if (left_[t] != 0) continue;
    std::byte* const spectrum = spectra.data() + t * spectrum_bytes;
    const std::uint8_t* const missing = lost_.data() + t * channels_;
    for (std::size_t c = 0; c < channels_; ++c)
      if (missing[c] != 0) draw(spectrum, c, first + t);
    keep(spectrum, missing);
  }
  for (const LostRun& run : lost)
    for (std::uint64_t t = run.first, end = t; t < run.end; t = end) {
      const std::uint8_t left = left_[t - first];
      while (end < run.end && left_[end - first] == left) ++end;
      if (left == 0)
        replaced_.push_back(
            {run.channel == LostRun::kAllChannels ? FilledRun::kAllChannels : run.channel, t, end});
    }
}

std::vector<FilledRun> LostValues::replaced(std::uint64_t first, std::uint64_t end) const {
  std::vector<FilledRun> runs;
  for (const FilledRun& run : replaced_)
    if (run.first < end && run.end > first)
      runs.push_back({run.channel, std::max(run.first, first), std::min(run.end, end)});
  return runs;
}

void LostValues::forget(std::uint64_t before) {
  std::erase_if(replaced_, [&](const FilledRun& run) { return run.end <= before; });
}

}  // namespace tautline::pipeline
