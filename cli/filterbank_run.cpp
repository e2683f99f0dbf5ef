#include "cli/filterbank_run.h"

#include <fmt/format.h>

#include "cli/run_output.h"
#include "tautline/formats/file_formats.h"

namespace tautline::cli {

std::string filterbanks_help() {
  return "filterbanks (" +
         formats::names_of(formats::formats_with(&formats::FileFormat::filterbank)) +
         "), consecutive";
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
          {"zero_dm", config.zero_dm},
          {"samples", s.samples},
          {"gap_samples", s.gap_samples},
          {"f_ref_mhz", s.f_ref_mhz},
          {"methods", s.methods},
          {"loss_of_snr", s.loss},
          {"masked_samples", s.masked},
          {"not_finite", s.not_finite},
          {"lost_samples", s.damage.lost_samples},
          {"dropped_samples", s.damage.dropped_samples},
          {"trailing_bytes", s.damage.trailing_bytes},
          {"bytes", s.bytes},
          {"kernels", s.backend},
          {"expected_s", s.expected_s},
          {"elapsed_s", s.elapsed_s},
          {"real_time_factor", real_time_factor(s.stream_s, s.elapsed_s)}};
}

std::string channels_text(const pipeline::FilterbankRunSummary& s, bool zero_dm) {
  return fmt::format("{} of {} channels{}{}", s.channels - s.ignored_channels, s.channels,
                     s.flagged_channels > 0 ? fmt::format(" ({} flagged)", s.flagged_channels) : "",
                     zero_dm ? ", zero-DM filter" : "");
}

std::string counted_line(const pipeline::FilterbankRunSummary& s) {
  return fmt::format(
      "  counted: times: {} lost, {} dropped, {} in gaps; values: {} not finite, {} masked",
      s.damage.lost_samples, s.damage.dropped_samples, s.gap_samples, s.not_finite, s.masked);
}

}  // namespace tautline::cli
