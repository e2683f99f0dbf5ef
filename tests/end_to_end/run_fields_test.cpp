// run: what fields of nodes say gives what the command's options give.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tautline/formats/visibility_reader.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

struct Written {
  std::vector<std::complex<float>> values;
  std::vector<std::int64_t> counts;
  formats::PhaseCentre centre;
};

class RunFields : public ::testing::Test {
 protected:
  CommandResult done(const std::vector<std::string>& arguments, const Variables& variables = {}) {
    CommandResult result = run_command(arguments, scratch.path().string(), variables);
    EXPECT_EQ(result.status, kDone) << result.err;
    return result;
  }
  static std::vector<std::string> with_fields(std::vector<std::string> arguments,
                                              const std::vector<std::string>& fields) {
    for (const std::string& field : fields) arguments.insert(arguments.end(), {"--set", field});
    return arguments;
  }
  static std::string example(const std::string& name) {
    return source_folder() + "/examples/pipelines/" + name;
  }
  Written written(const std::string& name) {
    Written all;
    const auto reader = formats::open_visibilities(scratch / name);
    all.centre = reader->description().phase_centre;
    for (std::size_t k = 0; k < reader->integrations(); ++k) {
      const formats::Integration one = reader->read(k);
      for (std::size_t c = 0; c < one.visibilities.extent(0); ++c)
        for (std::size_t b = 0; b < one.visibilities.extent(1); ++b) {
          all.values.push_back(one.visibilities(c, b));
          all.counts.push_back(one.counts(c, b));
        }
    }
    EXPECT_FALSE(all.values.empty());
    return all;
  }
  void expect_same_visibilities(const std::string& one, const std::string& other) {
    const Written a = written(one), b = written(other);
    EXPECT_TRUE(a.values == b.values);
    EXPECT_EQ(a.counts, b.counts);
    EXPECT_EQ(a.centre.name, b.centre.name);
    EXPECT_EQ(a.centre.ra_deg, b.centre.ra_deg);
    std::filesystem::remove(scratch / one);
    std::filesystem::remove(scratch / other);
  }
  void expect_same_bytes(const std::string& one, const std::string& other, std::size_t least) {
    const std::string a = read_file(scratch / one);
    EXPECT_GT(a.size(), least);
    EXPECT_TRUE(a == read_file(scratch / other)) << one << " and " << other << " differ";
  }

  ScratchFolder scratch;
};

