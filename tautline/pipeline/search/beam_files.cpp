#include "tautline/pipeline/search/beam_files.h"

#include <fmt/format.h>

#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/file_formats.h"

namespace tautline::pipeline {

namespace {

Beam open_beam(std::vector<std::string> files, const SearchConfig& config) {
  Beam beam;
  beam.reader = formats::open_filterbank(files, config.reader);
  beam.files = std::move(files);
  beam.range = choose_range(*beam.reader, config.start_s, config.duration_s);
  beam.data_segments = split_at_gaps(*beam.reader, beam.range);
  return beam;
}

// Beams share plans: band, sample time and sample type are alike.
void require_alike(const Beam& first, const Beam& other) {
  const formats::FilterbankDescription &a = first.description(), &b = other.description();
  const auto refuse = [&](const char* what, const std::string& found, const std::string& wanted) {
    throw core::Error(core::ErrorKind::config, other.files.front() + ": " + what, found,
                      wanted + ", as " + first.files.front() + " has",
                      "search beams that differ each for itself, without `beams`");
  };
  if (a.channels != b.channels)
    refuse("channels", std::to_string(b.channels), std::to_string(a.channels));
  for (std::size_t c = 0; c < a.channels; ++c)
    if (a.channel_mhz[c] != b.channel_mhz[c])
      refuse("frequencies", fmt::format("channel {} at {:.9g} MHz", c, b.channel_mhz[c]),
             fmt::format("{:.9g} MHz", a.channel_mhz[c]));
  if (!(a.rate_hz == b.rate_hz))
    refuse("sample time", fmt::format("{:.9g} s", b.tsamp_s), fmt::format("{:.9g} s", a.tsamp_s));
  if (a.bits != b.bits) refuse("bits", std::to_string(b.bits), std::to_string(a.bits));
  if (a.summed_ifs.size() != b.summed_ifs.size() || a.delivered != b.delivered ||
      a.zero_level != b.zero_level)
    refuse("IFs", fmt::format("{} added up", b.summed_ifs.size()),
           fmt::format("{}", a.summed_ifs.size()));
}

}  // namespace

std::uint64_t Beam::gap_samples() const {
  return data_segments.back().grid_first + data_segments.back().range.count -
         data_segments.front().grid_first - range.count;
}

std::vector<Beam> open_beams(const SearchConfig& config) {
  if (!config.beams) {
    std::vector<Beam> one;
    one.push_back(open_beam(config.inputs, config));
    return one;
  }
  std::vector<Beam> beams;
  for (const std::string& input : config.inputs) {
    beams.push_back(open_beam({input}, config));
    if (beams.back().description().time_series)
      throw core::Error(core::ErrorKind::config, input, "a dedispersed series",
                        "filterbanks, one for each beam");
    require_alike(beams.front(), beams.back());
  }
  return beams;
}

}  // namespace tautline::pipeline
