// Mistakes of users: each is refused in one line that says what to do, with nothing written.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/end_to_end/command_test.h"

namespace tautline::tests {

class Mistakes : public CommandTest {
 protected:
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
      names.insert(entry.path().filename().string());
    return names;
  }
  void refused(const std::vector<std::string>& arguments, int status, const std::string& words) {
    for (const char* name : {"out", "err"}) write_file(scratch / name, "");  // a run's output
    const auto before = files();
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.status, status) << words << ": " << result.err;
    EXPECT_TRUE(result.err.starts_with("tautline: ")) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << words << " in " << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    for (const char c : result.err)
      EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 32) << result.err;
    EXPECT_EQ(files(), before) << words;
  }
  std::string voltages() {
    write_file(scratch / "v.dada", DadaFile().bytes());
    return scratch / "v.dada";
  }
  std::string filterbank() {
    const CommandResult made =
        run({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff", "-10",
             "--tsamp", "1ms", "--duration", "1", "--overwrite", "-o", scratch / "x.fil"});
    EXPECT_EQ(made.status, kDone) << made.err;
    return scratch / "x.fil";
  }
  std::string counts() {
    const CommandResult made =
        run({"simulate", "photons", "--duration", "0.1", "--bin", "10us", "--model",
             "diffusion:n=1,tau=2e-4,rate=5e5", "--overwrite", "-o", scratch / "y.npy"});
    EXPECT_EQ(made.status, kDone) << made.err;
    return scratch / "y.npy";
  }
  std::string curve() {
    const CommandResult made =
        run({"autocorrelate", counts(), "--bin", "10us", "--overwrite", "-o", scratch / "g.csv"});
    EXPECT_EQ(made.status, kDone) << made.err;
    return scratch / "g.csv";
  }
};

}  // namespace tautline::tests
