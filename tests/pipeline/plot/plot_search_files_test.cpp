// Figures of cut-outs, of candidates as lines of JSON and of histograms of microtimes, and what `inspect` says of them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tautline/core/error.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/pipeline/plot/plot_fixture.h"

namespace tautline::tests {
namespace {

namespace fs = std::filesystem;

class PlotSearchFiles : public Plot {
 protected:
  // One JSON object, with the fields that the guide lists.
  json inspected(const std::string& file, const std::string& schema) {
    const CommandResult result = run({"--json", "inspect", scratch / file});
    EXPECT_EQ(result.status, kDone) << result.err;
    const json held = json::parse(result.out, nullptr, false);
    if (!held.is_object()) return {};
    EXPECT_EQ(held["schema"], schema);
    const Keys listed = documented("`" + schema + "` 1");
    for (const auto& [key, unused] : held.items())
      EXPECT_TRUE(key == "schema" || key == "version" || listed.count(key) == 1) << key;
    return held;
  }
};

#ifdef TAUTLINE_HDF5
TEST_F(PlotSearchFiles, ACutOutHasThePulseInItsMiddleAtItsDm) {
  const double time_s = 1.5 + static_cast<double>(generator()() % 1000) * 1e-3;
  must({"simulate", "filterbank", "--nchans", "128", "--fch1", "1450", "--foff", "-2", "--tsamp",
        "5e-4", "--duration", "5", "--seed", std::to_string(generator()() % 100000), "--pulse",
        "dm=50,time=" + std::to_string(time_s) + ",width=0.003,snr=100", "-o", scratch / "a.fil"});
  must({"search", scratch / "a.fil", "-o", scratch / "c.csv", "--dms", "0:100:1", "--cutouts",
        scratch / "cut", "--max-cutouts", "1"});
  for (const auto& entry : fs::directory_iterator(scratch / "cut"))
    fs::copy_file(entry.path(), scratch / "cut.h5");
  const json held = inspected("cut.h5", "tautline.inspect.cutout");
  EXPECT_NEAR(held["time_s"], time_s, 0.03);
  EXPECT_EQ(held["channels"], 128);
  EXPECT_EQ(held["frequency_time"], json({256, 256}));
  const json described = drawn("cut.h5");
  EXPECT_EQ(described["panels"][2]["y"]["unit"], "pc cm\u207b\u00b3");
  const figure::Figure made = figure_of("cut.h5");
  const figure::Panel& profile = panel(made, "Dedispersed profile");
  const double width_ms = held["width_samples"].get<double>() * 0.5;
  ASSERT_EQ(profile.x.unit, "ms");
  EXPECT_NEAR(profile.x.high - profile.x.low, 256 * width_ms / 2, 1e-6);
  EXPECT_NEAR(peak_of(profile.lines.at(0)), 0, width_ms);
  const figure::Panel& band = panel(made, "Frequency against time");
  EXPECT_NEAR(band.y.low, 1450 - 2 * 127 - 1, 1e-9);
  EXPECT_NEAR(band.y.high, 1451, 1e-9);
  const figure::Panel& dms = panel(made, "DM against time");
  const auto& values = dms.image.values;
  const auto best =
      static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
  const double step = (dms.y.high - dms.y.low) / static_cast<double>(dms.image.rows);
  EXPECT_NEAR(dms.y.low + (static_cast<double>(best / dms.image.columns) + 0.5) * step, 50, 6);
  // Options of other files, and a file that lost its end.
  EXPECT_EQ(run({"plot", scratch / "cut.h5", "--start", "1"}).status, kWrongUsage);
  fs::resize_file(scratch / "cut.h5", fs::file_size(scratch / "cut.h5") / 2);
  for (const char* command : {"plot", "inspect"}) {
    const CommandResult broken = run({command, scratch / "cut.h5"});
    EXPECT_EQ(broken.status, kFailed) << broken.err;
    EXPECT_EQ(std::count(broken.err.begin(), broken.err.end(), '\n'), 1) << broken.err;
  }
}

// Of a pulse the lowest quarter of the band is left, and lies at the foot, whether channels rise or fall.
TEST_F(PlotSearchFiles, ACutOutsLowestFrequencyIsAtTheFoot) {
  for (const bool rising : {false, true}) {
    const std::string file = scratch / (rising ? "rising.fil" : "falling.fil");
    const std::string folder = scratch / (rising ? "rising" : "falling");
    must({"simulate", "filterbank", "--nchans", "128", "--fch1", rising ? "1196" : "1450", "--foff",
          rising ? "2" : "-2", "--tsamp", "5e-4", "--duration", "4", "--seed",
          std::to_string(generator()() % 100000), "--pulse", "dm=50,time=2,width=0.02,snr=150",
          "-o", file});
    must({"search", file, "-o", folder + ".csv", "--dms", "0:100:1", "--cutouts", folder,
          "--max-cutouts", "1", "--ignorechan", rising ? "32:127" : "0:95"});
    for (const auto& entry : fs::directory_iterator(folder))
      fs::rename(entry.path(), folder + ".h5");
    const figure::Figure made = figure_of(rising ? "rising.h5" : "falling.h5");
    const figure::Image& image = panel(made, "Frequency against time").image;
    const auto best = std::max_element(image.values.begin(), image.values.end());
    const auto row = static_cast<std::size_t>(best - image.values.begin()) / image.columns;
    EXPECT_LT(row, image.rows / 4) << file;
  }
}
#endif

TEST_F(PlotSearchFiles, CandidatesAsLinesOfJsonAreThoseOfTheList) {
  simulate_pulse(2.1, 50);
  const CommandResult found = run({"--json", "search", scratch / "a.fil", "-o", scratch / "c.csv",
                                   "--dms", "0:100:2", "--events", scratch / "events.jsonl"});
  ASSERT_EQ(found.status, kDone) << found.err;
  write_file(scratch / "printed.jsonl", found.out);
  const figure::Figure list = figure_of("c.csv");
  const json summary = inspected("c.csv", "tautline.inspect.candidates");
  for (const char* name : {"events.jsonl", "printed.jsonl"}) {
    drawn(name);
    EXPECT_EQ(inspected(name, "tautline.inspect.candidates")["candidates"], summary["candidates"]);
    const figure::Figure made = figure_of(name);
    const figure::Line &of_list = panel(list, "Candidates").lines.at(0),
                       &line = panel(made, "Candidates").lines.at(0);
    ASSERT_EQ(line.x.size(), of_list.x.size());
    for (std::size_t k = 0; k < line.x.size(); ++k) {
      const auto same = std::find(of_list.x.begin(), of_list.x.end(), line.x[k]);
      ASSERT_NE(same, of_list.x.end()) << name << ": " << line.x[k];
    }
  }
  // A line that is still being written is not there yet; a damaged one is an error that names it.
  const std::string events = read_file(scratch / "events.jsonl");
  write_file(scratch / "growing.jsonl", events + events.substr(0, 100));
  EXPECT_EQ(figure_of("growing.jsonl").facts, figure_of("events.jsonl").facts);
  write_file(scratch / "bad.jsonl", events + events.substr(0, 100) + "\n");
  const CommandResult bad = run({"plot", scratch / "bad.jsonl"});
  EXPECT_EQ(bad.status, kFailed);
  const auto lines = std::count(events.begin(), events.end(), '\n');
  EXPECT_NE(bad.err.find("line " + std::to_string(lines + 1)), std::string::npos) << bad.err;
}

// Each at its time; lists that do not say how late candidates came have no such panel.
TEST_F(PlotSearchFiles, EventsHaveTheirLatency) {
  simulate_pulse(2.1, 50);
  const CommandResult found = run({"--json", "search", scratch / "a.fil", "-o", scratch / "c.csv",
                                   "--dms", "0:100:2", "--max-width", "0.02", "--latency", "1",
                                   "--threshold", "5", "--events", scratch / "events.jsonl"});
  ASSERT_EQ(found.status, kDone) << found.err;
  write_file(scratch / "printed.jsonl", found.out);
  const figure::Figure made = figure_of("events.jsonl");
  const figure::Panel& latency = panel(made, "Latency");
  EXPECT_EQ(figure::caption(latency.x), "time (s)");
  EXPECT_EQ(figure::caption(latency.y), "latency (s)");
  EXPECT_LE(latency.y.low, 0);
  const figure::Line& line = latency.lines.at(0);
  std::istringstream events(read_file(scratch / "events.jsonl"));
  std::vector<double> sorted;
  std::size_t k = 0;
  for (std::string text; std::getline(events, text); ++k) {
    const json one = json::parse(text);
    ASSERT_LT(k, line.x.size());
    EXPECT_EQ(line.x[k], one["time_s"].get<double>());
    EXPECT_EQ(line.y[k], one["latency_s"].get<double>());
    EXPECT_EQ(line.strength[k], one["snr"].get<double>());
    EXPECT_GE(latency.y.high, line.y[k]);
    sorted.push_back(line.y[k]);
  }
  ASSERT_GE(k, 1u);
  EXPECT_EQ(k, line.x.size());
  std::sort(sorted.begin(), sorted.end());
  const std::pair<std::string, std::string> fact{
      "latency", fmt::format("median {:.3g} s, largest {:.3g} s", sorted[k / 2], sorted.back())};
  EXPECT_NE(std::find(made.facts.begin(), made.facts.end(), fact), made.facts.end());
  for (const char* name : {"printed.jsonl", "c.csv"})
    for (const figure::Panel& one : figure_of(name).panels) EXPECT_NE(one.title, "Latency") << name;
}

TEST_F(PlotSearchFiles, AHistogramOfMicrotimesIsThatOfItsTags) {
  must({"simulate", "photons", "--sensors", "2", "--duration", "1", "--tags", "t3", "--lifetime",
        "3e-9", "--model", "diffusion:n=1,tau=1e-3,rate=2e4", "--seed",
        std::to_string(generator()() % 100000), "-o", scratch / "t.ptu"});
  must({"inspect", scratch / "t.ptu", "--tcspc", scratch / "h.csv"});
  drawn("h.csv");
  const figure::Panel of_tags = panel(figure_of("t.ptu"), "Photons within"),
                      made = panel(figure_of("h.csv"), "Photons within");
  ASSERT_EQ(made.lines.size(), 2u);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_EQ(made.lines[k].y, of_tags.lines.at(k).y);
    EXPECT_EQ(made.lines[k].name, of_tags.lines[k].name);
    for (std::size_t cell = 0; cell < made.lines[k].x.size(); ++cell)
      ASSERT_NEAR(made.lines[k].x[cell], of_tags.lines[k].x[cell], 1e-6);
  }
  EXPECT_EQ(made.y.unit, of_tags.y.unit);
  const json tags = json::parse(run({"--json", "inspect", scratch / "t.ptu"}).out),
             held = inspected("h.csv", "tautline.inspect.tcspc");
  ASSERT_EQ(held["detectors"].size(), 2u);
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_EQ(held["detectors"][k]["photons"], tags["detectors"][k]["photons"]);
  const std::string good = read_file(scratch / "h.csv");
  const std::size_t second = good.find('\n', good.find("\n0,") + 1);
  for (const std::string& damaged :
       {good.substr(0, second + 1) + "1e-11,5\n", good.substr(0, second + 1) + "1e-11,5,-1\n",
        good.substr(0, second + 1) + "1e-11,5,1.5\n", good.substr(0, good.find("\n0,") + 1)}) {
    write_file(scratch / "bad.csv", damaged);
    EXPECT_THROW(figure_of("bad.csv"), core::Error) << damaged.substr(second);
  }
}

// The receiver stops for half a second, and its level steps later.
TEST_F(PlotSearchFiles, GapsAndStepsOfLevelAreDrawn) {
  constexpr std::size_t kChannels = 64, kTimes = 10'000;
  must({"simulate",   "filterbank",
        "--nchans",   "64",
        "--fch1",     "1450",
        "--foff",     "-1",
        "--tsamp",    "5e-4",
        "--duration", "5",
        "--seed",     std::to_string(generator()() % 100000),
        "--pulse",    "dm=50,time=0.5,width=0.003,snr=60",
        "--pulse",    "dm=50,time=4.5,width=0.003,snr=60",
        "-o",         scratch / "a.fil"});
  std::string bytes = read_file(scratch / "a.fil");
  const std::size_t header = bytes.size() - kTimes * kChannels;
  for (std::size_t t = 4000; t < kTimes; ++t)
    for (std::size_t c = 0; c < kChannels; ++c) {
      char& value = bytes[header + t * kChannels + c];
      const int level = static_cast<unsigned char>(value) + (t >= 7500 ? 20 : 0);
      value = static_cast<char>(t < 5000 ? 7 : std::min(level, 255));
    }
  write_file(scratch / "a.fil", bytes);
  must({"search", scratch / "a.fil", "-o", scratch / "c.csv", "--dms", "0:100:1"});
  drawn("c.csv");
  const figure::Panel list = panel(figure_of("c.csv"), "Candidates");
  ASSERT_EQ(list.empty.size(), 2u);
  EXPECT_NEAR(list.empty[0].first, 2, 0.002);
  EXPECT_NEAR(list.empty[0].second, 2.5, 0.002);
  EXPECT_NEAR(list.empty[1].first, 3.75, 0.02);
  EXPECT_EQ(list.empty[1].second, list.empty[1].first);
  drawn("a.fil");
  const figure::Figure made = figure_of("a.fil");
  const figure::Panel& level = panel(made, "Mean over channels");
  ASSERT_EQ(level.empty.size(), 1u);
  EXPECT_NEAR(level.empty[0].first, list.empty[1].first, 0.002);
  const std::pair<std::string, std::string> fact{"steps of level", "1"};
  EXPECT_NE(std::ranges::find(made.facts, fact), made.facts.end());
  // Lists of other programs have no record, and a record of something else is none.
  fs::remove(scratch / "c.csv.json");
  EXPECT_TRUE(panel(figure_of("c.csv"), "Candidates").empty.empty());
  write_file(scratch / "c.csv.json", "[1]");
  EXPECT_TRUE(panel(figure_of("c.csv"), "Candidates").empty.empty());
}

}  // namespace
}  // namespace tautline::tests
