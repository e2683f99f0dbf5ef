// Simulated photons as a detector with a dead time counts them: `fit --dead-time` gives the number of particles back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

/// A PTU file of HydraHarp v2 in T2 mode, read and written apart from the library: special, channel (6 bits), time
/// (25).
struct DeadDetector {
  std::string bytes;
  std::uint64_t photons = 0, ticks = 0;

  /// Photons that come less than `dead_ticks` after the last one that was counted are not counted.
  DeadDetector(const std::string& file, std::uint64_t dead_ticks) {
    const std::size_t begin = file.find("Header_End") + 48;
    bytes = file.substr(0, begin);
    std::uint64_t wraps = 0, alive = 0;
    for (std::size_t at = begin; at + 4 <= file.size(); at += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, file.data() + at, 4);
      const std::uint32_t time = word & 0x1FFFFFF;
      if (word >> 31 == 0) {
        ticks = (wraps << 25) + time;
        if (ticks < alive) continue;
        alive = ticks + dead_ticks;
        ++photons;
      } else if ((word >> 25 & 63) == 63) {
        wraps += std::max<std::uint32_t>(1, time);
      }
      bytes.append(file, at, 4);
    }
    const auto records = static_cast<std::int64_t>((bytes.size() - begin) / 4);
    std::memcpy(bytes.data() + bytes.find("TTResult_NumberOfRecords") + 40, &records, 8);
  }
};

// Second orders of the fluctuations, which the correction leaves out, are smaller than its tolerance of 4 %.
TEST(DeadTime, OfADetectorIsTakenOutOfItsFit) {
#if !defined(TAUTLINE_FIT) || !defined(TAUTLINE_HDF5)
  GTEST_SKIP() << "a build without cminpack or HDF5";
#endif
  const ScratchFolder scratch;
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--json", "--device", "cpu"});
    const CommandResult result = run_command(words, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  };
  constexpr double kDead_s = 2.5e-7;
  run({"simulate", "photons", "--duration", "2s", "--tags", "t2", "--model",
       "diffusion:n=8,tau=1ms,rate=4e5", "--seed", std::to_string(generator()() >> 1), "-o",
       scratch / "x.ptu"});
  const double unit_s = run({"inspect", scratch / "x.ptu"})["time_unit_s"];
  const std::string file = read_file(scratch / "x.ptu");
  const DeadDetector all(file, 0),
      some(file, static_cast<std::uint64_t>(std::llround(kDead_s / unit_s)));
  EXPECT_EQ(all.bytes, file);
  write_file(scratch / "dead.ptu", some.bytes);
  const double run_s = static_cast<double>(all.ticks) * unit_s,
               light_hz = static_cast<double>(all.photons) / run_s,
               counted_hz = static_cast<double>(some.photons) / run_s;
  EXPECT_NEAR(counted_hz, light_hz / (1 + light_hz * kDead_s), 0.02 * light_hz);
  for (const char* name : {"x", "dead"})
    run({"autocorrelate", scratch / (std::string(name) + ".ptu"), "-o",
         scratch / (std::string(name) + ".h5"), "--bin", "10us", "--lags", "standard", "--bins",
         "16", "--levels", "10"});
  const auto n_of = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words{"fit",         scratch / (name + ".h5"),
                                   "-o",          scratch / "fit.csv",
                                   "--overwrite", "--model",
                                   "3d",          "--max-chi2",
                                   "100"};
    words.insert(words.end(), more.begin(), more.end());
    const auto fitted = run(words);
    EXPECT_EQ(fitted["good"], 1) << fitted;
    return fitted["medians"]["n"].get<double>();
  };
  // The same molecules, so that their number fluctuates alike.
  const double n = n_of("x", {}), seen = n_of("dead", {}),
               corrected = n_of("dead", {"--dead-time", "250ns"});
  const double passed = 1 - counted_hz * kDead_s;
  ASSERT_LT(passed, 0.93);
  EXPECT_NEAR(seen / n, 1 / (passed * passed), 0.04);
  EXPECT_NEAR(corrected / n, 1, 0.04);
  EXPECT_NEAR(corrected, seen * passed * passed, 1e-3 * seen);
  // Dead for most of the time.
  const CommandResult refused = run_command({"fit", scratch / "dead.h5", "-o", scratch / "none.csv",
                                             "--model", "3d", "--dead-time", "2us"},
                                            scratch.path().string());
  EXPECT_EQ(refused.status, kWrongUsage);
  EXPECT_NE(refused.err.find("--dead-time: 2e-06 s, expected at most "), std::string::npos)
      << refused.err;
}

}  // namespace
}  // namespace tautline::tests
