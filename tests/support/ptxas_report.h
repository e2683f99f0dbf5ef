// The report of ptxas about the registers that a kernel takes.
#pragma once

#include <algorithm>
#include <regex>
#include <string>

namespace tautline::tests {

/// Every compute capability that the portable kernels declare.
inline constexpr const char* kArchitectures[] = {"sm_80",  "sm_86",  "sm_89",
                                                 "sm_90a", "sm_100", "sm_120"};

struct PtxasReport {
  std::size_t registers = 0, spilled_bytes = 0;
};

/// The most of any kernel, from the lines of ptxas -v.
inline PtxasReport ptxas_report(const std::string& log) {
  const auto largest = [&log](const char* pattern) {
    std::size_t most = 0;
    const std::regex wanted(pattern);
    for (auto at = std::sregex_iterator(log.begin(), log.end(), wanted);
         at != std::sregex_iterator(); ++at)
      most = std::max<std::size_t>(most, std::stoul((*at)[1]));
    return most;
  };
  return {largest("Used ([0-9]+) registers"), largest("([0-9]+) bytes spill stores")};
}

}  // namespace tautline::tests
