#include "tautline/pipeline/search/filterbank_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/formats/file_formats.h"
#include "tautline/pipeline/search/filterbank_record.h"
#include "tautline/pipeline/search/gapless_reader.h"
#include "tautline/pipeline/search/wrapped_bytes.h"

namespace tautline::pipeline {

namespace {

Beam open_beam(std::vector<std::string> files, const FilterbankRunConfig& config) {
  Beam beam;
  beam.reader = formats::open_filterbank(files, config.reader);
  beam.files = std::move(files);
  if (beam.description().samples == 0)
    throw core::Error(core::ErrorKind::format, beam.files.front(), "no samples", "at least one",
                      "check that the file was written completely");
  beam.range = choose_range(*beam.reader, config.start_s, config.duration_s);
  beam.data_segments = split_at_gaps(*beam.reader, beam.range);
  return beam;
}

// Series have no channels any more. A mask's intervals still tell the times of one series.
void refuse_cleaning(const FilterbankRunConfig& config,
                     const formats::FilterbankDescription& series) {
  const auto refuse = [&](bool given, const char* field) {
    if (given)
      throw core::Error(core::ErrorKind::config, field, "given for " + config.inputs.front(),
                        "filterbanks: series that are dedispersed already have no channels",
                        "leave it out");
  };
  refuse(!config.ignored_channels.empty(), "ignored_channels");
  refuse(!series.trial_dms.empty() && !config.mask.empty(), "mask");
  refuse(!config.reader.ifs.empty() && series.ifs < 2, "reader.ifs");
  refuse(config.dms.tolerance > 0, "dms.tolerance");
  refuse(config.dms.pulse_width_s > 0, "dms.pulse_width_s");
  refuse(config.dms.downsample_tolerance > 0, "dms.downsample_tolerance");
  refuse(config.flag_channels, "flag_channels");
  refuse(config.zero_dm, "zero_dm");
  refuse(config.bandpass, "bandpass");
  refuse(config.iqrm, "iqrm");
  refuse(config.method != stages::dedisperse::Method::automatic, "method");
  refuse(config.max_loss > 0, "max_loss");
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

// Beams begin together, but may differ in length.
void log_mask(const formats::presto::Mask& mask, const std::vector<Beam>& beams,
              const device::Device& device) {
  for (const Beam& beam : beams) {
    const formats::DataSegment& last = beam.reader->segments().back();
    for (const std::string& remark :
         mask.remarks(beam.description(), last.grid_sample + last.samples))
      device.shared().log_once(core::LogLevel::warning, remark);
  }
}

// Masks of all channels throughout are refused with the channels that are left out.
void refuse_masked_range(const formats::presto::Mask& mask, const Beam& beam,
                         const FilterbankRunConfig& config) {
  for (const auto& [range, grid_first] : beam.data_segments) {
    if (range.count == 0) continue;
    const std::size_t last = mask.interval_of(grid_first + range.count - 1);
    for (std::size_t k = mask.interval_of(grid_first); k <= last; ++k) {
      std::vector<std::uint8_t> flags = mask.channel_flags(k, beam.description());
      for (const std::size_t channel : beam.left_out.all) flags[channel] = 1;
      if (std::find(flags.begin(), flags.end(), 0) != flags.end()) return;
    }
  }
  throw core::Error(core::ErrorKind::config, "`mask` " + config.mask,
                    fmt::format("all {} samples are masked", beam.range.count),
                    "some that are not, in one channel at least",
                    "leave the mask out, or choose another part of the data");
}

// As stretches without data inside files, which a source then finds in the place of the gaps.
void fill_short_gaps(Beam& beam, const device::Device& device, bool series) {
  const std::uint64_t filled = fill_gaps(beam.reader, beam.range, kLeastGap - 1);
  if (filled == 0) return;
  const std::size_t before = beam.data_segments.size();
  beam.data_segments = split_at_gaps(*beam.reader, beam.range);
  device.shared().log_once(
      core::LogLevel::warning,
      fmt::format("{}: {} of less than {} samples, of {} in all, {} {}: the missing "
                  "samples are filled",
                  beam.files.front(), core::counted(before - beam.data_segments.size(), "gap"),
                  kLeastGap, core::counted(filled, "sample"),
                  before - beam.data_segments.size() == 1 ? "is" : "are",
                  series ? "no break of the series" : "searched through"));
}

// A series ends where the filterbank's data did, or at a step of level, and begins anew behind it, as a search of the
// filterbank does. Of several trials each ends its own delay earlier, which the plan of the search knows.
void split_series(Beam& beam) {
  const formats::FilterbankDescription& description = beam.description();
  const std::uint64_t delay = description.trial_dms.empty() && !description.trial_delays.empty()
                                  ? description.trial_delays.front()
                                  : 0;
  std::vector<PlacedRange> parts;
  for (PlacedRange left : beam.data_segments) {
    for (const auto& one : description.series_breaks) {
      const std::uint64_t begin = left.range.first, end = begin + left.range.count;
      const std::uint64_t data_end = one.first - std::min(one.first, delay);
      if (one.end < begin || (one.is_step() && one.end == begin) || data_end >= end) continue;
      if (data_end > begin) parts.push_back({{begin, data_end - begin}, left.grid_first});
      const std::uint64_t skipped = std::min(one.end, end) - begin;
      left = {{begin + skipped, left.range.count - skipped}, left.grid_first + skipped};
      if (one.is_step())
        beam.level_steps.push_back(
            {left.grid_first, beam.files.front(), beam.files.front(), one.of_mean});
    }
    if (left.range.count > 0) parts.push_back(left);
  }
  if (parts.empty())
    throw core::Error(
        core::ErrorKind::format, beam.files.front(), "only sums across gaps or steps of level",
        "data between them that are longer than the delay", "search the filterbank itself");
  beam.data_segments = std::move(parts);
}

std::vector<SampleRange> empty_of_series(const Beam& beam) {
  std::vector<SampleRange> empty;
  for (const auto& [range, grid_first] : beam.data_segments)
    for (const auto& one : beam.description().series_breaks) {
      const std::uint64_t first = std::max(one.first, range.first),
                          end = std::min(one.end, range.first + range.count);
      if (first < end) empty.push_back({grid_first + (first - range.first), end - first});
    }
  return empty;
}

// "at 3.2 s for 0.5 s, ...", of rises of the level or of the others; empty for none.
std::string uncut_places(const Beam& beam, bool rises) {
  constexpr std::size_t kNamed = 3;
  std::size_t count = 0;
  std::string where;
  for (const UncutLevel& level : beam.uncut_levels)
    if (level.rises() == rises && count++ < kNamed)
      where += fmt::format("{}at {:.6g} s for {:.3g} s", where.empty() ? "" : ", ",
                           static_cast<double>(level.sample) / beam.rate_hz(),
                           static_cast<double>(level.samples) / beam.rate_hz());
  if (count > kNamed) where += fmt::format(", and {} more", count - kNamed);
  return where;
}

// One warning of each kind: the level rises and returns, and steps too often.
void log_uncut(const Beam& beam, const device::Device& device) {
  const auto warn = [&](const std::string& text) {
    device.shared().log_once(core::LogLevel::warning, beam.files.front() + ": " + text);
  };
  if (const std::string where = uncut_places(beam, false); !where.empty())
    warn(fmt::format(
        "the level or the noise steps too often to cut the data there ({}). A search may report "
        "the "
        "steps as pulses: choose other times with `start_s` and `duration_s`, or, where all "
        "channels step together, subtract their mean with `zero_dm`",
        where));
  if (const std::string where = uncut_places(beam, true); !where.empty())
    warn(fmt::format(
        "the level of most channels rises and returns ({}). It may be a pulse of little "
        "dispersion, interference, or the receiver: the data are not cut there, and a search "
        "reports it. See its candidates at these times; `zero_dm` takes such rises away",
        where));
}

}  // namespace

std::uint64_t Beam::times_read() const {
  return empty.empty() ? samples() : range.count;
}

std::uint64_t Beam::gap_samples() const {
  // A series is cut where its file lacks nothing.
  const auto segments = empty.empty() ? data_segments : split_at_gaps(*reader, range);
  return segments.back().grid_first + segments.back().range.count - segments.front().grid_first -
         times_read();
}

std::uint64_t Beam::samples() const {
  std::uint64_t all = 0;
  for (const PlacedRange& data : data_segments) all += data.range.count;
  return all;
}

std::uint64_t FilterbankInput::samples() const {
  std::uint64_t all = 0;
  for (const Beam& beam : beams) all += beam.samples();
  return all;
}

std::shared_ptr<FilterbankInput> open_filterbanks(const FilterbankRunConfig& config,
                                                  bool each_is_beam, bool fill_gaps,
                                                  const device::Device& device) {
  if (config.inputs.empty())
    throw core::Error(core::ErrorKind::config, "files", "none", "one filterbank or more");
  if (each_is_beam && fill_gaps)
    throw core::Error(core::ErrorKind::config, "fill_gaps", "with beams",
                      "beams, whose gaps are left out", "leave one of them out");
  auto input = std::make_shared<FilterbankInput>();
  input->config = config;
  input->each_is_beam = each_is_beam;
  std::vector<Beam>& beams = input->beams;
  if (!each_is_beam) beams.push_back(open_beam(config.inputs, config));
  for (std::size_t k = 0; each_is_beam && k < config.inputs.size(); ++k) {
    beams.push_back(open_beam({config.inputs[k]}, config));
    if (beams.back().description().time_series)
      throw core::Error(core::ErrorKind::config, config.inputs[k], "a dedispersed series",
                        "filterbanks, one for each beam");
    require_alike(beams.front(), beams.back());
  }
  for (const Beam& beam : beams) log_remarks(*beam.reader, device);
  std::optional<formats::presto::Mask> mask;
  if (!config.mask.empty()) mask = formats::presto::read_mask(config.mask);
  if (mask) log_mask(*mask, beams, device);
  for (Beam& beam : beams) {
    const bool several = !beam.description().trial_dms.empty();
    if (beam.description().time_series) refuse_cleaning(config, beam.description());
    beam.empty = empty_of_series(beam);
    if (beam.description().time_series && !config.keep_constant) split_series(beam);
    if (several) continue;
    if (!config.keep_constant && !beam.description().time_series)
      fill_short_gaps(beam, device, fill_gaps);
    beam.left_out = channels_to_leave_out(*beam.reader, beam.range, config);
    if (mask) refuse_masked_range(*mask, beam, config);
    if (const std::string text = wrapped_bytes_text(*beam.reader, beam.range, beam.left_out.all);
        !text.empty())
      device.shared().log_once(core::LogLevel::warning, beam.files.front() + ": " + text);
    if (!config.keep_constant) {
      FoundSteps found = find_level_steps(*beam.reader, beam.data_segments, beam.left_out.all);
      beam.level_steps.insert(beam.level_steps.end(), found.steps.begin(), found.steps.end());
      std::ranges::sort(beam.level_steps, {}, &LevelStep::sample);
      beam.uncut_levels = std::move(found.uncut);
      log_uncut(beam, device);
    }
    for (LevelStep& step : beam.level_steps)
      if (step.before.empty()) step.before = step.after = beam.files.front();
    split_at_steps(beam.level_steps, beam.data_segments);
    if (!fill_gaps) continue;
    const std::uint64_t first = beam.data_segments.front().grid_first;
    for (const auto& [range, grid_first] : beam.data_segments)
      input->filled.emplace_back(grid_first - first, grid_first - first + range.count);
    pipeline::fill_gaps(beam.reader, beam.range);
    beam.data_segments = split_at_gaps(*beam.reader, beam.range);
  }
  return input;
}

std::unique_ptr<FilterbankSourceNode> make_filterbank_source(
    std::shared_ptr<const FilterbankInput> input, std::size_t block_samples,
    std::shared_ptr<const device::Device> device) {
  const FilterbankRunConfig& config = input->config;
  FilterbankSourceConfig read;
  read.block_samples = block_samples;
  read.device = std::move(device);
  read.data_segments = input->filled;
  if (!config.mask.empty()) read.mask = formats::presto::read_mask(config.mask);
  // Gaps are not filled: the data are searched, and what is searched needs its noise.
  if (input->filled.empty()) read.masked_times = MissingTimes::noise;
  if (!config.keep_constant) read.empty = input->filled.empty() ? Empty::split : Empty::fill;
  std::vector<std::shared_ptr<formats::FilterbankReader>> readers;
  for (std::size_t b = 0; b < input->beams.size(); ++b) {
    const Beam& beam = input->beams[b];
    readers.push_back(beam.reader);
    read.files.push_back(beam.files.front());
    read.left_out.push_back(beam.left_out.all);
    for (const PlacedRange& data : beam.data_segments) read.parts.push_back({data, 1, b});
  }
  read.input = std::move(input);
  return std::make_unique<FilterbankSourceNode>(std::move(readers), std::move(read));
}

}  // namespace tautline::pipeline
