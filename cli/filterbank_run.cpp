#include "cli/filterbank_run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "cli/field_options.h"
#include "cli/run_output.h"
#include "tautline/core/counted.h"
#include "tautline/formats/file_formats.h"
#include "tautline/pipeline/search/data_warnings.h"

namespace tautline::cli {

namespace {

constexpr std::size_t kNamed = 20;  // stretches in a summary

// Channels that were masked for a while, in words.
std::string iqrm_summary(const pipeline::IqrmFound& found) {
  if (found.windows == 0) return "";
  const auto masked = static_cast<std::size_t>(std::count_if(
      found.channels.begin(), found.channels.end(), [](std::uint64_t n) { return n > 0; }));
  const double values =
      static_cast<double>(found.samples) * static_cast<double>(found.channels.size());
  return fmt::format("\n  IQRM: {} values masked ({:.3g} %) of {}, in {}", found.masked,
                     100 * static_cast<double>(found.masked) / values,
                     core::counted(masked, "channel"), core::counted(found.windows, "window"));
}

// Where the level of the data, or its noise, steps, for people.
std::string steps_text(const std::vector<pipeline::LevelStep>& steps) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t k = 0; k < std::min(kMost, steps.size()); ++k) {
    const pipeline::LevelStep& step = steps[k];
    const std::string where = step.before == step.after
                                  ? "inside " + step.before
                                  : "at the join of " + step.before + " and " + step.after;
    text += fmt::format("\n  {} steps {}: sample {}", step.of_mean ? "level" : "noise", where,
                        step.sample);
  }
  if (steps.size() > kMost)
    text += fmt::format("\n  level or noise steps at {} more places", steps.size() - kMost);
  return text;
}

// Where it does and the data are not cut.
std::string uncut_text(const std::vector<pipeline::UncutLevel>& uncut) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t k = 0; k < std::min(kMost, uncut.size()); ++k) {
    const pipeline::UncutLevel& level = uncut[k];
    const std::string what =
        level.rises() ? "level rises and returns"
                      : fmt::format("level or noise steps {} times or more", level.steps);
    text += fmt::format("\n  {}, not cut: samples {} to {}", what, level.sample,
                        level.sample + level.samples - 1);
  }
  if (uncut.size() > kMost)
    text += fmt::format("\n  level not cut at {} more places", uncut.size() - kMost);
  return text;
}

}  // namespace

std::string filterbanks_help() {
  return "filterbanks (" +
         formats::names_of(formats::formats_with(&formats::FileFormat::filterbank)) +
         "), consecutive";
}

bool reads_again(const pipeline::FilterbankRunConfig& config) {
  return config.flag_channels || !config.mask.empty() || config.start_s > 0;
}

std::vector<formats::NamedFile> files_read(const pipeline::FilterbankRunConfig& config,
                                           const DmOptions& dms) {
  auto files = formats::name_files("input", config.inputs);
  files.insert(files.end(), {{"--dm-list", dms.dm_list}, {"--mask", config.mask}});
  return files;
}

nlohmann::ordered_json summary_fields(const pipeline::FilterbankRunConfig& config,
                                      const pipeline::FilterbankRunSummary& s) {
  return {{"output", config.output},
          {"trials", s.trials},
          {"channels", s.channels},
          {"ignored_channels", s.ignored_channels},
          {"flagged_channels", s.flagged_channels},
          {"summed_ifs", s.summed_ifs},
          {"zero_dm", config.zero_dm},
          {"samples", s.samples},
          {"constant_channels", s.constant_channels},
          {"gap_samples", s.gap_samples},
          {"level_steps", s.level_steps.size()},
          {"uncut_levels", s.uncut_levels.size()},
          {"empty_samples", s.empty.samples},
          {"empty_stretches", pipeline::empty_stretches(s.empty, kNamed)},
          {"empty_values", s.empty.values},
          {"empty_channels", pipeline::empty_channels(s.empty)},
          {"f_ref_mhz", s.f_ref_mhz},
          {"methods", s.methods},
          {"loss_of_snr", s.loss},
          {"loss_of_snr_by_spacing", s.spacing_loss},
          {"masked_samples", s.masked},
          {"iqrm", config.iqrm ? s.iqrm.record() : nlohmann::ordered_json()},
          {"not_finite", s.not_finite},
          {"not_finite_channels", pipeline::not_finite_channels(s.empty)},
          {"lost_samples", s.damage.lost_samples},
          {"dropped_samples", s.damage.dropped_samples},
          {"trailing_bytes", s.damage.trailing_bytes},
          {"bytes", s.bytes},
          {"kernels", s.backend},
          {"expected_s", s.expected_s},
          {"elapsed_s", s.elapsed_s},
          {"real_time_factor", real_time_factor(s.stream_s, s.elapsed_s)}};
}

