// Single channels of a filterbank that stop, alone or together (docs/design/empty.md).
#include <algorithm>
#include <cstring>
#include <utility>

#include "tautline/core/constant_run.h"
#include "tautline/pipeline/search/empty_stretches.h"

namespace tautline::pipeline {

namespace {

// Values of a channel in a window that are compared before all of them are.
constexpr std::size_t kProbes = 8;
// Spectra that are read at once to follow channels at their largest value.
constexpr std::uint64_t kFollowed = 256;

// The spectra around spectrum k, of `total`, in which the channel's value is the same.
core::ConstantRun run_of_channel(const SpectraInTwoPlaces& spectra, std::size_t channel,
                                 std::size_t value_bytes, std::size_t total, std::size_t k) {
  const std::size_t place = channel * value_bytes;
  const auto equal = [&](std::size_t a, std::size_t b) {
    return std::memcmp(spectra.at(a) + place, spectra.at(b) + place, value_bytes) == 0;
  };
  return core::run_around(equal, total, k, 0);
}

}  // namespace

class EmptyStretches::WithBeside {
 public:
  WithBeside(EmptyStretches& of, const SpectraInTwoPlaces& spectra, std::uint64_t first,
             std::size_t total)
      : of_(of), spectra_(spectra), first_(first), total_(total) {}

  // From the piece's first spectrum; null if there is none.
  const std::byte* at(std::ptrdiff_t t) {
    const auto count = static_cast<std::ptrdiff_t>(total_);
    if (t >= 0 && t < count) return spectra_.at(static_cast<std::size_t>(t));
    if (!read_) read();
    const auto before = static_cast<std::ptrdiff_t>(there_before_),
               behind = static_cast<std::ptrdiff_t>(there_behind_),
               bytes = static_cast<std::ptrdiff_t>(of_.sample_bytes_);
    if (t < 0) return t + before >= 0 ? of_.before_.data() + (t + before) * bytes : nullptr;
    return t - count < behind ? of_.behind_.data() + (t - count) * bytes : nullptr;
  }

 private:
  void read() {
    read_ = true;
    of_.before_.resize(kBesideWide * of_.sample_bytes_);
    of_.behind_.resize(kBesideWide * of_.sample_bytes_);
    const std::uint64_t range_first = of_.range_.first, range_count = of_.range_.count;
    there_before_ = static_cast<std::size_t>(std::min<std::uint64_t>(kBesideWide, first_));
    if (there_before_ > 0 && of_.reader_.read_across(range_first + first_ - there_before_,
                                                     there_before_, of_.before_) != there_before_)
      there_before_ = 0;
    const std::uint64_t end = std::min(range_count, first_ + total_);
    there_behind_ =
        static_cast<std::size_t>(std::min<std::uint64_t>(kBesideWide, range_count - end));
    if (there_behind_ > 0)
      there_behind_ = of_.reader_.read_across(range_first + end, there_behind_, of_.behind_);
  }

