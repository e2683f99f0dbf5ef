#include "tautline/pipeline/search/empty_stretches.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "tautline/core/constant_run.h"
#include "tautline/pipeline/filterbank_stream.h"
#include "tautline/pipeline/search/empty_found.h"
#include "tautline/pipeline/search/empty_rule.h"
#include "tautline/pipeline/search/passing_filterbank.h"

namespace tautline::pipeline {

namespace {

// Values of a channel in a window that are compared before all of them are.
constexpr std::size_t kProbes = 8;
// Spectra between two looks at where a channel goes on: channels that go on together then share a measurement.
constexpr std::uint64_t kNear = 64;
// That channels which stop among the first samples are measured in.
constexpr std::uint64_t kFirstPieces = 5;

}  // namespace

std::size_t spectra_ahead(const formats::FilterbankDescription& description,
                          std::span<const std::size_t> left_out) {
  const bool each_channel = !description.time_series && description.channels > 1;
  if (!each_channel) return 1;
  return empty_repeats_of_channel(description) + 1 +
         empty_repeats_of_spectra(description, left_out.size());
}

EmptyStretches::EmptyStretches(formats::FilterbankReader& reader, const SampleRange& range,
                               std::span<const std::size_t> left_out, MissingTimes times)
    : reader_(reader),
      range_(range),
      live_(range.count == kLiveSamples),
      channels_(reader.description().channels),
      value_bytes_(formats::bytes_of(reader.description().delivered)),
      sample_bytes_(reader.description().sample_bytes()),
      times_(times),
      substitutes_(reader.description(), left_out, times),
      counting_(channels_ - left_out.size()),
      common_(reader.description(), left_out),
      left_out_(channels_, 0),
      open_(channels_, 0),
      equal_(channels_, 0),
      masked_(channels_, 0),
      not_finite_(channels_, 0),
      known_(channels_, 0) {
  for (const std::size_t c : left_out) left_out_[c] = 1;
  each_channel_ = !reader.description().time_series;
  spectra_repeats_ = empty_repeats_of_spectra(reader.description(), left_out.size());
  channel_repeats_ = empty_repeats_of_channel(reader.description());
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

std::size_t EmptyStretches::read_piece(std::uint64_t first) {
  return substitutes_.read(reader_, range_.first + first,
                           std::min(kMeanSamples, range_.count - std::min(first, range_.count)));
}

// Whole pieces of the range, so that stretches near each other share one measurement.
void EmptyStretches::read_before(std::uint64_t position) {
  read_piece((position / kMeanSamples - 1) * kMeanSamples);
}

// The piece that begins at a position, or the last one of the data.
void EmptyStretches::read_behind(std::uint64_t position) {
  const std::size_t got = read_piece(position);
  if (got < kMeanSamples) read_piece(position + got - std::min(position + got, kMeanSamples));
}

bool EmptyStretches::finite_at(const std::byte* spectrum, std::size_t channel) const {
  if (reader_.description().delivered != formats::Delivered::f32) return true;
  float value = 0;
  std::memcpy(&value, spectrum + channel * sizeof value, sizeof value);
  return std::isfinite(value);
}

void EmptyStretches::count_not_finite(std::span<const std::byte> spectrum, std::uint64_t times) {
  for (std::size_t c = 0; c < channels_; ++c)
    if (!finite_at(spectrum.data(), c)) not_finite_[c] += times, not_finite_values_ += times;
}

bool EmptyStretches::knows_all() const {
  for (std::size_t c = 0; c < channels_; ++c)
    if (left_out_[c] == 0 && !substitutes_.knows(c)) return false;
  return true;
}

void EmptyStretches::measure_unknown() {
  for (std::size_t c = 0; c < channels_; ++c)
    if (!substitutes_.knows(c)) substitutes_.measure(c);
}

// Near the range's start the piece behind the stretch is measured, if there is a whole one, as far away as a pipe can
// be read in any blocks; else the first piece. Channels without samples there have those of another piece.
void EmptyStretches::measure_around(const SampleRange& stretch) {
  if (stretch.first >= kMeanSamples) {
    read_before(stretch.first);
    substitutes_.measure_all();
    return;
  }
  const std::uint64_t behind = stretch.first + stretch.count;
  const bool near = stretch.count <= kFirstAhead - kMeanSamples;
  if (near && read_piece(behind) == kMeanSamples) substitutes_.measure_all();
  if (knows_all()) return;
  read_piece(0);
  measure_unknown();
  if (knows_all() || (!near && live_)) return;
  read_behind(behind);
  measure_unknown();
}

void EmptyStretches::fill(std::span<std::byte> spectra, std::uint64_t first) const {
  const std::size_t count = spectra.size() / sample_bytes_;
  if (times_ == MissingTimes::noise) {
    for (std::size_t c = 0; c < channels_; ++c)
      substitutes_.draw(spectra.data(), c, 0, count, range_.first + first);
    return;
  }
  for (std::size_t t = 0; t < count; ++t)
    std::memcpy(spectra.data() + t * sample_bytes_, substitutes_.means().data(), sample_bytes_);
}

// A later position at which the channel has another value, kNear or less behind one at which it does not; the range's
// end if none is found.
std::uint64_t EmptyStretches::next_change(std::size_t channel, const std::byte* value,
                                          std::uint64_t from) {
  std::vector<std::byte> spectrum(sample_bytes_);
  const auto differs = [&] {
    return std::memcmp(spectrum.data() + channel * value_bytes_, value, value_bytes_) != 0;
  };
  std::uint64_t same = from;
  for (std::uint64_t step = 1;; step *= 2) {
    if (reader_.read(range_.first + from, 1, spectrum) == 0) return range_.count;
    if (differs()) break;
    same = from;
    if (from + 1 >= range_.count) return range_.count;
    from = std::min(from + step, range_.count - 1);
  }
  while (from - same > kNear) {
    const std::uint64_t middle = same + (from - same) / 2;
    if (reader_.read(range_.first + middle, 1, spectrum) == 0) break;
    (differs() ? from : same) = middle;
  }
  return from;
}

// Channels that stop among the first samples have none before: each is measured in the first of a few pieces that has
// enough of it, else in the one that has most; where none has any, behind a later change.
void EmptyStretches::measure_first(std::span<const Stopped> stopped,
                                   std::span<const std::byte> block, std::uint64_t first) {
  std::vector<Stopped> runs;
  for (const Stopped& run : stopped)
    if (run.begins && !measured_before(run, first)) runs.push_back(run);
  const auto by_time = [](const Stopped& a, const Stopped& b) {
    return std::pair(a.channel, a.from) < std::pair(b.channel, b.from);
  };
  std::ranges::sort(runs, by_time);
  const auto again = std::ranges::unique(runs, {}, &Stopped::channel);
  runs.erase(again.begin(), again.end());
  for (const Stopped& run : runs) substitutes_.forget(run.channel);
  for (std::uint64_t piece = 0; piece < kFirstPieces && !runs.empty(); ++piece) {
    if (piece * kMeanSamples >= range_.count) break;
    read_piece(piece * kMeanSamples);
    std::erase_if(runs, [&](const Stopped& run) { return substitutes_.measure(run.channel); });
  }
  for (const Stopped& run : runs) {
    if (substitutes_.knows(run.channel) || live_) continue;
    const std::byte* value = block.data() + run.from * sample_bytes_ + run.channel * value_bytes_;
    const std::uint64_t change = next_change(run.channel, value, first + run.from);
    if (change == range_.count) continue;
    read_behind(change);
    substitutes_.measure(run.channel);
  }
}

// [time] of a piece: so many channels are stopped that they get noise, which is noted. Empty where there is no such
// time. Channels of which no samples are known do not count: their noise is missing at all times.
std::vector<std::uint8_t> EmptyStretches::noise_times(std::span<const Stopped> stopped,
                                                      std::size_t times, std::uint64_t first) {
  if (times_ == MissingTimes::mean || kShareWithMeans * stopped.size() <= counting_) return {};
  std::vector<std::int64_t> changes(times + 1, 0);
  std::vector<std::uint8_t> known(channels_, 0);
  for (const Stopped& run : stopped) {
    if (substitutes_.knows(run.channel)) known[run.channel] = 1;
    if (known[run.channel] == 0 && measured_before(run, first)) {
      read_before(first + run.from);
      known[run.channel] = substitutes_.has_samples(run.channel) ? 1 : 0;
    }
    if (known[run.channel] == 0) continue;
    ++changes[run.from];
    --changes[run.to];
  }
  std::vector<std::uint8_t> noise(times, 0);
  std::int64_t open = 0;
  for (std::size_t t = 0; t < times; ++t) {
    open += changes[t];
    const auto channels = static_cast<std::size_t>(open);
    if (kShareWithMeans * channels <= counting_) continue;
    noise[t] = 1;
    ++noise_samples_;
    if (2 * channels <= counting_) continue;
    const std::uint64_t at = first + t;
    if (!mostly_masked_.empty() && mostly_masked_.back().first + mostly_masked_.back().count == at)
      ++mostly_masked_.back().count;
    else if (mostly_masked_.size() < EmptyFound::kListed)
      mostly_masked_.push_back({at, 1});
  }
  return noise;
}

// In a piece that begins at position `first`. Whether the value was finite.
bool EmptyStretches::replace(std::byte* piece, const Stopped& run, std::uint64_t first,
                             std::span<const std::uint8_t> noise) {
  const std::size_t offset = run.channel * value_bytes_;
  const bool finite = finite_at(piece + run.from * sample_bytes_, run.channel);
  if (measured_before(run, first)) {
    read_before(first + run.from);
    substitutes_.measure(run.channel);
  }
  const std::byte* mean = substitutes_.means().data() + offset;
  for (std::size_t t = run.from, end = 0; t < run.to; t = end) {
    end = t;
    while (end < run.to && !noise.empty() && noise[end] != 0) ++end;
    if (end > t) {
      substitutes_.draw(piece, run.channel, t, end, range_.first + first);
      continue;
    }
    std::memcpy(piece + t * sample_bytes_ + offset, mean, value_bytes_);
    ++end;
  }
  (finite ? masked_ : not_finite_)[run.channel] += run.to - run.from;
  if (!finite) not_finite_values_ += run.to - run.from;
  replaced_.push_back({run.channel, first + run.from, first + run.to});
  return finite;
}

// Runs of a channel's values that hold nothing, or go on doing so, in `total` spectra: the piece and what is ahead.
std::vector<EmptyStretches::Stopped> EmptyStretches::find_stopped(std::span<const std::byte> piece,
                                                                  std::uint64_t first,
                                                                  std::size_t total) {
  const SpectraInTwoPlaces spectra{piece.data(), piece.size() / sample_bytes_, ahead_.data(),
                                   sample_bytes_};
  const auto equal = [&](std::size_t c, std::size_t a, std::size_t b) {
    return std::memcmp(spectra.at(a) + c * value_bytes_, spectra.at(b) + c * value_bytes_,
                       value_bytes_) == 0;
  };
  std::vector<Stopped> stopped;
  const auto look = [&](std::size_t c, std::size_t k, bool common) {
    const auto run = core::run_around([&](std::size_t a, std::size_t b) { return equal(c, a, b); },
                                      total, k, known_[c]);
    known_[c] = run.end;
    const bool went_on = open_[c] != 0 && run.first == 0;
    if (run.first >= spectra.count || !(went_on || common || run.repeats() >= channel_repeats_))
      return;
    stopped.push_back(
        {c, run.first, std::min(run.end, spectra.count), !went_on, run.end > spectra.count});
  };
  std::fill(known_.begin(), known_.end(), 0);
  if (const std::size_t step = common_.repeats(); step > 0)
    for (std::size_t k = common_.next_window(0, range_.first + first); k + step < total; k += step)
      if (common_.stop_at(spectra, k))
        for (std::size_t c = next_set(common_.stopped(), 0); c < channels_;
             c = next_set(common_.stopped(), c + 1))
          if (known_[c] <= k) look(c, k, true);
  std::fill(known_.begin(), known_.end(), 0);
  for (std::size_t c = 0; c < channels_; ++c)
    if (open_[c] != 0) look(c, 0, false);
  const std::size_t step = (channel_repeats_ + 1) / 2;
  for (std::size_t k = 0; k + step < total; k += step) {
    std::fill(equal_.begin(), equal_.end(), 1);
    keep_equal(spectra.at(k), spectra.at(k + step), value_bytes_, equal_);
    for (std::size_t c = next_set(equal_, 0); c < channels_; c = next_set(equal_, c + 1)) {
      if (left_out_[c] != 0 || known_[c] >= k + step) continue;
      std::size_t probe = 1;
      while (probe < kProbes && equal(c, k, k + step * probe / kProbes)) ++probe;
      if (probe == kProbes) look(c, std::max(k, known_[c]), false);
    }
  }
  // In order of time; some were found twice.
  const auto place = [](const Stopped& run) { return std::pair(run.from, run.channel); };
  std::ranges::sort(stopped, {}, place);
  const auto twice = std::ranges::unique(stopped, {}, place);
  stopped.erase(twice.begin(), twice.end());
  return stopped;
}

std::uint64_t EmptyStretches::mask_channels(std::span<std::byte> piece, std::uint64_t first,
                                            bool ahead) {
  replaced_.clear();
  const std::size_t count = piece.size() / sample_bytes_;
  if (!each_channel_ || channels_ < 2 || count == 0) {
    if (!ahead) std::fill(open_.begin(), open_.end(), 0);
    return 0;
  }
  const std::vector<Stopped> stopped =
      find_stopped(piece, first, count + (ahead ? changing_ahead(first + count) : 0));
  std::fill(open_.begin(), open_.end(), 0);
  for (const Stopped& run : stopped)
    if (run.goes_on) open_[run.channel] = 1;
  measure_first(stopped, piece, first);
  const std::vector<std::uint8_t> noise = noise_times(stopped, count, first);
  std::uint64_t replaced = 0;
  for (const Stopped& run : stopped)
    if (replace(piece.data(), run, first, noise)) replaced += run.to - run.from;
  return replaced;
}

}  // namespace tautline::pipeline