namespace {

// Where much of the input holds nothing, which --quiet does not hide. A summary has all of it.
void warn_of_little_data(const pipeline::FilterbankRunSummary& s) {
  constexpr double kMuch = 0.1;
  const auto times = static_cast<double>(s.samples + s.gap_samples);
  const auto without = static_cast<double>(s.empty.samples + s.gap_samples);
  if (s.empty.samples < s.samples && without >= kMuch * times)
    spdlog::warn("much of the input holds no data: of {} {} {}; {} are in gaps",
                 core::counted(s.samples, "sample"),
                 s.empty.told > 0 ? "the filterbank had none in" : "no channel changes in",
                 s.empty.samples, s.gap_samples);
  std::size_t stopped = s.constant_channels;
  for (const std::uint64_t values : s.empty.channels)
    if (static_cast<double>(values) >= kMuch * times) ++stopped;
  if (s.channels > 1 && static_cast<double>(stopped) >= kMuch * static_cast<double>(s.channels))
    spdlog::warn("{} of {} channels never change, or stop for a tenth of the time or more. {}",
                 stopped, s.channels,
                 option_words().text("`keep_constant` takes values that hardly vary for data"));
}

}  // namespace

int filterbank_status(const pipeline::FilterbankRunSummary& s, bool strict) {
  const int status = damage_status(s.damage, s.not_finite, strict,
                                   pipeline::not_finite_text(s.empty, s.not_finite));
  warn_of_little_data(s);
  if (const std::string repeated = pipeline::repeated_text(s); !repeated.empty())
    spdlog::warn("{}", repeated);
  const std::string nothing = pipeline::nothing_text(s);
  if (nothing.empty()) return status;
  spdlog::warn("{}", option_words().text(nothing));
  return strict ? kFailed : kDamagedInput;
}

namespace {

// "IF 0 of 4", "IFs 0, 1 of 4 added up"; empty for a file of one.
std::string ifs_text(const pipeline::FilterbankRunSummary& s) {
  if (s.ifs < 2 || s.summed_ifs.empty()) return "";
  if (s.summed_ifs.size() == 1) return fmt::format("IF {} of {}", s.summed_ifs.front(), s.ifs);
  if (s.summed_ifs.size() == s.ifs) return fmt::format("all {} IFs added up", s.ifs);
  return fmt::format("IFs {} of {} added up", fmt::join(s.summed_ifs, ", "), s.ifs);
}

}  // namespace

std::string channels_text(const pipeline::FilterbankRunSummary& s, bool zero_dm) {
  std::string text = fmt::format("{} of {}", s.channels - s.ignored_channels,
                                 core::counted(s.channels, "channel"));
  if (s.flagged_channels > 0) text += fmt::format(" ({} flagged)", s.flagged_channels);
  if (const std::string ifs = ifs_text(s); !ifs.empty()) text += ", " + ifs;
  return zero_dm ? text + ", zero-DM filter" : text;
}

std::string counted_line(const pipeline::FilterbankRunSummary& s) {
  std::string line = fmt::format(
      "  counted: times: {} lost, {} dropped, {} in gaps, {} empty; values: {} not finite, {} "
      "masked, "
      "{} empty",
      s.damage.lost_samples, s.damage.dropped_samples, s.gap_samples, s.empty.samples, s.not_finite,
      s.masked, s.empty.values);
  for (const std::string& empty : pipeline::empty_texts(s))
    line += "\n  empty: " + option_words().text(empty);
  for (const std::string& kept : pipeline::kept_texts(s))
    line += "\n  kept: " + option_words().text(kept);
  return line + iqrm_summary(s.iqrm) + steps_text(s.level_steps) + uncut_text(s.uncut_levels);
}

}  // namespace tautline::cli