class RunVoltages : public RunFields {
 protected:
  void SetUp() override {
    write_file(scratch / "in.dada", DadaFile{}.bytes());
    write_file(scratch / "array.toml",
               "name = \"test\"\nlatitude_deg = -26.7\nlongitude_deg = 116.7\naltitude_m = 377\n"
               "[[antenna]]\nenu_m = [0, 0, 0]\n[[antenna]]\nenu_m = [900, 200, 1]\n");
  }
  std::vector<std::string> pipeline(const std::vector<std::string>& fields = {},
                                    const std::string& device = "cpu") {
    return with_fields({"--device", device, "run", example("correlate.toml")}, [&] {
      std::vector<std::string> all{"voltages.files=" + (scratch / "in.dada"),
                                   "visibilities.path=" + (scratch / "run.uvh5"), "f.channels=16",
                                   "f.taps=4", "x.integration_s=0.004"};
      all.insert(all.end(), fields.begin(), fields.end());
      return all;
    }());
  }
  std::vector<std::string> command(const std::vector<std::string>& more = {},
                                   const std::string& device = "cpu") {
    std::vector<std::string> arguments{"--device",
                                       device,
                                       "correlate",
                                       scratch / "in.dada",
                                       "-o",
                                       scratch / "command.uvh5",
                                       "--channels",
                                       "16",
                                       "--taps",
                                       "4",
                                       "--integration",
                                       "0.004"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(RunVoltages, RotatesFringesAsTheCommandDoes) {
  const std::string array = scratch / "array.toml", place = "a place=182.1,-31.5";
  done(pipeline({"x.array_path=" + array, "x.phase_centre=" + place, "x.ut1_minus_utc_s=0.2",
                 "x.pole=0.1,0.3"}));
  done(command(
      {"--array", array, "--phase-center", place, "--ut1-utc", "0.2", "--pole", "0.1,0.3"}));
  EXPECT_EQ(written("run.uvh5").centre.name, "a place");
  const Written rotated = written("run.uvh5");
  expect_same_visibilities("run.uvh5", "command.uvh5");
  done(pipeline());
  EXPECT_FALSE(rotated.values == written("run.uvh5").values);
}

TEST_F(RunVoltages, RotatesByATableOfDelays) {
  std::string delays = "phase_centre = \"a place\"\nra_deg = 10.0\ndec_deg = -20.0\n";
  for (const int antenna : {0, 1})
    delays += "[[delay]]\nantenna = " + std::to_string(antenna) +
              "\npiece = [{ start = \"2026-03-20T13:59:00\", delay_s = " +
              std::to_string(antenna * 3.3e-6) + ", delay_rate = 1e-9 }]\n";
  write_file(scratch / "delays.toml", delays);
  const std::string path = scratch / "delays.toml";
  done(pipeline({"x.delays_path=" + path, "x.phase_centre=a place"}));
  done(command({"--delays", path, "--phase-center", "a place"}));
  expect_same_visibilities("run.uvh5", "command.uvh5");
  // Contradictory fields are refused.
  for (const std::vector<std::string>& fields :
       {std::vector<std::string>{"x.delays_path=" + path},
        {"x.phase_centre=a place"},
        {"f.delays_path=" + path, "x.delays_path=" + path, "x.phase_centre=a place"}}) {
    const CommandResult result = run_command(pipeline(fields), scratch.path().string());
    EXPECT_EQ(result.status, kWrongUsage) << result.err;
    EXPECT_NE(result.err.find("phase_centre"), std::string::npos) << result.err;
  }
}

TEST_F(RunVoltages, DrawsThePageOfTheCommand) {
  const std::string array = scratch / "array.toml";
  std::vector<std::string> arguments =
      pipeline({"x.array_path=" + array, "page.path=" + (scratch / "run.html")});
  arguments[3] = example("track.toml");
  done(arguments);
  done(command({"--array", array, "--phase-center", "Hydra A=139.52,-12.10", "--report",
                scratch / "command.html"}));
  EXPECT_EQ(written("run.uvh5").centre.name, "Hydra A");
  expect_same_visibilities("run.uvh5", "command.uvh5");
  // All but how they came about.
  const auto page = [&](const std::string& name) {
    std::string text = read_file(scratch / name);
    const std::size_t history = text.find("\"history\":");
    EXPECT_NE(history, std::string::npos) << name;
    return text.erase(history, text.find('}', history) - history);
  };
  EXPECT_GT(page("run.html").size(), 10000u);
  EXPECT_TRUE(page("run.html") == page("command.html"));
}

TEST_F(RunVoltages, WritesThePowerThatChannelizeDoes) {
  write_file(scratch / "power.toml",
             "[voltages]\ntype = \"voltage_files\"\nfiles = [\"" + (scratch / "in.dada") +
                 "\"]\n[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\nchannels = 16\n"
                 "requantise = \"off\"\n[power]\ntype = \"spectra_file\"\ninputs = \"f\"\n"
                 "integrate = 7\npath = \"" +
                 (scratch / "run.fil") + "\"\n");
  for (const char* stokes : {"I", "IQUV"}) {
    done({"--device", "cpu", "run", scratch / "power.toml", "--overwrite", "--set",
          std::string("power.stokes=") + stokes});
    done({"--device", "cpu", "channelize", scratch / "in.dada", "-o", scratch / "command.fil",
          "--overwrite", "--channels", "16", "--integrate", "7", "--stokes", stokes});
    expect_same_bytes("run.fil", "command.fil", 1000);
    auto one = nlohmann::json::parse(read_file(scratch / "run.fil.json"));
    auto other = nlohmann::json::parse(read_file(scratch / "command.fil.json"));
    one.erase("history");
    other.erase("history");
    EXPECT_EQ(one, other);
  }
  const CommandResult rounded =
      run_command({"run", scratch / "power.toml", "--check", "--set", "f.requantise=8", "--set",
                   "power.path=" + (scratch / "other.fil")},
                  scratch.path().string());
  EXPECT_EQ(rounded.status, kWrongUsage);
  EXPECT_NE(rounded.err.find("requantise"), std::string::npos) << rounded.err;
}

// PoCL shows the CPU as several devices when asked to.
TEST_F(RunVoltages, SharesTheWorkOfSeveralDevices) {
  if (device::opencl::device_count() == 0 || !device::opencl::is_host_cpu(0))
    GTEST_SKIP() << "PoCL is not the first OpenCL device";
  const Variables pocl{{"POCL_DEVICES", "pthread basic basic"}};
  // Blocks in turn; all of the filter bank on each; and channels of a channelized stream.
  DadaFile file;
  file.payload_bytes = 24 * 43690;
  for (const std::string form : {"8", "off", "fine", "fine, descending"}) {
    SCOPED_TRACE(form);
    const bool fine = form.starts_with("fine");
    file.nchan = fine ? "3" : "1";
    file.bw = form == "fine" ? "3.84" : fine ? "-3.84" : "1.28";
    write_file(scratch / "in.dada", file.bytes());
    const std::vector<std::string> fields =
        fine ? std::vector<std::string>{"f.fine=8", "voltages.block_samples=4000"}
             : std::vector<std::string>{"f.requantise=" + form, "voltages.block_samples=20000"};
    const std::vector<std::string> options = fine ? std::vector<std::string>{"--fine", "8"}
                                                  : std::vector<std::string>{"--requantize", form};
    std::vector<std::string> run = pipeline(fields, "opencl:0,opencl:1");
    // Of the same kind: rounding and floats differ in last bits between kinds.
    std::vector<std::string> alone = command(options, "opencl:0");
    if (fine) {  // the bank's channels are those inside a coarse one
      std::erase(run, "f.channels=16");
      run.erase(std::find(run.begin(), run.end(), "f.taps=4") - 2,
                std::find(run.begin(), run.end(), "f.taps=4") - 1);
      alone.erase(std::find(alone.begin(), alone.end(), "--channels"),
                  std::find(alone.begin(), alone.end(), "--channels") + 2);
    }
    run.push_back("--json");
    const CommandResult result = done(run, pocl);
    done(alone, pocl);
    expect_same_visibilities("run.uvh5", "command.uvh5");
    EXPECT_NE(result.out.find("f.1.sent_bytes"), std::string::npos) << result.out;
  }
}

class RunTrials : public RunFields {
 protected:
  void SetUp() override {
    done({"simulate", "filterbank", "--nchans", "32", "--fch1", "1500", "--foff", "-8", "--tsamp",
          "128e-6", "--duration", "3", "--pulse", "dm=40,time=2,width=0.004,snr=40", "-o",
          scratch / "obs.fil"});
  }
};

// An array has one sampling; a folder has a file for each trial.
TEST_F(RunTrials, SumsTrialsThatAreSampledDifferently) {
  const std::string dms = "0:2000:50";
  for (const char* folder : {"run", "command"}) std::filesystem::create_directory(scratch / folder);
  const auto arguments =
      with_fields({"--device", "cpu", "run", example("dedisperse.toml")},
                  {"filterbank.files=" + (scratch / "obs.fil"), "trials.dms.range=" + dms,
                   "trials.dms.downsample_tolerance=1.2", "series.format=dat"});
  done(with_fields(arguments, {"series.path=" + (scratch / "run")}));
  done({"--device", "cpu", "dedisperse", scratch / "obs.fil", "-o", scratch / "command", "--dms",
        dms, "--downsample-tolerance", "1.2", "--format", "dat"});
  const auto one = nlohmann::json::parse(read_file(scratch / "run/dedisperse.json"));
  const auto other = nlohmann::json::parse(read_file(scratch / "command/dedisperse.json"));
  ASSERT_GT(one["segments"].size(), 1u) << "one sampling only";
  for (const char* key : {"dms", "tsamp_s"}) EXPECT_EQ(one[key], other[key]) << key;
  ASSERT_EQ(one["segments"].size(), other["segments"].size());
  for (std::size_t k = 0; k < one["segments"].size(); ++k)
    for (const char* key : {"first_trial", "trials", "downsample", "samples"})
      EXPECT_EQ(one["segments"][k][key], other["segments"][k][key]) << k << " " << key;
  std::size_t series = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch / "command")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".dat")) continue;
    expect_same_bytes("run/" + name, "command/" + name, 100);
    ++series;
  }
  EXPECT_EQ(series, other["dms"].size());
  const CommandResult array = run_command(
      with_fields(arguments, {"series.format=npy", "series.path=" + (scratch / "run.npy")}),
      scratch.path().string());
  EXPECT_EQ(array.status, kWrongUsage);
  EXPECT_NE(array.err.find("sample times, expected one for all trials"), std::string::npos)
      << array.err;
}

