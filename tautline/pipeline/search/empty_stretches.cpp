#include "tautline/pipeline/search/empty_stretches.h"

#include <algorithm>
#include <cstring>

#include "tautline/core/constant_run.h"
#include "tautline/core/integers.h"
#include "tautline/pipeline/search/channel_means.h"

namespace tautline::pipeline {

namespace {

// Shorter stretches are not worth a gap, whatever their probability.
constexpr std::size_t kLeastRepeats = 16;
// Values of a channel in a window that are compared before all of them are.
constexpr std::size_t kProbes = 8;

template <class Value>
void compare_rows(const std::byte* a, const std::byte* b, std::vector<std::uint8_t>& equal) {
  const auto* x = reinterpret_cast<const Value*>(a);
  const auto* y = reinterpret_cast<const Value*>(b);
  for (std::size_t c = 0; c < equal.size(); ++c)
    equal[c] = static_cast<std::uint8_t>(x[c] == y[c] ? 1 : 0);
}

// Equal samples of one channel in a row from which on it is empty.
std::size_t repeats_of_channel(const formats::FilterbankDescription& description) {
  return std::max(
      kLeastRepeats,
      core::repeats_of_nothing(description.bits, description.rate_hz.value() *
                                                     static_cast<double>(description.channels)));
}

// Equal spectra in a row from which on a stretch is empty. Trials of series are sums of the same channels: they count
// as one.
std::size_t repeats_of_spectra(const formats::FilterbankDescription& description,
                               std::size_t left_out) {
  const std::size_t counting = description.time_series ? 1 : description.channels - left_out;
  return std::max(kLeastRepeats, core::divide_up(core::repeats_of_nothing(
                                                     description.bits, description.rate_hz.value()),
                                                 std::max<std::size_t>(1, counting)));
}

// The next channel, not before `c`, that is set.
std::size_t next_set(const std::vector<std::uint8_t>& flags, std::size_t c) {
  std::uint64_t some = 0;
  while (c + sizeof some <= flags.size()) {
    std::memcpy(&some, flags.data() + c, sizeof some);
    if (some != 0) break;
    c += sizeof some;
  }
  while (c < flags.size() && flags[c] == 0) ++c;
  return c;
}

}  // namespace

std::size_t spectra_ahead(const formats::FilterbankDescription& description,
                          std::span<const std::size_t> left_out) {
  const bool each_channel = !description.time_series && description.channels > 1;
  if (!each_channel) return 1;
  return repeats_of_channel(description) + 1 + repeats_of_spectra(description, left_out.size());
}

EmptyStretches::EmptyStretches(formats::FilterbankReader& reader, const SampleRange& range,
                               std::span<const std::size_t> left_out)
    : reader_(reader),
      range_(range),
      channels_(reader.description().channels),
      value_bytes_(formats::bytes_of(reader.description().delivered)),
      sample_bytes_(reader.description().sample_bytes()),
      left_out_(channels_, 0),
      open_(channels_, 0),
      equal_(channels_, 0),
      masked_(channels_, 0),
      values_(sample_bytes_),
      known_(channels_, 0) {
  for (const std::size_t c : left_out) left_out_[c] = 1;
  each_channel_ = !reader.description().time_series;
  spectra_repeats_ = repeats_of_spectra(reader.description(), left_out.size());
  channel_repeats_ = repeats_of_channel(reader.description());
  ahead_.resize((channel_repeats_ + 1 + spectra_repeats_) * sample_bytes_);
}

// Up to `most` spectra from position `first` on.
std::size_t EmptyStretches::read_ahead(std::uint64_t first, std::size_t most) {
  const auto wanted = static_cast<std::size_t>(
      std::min<std::uint64_t>(most, range_.count - std::min(first, range_.count)));
  return reader_.read_across(range_.first + first, wanted, ahead_);
}

// Spectra behind a block, up to a stretch in which no channel changes: that ends a channel's run as it does within the
// block.
std::size_t EmptyStretches::changing_ahead(std::uint64_t first) {
  const std::size_t there = read_ahead(first, ahead_.size() / sample_bytes_);
  const core::ItemSeries spectra{ahead_.data(), static_cast<std::ptrdiff_t>(sample_bytes_),
                                 sample_bytes_, there};
  const auto run = core::find_constant_run(spectra, spectra_repeats_);
  return run && run->repeats() >= spectra_repeats_ ? run->first : there;
}

std::uint64_t EmptyStretches::end_of_run(std::span<const std::byte> spectrum, std::uint64_t from) {
  // Most runs end at once.
  for (std::size_t most = 1;; most = std::min(4 * most, ahead_.size() / sample_bytes_)) {
    const std::size_t there = read_ahead(from, most);
    for (std::size_t t = 0; t < there; ++t)
      if (std::memcmp(ahead_.data() + t * sample_bytes_, spectrum.data(), sample_bytes_) != 0)
        return from + t;
    from += there;
    if (there == 0) return from;
  }
}

std::optional<SampleRange> EmptyStretches::find(std::span<const std::byte> block,
                                                std::uint64_t first, std::size_t from) {
  const core::ItemSeries spectra{block.data(), static_cast<std::ptrdiff_t>(sample_bytes_),
                                 sample_bytes_, block.size() / sample_bytes_};
  const auto run = core::find_constant_run(spectra, spectra_repeats_, from);
  if (!run) return std::nullopt;
  std::uint64_t end = first + run->end;
  if (run->end == spectra.count)
    end = end_of_run(block.subspan(run->first * sample_bytes_, sample_bytes_), end);
  if (end - (first + run->first) <= spectra_repeats_) return std::nullopt;
  return SampleRange{first + run->first, end - (first + run->first)};
}

const std::vector<std::byte>& EmptyStretches::means_around(const SampleRange& stretch) {
  // Whole pieces of the range, so that stretches near each other share one measurement.
  const std::uint64_t behind = stretch.first + stretch.count;
  std::uint64_t first =
      stretch.first >= kMeanSamples ? (stretch.first / kMeanSamples - 1) * kMeanSamples : behind;
  if (first >= range_.count) first = 0;
  if (line_first_ != first)
    line_ =
        channel_means(reader_, range_.first + first, std::min(kMeanSamples, range_.count - first));
  line_first_ = first;
  return line_;
}

// A later position at which the channel has another value; the range's end if none is found.
std::uint64_t EmptyStretches::next_change(std::size_t channel, const std::byte* value,
                                          std::uint64_t from) {
  std::vector<std::byte> spectrum(sample_bytes_);
  for (std::uint64_t step = 1; from < range_.count; from += step, step *= 2) {
    if (reader_.read(range_.first + from, 1, spectrum) == 0) break;
    if (std::memcmp(spectrum.data() + channel * value_bytes_, value, value_bytes_) != 0)
      return from;
  }
  return range_.count;
}

// Samples [from, to) of a channel, in a piece that begins at position `first`.
void EmptyStretches::replace(std::byte* piece, std::size_t channel, std::size_t from,
                             std::size_t to, std::uint64_t first) {
  std::byte* value = values_.data() + channel * value_bytes_;
  if (open_[channel] == 0 || from > 0) {
    const std::byte* constant = piece + from * sample_bytes_ + channel * value_bytes_;
    SampleRange run{first + from, to - from};
    if (run.first < kMeanSamples) run.count = next_change(channel, constant, run.first) - run.first;
    std::memcpy(value, means_around(run).data() + channel * value_bytes_, value_bytes_);
  }
  for (std::size_t t = from; t < to; ++t)
    std::memcpy(piece + t * sample_bytes_ + channel * value_bytes_, value, value_bytes_);
  masked_[channel] += to - from;
  replaced_.push_back({channel, first + from, first + to});
}

std::uint64_t EmptyStretches::mask_channels(std::span<std::byte> piece, std::uint64_t first,
                                            bool ahead) {
  replaced_.clear();
  const std::size_t count = piece.size() / sample_bytes_;
  if (!each_channel_ || channels_ < 2 || count == 0) {
    if (!ahead) std::fill(open_.begin(), open_.end(), 0);
    return 0;
  }
  const std::size_t total = count + (ahead ? changing_ahead(first + count) : 0);
  const auto row = [&](std::size_t t) {
    return t < count ? piece.data() + t * sample_bytes_
                     : ahead_.data() + (t - count) * sample_bytes_;
  };
  const auto equal = [&](std::size_t c, std::size_t a, std::size_t b) {
    return std::memcmp(row(a) + c * value_bytes_, row(b) + c * value_bytes_, value_bytes_) == 0;
  };
  std::uint64_t replaced = 0;
  std::fill(known_.begin(), known_.end(), 0);
  const auto look = [&](std::size_t c, std::size_t k) {
    const auto run = core::run_around([&](std::size_t a, std::size_t b) { return equal(c, a, b); },
                                      total, k, known_[c]);
    known_[c] = run.end;  // from here on the data are as they were
    const bool goes_on = open_[c] != 0 && run.first == 0;
    if (run.first >= count || (run.repeats() < channel_repeats_ && !goes_on)) return;
    const std::size_t end = std::min(run.end, count);
    replace(piece.data(), c, run.first, end, first);
    replaced += end - run.first;
    open_[c] = run.end > count ? 1 : 0;
  };
  for (std::size_t c = 0; c < channels_; ++c)
    if (open_[c] != 0) look(c, 0);
  const std::size_t step = (channel_repeats_ + 1) / 2;
  for (std::size_t k = 0; k + step < total; k += step) {
    if (value_bytes_ == 1) compare_rows<std::uint8_t>(row(k), row(k + step), equal_);
    if (value_bytes_ == 2) compare_rows<std::uint16_t>(row(k), row(k + step), equal_);
    if (value_bytes_ == 4) compare_rows<std::uint32_t>(row(k), row(k + step), equal_);
    for (std::size_t c = next_set(equal_, 0); c < channels_; c = next_set(equal_, c + 1)) {
      if (left_out_[c] != 0 || known_[c] >= k + step) continue;
      std::size_t probe = 1;
      while (probe < kProbes && equal(c, k, k + step * probe / kProbes)) ++probe;
      if (probe == kProbes) look(c, std::max(k, known_[c]));
    }
  }
  if (!ahead) std::fill(open_.begin(), open_.end(), 0);
  return replaced;
}

}  // namespace tautline::pipeline
