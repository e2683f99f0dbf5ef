#include "cli/filterbank_run.h"

#include <fmt/format.h>

namespace tautline::cli {

void FilterbankRunOptions::add_input(CLI::App& to, pipeline::FilterbankRunConfig& config) {
  to.add_option("--ifs", config.reader.ifs, "IFs to add up, from 0; default: all")->delimiter(',');
  to.add_option("--start", config.start_s, "seconds to skip")->capture_default_str();
  to.add_option("--duration", config.duration_s, "seconds to process; negative: to the end")
      ->capture_default_str();
  to.add_option("--memory", memory, "cap on " + memory_caps_ + ", bytes with K, M or G")
      ->capture_default_str();
  to.add_flag("--strict", strict, "damaged input is a failure (status 1, not 3)");
  to.add_flag("--overwrite", config.overwrite, "replace existing outputs");
}

void FilterbankRunOptions::fill(const Global& global, pipeline::FilterbankRunConfig& config) const {
  config.dm_constant = dms.constant();
  config.method = stages::dedisperse::parse_method(dms.method);
  config.max_loss = dms.max_loss_percent / 100;
  config.ignored_channels = parse_channels(dms.ignored);
  config.memory_bytes = parse_bytes(memory);
  config.history = history_line(global);
}

std::vector<formats::NamedFile> files_read(const pipeline::FilterbankRunConfig& config,
                                           const DmOptions& dms) {
  auto files = formats::name_files("input", config.inputs);
  files.insert(files.end(), {{"--dm-list", dms.dm_list}, {"--mask", config.mask}});
  return files;
}

std::string channels_text(const pipeline::FilterbankRunSummary& s, bool zero_dm) {
  return fmt::format("{} of {} channels{}{}", s.channels - s.ignored_channels, s.channels,
                     s.flagged_channels > 0 ? fmt::format(" ({} flagged)", s.flagged_channels) : "",
                     zero_dm ? ", zero-DM filter" : "");
}

std::string counted_line(const pipeline::FilterbankRunSummary& s) {
  return fmt::format("  counted: {} lost, {} dropped, {} not finite, {} masked, {} in gaps",
                     s.damage.lost_samples, s.damage.dropped_samples, s.not_finite, s.masked,
                     s.gap_samples);
}

}  // namespace tautline::cli
