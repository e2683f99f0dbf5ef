// The pictures of a search's candidates say whose they are.
#include "tautline/pipeline/plot/candidate_figures.h"

#include <gtest/gtest.h>

#include <string>

#include "tautline/formats/figure/figure.h"

namespace tautline::pipeline {
namespace {

TEST(CandidateFigures, HaveTheBeamAndInjectionsInTheirTitles) {
  SearchSummary summary;
  for (const std::size_t beam : {std::size_t{2}, std::size_t{0}}) {
    core::Candidate one;
    one.dm = 50;
    one.snr = 20.04;
    one.beam = beam;
    one.injected = beam == 0;
    summary.candidates.push_back(one);
    CandidatePictures drawn;
    drawn.bins = 4;
    drawn.bin_s = 1e-3;
    drawn.dm_rows = drawn.sub_bands = 1;
    drawn.high_dm = 1, drawn.high_mhz = 1;
    drawn.profile = drawn.dm_time = drawn.frequency_time = {0, 1, 0, 0};
    summary.pictures.push_back(drawn);
  }
  summary.searched.resize(3);
  for (auto& search : summary.searched) search.rate_hz = core::make_rational(1000, 1);
  const auto searched = summary.searched;
  summary.searched.resize(1);
  const auto title = [&](std::size_t k) { return candidate_figure(summary, k).title; };
  const std::string rest = ": S/N 20.0, DM 50 pc cm\u207b\u00b3";
  EXPECT_EQ(title(0), "Candidate 1" + rest);
  EXPECT_EQ(title(1), "Candidate 2, injected" + rest);
  summary.searched = searched;
  EXPECT_EQ(title(0), "Candidate 1, beam 2" + rest);
  EXPECT_EQ(title(1), "Candidate 2, beam 0, injected" + rest);
  const auto says_injected = [&](std::size_t k) {
    for (const std::string& note : candidate_figure(summary, k).notes)
      if (note.find("injected") != std::string::npos) return true;
    return false;
  };
  EXPECT_FALSE(says_injected(0));
  EXPECT_TRUE(says_injected(1));
}

}  // namespace
}  // namespace tautline::pipeline