TEST_F(RunTrials, ExpectsARateOfWhatItMeasured) {
  const CommandResult plan =
      done(with_fields({"run", example("search.toml"), "--plan"},
                       {"filterbank.files=" + (scratch / "obs.fil"), "pulses.dms.range=0:100:2",
                        "candidates.path=" + (scratch / "c.csv")}));
  for (const char* said : {"expected rate, measured", "  filterbank: ", "(reading)",
                           "  pulses: ", "not measured: candidates\n", "bound by ",
                           " x real time, ", " s for 3", "MB/s of input"})
    EXPECT_NE(plan.out.find(said), std::string::npos) << said << "\n" << plan.out;
  EXPECT_FALSE(std::filesystem::exists(scratch / "c.csv"));
}

TEST_F(RunTrials, PlansAreJsonToo) {
  const CommandResult told = done(
      with_fields({"--device", "cpu:portable", "--json", "run", example("search.toml"), "--plan"},
                  {"filterbank.files=" + (scratch / "obs.fil"), "pulses.dms.range=0:100:2",
                   "candidates.path=" + (scratch / "c.csv")}));
  const nlohmann::json plan = documented_in(told.out, "tautline.plan");
  ASSERT_EQ(plan["nodes"].size(), 3u);
  EXPECT_EQ(plan["nodes"][0]["node"], "filterbank");
  EXPECT_EQ(plan["nodes"][0]["outputs"][0]["kind"], "filterbank");
  EXPECT_NE(plan["nodes"][1]["kernels"].get<std::string>().find("portable"), std::string::npos)
      << plan["nodes"][1];
  ASSERT_EQ(plan["measured"].size(), 2u);
  EXPECT_EQ(plan["measured"][0]["node"], "filterbank");
  EXPECT_EQ(plan["measured"][0]["device"], "reading");
  EXPECT_EQ(plan["measured"][1]["node"], "pulses");
  const double reading = plan["measured"][0]["seconds_per_data_s"];
  EXPECT_GT(reading, 0);
  // Whichever takes longer.
  const double searching = plan["measured"][1]["seconds_per_data_s"];
  const double seconds = std::max(searching, reading);
  EXPECT_EQ(plan["bound_by"], seconds == reading ? "filterbank" : "pulses");
  EXPECT_NEAR(plan["expected_s"], seconds * plan["data_s"].get<double>(), 1e-9);
  EXPECT_NEAR(plan["expected_real_time_factor"].get<double>() * seconds, 1, 1e-9);
  EXPECT_EQ(plan["not_measured"], nlohmann::json({"candidates"}));
}

