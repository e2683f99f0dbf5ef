#include "cli/dm_options.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tautline/core/error.h"
#include "tautline/formats/seeming_kind.h"

namespace tautline::cli {

namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& value,
                         const std::string& limit) {
  throw core::Error(core::ErrorKind::config, option, value, limit);
}

}  // namespace

void DmOptions::fill(pipeline::FilterbankRunConfig& config) const {
  const bool range = command->count("--dms") > 0, tolerance = command->count("--dm-tolerance") > 0;
  if (range && !dm_list.empty())
    refuse("--dms", "given with --dm-list", "one of --dms and --dm-list");
  if (tolerance && !dm_list.empty())
    refuse("--dm-tolerance", "given with --dm-list", "only for --dms LO:HI");
  if (tolerance && config.dms.step > 0)
    refuse("--dm-tolerance", "given with a step", "only for --dms LO:HI");
  const bool no_loss = command->count("--max-loss") > 0 && config.max_loss == 0;
  if (no_loss && config.method == stages::dedisperse::Method::subband)
    refuse("--max-loss", "0 with --method subband", "above 0, or --method exact, shared or auto");
  if (!config.iqrm)
    refuse_given(*command, {"iqrm_limits.threshold", "iqrm_limits.radius", "iqrm_limits.every_s"},
                 "given alone", "only with `iqrm`", "leave it out, or give `iqrm`");
  if (dm_list.empty()) return;
  formats::refuse_compressed(dm_list, "a list of DMs");
  std::ifstream file(dm_list, std::ios::binary);
  if (!file)
    throw core::Error(core::ErrorKind::io, dm_list + ": cannot be opened", std::strerror(errno),
                      "a list of DMs", "check the name");
  formats::require_text(dm_list, "a list of DMs");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  config.dms.list = stages::dedisperse::parse_dm_list(text, dm_list);
}

}  // namespace tautline::cli
