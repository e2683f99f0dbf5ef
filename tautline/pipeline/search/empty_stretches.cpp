#include "tautline/pipeline/search/empty_stretches.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "tautline/core/constant_run.h"
#include "tautline/core/integers.h"
#include "tautline/core/threads.h"
#include "tautline/pipeline/filterbank_stream.h"
#include "tautline/pipeline/search/empty_found.h"
#include "tautline/pipeline/search/empty_rule.h"
#include "tautline/pipeline/search/passing_filterbank.h"

namespace tautline::pipeline {

namespace {

// Spectra between two looks at where a channel goes on: channels that go on together then share a measurement.
constexpr std::uint64_t kNear = 64;
// That channels which stop among the first samples are measured in.
constexpr std::uint64_t kFirstPieces = 5;

}  // namespace

std::size_t spectra_ahead(const formats::FilterbankDescription& description,
                          std::span<const std::size_t> left_out) {
  const bool each_channel = !description.time_series && description.channels > 1;
  if (!each_channel) return 1;
  const bool looks_beside = wide_rule(description, left_out.size()).repeats > 0 ||
                            ZeroStops(description, left_out).used();
  const std::size_t beside = looks_beside ? kBesideWide : 0;
  return empty_repeats_of_channel(description) + 1 +
         sure_repeats_of_spectra(description, channels_counting(description, left_out.size())) +
         beside;
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
      common_(reader.description(), left_out, common_rule(reader.description(), left_out.size())),
      wide_(reader.description(), left_out, wide_rule(reader.description(), left_out.size())),
      zeros_(reader.description(), left_out),
      lost_(lost_spectrum(reader.description(),
                          channels_counting(reader.description(), left_out.size()))),
      left_out_(channels_, 0),
      open_(channels_, 0),
      equal_(channels_, 0),
      masked_(channels_, 0),
      not_finite_(channels_, 0),
      clipped_(channels_, 0),
      largest_(largest_value(reader.description())),
      most_clipped_(clipped_samples(reader.description())),
      clipped_runs_(channels_),
      known_(channels_, 0) {
  for (const std::size_t c : left_out) left_out_[c] = 1;
  each_channel_ = !reader.description().time_series;
  const std::size_t counting = channels_counting(reader.description(), left_out.size());
  spectra_repeats_ = empty_repeats_of_spectra(reader.description(), counting);
  sure_repeats_ = sure_repeats_of_spectra(reader.description(), counting);
  channel_repeats_ = empty_repeats_of_channel(reader.description());
  ahead_.resize((channel_repeats_ + 1 + sure_repeats_) * sample_bytes_);
}

// Up to `most` spectra from position `first` on.
std::size_t EmptyStretches::read_ahead(std::uint64_t first, std::size_t most) {
  const auto wanted = static_cast<std::size_t>(
      std::min<std::uint64_t>(most, range_.count - std::min(first, range_.count)));
  return reader_.read_across(range_.first + first, wanted, ahead_);
}

// The spectrum at a position of the range as it was read; null if there is none.
const std::byte* EmptyStretches::spectrum_at(std::uint64_t position, std::vector<std::byte>& into) {
  into.resize(sample_bytes_);
  if (position >= range_.count) return nullptr;
  return reader_.read_across(range_.first + position, 1, into) == 1 ? into.data() : nullptr;
}

bool EmptyStretches::is_lost(const std::byte* spectrum) const {
  std::uint64_t some = 0, lost = 0;  // most spectra differ there
  const std::size_t middle = lost_.size() / 2;
  std::memcpy(&some, spectrum + middle, sizeof some);
  std::memcpy(&lost, lost_.data() + middle, sizeof lost);
  return some == lost && std::memcmp(spectrum, lost_.data(), lost_.size()) == 0;
}

// Of spectra like lost_: whether half of the channels have other values on either side, as far as there are any.
bool EmptyStretches::lost_beside(const std::byte* before, const std::byte* behind) const {
  const auto differs = [&](const std::byte* other, std::size_t c) {
    return other == nullptr || std::memcmp(other + c * value_bytes_,
                                           lost_.data() + c * value_bytes_, value_bytes_) != 0;
  };
  std::size_t count = 0;
  for (std::size_t c = 0; c < channels_; ++c)
    if (left_out_[c] == 0 && differs(before, c) && differs(behind, c)) ++count;
  return 2 * count >= counting_ && (before != nullptr || behind != nullptr);
}

// By several threads, because reading and marking can bound a search on a GPU.
void EmptyStretches::mark(std::span<const std::byte> block, std::uint64_t first, bool windows,
                          Marks& marks) const {
  constexpr std::size_t kLeastBytes = std::size_t{256} << 10;  // of a thread
  const std::size_t count = block.size() / sample_bytes_;
  const SpectraInTwoPlaces spectra{block.data(), count, nullptr, sample_bytes_};
  marks.same.assign(count, 0);
  marks.lost.assign(count, 0);
  const bool wide = windows && each_channel_ && wide_.repeats() > 0;
  marks.wide.assign(wide ? count : 0, 0);
  const bool zeros = windows && each_channel_ && zeros_.used();
  marks.zeros.assign(zeros ? count : 0, 0);
  const auto mark_piece = [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      if (t > 0 && equal_spectra(spectra.at(t - 1), spectra.at(t), sample_bytes_))
        marks.same[t] = 1;
      if (!lost_.empty() && is_lost(spectra.at(t))) marks.lost[t] = 1;
      mark_windows(spectra, t, (range_.first + first + t) % ZeroStops::kEvery == 0, marks);
    }
  };
  core::in_pieces(count, block.size() / kLeastBytes, mark_piece);
}

std::uint64_t EmptyStretches::repeated(std::size_t from, std::size_t end) const {
  const auto at = [&](std::size_t t) {
    return marks_.same.begin() + static_cast<std::ptrdiff_t>(t);
  };
  return from + 1 < end ? static_cast<std::uint64_t>(std::count(at(from + 1), at(end), 1)) : 0;
}

// The first run of equal spectra, not before `from`, that may be empty, or that reaches the end, even with the last
// spectrum alone; `lost` is the run of spectra like lost_ that was found last, or none at the end.
std::optional<core::ConstantRun> EmptyStretches::next_run(const Marks& marks, std::size_t from,
                                                          core::ConstantRun& lost) const {
  std::size_t count = marks.same.size();
  const auto next = [&](const std::vector<std::uint8_t>& flags, std::size_t t, std::uint8_t flag) {
    const auto end = flags.begin() + static_cast<std::ptrdiff_t>(count);
    return static_cast<std::size_t>(
        std::find(flags.begin() + static_cast<std::ptrdiff_t>(std::min(t, count)), end, flag) -
        flags.begin());
  };
  if (lost.end <= from) {
    lost.first = next(marks.lost, from, 1);
    lost.end = next(marks.lost, lost.first, 0);
  }
  if (lost.first < lost.end) count = lost.end;
  if (count <= from) return std::nullopt;
  for (std::size_t k = from;;) {
    const std::size_t second = next(marks.same, k + 1, 1);
    if (second == count) return core::ConstantRun{count - 1, count};
    k = next(marks.same, second, 0);
    const core::ConstantRun run{second - 1, k};
    if (run.repeats() >= spectra_repeats_ || run.end == count) return run;
  }
}

// Whether the spectra before or behind a run are repeated too, half as often or more: in a file of which each spectrum
// stands several times. The run may have begun in the block before.
bool EmptyStretches::repeated_beside(const std::byte* spectrum, SampleRange run) {
  const auto equal_before = [&] {
    const std::byte* before = spectrum_at(run.first - 1, beside_);
    return before != nullptr && std::memcmp(before, spectrum, sample_bytes_) == 0;
  };
  while (run.first > 0 && run.count <= sure_repeats_ && equal_before()) --run.first, ++run.count;
  const auto count = static_cast<std::size_t>(core::divide_up(run.count, std::uint64_t{2}));
  beside_.resize(count * sample_bytes_);
  const auto repeated = [&](std::uint64_t first) {
    return first + count <= range_.count &&
           reader_.read_across(range_.first + first, count, beside_) == count &&
           std::memcmp(beside_.data(), beside_.data() + sample_bytes_,
                       (count - 1) * sample_bytes_) == 0;
  };
  return (run.first >= count && repeated(run.first - count)) || repeated(run.first + run.count);
}

// Whether spectra that are equal are a stretch that is empty. A few may also be a bright pulse that is clipped, or be
// equal because most channels hardly change at that time: only channels count whose value is less than that before or
// behind.
bool EmptyStretches::holds_nothing(const std::byte* spectrum, const SampleRange& run,
                                   const std::byte* before, const std::byte* behind) {
  const std::uint64_t repeats = run.count - 1;
  if (repeats >= sure_repeats_) return true;
  const bool lost = !lost_.empty() && is_lost(spectrum);
  if (!lost && (repeats < spectra_repeats_ || repeated_beside(spectrum, run))) return false;
  if (before == nullptr && run.first > 0) before = spectrum_at(run.first - 1, before_);
  if (behind == nullptr) behind = spectrum_at(run.first + run.count, behind_);
  if (lost && lost_beside(before, behind)) return true;
  if (repeats < spectra_repeats_ || (lost && repeated_beside(spectrum, run))) return false;
  const std::size_t counting =
      formats::with_samples(reader_.description().delivered, spectrum, [&](const auto* values) {
        const auto less = [&](std::size_t c, const std::byte* other) {
          return other != nullptr &&
                 falls_from(reinterpret_cast<decltype(values)>(other)[c], values[c]);
        };
        std::size_t count = 0;
        for (std::size_t c = 0; c < channels_; ++c)
          if (left_out_[c] == 0 && (less(c, before) || less(c, behind))) ++count;
        return count;
      });
  return counting > 0 && repeats >= empty_repeats_of_spectra(reader_.description(), counting);
}

// Spectra behind a block, up to a stretch in which no channel changes: that ends a channel's run as it does within the
// block.
std::size_t EmptyStretches::changing_ahead(std::uint64_t first) {
  const std::size_t there = read_ahead(first, ahead_.size() / sample_bytes_);
  mark(std::span(ahead_).first(there * sample_bytes_), first, false, marks_ahead_);
  std::size_t from = 0;
  core::ConstantRun lost;
  while (const auto run = next_run(marks_ahead_, from, lost)) {
    if (holds_nothing(ahead_.data() + run->first * sample_bytes_,
                      {first + run->first, run->end - run->first}, nullptr, nullptr))
      return run->first;
    from = run->end;
  }
  return there;
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
  const SpectraInTwoPlaces spectra{block.data(), block.size() / sample_bytes_, nullptr,
                                   sample_bytes_};
  if (const SampleRange looked{first, spectra.count}; looked != looked_) {
    looked_ = looked;
    mark(block, first, true, marks_);
    next_lost_ = {};
  }
  // Spectra of the block before `from` may have been filled in.
  for (const std::size_t given = from;;) {
    const auto run = next_run(marks_, from, next_lost_);
    if (!run) return std::nullopt;
    std::uint64_t end = first + run->end;
    if (run->end == spectra.count)
      end = end_of_run(block.subspan(run->first * sample_bytes_, sample_bytes_), end);
    const SampleRange found{first + run->first, end - (first + run->first)};
    if (holds_nothing(spectra.at(run->first), found,
                      run->first > given ? spectra.at(run->first - 1) : nullptr,
                      run->end < spectra.count ? spectra.at(run->end) : nullptr))
      return found;
    if (found.count > spectra_repeats_ && found.first >= kept_end_) {
      ++kept_;
      if (kept_ == 1) first_kept_ = found;
      kept_end_ = end;
    }
    from = run->end;
  }
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
// be read in any blocks, and that of stretches shortly before will do; else the first piece. Channels without samples
// there have those of another piece.
void EmptyStretches::measure_around(const SampleRange& stretch) {
  if (stretch.first >= kMeanSamples) {
    read_before(stretch.first);
    substitutes_.measure_all();
    return;
  }
  const std::uint64_t behind = stretch.first + stretch.count;
  const bool near = stretch.count <= kFirstAhead - kMeanSamples;
  const bool measured = measured_behind_ && behind < *measured_behind_ + kMeanSamples / 4;
  if (near && !measured && read_piece(behind) == kMeanSamples) {
    substitutes_.measure_all();
    measured_behind_ = behind;
  }
  if (knows_all()) return;
  read_piece(0);
  measure_unknown();
  // A live filterbank is read as far ahead at its begin alone.
  if (knows_all() || (!near && live_ && stretch.first > 0)) return;
  read_behind(behind);
  measure_unknown();
}

void EmptyStretches::fill(std::span<std::byte> spectra, std::uint64_t first,
                          MissingTimes with) const {
  const std::size_t count = spectra.size() / sample_bytes_;
  if (with == MissingTimes::noise) {
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
      drawn_.push_back({run.channel, first + t, first + end});
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

std::uint64_t EmptyStretches::mask_channels(std::span<std::byte> piece, std::uint64_t first,
                                            bool ahead) {
  replaced_.clear();
  drawn_.clear();
  const std::size_t count = piece.size() / sample_bytes_;
  if (!each_channel_ || channels_ < 2 || count == 0) {
    if (!ahead) {
      std::fill(open_.begin(), open_.end(), 0);
      clipped_runs_.assign(channels_, {});
    }
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