// In the output's folder, where nothing is left.
TEST_F(RunTrials, ExpectsWhatWritingTakes) {
  std::filesystem::create_directory(scratch / "series");
  const CommandResult told =
      done(with_fields({"--json", "run", example("dedisperse.toml"), "--plan"},
                       {"filterbank.files=" + (scratch / "obs.fil"), "trials.dms.range=0:100:2",
                        "series.path=" + (scratch / "series/x.npy")}));
  const nlohmann::json plan = nlohmann::json::parse(told.out);
  ASSERT_EQ(plan["measured"].size(), 3u) << plan["measured"];
  EXPECT_EQ(plan["measured"][0]["device"], "reading");
  EXPECT_EQ(plan["measured"][2]["node"], "series");
  EXPECT_EQ(plan["measured"][2]["device"], "writing");
  EXPECT_GT(plan["measured"][2]["seconds_per_data_s"], 0);
  EXPECT_TRUE(plan["not_measured"].empty());
  EXPECT_TRUE(std::filesystem::is_empty(scratch / "series"));
}

TEST_F(RunVoltages, ExpectsARateOfEachStage) {
  std::vector<std::string> arguments = pipeline({}, "cpu:portable");
  arguments.push_back("--plan");
  const CommandResult plan = done(arguments);
  for (const char* said : {"\nf on cpu: unpack portable", "\nx.sums on cpu: correlate portable",
                           "  f: ", "  x.sums: ", "  x: ", "  voltages: ", "(reading)",
                           "not measured: visibilities\n", "bound by ", " x real time"})
    EXPECT_NE(plan.out.find(said), std::string::npos) << said << "\n" << plan.out;
}

