// Time tags through a pipe: their curves, lost records, other detectors, tags that come slowly.
#include <algorithm>

#include "tautline/core/counted.h"
#include "tests/end_to_end/piped_photons.h"

namespace tautline::tests {
namespace {

class PipedTags : public PipedPhotons {};

TEST_F(PipedTags, TagsThroughAPipeAreThoseOfTheFile) {
  NEEDS_HDF5;
  for (const char* mode : {"t2", "t3"}) {
    const std::string file = scratch / (std::string(mode) + ".ptu");
    ASSERT_EQ(run({"simulate", "photons", "--duration", "0.5", "--tags", mode, "--model",
                   "diffusion:n=1,tau=1e-4,rate=20000", "-o", file})
                  .status,
              kDone);
    const CommandResult held = run({"--json", "inspect", file});
    const std::string detector =
        std::to_string(json_of(held)["detectors"][0]["detector"].get<int>());
    const auto words = [&](const std::string& input, const std::string& output) {
      return std::vector<std::string>{
          "--device", "cpu",  "--json", "autocorrelate", input,         "-o",    output,
          "--bin",    "1e-5", "--tags", "direct",        "--detectors", detector};
    };
    const std::string a = scratch / (std::string(mode) + "a.h5"),
                      b = scratch / (std::string(mode) + "b.h5");
    ASSERT_EQ(run(words(file, a)).status, kDone);
    const std::string bytes = read_file(file);
    const CommandResult live = run_through_pipe(bytes, words("-", b));
    EXPECT_EQ(live.status, kDone) << live.err;
    EXPECT_EQ(json_of(live)["format"], "PTU");
    expect_same_sums(a, b);
    // Cut short inside a record.
    const CommandResult cut = run_through_pipe(bytes.substr(0, bytes.size() - 4 * 1000 - 1),
                                               words("-", scratch / (std::string(mode) + "c.h5")));
    EXPECT_EQ(cut.status, kDamaged) << cut.err;
    EXPECT_EQ(json_of(cut)["trailing_bytes"], 3);
    EXPECT_EQ(json_of(cut)["lost_samples"], 1001);
    EXPECT_NE(cut.err.find("cut short after"), std::string::npos) << cut.err;
  }
}

// In several places, near to each other and far: no pair spans them, as in the file; but where rolling curves or a later
// part need every bin in its place.
TEST_F(PipedTags, TagsAreCutWhereRecordsWereLost) {
  NEEDS_HDF5;
  auto random = generator();
  for (const char* mode : {"t2", "t3"}) {
    SCOPED_TRACE(mode);
    const std::string file = scratch / (std::string(mode) + ".ptu");
    ASSERT_EQ(run({"simulate", "photons", "--duration", "1", "--tags", mode, "--model",
                   "diffusion:n=1,tau=1e-4,rate=40000", "-o", file})
                  .status,
              kDone);
    std::string bytes = read_file(file);
    const std::size_t records = bytes.size() / 4;
    std::size_t places = 0;
    for (std::size_t at = records / 8; at + 2000 < records; ++places) {
      const std::size_t count = 8 + random() % 300;
      std::fill_n(bytes.end() - static_cast<std::ptrdiff_t>(4 * (records - at)), 4 * count,
                  random() % 2 == 0 ? '\0' : '\xff');
      at += count + (places % 2 == 0 ? 3 : 500 + random() % 6000);
    }
    write_file(file, bytes);
    const CommandResult held = run({"--json", "inspect", file});
    const std::string detector =
        std::to_string(json_of(held)["detectors"][0]["detector"].get<int>());
    const auto words = [&](const std::string& input, const std::string& output,
                           const std::vector<std::string>& more) {
      std::vector<std::string> all{"--device", "cpu",    "autocorrelate", input,
                                   "-o",       output,   "--bin",         "1e-5",
                                   "--tags",   "direct", "--detectors",   detector};
      all.insert(all.end(), more.begin(), more.end());
      all.push_back("--overwrite");
      return all;
    };
    const std::string a = scratch / (std::string(mode) + "a.h5"),
                      b = scratch / (std::string(mode) + "b.h5");
    const std::string cut = core::counted(places, "place") + ", which no pair of photons spans";
    const CommandResult whole = run(words(file, a, {}));
    EXPECT_EQ(whole.status, kDamaged);
    EXPECT_NE(whole.err.find(cut), std::string::npos) << whole.err;
    const CommandResult live = run_through_pipe(bytes, words("-", b, {}));
    EXPECT_EQ(live.status, kDamaged);
    EXPECT_NE(live.err.find(cut), std::string::npos) << live.err;
    expect_same_sums(a, b);
    const std::string spanned =
        core::counted(places, "place") + ", which pairs of photons span at lags";
    for (const std::vector<std::string>& kept :
         {std::vector<std::string>{"--window", "0.5"}, {"--save-state", scratch / "s.state"}}) {
      const std::string c = scratch / (std::string(mode) + kept[0].substr(2) + ".h5");
      EXPECT_NE(run(words(file, c, kept)).err.find(spanned), std::string::npos);
      const CommandResult piped = run_through_pipe(bytes, words("-", c, kept));
      EXPECT_NE(piped.err.find(spanned), std::string::npos) << piped.err;
    }
  }
}

// Which detectors a stream has is known at its end: those that nobody asked for are named then.
TEST_F(PipedTags, PhotonsOfOtherDetectorsAreCounted) {
  const std::string file = scratch / "x.ptu";
  ASSERT_EQ(run({"simulate", "photons", "--sensors", "3", "--duration", "0.2", "--tags", "t3",
                 "--model", "diffusion:n=1,tau=1e-4,rate=10000", "-o", file})
                .status,
            kDone);
  const auto detectors = json_of(run({"--json", "inspect", file}))["detectors"];
  ASSERT_EQ(detectors.size(), 3u);
  const auto number = [&](std::size_t k) {
    return std::to_string(detectors[k]["detector"].get<int>());
  };
  const CommandResult live =
      run_through_pipe(read_file(file), {"--json", "autocorrelate", "-", "-o", scratch / "x.zip",
                                         "--bin", "1e-5", "--detectors", number(1) + ",44"});
  EXPECT_EQ(live.status, kDone) << live.err;
  const int others = detectors[0]["photons"].get<int>() + detectors[2]["photons"].get<int>();
  EXPECT_EQ(json_of(live)["ignored_photons"], others);
  EXPECT_NE(live.err.find(std::to_string(others) + " photons of detectors " + number(0) + ", " +
                          number(2) + " were not asked for"),
            std::string::npos)
      << live.err;
}

// Tags that come slowly are in the curves soon, not only when a block of them is full.
TEST_F(PipedTags, SlowTagsAreWrittenAsTheyCome) {
  NEEDS_HDF5;
  const std::string file = scratch / "x.ptu", fifo = make_fifo(), output = scratch / "slow.h5";
  ASSERT_EQ(run({"simulate", "photons", "--duration", "0.2", "--tags", "t2", "--model",
                 "diffusion:n=1,tau=1e-4,rate=10000", "-o", file})
                .status,
            kDone);
  const int detector =
      json_of(run({"--json", "inspect", file}))["detectors"][0]["detector"].get<int>();
  const pid_t pid = start_command({"--json", "autocorrelate", fifo, "-o", output, "--bin", "1e-4",
                                   "--detectors", std::to_string(detector), "--every", "0.05"},
                                  scratch.path().string());
  const int writer = open_fifo(fifo);
  const std::string bytes = read_file(file);
  const std::size_t half = bytes.size() / 2;
  put(writer, bytes.substr(0, half));
  EXPECT_TRUE(wait_for([&] { return std::filesystem::exists(output); }));
  EXPECT_GT(curves(output).samples, 200u);
  put(writer, bytes.substr(half));
  close(writer);
  const CommandResult result = finish_command(pid, scratch.path().string());
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_GT(curves(output).samples, 1500u);
}

}  // namespace
}  // namespace tautline::tests
