// A test of the command in a folder of its own.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {

class CommandTest : public ::testing::Test {
 protected:
  CommandResult run(const std::vector<std::string>& words, const Variables& variables = {}) const {
    return run_command(words, scratch.path().string(), variables);
  }

  ScratchFolder scratch;
};

}  // namespace tautline::tests