class RunFits : public RunFields {
 protected:
  void SetUp() override {
    done({"simulate", "photons", "--duration", "2", "--bin", "1e-5", "--seed", "3", "--shape",
          "2x2", "--sensors", "4", "--model", "diffusion:n=1,tau=2e-4,rate=2e5", "-o",
          scratch / "x.npy"});
  }
  // Without the lines that tell the history.
  std::string table(const std::string& name) {
    std::istringstream file(read_file(scratch / name));
    std::string text, line;
    while (std::getline(file, line))
      if (line.find("tautline ") == std::string::npos) text += line + "\n";
    return text;
  }
};

TEST_F(RunFits, FitsTheCurvesAsTheCommandDoes) {
  done(with_fields({"--device", "cpu", "run", example("fit.toml")},
                   {"counts.path=" + (scratch / "x.npy"), "counts.bin_s=1e-5", "curves.levels=6",
                    "file.path=" + (scratch / "run.h5"), "fit.path=" + (scratch / "run.csv"),
                    "fit.page=" + (scratch / "run.html"), "fit.waist_um=0.25"}));
  done({"--device", "cpu", "autocorrelate", scratch / "x.npy", "-o", scratch / "command.h5",
        "--bin", "1e-5", "--levels", "6"});
  done({"fit", scratch / "command.h5", "-o", scratch / "command.csv", "--model", "3d", "--waist",
        "0.25"});
  const std::string text = table("run.csv");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8)
      << text;  // of a model, counts, names and 4 curves
  EXPECT_EQ(text, table("command.csv"));
  EXPECT_GT(read_file(scratch / "run.html").size(), 10000u);
  const CommandResult plan =
      done(with_fields({"--device", "cpu", "run", example("fit.toml"), "--plan", "--overwrite"},
                       {"counts.path=" + (scratch / "x.npy"), "counts.bin_s=1e-5",
                        "file.path=" + (scratch / "run.h5"), "fit.path=" + (scratch / "run.csv")}));
  EXPECT_NE(plan.out.find("bound by curves ("), std::string::npos) << plan.out;
}

}  // namespace
}  // namespace tautline::tests
