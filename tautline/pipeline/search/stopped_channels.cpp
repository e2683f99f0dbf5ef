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

}  // namespace

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
    const SpectraInTwoPlaces& spectra, std::uint64_t first, std::size_t total) {
  std::vector<ChannelRun> stops;
  if (wide_.repeats() == 0) return stops;
  bool read = false;  // into before_ and behind_: the spectra beside all of these
  std::size_t there_before = 0, there_behind = 0;
  const auto read_beside = [&] {
    if (read) return;
    read = true;
    before_.resize(kBesideWide * sample_bytes_);
    behind_.resize(kBesideWide * sample_bytes_);
    there_before = static_cast<std::size_t>(std::min<std::uint64_t>(kBesideWide, first));
    if (there_before > 0 && reader_.read_across(range_.first + first - there_before, there_before,
                                                before_) != there_before)
      there_before = 0;
    const std::uint64_t end = std::min(range_.count, first + total);
    there_behind =
        static_cast<std::size_t>(std::min<std::uint64_t>(kBesideWide, range_.count - end));
    if (there_behind > 0)
      there_behind = reader_.read_across(range_.first + end, there_behind, behind_);
  };
  // From a piece's first spectrum; null if there is none.
  const auto spectrum = [&](std::ptrdiff_t t) -> const std::byte* {
    const auto count = static_cast<std::ptrdiff_t>(total);
    if (t >= 0 && t < count) return spectra.at(static_cast<std::size_t>(t));
    read_beside();
    const auto before = static_cast<std::ptrdiff_t>(there_before),
               behind = static_cast<std::ptrdiff_t>(there_behind),
               bytes = static_cast<std::ptrdiff_t>(sample_bytes_);
    if (t < 0) return t + before >= 0 ? before_.data() + (t + before) * bytes : nullptr;
    return t - count < behind ? behind_.data() + (t - count) * bytes : nullptr;
  };
  const auto falls = [&](std::size_t c, std::size_t k) {
    return formats::with_samples(
        reader_.description().delivered, spectra.at(k), [&](const auto* values) {
          using Values = decltype(values);
          const auto less = [&](std::ptrdiff_t t) {
            const std::byte* other = spectrum(t);
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
      const auto equal = [&](std::size_t a, std::size_t b) {
        return std::memcmp(spectra.at(a) + c * value_bytes_, spectra.at(b) + c * value_bytes_,
                           value_bytes_) == 0;
      };
      stops.push_back({c, core::run_around(equal, total, k, 0)});
      ends[c] = stops.back().run.end;
    }
  }
  return stops;
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
  const auto add = [&](std::size_t c, const core::ConstantRun& run) {
    const bool went_on = open_[c] != 0 && run.first == 0;
    if (run.first < spectra.count)
      stopped.push_back(
          {c, run.first, std::min(run.end, spectra.count), !went_on, run.end > spectra.count});
  };
  const auto look = [&](std::size_t c, std::size_t k, bool common) {
    const auto run = core::run_around([&](std::size_t a, std::size_t b) { return equal(c, a, b); },
                                      total, k, known_[c]);
    known_[c] = run.end;
    const bool went_on = open_[c] != 0 && run.first == 0;
    if (went_on || common || run.repeats() >= channel_repeats_) add(c, run);
  };
  for (const auto& [c, run] : wide_stops(spectra, first, total)) add(c, run);
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

}  // namespace tautline::pipeline
