#include "tautline/pipeline/search/long_stops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tautline::pipeline {

void LongStops::close(FilledRun& run) {
  if (run.end - run.first >= kLeast && long_.size() < kMost) long_.push_back(run);
  run = {};
}

void LongStops::add(std::span<const FilledRun> runs) {
  for (const FilledRun& run : runs) {
    if (run.channel == FilledRun::kAllChannels) {
      for (FilledRun& open : open_)
        if (open.end == run.first && open.end > open.first) open.end = run.end;
      continue;
    }
    FilledRun& open = open_[run.channel];
    if (open.end == open.first || run.first > open.end) {
      close(open);
      open = run;
    } else {
      open.end = std::max(open.end, run.end);
    }
  }
}

std::vector<FilledRun> LongStops::take() {
  for (FilledRun& open : open_) close(open);
  return std::exchange(long_, {});
}

std::vector<StoppedBand> stopped_bands(std::vector<FilledRun> stops, std::uint64_t least,
                                       std::size_t counting) {
  std::erase_if(stops, [&](const FilledRun& one) { return one.end - one.first < least; });
  std::ranges::stable_sort(stops, {}, &FilledRun::first);
  const auto near = [&](std::uint64_t a, std::uint64_t b) {
    return std::max(a, b) - std::min(a, b) <= least / 2;
  };
  std::vector<StoppedBand> bands;
  for (const FilledRun& one : stops) {
    // Of bands in order of their begins.
    auto band = bands.rbegin();
    while (band != bands.rend() && near(band->first, one.first) && !near(band->end, one.end))
      ++band;
    if (band == bands.rend() || !near(band->first, one.first)) {
      bands.push_back({{one.channel}, one.first, one.end});
      continue;
    }
    band->channels.push_back(one.channel);
    band->end = std::max(band->end, one.end);
  }
  std::erase_if(bands, [&](StoppedBand& band) {
    std::ranges::sort(band.channels);
    const auto twice = std::ranges::unique(band.channels);
    band.channels.erase(twice.begin(), twice.end());
    return kShareWithMeans * band.channels.size() <= counting;
  });
  return bands;
}

std::string channel_ranges(std::span<const std::size_t> channels,
                           std::span<const std::size_t> left_out) {
  std::string text;
  for (std::size_t k = 0, next = 0; k < channels.size(); k = next) {
    std::size_t last = channels[k];
    for (next = k + 1; next < channels.size(); last = channels[next++]) {
      std::size_t between = last + 1;
      while (between < channels[next] && std::ranges::binary_search(left_out, between)) ++between;
      if (between < channels[next]) break;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ",", channels[k]);
    if (last > channels[k]) text += fmt::format(":{}", last);
  }
  return text;
}

std::string stopped_band_text(const StoppedBand& band, double rate_hz,
                              std::span<const std::size_t> left_out, std::size_t counting) {
  const auto seconds = [&](std::uint64_t samples) {
    return static_cast<double>(samples) / rate_hz;
  };
  const double share = static_cast<double>(band.channels.size()) / static_cast<double>(counting);
  return fmt::format(
      "{} of {} channels stop from {:.6g} to {:.6g} s. Noise is in their place, which leaves "
      "pulses "
      "there {:.2g} of their S/N; searched without these channels (`start_s` {:.6g} `duration_s` "
      "{:.6g} `ignored_channels` {}) they keep {:.2g}",
      band.channels.size(), counting, seconds(band.first), seconds(band.end), 1 - share,
      seconds(band.first), seconds(band.end - band.first), channel_ranges(band.channels, left_out),
      std::sqrt(1 - share));
}

}  // namespace tautline::pipeline
