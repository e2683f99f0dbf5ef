// What a search says of its results beside them: how to find more.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "tautline/pipeline/search/long_stops.h"
#include "tautline/pipeline/search/search_report.h"

namespace tautline::pipeline {

// Of parts of the band that stopped for long enough to be searched by itself: for more than a running mean and the
// longest delay.
void SearchReport::look_at_stops() {
  constexpr std::size_t kNamed = 3;  // of a beam
  const SearchPart& part = plan_->first_part();
  const double rate = description().rate_hz.value();
  const double least_s =
      static_cast<double>(part.detect->baseline_samples()) * part.detect->config().sample_time_s +
      summary_.longest_delay_s;
  const auto least = std::max(LongStops::kLeast, static_cast<std::uint64_t>(least_s * rate));
  for (std::size_t b = 0; b < beams().size(); ++b) {
    std::vector<FilledRun> stops;
    for (const LongStop& one : summary_.empty.long_stops)
      if (one.beam == b)
        stops.push_back({one.channel, one.first_sample, one.first_sample + one.samples});
    const std::vector<std::size_t>& left_out = beams()[b].left_out.all;
    const std::size_t counting = description().channels - left_out.size();
    std::vector<StoppedBand> bands = stopped_bands(std::move(stops), least, counting);
    // The longest.
    std::ranges::stable_sort(bands, std::greater<>(),
                             [](const StoppedBand& band) { return band.end - band.first; });
    for (std::size_t k = 0; k < std::min(kNamed, bands.size()); ++k)
      summary_.stopped_bands.push_back((config_.beams ? beams()[b].files.front() + ": " : "") +
                                       stopped_band_text(bands[k], rate, left_out, counting));
    if (bands.size() > kNamed)
      summary_.stopped_bands.back() +=
          fmt::format("; and so do others {} times more", bands.size() - kNamed);
  }
  for (const std::string& text : summary_.stopped_bands)
    device_->shared().log(core::LogLevel::warning, text);
}

// Of the best candidates, those whose pulses may be wider than the widest boxcar. A candidate's width is a mean over
// boxcars whose S/N is at most kAveraged below the best (docs/maths/detect.md); of a pulse that is wider than all, these
// are those from (1 - kAveraged / S/N)^2 of the widest up to it. Noise that is not white makes such ones, too.
void SearchReport::look_at_widths() {
  constexpr std::size_t kBest = 10, kNamed = 3;
  constexpr double kAveraged = 2;
  if (summary_.noise_of_width && summary_.noise_of_width->is_much()) return;
  const auto widest_of = [&](const core::Candidate& one) -> double {
    for (const PassPlan& pass : plan_->passes())
      for (const SearchPart& part : pass.parts)
        if (one.dm_index - part.first_trial < part.dedisperse->config().dms.size())
          return static_cast<double>(part.detect->widths().back() *
                                     part.dedisperse->config().downsample);
    return 0;
  };
  std::size_t count = 0;
  double widest = 0;
  std::string where;
  const std::size_t best = std::min(kBest, summary_.candidates.size());
  for (const core::Candidate& one : std::span(summary_.candidates).first(best)) {
    const double kept = std::max(0.0, 1 - kAveraged / one.snr), width = widest_of(one);
    const bool as_wide =
        width > 1 && static_cast<double>(one.width_samples) >= width * (1 + kept * kept) / 2;
    if (!as_wide || ++count > kNamed) continue;
    widest = std::max(widest, width);
    where += fmt::format("{}at {:.6g} s (S/N {:.3g}, DM {:.6g})", where.empty() ? "" : ", ",
                         one.time_s, one.snr, one.dm);
  }
  if (count == 0) return;
  if (count > kNamed) where += fmt::format(", and {} more", count - kNamed);
  summary_.widest_boxcars = fmt::format(
      "of the best candidates {} about as wide as the widest boxcar ({:.4g} s, `max_width_s`), {}: "
      "pulses that are wider have a higher S/N, and may have another DM, in a search with a larger "
      "one",
      count == 1 ? "1 is" : fmt::format("{} are", count), widest / description().rate_hz.value(),
      where);
  device_->shared().log(core::LogLevel::warning, summary_.widest_boxcars);
}

}  // namespace tautline::pipeline