  EmptyStretches& of_;
  const SpectraInTwoPlaces& spectra_;
  std::uint64_t first_;
  std::size_t total_;
  bool read_ = false;
  std::size_t there_before_ = 0, there_behind_ = 0;
};

// Of wide_, where a window begins, and the zeros, if these are marked.
void EmptyStretches::mark_windows(const SpectraInTwoPlaces& spectra, std::size_t t, bool window,
                                  Marks& marks) const {
  const bool zeros = !marks.zeros.empty();
  std::size_t zero = 0;
  if (!window || marks.wide.empty() || t + wide_.repeats() >= spectra.count) {
    if (zeros) zero = zeros_.count(spectra.at(t));
  } else if (zeros ? wide_.may_stop_at(spectra, t, zeros_.zero(), zero)
                   : wide_.may_stop_at(spectra, t)) {
    marks.wide[t] = 1;
  }
  if (zeros) marks.zeros[t] = static_cast<std::uint32_t>(zero);
}

// Whether channels may stop in the window of wide_ that begins at spectrum k of a piece at position `first`.
bool EmptyStretches::may_stop(const SpectraInTwoPlaces& spectra, std::uint64_t first,
                              std::size_t k) const {
  const std::uint64_t place = first + k - looked_.first;
  const bool marked = first >= looked_.first && k + wide_.repeats() < spectra.count &&
                      place + wide_.repeats() < looked_.count;
  return !marked || marks_.wide[static_cast<std::size_t>(place)] != 0;
}

// Stops of wide_ in which the value of a third of the channels is less than one shortly before or behind: a bright pulse
// that is clipped in as many channels is none. What lies beside a window does not depend on the cut into pieces.
std::vector<EmptyStretches::ChannelRun> EmptyStretches::wide_stops(
    const SpectraInTwoPlaces& spectra, WithBeside& beside, std::uint64_t first, std::size_t total) {
  std::vector<ChannelRun> stops;
  if (wide_.repeats() == 0) return stops;
  const auto falls = [&](std::size_t c, std::size_t k) {
    return formats::with_samples(
        reader_.description().delivered, spectra.at(k), [&](const auto* values) {
          using Values = decltype(values);
          const auto less = [&](std::ptrdiff_t t) {
            const std::byte* other = beside.at(t);
            return other != nullptr && falls_from(reinterpret_cast<Values>(other)[c], values[c]);
          };
          const auto begin = static_cast<std::ptrdiff_t>(k),
                     end = static_cast<std::ptrdiff_t>(k + wide_.repeats());
          for (std::ptrdiff_t n = 1; n <= static_cast<std::ptrdiff_t>(kBesideWide); ++n)
            if (less(begin - n) || less(end + n)) return true;
          return false;
        });
  };
  std::vector<std::size_t> ends(channels_, 0);  // of the runs found last
  for (std::size_t k = wide_.next_window(0, range_.first + first); k + wide_.repeats() < total;
       k += wide_.every()) {
    if (!may_stop(spectra, first, k) || !wide_.stop_at(spectra, k)) continue;
    std::size_t falling = 0, all = 0, more = 0;
    for (std::size_t c = next_set(wide_.stopped(), 0); c < channels_;
         c = next_set(wide_.stopped(), c + 1))
      ++all, more += ends[c] <= k ? 1 : 0;
    if (more == 0) continue;
    for (std::size_t c = next_set(wide_.stopped(), 0); c < channels_ && 3 * falling < all;
         c = next_set(wide_.stopped(), c + 1))
      falling += falls(c, k) ? 1 : 0;
    if (3 * falling < all) continue;
    for (std::size_t c = next_set(wide_.stopped(), 0); c < channels_;
         c = next_set(wide_.stopped(), c + 1)) {
      if (ends[c] > k) continue;
      stops.push_back({c, run_of_channel(spectra, c, value_bytes_, total, k)});
      ends[c] = stops.back().run.end;
    }
  }
  return stops;
}

// Windows of zeros_ in the piece, and the first behind it, in which a channel's run may begin before the piece's end;
// and channels that become zero in the piece.
std::vector<EmptyStretches::ChannelRun> EmptyStretches::zero_stops(
    const SpectraInTwoPlaces& spectra, WithBeside& beside, std::uint64_t first, std::size_t total) {
  std::vector<ChannelRun> stops;
  if (!zeros_.used()) return stops;
  const auto zeros_at = [&](std::size_t k) -> std::size_t {
    const std::uint64_t place = first + k - looked_.first;
    const bool marked = first >= looked_.first && k < spectra.count && place < marks_.zeros.size();
    return marked ? marks_.zeros[static_cast<std::size_t>(place)] : zeros_.count(spectra.at(k));
  };
  const ZeroStops::Spectra at = [&](std::ptrdiff_t t) { return beside.at(t); };
  std::vector<std::size_t> ends(channels_, 0);  // of the runs found last
  const auto add = [&](std::size_t k) {
    for (std::size_t c = next_set(zeros_.stopped(), 0); c < channels_;
         c = next_set(zeros_.stopped(), c + 1)) {
      if (ends[c] > k) continue;
      stops.push_back({c, run_of_channel(spectra, c, value_bytes_, total, k)});
      ends[c] = stops.back().run.end;
    }
  };
  const std::size_t end = std::min(total, spectra.count + ZeroStops::kEvery);
  for (std::size_t k = 0; k < end; ++k) {
    const bool window = (range_.first + first + k) % ZeroStops::kEvery == 0;
    const bool inside = k < spectra.count;
    if (!window && !inside) continue;
    if (window && inside) zeros_.learn(spectra.at(k), range_.first + first + k);
    const std::size_t zero = zeros_at(k);
    const auto t = static_cast<std::ptrdiff_t>(k);
    if (window && zero >= zeros_.least_of_stop() && zeros_.stop_at(at, t)) add(k);
    if (inside && zero >= zeros_.least_of_begin() && zeros_.begins_at(at, t)) add(k);
  }
  return stops;
}

bool EmptyStretches::is_largest(const std::byte* spectrum, std::size_t channel) const {
  return !largest_.empty() &&
         std::memcmp(spectrum + channel * value_bytes_, largest_.data(), value_bytes_) == 0;
}

// The lengths of runs at the largest value that fill positions [first, end): as long as the value goes on before and
// behind in the data as read, up to most_clipped_.
void EmptyStretches::count_clipped(std::span<Clipped* const> runs,
                                   std::span<const std::size_t> channels, std::uint64_t first,
                                   std::uint64_t end) {
  const auto follow = [&](bool back) {
    std::vector<std::size_t> open;
    for (std::size_t k = 0; k < runs.size(); ++k)
      if (back ? runs[k]->first == first : runs[k]->first + runs[k]->count >= end)
        open.push_back(k);
    for (std::uint64_t at = back ? first : end, wanted = 0; !open.empty();
         at += back ? 0 : wanted) {
      wanted = std::min(kFollowed, back ? at : range_.count - std::min(at, range_.count));
      if (wanted == 0) return;
      at -= back ? wanted : 0;
      beside_.resize(static_cast<std::size_t>(wanted) * sample_bytes_);
      if (reader_.read_across(range_.first + at, static_cast<std::size_t>(wanted), beside_) !=
          wanted)
        return;
      std::erase_if(open, [&](std::size_t k) {
        std::uint64_t t = 0;
        while (
            t < wanted &&
            is_largest(beside_.data() + (back ? wanted - 1 - t : t) * sample_bytes_, channels[k]))
          ++t;
        runs[k]->count += t;
        return t < wanted || runs[k]->count >= most_clipped_;
      });
    }
  };
  follow(false);
  follow(true);
}

// Of runs at the largest value in a piece: short ones are data, as they may be a pulse that is clipped. What follows a
// live piece is not waited for: there the first part of each run is data. `before`: what went on [channel].
void EmptyStretches::add_clipped(std::vector<ChannelRun>& runs, std::span<const Clipped> before,
                                 std::uint64_t first, std::size_t count, std::size_t total,
                                 std::vector<Stopped>& stopped) {
  const auto place = [](const ChannelRun& run) { return std::pair(run.channel, run.run.first); };
  std::ranges::sort(runs, {}, place);
  const auto twice = std::ranges::unique(runs, {}, place);
  runs.erase(twice.begin(), twice.end());
  std::vector<Clipped> now(runs.size());
  std::vector<Clipped*> unknown;
  std::vector<std::size_t> channels;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const auto& [c, run] = runs[k];
    now[k] = {first + run.first, run.end - run.first, 0, false};
    if (run.first == 0 && before[c].goes_on) {
      now[k] = before[c];
    } else if (live_) {
      now[k].data_end = now[k].first + most_clipped_;
    } else if (run.end == total || run.first == 0) {
      unknown.push_back(&now[k]);
      channels.push_back(c);
    }
  }
  count_clipped(unknown, channels, first, first + total);
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const auto& [c, run] = runs[k];
    if (now[k].data_end == 0)
      now[k].data_end = now[k].count < most_clipped_ ? range_.count : now[k].first;
    const std::uint64_t to = first + std::min(run.end, count);
    const std::uint64_t from = std::clamp(now[k].data_end, first + run.first, to);
    clipped_[c] += from - (first + run.first);
    if (from < to)
      stopped.push_back({c, static_cast<std::size_t>(from - first),
                         static_cast<std::size_t>(to - first), true, run.end > count});
    now[k].goes_on = run.end > count && from == to;
    if (now[k].goes_on) clipped_runs_[c] = now[k];
  }
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
  std::vector<ChannelRun> clipped;  // or stopped at the largest value
  const std::vector<Clipped> before = std::exchange(clipped_runs_, std::vector<Clipped>(channels_));
  const auto add = [&](std::size_t c, const core::ConstantRun& run) {
    const bool went_on = open_[c] != 0 && run.first == 0;
    if (run.first >= spectra.count) return;
    if (!went_on && is_largest(spectra.at(run.first), c))
      clipped.push_back({c, run});
    else
      stopped.push_back(
          {c, run.first, std::min(run.end, spectra.count), !went_on, run.end > spectra.count});
  };
  const auto look = [&](std::size_t c, std::size_t k, bool common) {
    const auto run = core::run_around([&](std::size_t a, std::size_t b) { return equal(c, a, b); },
                                      total, k, known_[c]);
    known_[c] = run.end;
    const bool went_on = (open_[c] != 0 || before[c].goes_on) && run.first == 0;
    if (went_on || common || run.repeats() >= channel_repeats_) add(c, run);
  };
  WithBeside beside(*this, spectra, first, total);
  for (const auto& [c, run] : wide_stops(spectra, beside, first, total)) add(c, run);
  for (const auto& [c, run] : zero_stops(spectra, beside, first, total)) add(c, run);
  std::fill(known_.begin(), known_.end(), 0);
  if (const std::size_t step = common_.repeats(); step > 0)
    for (std::size_t k = common_.next_window(0, range_.first + first); k + step < total; k += step)
      if (common_.stop_at(spectra, k))
        for (std::size_t c = next_set(common_.stopped(), 0); c < channels_;
             c = next_set(common_.stopped(), c + 1))
          if (known_[c] <= k) look(c, k, true);
  std::fill(known_.begin(), known_.end(), 0);
  for (std::size_t c = 0; c < channels_; ++c)
    if (open_[c] != 0 || before[c].goes_on) look(c, 0, false);
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
  add_clipped(clipped, before, first, spectra.count, total, stopped);
  // In order of time; some were found twice.
  const auto place = [](const Stopped& run) { return std::pair(run.from, run.channel); };
  std::ranges::sort(stopped, {}, place);
  const auto twice = std::ranges::unique(stopped, {}, place);
  stopped.erase(twice.begin(), twice.end());
  return stopped;
}

}  // namespace tautline::pipeline
