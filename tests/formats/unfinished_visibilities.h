// Writers of visibilities that do not come to their end: they leave nothing under the file's name, and say why.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"
#include "tests/support/small_disk.h"
#include "tests/support/visibilities.h"

namespace tautline::tests {

inline void write_all(const RandomVisibilities& v, const std::string& path,
                      bool overwrite = false) {
  const auto writer = formats::create_visibilities(path, v.description, overwrite);
  for (std::size_t k = 0; k < v.middles.size(); ++k) writer->write(v.integration(k));
  writer->finish();
}

/// The same integration again and again. A status for the end of a process: 0 for Error(io) with these words; else what
/// is wrong.
inline int write_until_full(const std::string& path, const RandomVisibilities& v, int times,
                            const std::vector<std::string>& words) {
  try {
    const auto writer = formats::create_visibilities(path, v.description, false);
    for (int k = 0; k < times; ++k) writer->write(v.integration(0));
    writer->finish();
    return 1;
  } catch (const core::Error& error) {
    if (error.kind() != core::ErrorKind::io) return 2;
    for (const std::string& word : words)
      if (std::string(error.what()).find(word) == std::string::npos) return 3;
  }
  return 0;
}

inline void expect_nothing_of_a_killed_writer(const std::string& name) {
  auto random = generator();
  const auto v = random_visibilities({.integrations = 1}, random);
  const ScratchFolder folder;
  const std::string path = folder / name;
  const pid_t child = fork();
  if (child == 0) {
    try {
      const auto writer = formats::create_visibilities(path, v.description, false);
      writer->write(v.integration(0));
      raise(SIGKILL);
    } catch (const core::Error&) {
    }
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(std::filesystem::exists(path));
  write_all(v, path);  // what the dead run left behind is no hindrance
  EXPECT_TRUE(std::filesystem::exists(path));
}

/// In a child, whose standard error must stay empty to its very end: HDF5 closes what is open when a process ends, and
/// complains when it cannot.
inline void expect_nothing_beyond_a_limit(const std::string& name, std::size_t limit_bytes,
                                          const std::vector<std::string>& words) {
  const ScratchFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    (void)!std::freopen((folder / "stderr").c_str(), "w", stderr);
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{limit_bytes, limit_bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::mt19937_64 random(limit_bytes);
    const auto v = random_visibilities({.antennas = 8, .channels = 64, .integrations = 1}, random);
    const int status = write_until_full(folder / name, v, 100, words);
    const bool left = std::filesystem::exists(folder / name) ||
                      std::filesystem::exists(folder / (name + ".partial"));
    std::exit(status == 0 && left ? 4 : status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << limit_bytes;
  EXPECT_EQ(WEXITSTATUS(status), 0) << limit_bytes;
  std::ifstream said(folder / "stderr");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(said), {}), "") << limit_bytes;
}

/// From nothing to nearly enough: the failure moves from the first table to the last row.
inline void expect_nothing_on_disks_that_fill_up(const std::string& name) {
  auto random = generator();
  const auto v = random_visibilities({.antennas = 8, .channels = 64, .integrations = 1}, random);
  for (std::size_t kib = 16; kib < 45'000; kib += kib / 3) {
    const ScratchFolder folder;
    const int status = on_small_disk(folder.path().string(), kib << 10, [&] {
      const int wrong = write_until_full(folder / name, v, 400, {"No space left"});
      return wrong == 0 && !folder.empty() ? 4 : wrong;
    });
    if (status == kNoSmallDisk) GTEST_SKIP() << "this machine lets us mount no tmpfs";
    EXPECT_EQ(status, 0) << kib << " KiB";
  }
}

}  // namespace tautline::tests
