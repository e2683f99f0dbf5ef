// What a search makes of its best candidates comes after its list, piece by piece.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/pipeline/search/data_warnings.h"
#include "tautline/pipeline/search/search_filterbank.h"
#include "tautline/pipeline/simulation/simulate_filterbank.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

#ifdef TAUTLINE_HDF5
class SearchDrawings : public ::testing::Test {
 protected:
  void SetUp() override {
    SimulateFilterbankConfig simulated;
    simulated.scene.channels = 32;
    simulated.scene.fch1_mhz = 1500;
    simulated.scene.foff_mhz = -8;
    simulated.scene.tsamp_s = 512e-6;
    simulated.scene.bits = 8;
    simulated.scene.start = core::parse_utc("2026-01-01-00:00:00");
    for (int k = 0; k < 12; ++k)
      simulated.scene.pulses.push_back({0.5 + 0.5 * k, 10.0 + 5 * k, 2e-3, 40, 0, 0});
    simulated.output = folder_ / "a.fil";
    simulated.duration_s = 7;
    simulated.seed = tests::generator()();
    simulate_filterbank(simulated);
    config_.inputs = {simulated.output};
    config_.output = folder_ / "c.csv";
    config_.dms.low = 0;
    config_.dms.high = 100;
    config_.dms.step = 1;
    config_.max_width_s = 0.02;
    config_.plot_folder = folder_ / "page";
    config_.most_plots = 3;
    config_.cutout_folder = folder_ / "cut";
    config_.most_cutouts = 9;
  }
  SearchSummary search(const SearchDrawing& drawing, std::stop_token stop) const {
    return search_filterbank(config_, device::open(device::parse_selection("cpu"), {.threads = 2}),
                             {}, {}, std::move(stop), drawing);
  }
  nlohmann::json record() const {
    std::ifstream file(config_.output + ".json");
    return nlohmann::json::parse(file, nullptr, false);
  }
  // Complete ones; no other file is in the folder.
  std::size_t cutouts() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(config_.cutout_folder)) {
      EXPECT_EQ(entry.path().extension(), ".h5") << entry.path();
      ++count;
    }
    return count;
  }

  tests::ScratchFolder folder_;
  SearchConfig config_;
};

TEST_F(SearchDrawings, PagesHaveTheWarningsOfTheRun) {
  {
    const auto size = std::filesystem::file_size(config_.inputs[0]);
    std::fstream file(config_.inputs[0], std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size / 4));
    file << std::string(size / 2, '\0');
  }
  const std::vector<std::string> warnings = data_warnings(search({}, {}));
  ASSERT_FALSE(warnings.empty());
  std::stringstream page;
  page << std::ifstream(folder_ / "page/candidates.html").rdbuf();
  for (const std::string& warning : warnings)
    EXPECT_NE(page.str().find("\"" + warning + "\""), std::string::npos) << warning;
}

TEST_F(SearchDrawings, ComeAfterTheList) {
  std::vector<std::size_t> told;
  SearchDrawing drawing;
  drawing.progress = [&](std::size_t done, std::size_t all) {
    EXPECT_EQ(all, 12u);
    EXPECT_TRUE(std::filesystem::exists(config_.output));
    EXPECT_TRUE(done > 0 || record()["cutouts"].is_null()) << record();
    told.push_back(done);
  };
  const SearchSummary summary = search(drawing, {});
  ASSERT_EQ(told.size(), 13u);
  for (std::size_t k = 0; k < told.size(); ++k) EXPECT_EQ(told[k], k);
  EXPECT_EQ(summary.cutouts, 9u);
  EXPECT_EQ(cutouts(), 9u);
  EXPECT_EQ(record()["cutouts"], 9);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "page/candidates.html"));
}

TEST_F(SearchDrawings, ThatAreStoppedLeaveTheListAndWhatWasWhole) {
  std::stop_source stop;
  SearchDrawing drawing;
  drawing.progress = [&](std::size_t done, std::size_t) {
    if (done == 5) stop.request_stop();  // the second cut-out
  };
  const core::Error error = tests::error_of([&] { search(drawing, stop.get_token()); });
  EXPECT_EQ(error.value(), "interrupted") << error.what();
  EXPECT_NE(error.advice().find("the list of candidates was kept"), std::string::npos)
      << error.what();
  EXPECT_TRUE(std::filesystem::exists(config_.output));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "page/candidates.html"));
  const std::size_t made = cutouts();
  EXPECT_GE(made, 2u);
  EXPECT_LE(made, 3u);  // that of the other thread
  EXPECT_EQ(record()["cutouts"], made);
}

// A stop during the search keeps nothing.
TEST_F(SearchDrawings, AreNotBegunOfASearchThatIsStopped) {
  std::stop_source stop;
  stop.request_stop();
  SearchDrawing drawing;
  drawing.progress = [](std::size_t, std::size_t) { ADD_FAILURE() << "was begun"; };
  EXPECT_THROW(search(drawing, stop.get_token()), core::Error);
  EXPECT_FALSE(std::filesystem::exists(config_.output));
  EXPECT_FALSE(std::filesystem::exists(config_.cutout_folder));
}
#endif

}  // namespace
}  // namespace tautline::pipeline
