// Candidate lists: what is written in each form reads back as far as the form holds it.
#include "tautline/formats/candidates/candidates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tautline/core/error.h"
#include "tests/formats/voltage_check.h"
#include "tests/support/seed.h"

namespace tautline::formats::candidates {
namespace {

using core::Candidate;
using tests::Folder;

SearchDescription search() {
  SearchDescription s;
  s.start = core::parse_utc("2020-05-31-03:00:00");
  s.rate_hz = {15625, 8};
  s.f_ref_mhz = 1500;
  s.dm_constant = 4148.808;
  s.file = "a \"quoted\", name.fil";
  return s;
}

std::vector<Candidate> random_candidates(std::size_t count) {
  auto random = tests::generator();
  std::vector<Candidate> list(count);
  for (Candidate& c : list) {
    c.snr = 6 + static_cast<double>(random() % 1'000) / 8;
    c.sample = random() % 1'000'000;
    c.time_s = static_cast<double>(c.sample) * 0.000512;
    c.width_samples = 1 + random() % 100;
    c.dm_index = random() % 2000;
    c.dm = static_cast<double>(c.dm_index) / 4;
    c.members = 1 + random() % 50;
    c.first_sample = c.sample - std::min<std::uint64_t>(c.sample, 20);
    c.last_sample = c.sample + 20;
    c.beam = random() % 3;
    if (random() % 4 > 0) c.filled = static_cast<double>(random() % 9) / 8;
  }
  return list;
}

TEST(Candidates, FilterIndexIsTheRoundedLogarithm) {
  for (std::uint64_t width = 1; width < 5000; ++width) {
    Candidate c;
    c.width_samples = width;
    EXPECT_EQ(c.filter_index(), std::lround(std::log2(static_cast<double>(width)))) << width;
  }
}

TEST(Candidates, CsvHoldsEverythingBestFirst) {
  const Folder folder;
  auto list = random_candidates(50);
  write(folder / "c.csv", list, search(), false);
  std::stable_sort(list.begin(), list.end(), [](auto& a, auto& b) { return a.snr > b.snr; });
  auto back = read(folder / "c.csv");
  ASSERT_EQ(back.size(), list.size());
  for (std::size_t k = 0; k < list.size(); ++k) {
    EXPECT_NEAR(back[k].time_s, list[k].time_s, 1e-9);
    back[k].time_s = list[k].time_s;
    EXPECT_EQ(back[k], list[k]);
  }
  const auto bytes = tests::read_bytes(folder / "c.csv");
  const std::string text(bytes.begin(), bytes.end());
  EXPECT_TRUE(
      text.starts_with("snr,time_s,sample,width_samples,width_s,dm,dm_index,members,"
                       "first_sample,last_sample,mjd,mjd_inf,f_ref_mhz,beam,file,filled\n"));
  EXPECT_NE(text.find(",1500,"), std::string::npos);
  EXPECT_NE(text.find("\"a \"\"quoted\"\", name.fil\""), std::string::npos);
  EXPECT_THROW(write(folder / "c.csv", list, search(), false), core::Error);
  EXPECT_THROW(write(folder / "c.txt", list, search(), false), core::Error);
}

// The column is found by its name: lists of earlier versions lack it, and others follow it.
TEST(Candidates, OfEarlierListsSayNothingOfWhatWasFilled) {
  const Folder folder;
  const auto list = random_candidates(20);
  SearchDescription injected = search();
  injected.injections = true;
  write(folder / "i.csv", list, injected, false);
  write(folder / "c.csv", list, search(), false);
  const auto now = read(folder / "c.csv");
  EXPECT_EQ(read(folder / "i.csv"), now);
  const auto bytes = tests::read_bytes(folder / "c.csv");
  std::string text;
  for (const char c : bytes)
    if (c != '\n')
      text += c;
    else
      text.resize(text.rfind(',')), text += c;
  tests::write_bytes(folder / "old.csv", {text.begin(), text.end()});
  const auto old = read(folder / "old.csv");
  ASSERT_EQ(old.size(), now.size());
  for (std::size_t k = 0; k < now.size(); ++k) {
    Candidate without = now[k];
    without.filled.reset();
    EXPECT_EQ(old[k], without);
  }
}

TEST(Candidates, OfSeveralBeamsEachWithItsOwnFileAndTimes) {
  auto list = random_candidates(20);
  std::vector<SearchDescription> beams(3, search());
  for (std::size_t b = 0; b < beams.size(); ++b) {
    beams[b].file = "beam" + std::to_string(b) + ".fil";
    beams[b].start = core::advance(beams[b].start, static_cast<std::int64_t>(b), {1, 10});
  }
  for (Candidate& c : list) c.beams = 1 + c.sample % 3;
  const std::string text = beams_to_text(Format::csv, list, beams, 2);
  std::stable_sort(list.begin(), list.end(), [](auto& a, auto& b) { return a.snr > b.snr; });
  std::size_t at = text.find('\n') + 1;
  EXPECT_TRUE(text.substr(0, at).ends_with(",beam,file,filled,beams,in_many_beams\n"));
  for (const Candidate& c : list) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    const std::string alone = to_text(Format::csv, std::vector{c}, beams[c.beam]);
    const std::size_t row = alone.find('\n') + 1;
    EXPECT_EQ(line, alone.substr(row, alone.size() - row - 1) + "," + std::to_string(c.beams) +
                        (c.beams > 2 ? ",1" : ",0"));
    at += line.size() + 1;
  }
  EXPECT_EQ(at, text.size());
  for (const Format format : {Format::heimdall, Format::presto})
    EXPECT_THROW(beams_to_text(format, list, beams, 2), core::Error);
}

TEST(Candidates, ArrivalTimes) {
  Candidate c;
  c.sample = 15625;  // 8 s
  c.dm = 100;
  EXPECT_EQ(mjd_text(c, search()), "59000.1250925925925");
  const double delay_s = 4148.808 * 100 / (1500. * 1500.);
  EXPECT_NEAR((std::stod(mjd_infinite_text(c, search())) - 59000.125) * 86400, 8 - delay_s, 2e-6);
}

TEST(Candidates, HeimdallsColumns) {
  const Folder folder;
  auto list = random_candidates(20);
  for (Candidate& c : list) c.width_samples = std::uint64_t{1} << c.width_samples % 8;
  write(folder / "c.cand", list, search(), false);
  std::stable_sort(list.begin(), list.end(), [](auto& a, auto& b) { return a.snr > b.snr; });
  auto back = read(folder / "c.cand");
  ASSERT_EQ(back.size(), list.size());
  for (std::size_t k = 0; k < list.size(); ++k) {
    EXPECT_NEAR(back[k].time_s, list[k].time_s, 1e-5);
    back[k].time_s = list[k].time_s;
    back[k].beam = list[k].beam;
    back[k].filled = list[k].filled;
    EXPECT_EQ(back[k], list[k]);
  }
  const Candidate one{56.75, 227, 12.5, 1000, 0.512, 4, 3, 990, 1010, 0};
  EXPECT_EQ(to_text(Format::heimdall, std::vector{one}, search()),
            "12.5\t1000\t0.512\t2\t227\t56.75\t3\t990\t1010\n");
}

TEST(Candidates, PrestosColumnsWithItsDm) {
  const Folder folder;
  auto list = random_candidates(20);
  write(folder / "c.singlepulse", list, search(), false);
  std::stable_sort(list.begin(), list.end(), [](auto& a, auto& b) {
    return a.dm != b.dm ? a.dm < b.dm : a.sample < b.sample;
  });
  const auto back = read(folder / "c.singlepulse");
  ASSERT_EQ(back.size(), list.size());
  for (std::size_t k = 0; k < list.size(); ++k) {
    EXPECT_NEAR(back[k].dm, list[k].dm * 4148.808 * 2.41e-4, 1e-4);
    EXPECT_NEAR(back[k].snr, list[k].snr, 0.01);
    EXPECT_EQ(back[k].sample, list[k].sample);
    EXPECT_EQ(back[k].width_samples, list[k].width_samples);
  }
}

TEST(Candidates, EmptyListsAndBadLines) {
  const Folder folder;
  for (const char* name : {"e.csv", "e.cand", "e.singlepulse"}) {
    write(folder / name, {}, search(), false);
    EXPECT_TRUE(read(folder / name).empty());
  }
  const auto error_of = [&](const std::string& name, const std::string& text) {
    tests::write_bytes(folder / name, {text.begin(), text.end()});
    try {
      read(folder / name);
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format);
      return std::string(error.what());
    }
    return std::string("read");
  };
  EXPECT_NE(error_of("x.cand", "9\t1\t1\t70\t0\t0\t0\t0\t0\n").find("filter index"),
            std::string::npos);
  EXPECT_NE(error_of("x.cand", "9\t1\t1\t1\t0\t0\t0\t0\n").find("line 1"), std::string::npos);
  EXPECT_NE(error_of("x.cand", "nan\t1\t1\t1\t0\t0\t0\t0\t0\n").find("S/N"), std::string::npos);
  EXPECT_NE(error_of("x.csv", "snr,time_s\n1,2,3\n").find("line 2"), std::string::npos);
  EXPECT_NE(error_of("x.singlepulse", "# DM\n1 2 3 -4 5\n").find("Sample"), std::string::npos);
}

std::string json_lines(const std::vector<Candidate>& list) {
  std::string lines;
  for (const Candidate& c : list)
    lines += nlohmann::json{{"schema", "tautline.candidate"},
                            {"snr", c.snr},
                            {"time_s", c.time_s},
                            {"sample", c.sample},
                            {"width_samples", c.width_samples},
                            {"dm", c.dm},
                            {"dm_index", c.dm_index},
                            {"members", c.members},
                            {"first_sample", c.first_sample},
                            {"last_sample", c.last_sample},
                            {"beam", c.beam},
                            {"filled", c.filled ? nlohmann::json(*c.filled) : nlohmann::json()}}
                 .dump() +
             "\n";
  return lines;
}

TEST(Candidates, LinesOfJsonHoldEverything) {
  const Folder folder;
  const auto list = random_candidates(50);
  const std::string lines = json_lines(list), other = "{\"schema\": \"tautline.search\"}\n";
  // A line of another schema, and a line that is not complete.
  const std::string text = lines + other + lines.substr(0, 80);
  tests::write_bytes(folder / "e.jsonl", {text.begin(), text.end()});
  EXPECT_TRUE(recognise(folder / "e.jsonl"));
  EXPECT_EQ(read(folder / "e.jsonl"), list);
  tests::write_bytes(folder / "other.jsonl", {other.begin(), other.end()});
  EXPECT_FALSE(recognise(folder / "other.jsonl"));
}

// Tables of few columns, with and without decimal commas, are for the readers of curves.
TEST(Candidates, TablesOfFewColumnsAreNone) {
  const Folder folder;
  for (const std::string text : {"1e-6,0.5\n", "0,000001,0,498306\n", "0,000001;0,498306\n",
                                 "Lag time [s],G\n1e-6,0.5\n", "0,000001,0,5,0,1,0,02,0,03\n"}) {
    tests::write_bytes(folder / "x.csv", {text.begin(), text.end()});
    EXPECT_FALSE(recognise(folder / "x.csv")) << text;
  }
  write(folder / "c.csv", random_candidates(3), search(), false);
  EXPECT_TRUE(recognise(folder / "c.csv"));
  write(folder / "c.your.csv", random_candidates(3), search(), false);
  EXPECT_TRUE(recognise(folder / "c.your.csv"));
  write(folder / "none.csv", {}, search(), false);
  EXPECT_TRUE(recognise(folder / "none.csv"));
}

TEST(Candidates, RandomMutationsNeverBreakTheReader) {
  const Folder folder;
  auto random = tests::generator();
  for (const char* name : {"f.csv", "f.cand", "f.singlepulse", "f.jsonl"}) {
    const std::string lines = json_lines(random_candidates(10));
    if (std::string(name) == "f.jsonl")
      tests::write_bytes(folder / name, {lines.begin(), lines.end()});
    else
      write(folder / name, random_candidates(10), search(), false);
    const auto good = tests::read_bytes(folder / name);
    for (int trial = 0; trial < 300; ++trial) {
      tests::write_bytes(folder / name, tests::mutate(good, random));
      try {
        read(folder / name);
      } catch (const core::Error& error) {
        EXPECT_EQ(error.kind(), core::ErrorKind::format) << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace tautline::formats::candidates
