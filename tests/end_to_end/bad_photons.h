// Runs of `autocorrelate` on bad input, and what it says.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/command_test.h"

namespace tautline::tests {

class BadPhotons : public CommandTest {
 protected:
  CommandResult autocorrelate(const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"autocorrelate", scratch / name, "-o", scratch / "out.csv",
                                       "--overwrite"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  CommandResult raw(const std::string& bytes, const std::vector<std::string>& more) {
    write_file(scratch / "x.u8", bytes);
    std::vector<std::string> arguments{"--dtype", "u8", "--bin", "1e-6"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return autocorrelate("x.u8", arguments);
  }
  static void expect_said(const CommandResult& result, int status, const std::string& words) {
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << "not said: " << words << "\n"
                                                         << result.err;
  }
  // One curve's numbers: lines without a mark, and with "nan" or without.
  std::size_t lags_written(bool undefined) const {
    std::istringstream lines(read_file(scratch / "out.csv"));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line) && line.find("TRACE") == std::string::npos;)
      if (!line.empty() && line[0] != '#' && line.ends_with("nan") == undefined) ++count;
    return count;
  }
  std::size_t values_written() const { return lags_written(false); }
};

}  // namespace tautline::tests
