#include "tautline/pipeline/search/data_warnings.h"

#include <fmt/format.h>

#include <algorithm>

#include "tautline/core/counted.h"

namespace tautline::pipeline {

std::vector<std::string> empty_texts(const FilterbankRunSummary& s) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> texts;
  if (s.empty.stretches > 0) {
    std::string text = fmt::format("{} in which no channel changes, left out as gaps are:",
                                   core::counted(s.empty.stretches, "stretch", "stretches"));
    for (std::size_t k = 0; k < std::min(kNamed, s.empty.list.size()); ++k)
      text += fmt::format("{} {} from {}", k > 0 ? "," : "",
                          core::counted(s.empty.list[k].samples, "sample"),
                          s.empty.list[k].first_sample);
    texts.push_back(text + (s.empty.stretches > kNamed ? " ..." : ""));
  }
  const auto stopped = static_cast<std::size_t>(std::count_if(
      s.empty.channels.begin(), s.empty.channels.end(), [](std::uint64_t n) { return n > 0; }));
  if (stopped > 0)
    texts.push_back(fmt::format("{} stopped for a while; means took their place",
                                core::counted(stopped, "channel")));
  if (s.empty.noise_samples > 0)
    texts.push_back(
        fmt::format("noise for {} in which more than a sixteenth of the channels stopped",
                    core::counted(s.empty.noise_samples, "sample")));
  if (s.constant_channels > 0)
    texts.push_back(
        fmt::format("{} never changed, left out", core::counted(s.constant_channels, "channel")));
  return texts;
}

std::string nothing_text(const FilterbankRunSummary& s) {
  if (s.samples == 0 || s.empty.samples < s.samples) return {};  // both of all beams together
  return fmt::format(
      "no channel changes in any of the {} samples: there was nothing to search or dedisperse. "
      "Check what wrote the input; `keep_constant` takes it for data",
      s.samples);
}

std::vector<std::string> data_warnings(const FilterbankRunSummary& summary) {
  std::vector<std::string> warnings = summary.damage.messages;
  if (summary.not_finite > 0)
    warnings.push_back(not_finite_text(summary.empty, summary.not_finite));
  if (std::string nothing = nothing_text(summary); !nothing.empty()) {
    warnings.push_back(std::move(nothing));
    return warnings;
  }
  for (std::string& text : empty_texts(summary)) warnings.push_back(std::move(text));
  return warnings;
}

}  // namespace tautline::pipeline
