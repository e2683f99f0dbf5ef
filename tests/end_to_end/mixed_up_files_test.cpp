// Files and options that users take for each other: what was given is named, and what takes it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class MixedUp : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(scratch / "array.toml",
               "latitude_deg = 52.9\nlongitude_deg = 6.6\n[[antenna]]\nenu_m = [0, 0, 0]\n");
    write_file(scratch / "scene.toml", "name = \"sky\"\nbandwidth_hz = 1.28e6\nnoise_rms = 1\n");
    write_file(scratch / "burst.toml", "nchans = 16\nfch1_mhz = 1500\nfoff_mhz = -10\n");
    write_file(scratch / "delays.toml", "phase_centre = \"A\"\n[[delay]]\nantenna = 0\n");
    write_file(scratch / "pipeline.toml",
               "[voltages]\ntype = \"voltage_files\"\nfiles = \"in.dada\"\n");
    write_file(scratch / "in.dada", DadaFile().bytes());
    std::string bytes(9000, '\0');
    auto random = generator();
    for (char& c : bytes) c = static_cast<char>(random());
    bytes[0] = '\0';  // no text, whatever the others are
    write_file(scratch / "random.bin", bytes);
  }
  // One line with `words` in it, and no output.
  void refused(const std::vector<std::string>& arguments, int status, const std::string& words) {
    const CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, status) << words << ": " << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << words << " in " << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
      EXPECT_FALSE(entry.path().filename().string().starts_with("o.")) << entry.path();
  }
  std::vector<std::string> correlate(const std::string& option, const std::string& file) {
    return {"correlate", scratch / "in.dada", "-o", scratch / "o.uvh5", "--channels", "16",
            option,      scratch / file};
  }
  std::vector<std::string> simulate(const std::string& what, const std::string& scene) {
    std::vector<std::string> words{
        "simulate",   what,  "--scene", scratch / scene,
        "--duration", "0.1", "-o",      scratch / (what == "voltages" ? "o.dada" : "o.fil")};
    if (what == "voltages") words.insert(words.end(), {"--array", scratch / "array.toml"});
    return words;
  }
  ScratchFolder scratch;
};

TEST_F(MixedUp, CompressedFilesAreNamedWithHowToDecompressThem) {
  const std::string bytes = "\x1f\x8b\x08\x08" + std::string(6000, '\x5a');
  using Words = std::vector<std::string>;
  const auto told = [&](const std::string& name, Words words, const Words& behind = {}) {
    for (const std::string& file : {scratch / (name + ".gz"), scratch / name}) {
      write_file(file, bytes);
      Words all = words;
      all.push_back(file);
      all.insert(all.end(), behind.begin(), behind.end());
      const CommandResult result = run_command(all, scratch.path().string());
      EXPECT_NE(result.status, kDone) << name << " of " << words.front();
      const std::string how = file.ends_with(".gz") ? ": gunzip -k " + file : ", as gunzip -k does";
      for (const std::string& part : {std::string("gzip-compressed"), "decompress it first" + how})
        EXPECT_NE(result.err.find(part), std::string::npos)
            << part << " of " << file << " in " << words.front() << ": " << result.err;
      std::filesystem::remove(file);
    }
  };
  told("x.fil", {"search"}, {"--dms", "0:10", "-o", scratch / "o.csv"});
  told("x.dada", {"correlate"}, {"-o", scratch / "o.uvh5"});
  told("x.npy", {"autocorrelate"}, {"--bin", "1us", "-o", scratch / "o.csv"});
  told("x.uvh5", {"report"}, {"-o", scratch / "o.html"});
  told("g.h5", {"plot"});
  told("c.cand", {"plot"});
  for (const char* name : {"x.fil", "x.dada", "x.npy", "x.ptu", "g.csv"}) told(name, {"inspect"});
  told("array.toml", {"correlate", scratch / "in.dada", "-o", scratch / "o.uvh5", "--array"});
  // Raw counts may begin so, but not in a file that is named as compressed.
  write_file(scratch / "x.u8.gz", bytes);
  refused({"autocorrelate", scratch / "x.u8.gz", "-o", scratch / "o.csv", "--dtype", "u8",
           "--sensors", "1", "--bin", "1us"},
          kFailed, "gzip-compressed");
}

TEST_F(MixedUp, TomlOfAnotherKindIsNamedWithWhatTakesIt) {
  refused(correlate("--array", "scene.toml"), kFailed,
          "scene.toml: kind of file: a scene of voltages, expected an array of antennas; simulate "
          "voltages takes it as --scene");
  refused(correlate("--array", "delays.toml"), kFailed,
          "delays.toml: kind of file: a table of delays, expected an array of antennas; correlate "
          "and channelize take it as --delays");
  refused(correlate("--delays", "array.toml"), kFailed,
          "array.toml: kind of file: an array of antennas, expected a table of delays; correlate, "
          "delays and simulate voltages take it as --array");
  refused(correlate("--array", "pipeline.toml"), kFailed, "a pipeline, expected an array");
  refused(simulate("voltages", "array.toml"), kFailed,
          "an array of antennas, expected a scene of voltages; correlate, delays and simulate "
          "voltages take it as --array");
  refused(simulate("voltages", "burst.toml"), kFailed,
          "expected a scene of voltages; simulate filterbank takes it as --scene");
  refused(simulate("filterbank", "scene.toml"), kFailed,
          "expected a scene of a filterbank; simulate voltages takes it as --scene");
  // In a pipeline, a field of a node names such a file.
  const auto run = [&](const std::string& name, const std::string& words) {
    refused({"run", scratch / name}, kWrongUsage, words + " = \"" + (scratch / name) + "\"");
  };
  run("scene.toml",
      "a scene of voltages, expected a pipeline; in a pipeline, nodes of type simulated_voltages "
      "take it: scene_path");
  run("array.toml",
      "an array of antennas, expected a pipeline; in a pipeline, nodes of type filter_bank, "
      "correlator and simulated_voltages take it: array_path");
  run("delays.toml",
      "a table of delays, expected a pipeline; in a pipeline, nodes of type filter_bank and "
      "correlator take it: delays_path");
}

TEST_F(MixedUp, FilesThatAreNoTextAreRefusedForTomlAndMasks) {
  for (const char* option : {"--array", "--delays"})
    refused(correlate(option, "random.bin"), kFailed,
            "random.bin: kind of file: unknown, expected TOML, which is text");
  refused(correlate("--array", "in.dada"), kFailed,
          "in.dada: kind of file: DADA voltages, expected TOML, which is text; this is voltage "
          "data (DADA): correlate and channelize read it");
  refused(correlate("--array", "."), kFailed, "kind of file: a folder, expected TOML");
  for (const char* what : {"voltages", "filterbank"})
    refused(simulate(what, "random.bin"), kFailed, "kind of file: unknown, expected TOML");
  const CommandResult made =
      run_command({"simulate", "photons", "--sensors", "4", "--duration", "0.1", "--bin", "10us",
                   "--model", "diffusion:n=1,tau=2e-4,rate=5e5", "-o", scratch / "y.npy"},
                  scratch.path().string());
  ASSERT_EQ(made.status, kDone) << made.err;
  for (const auto& [mask, kind] : {std::pair{".", "a folder"}, {"random.bin", "unknown"}})
    refused({"autocorrelate", scratch / "y.npy", "-o", scratch / "o.h5", "--bin", "10us",
             "--sensor-mask", scratch / mask},
            kFailed, std::string("kind of file: ") + kind + ", expected a mask");
}

TEST_F(MixedUp, ACommandThatLacksSomethingSaysAllThatItNeeds) {
  refused({"compare"}, kWrongUsage,
          "tautline compare needs visibilities and truth, as in: tautline compare sky.uvh5 "
          "sky.truth.json; tautline compare --help");
  refused({"compare", scratch / "o.uvh5"}, kWrongUsage, "tautline compare needs truth, as in: ");
  refused({"delays", "--array", scratch / "array.toml", "A=05:34:31.9,+22:00:52"}, kWrongUsage,
          "tautline delays needs --name, --ra-deg, --dec-deg, --utc-start, --duration and "
          "--output, as in: tautline delays --array array.toml --name HydA ");
}

TEST_F(MixedUp, AnOptionThatNeedsAnotherIsNotTakenAlone) {
  const std::string fil = scratch / "x.fil";
  ASSERT_EQ(run_command({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff",
                         "-10", "--tsamp", "1ms", "--duration", "1", "-o", fil},
                        scratch.path().string())
                .status,
            kDone);
  const std::vector<std::string> search{"search", fil, "-o", scratch / "o.csv", "--dms", "1"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), search.begin(), search.end());
    return more;
  };
  refused(with({"--most-plots", "3"}), kWrongUsage,
          "--most-plots: given alone, expected only with --plot or --pictures");
  refused(with({"--max-cutouts", "3"}), kWrongUsage,
          "--max-cutouts: given alone, expected only with --cutouts");
  refused(with({"--max-beams", "3"}), kWrongUsage,
          "--max-beams: given alone, expected only with --beams");
  refused(with({"--ignorechan", "1,5:0"}), kWrongUsage,
          "--ignorechan: 1,5:0, expected a range from its lower channel to its higher, as 0:5");
  const CommandResult good =
      run_command(with({"--most-plots", "3", "--plot", scratch / "page", "--ignorechan", "0:5"}),
                  scratch.path().string());
  EXPECT_EQ(good.status, kDone) << good.err;
  EXPECT_NE(good.err.find("DM 1 to 1: 1 trial, "), std::string::npos) << good.err;
}

TEST_F(MixedUp, ArraysThatOtherCommandsWroteAreNoCounts) {
  const std::string fil = scratch / "x.fil", trials = scratch / "trials.npy",
                    spectra = scratch / "spectra.npy";
  const auto make = [&](const std::vector<std::string>& words) {
    const CommandResult made = run_command(words, scratch.path().string());
    ASSERT_EQ(made.status, kDone) << made.err;
  };
  make({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff", "-10", "--tsamp",
        "1ms", "--duration", "1", "-o", fil});
  make({"dedisperse", fil, "-o", trials, "--dms", "0:20:10"});
  make({"channelize", scratch / "in.dada", "-o", spectra, "--channels", "16"});
  const auto correlated = [&](const std::string& array) {
    return std::vector<std::string>{"autocorrelate", array, "-o", scratch / "o.h5", "--bin", "1us"};
  };
  refused(correlated(trials), kFailed,
          "trials.npy: kind of file: dedispersed series, expected counts of photons; search and "
          "plot read it");
  refused(correlated(spectra), kFailed,
          "spectra.npy: kind of file: channelized voltages, expected counts of photons");
  refused({"correlate", trials, "-o", scratch / "o.uvh5", "--channels", "16"}, kFailed,
          "trials.npy: kind of file: dedispersed series, expected voltages; search and plot read "
          "it");
  refused({"channelize", trials, "-o", scratch / "o.npy", "--channels", "16"}, kFailed,
          "trials.npy: kind of file: dedispersed series, expected voltages; search and plot read "
          "it");
  // The record of another array is told by its absence.
  std::filesystem::remove(trials + ".json");
  const CommandResult taken = run_command(correlated(trials), scratch.path().string());
  EXPECT_EQ(taken.status, kDone) << taken.err;
}

TEST_F(MixedUp, TextIsNoRawCountsUnlessATypeIsGiven) {
  write_file(scratch / "x.truth.json", "{\"schema\": \"a\"}");
  refused({"autocorrelate", scratch / "x.truth.json", "-o", scratch / "o.h5", "--bin", "1us"},
          kFailed, "x.truth.json: kind of file: JSON, expected ");
  refused({"autocorrelate", scratch / "random.bin", "-o", scratch / "o.h5", "--bin", "1us"},
          kWrongUsage, "random.bin: type of the counts: unknown");
  refused({"plot", scratch / "random.bin", "-o", scratch / "o.png"}, kFailed,
          "of raw counts give --dtype and --sensors; inspect says what files hold");
  write_file(scratch / "tuning-dedisperse.json", R"({"schema":"tautline.tuning","version":1})");
  refused({"plot", scratch / "tuning-dedisperse.json", "-o", scratch / "o.png"}, kFailed,
          "open the page (.html) that lies beside it");
}

TEST_F(MixedUp, ACurveThatIsNotInTheFileIsNamedByItsOption) {
  write_file(scratch / "g.csv", "1e-6,0.5\n2e-6,0.4\n");
  const std::vector<std::string> compare{"compare", scratch / "g.csv", scratch / "g.csv"};
  for (const char* option : {"--curve", "--other-curve"}) {
    std::vector<std::string> words = compare;
    words.insert(words.end(), {option, "1"});
    refused(words, kWrongUsage, std::string(option) + ": 1, expected 0, the only curve of ");
  }
}

TEST_F(MixedUp, CurvesThatAreNotComparedAreNamed) {
  std::string counts(20'000, '\0');
  auto random = generator();
  for (char& c : counts) c = static_cast<char>(random() % 3);
  write_file(scratch / "two.bin", counts);
  ASSERT_EQ(run_command({"autocorrelate", scratch / "two.bin", "-o", scratch / "two.h5", "--bin",
                         "1ms", "--dtype", "u8", "--sensors", "2"},
                        scratch.path().string())
                .status,
            kDone);
  for (const bool chosen : {false, true}) {
    std::vector<std::string> words{"compare", scratch / "two.h5", scratch / "two.h5"};
    if (chosen) words.insert(words.end(), {"--curve", "1", "--other-curve", "1"});
    const CommandResult said = run_command(words, scratch.path().string());
    EXPECT_EQ(said.status, kDone) << said.err;
    EXPECT_EQ(said.err.find("only the first curve of either file is compared") != std::string::npos,
              !chosen)
        << said.err;
  }
}

TEST_F(MixedUp, FilesWithoutDataAreDamaged) {
  write_file(scratch / "c.csv", "");
  const std::string fil = scratch / "x.fil", empty = scratch / "header.fil";
  ASSERT_EQ(run_command({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff",
                         "-10", "--tsamp", "1ms", "--duration", "1", "-o", fil},
                        scratch.path().string())
                .status,
            kDone);
  const std::string whole = read_file(fil), end = "HEADER_END";
  write_file(empty, whole.substr(0, whole.find(end) + end.size()));
  refused({"inspect", scratch / "c.csv"}, kDamaged, "c.csv: 0 bytes, without the heading");
  refused({"inspect", empty}, kDamaged, "header.fil: no samples behind its header");
}

TEST_F(MixedUp, WhatAHeaderLeavesEmptyIsNotPrinted) {
  const std::string fil = scratch / "x.fil";
  ASSERT_EQ(run_command({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff",
                         "-10", "--tsamp", "1ms", "--duration", "1", "-o", fil},
                        scratch.path().string())
                .status,
            kDone);
  const CommandResult said = run_command({"inspect", fil}, scratch.path().string());
  EXPECT_NE(said.out.find("\n  source      simulated\n"), std::string::npos) << said.out;
  EXPECT_EQ(said.out.find("machine"), std::string::npos) << said.out;
  const CommandResult array =
      run_command({"inspect", scratch / "array.toml"}, scratch.path().string());
  EXPECT_NE(array.out.find("2 inputs (x and y of each: no feeds are listed), or one of each"),
            std::string::npos)
      << array.out;
}

#ifdef TAUTLINE_HDF5
TEST_F(MixedUp, Hdf5IsNamedByWhatItHolds) {
  const auto make = [&](const std::vector<std::string>& words) {
    const CommandResult made = run_command(words, scratch.path().string());
    ASSERT_TRUE(made.status == kDone || made.status == kDamaged) << made.err;
  };
  const std::string fil = scratch / "x.fil", curves = scratch / "g.h5", v = scratch / "v.uvh5";
  make({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff", "-10", "--tsamp",
        "1ms", "--duration", "4", "--pulse", "dm=20,time=2,width=4e-3,snr=30", "-o", fil});
  make({"search", fil, "-o", scratch / "c.csv", "--dms", "0:40", "--cutouts", scratch / "cut",
        "--max-cutouts", "1"});
  make({"simulate", "photons", "--duration", "0.1", "--bin", "10us", "--model",
        "diffusion:n=1,tau=2e-4,rate=5e5", "-o", scratch / "y.npy"});
  make({"autocorrelate", scratch / "y.npy", "--bin", "10us", "-o", curves});
  make({"correlate", scratch / "in.dada", "-o", v, "--channels", "16"});
  const std::string cutout = std::filesystem::directory_iterator(scratch / "cut")->path().string();
  ASSERT_TRUE(cutout.ends_with(".h5")) << cutout;
  const auto fit = [&](const std::string& file) {
    return std::vector<std::string>{"fit", file, "-o", scratch / "o.csv", "--model", "3d"};
  };
  const auto autocorrelate = [&](const std::string& file) {
    return std::vector<std::string>{"autocorrelate", file, "-o", scratch / "o.h5"};
  };
  refused(autocorrelate(curves), kFailed,
          curves +
              ": kind of file: correlation curves (HDF5), expected Photon-HDF5 (.h5, .hdf5); "
              "fit, compare and inspect read them");
  refused(autocorrelate(cutout), kFailed,
          cutout +
              ": kind of file: a cut-out of a candidate (HDF5), expected Photon-HDF5 (.h5, "
              ".hdf5); plot and inspect read it");
  refused(fit(cutout), kFailed, cutout + ": kind of file: a cut-out of a candidate (HDF5), ");
  refused({"report", curves, "-o", scratch / "o.html"}, kFailed,
          curves + ": kind of file: correlation curves (HDF5), expected UVH5 visibilities");
  refused({"search", curves, "-o", scratch / "o.csv", "--dms", "1"}, kFailed,
          curves + ": kind of file: correlation curves (HDF5), expected ");
  // Cut short, nothing says what it was.
  for (const std::string& file : {cutout, curves, v}) {
    const std::string bytes = read_file(file), half = file + ".half.h5";
    write_file(half, bytes.substr(0, bytes.size() / 2));
    for (const auto& words : {std::vector<std::string>{"inspect", half},
                              {"plot", half, "-o", scratch / "o.html"},
                              fit(half),
                              autocorrelate(half)})
      refused(words, kFailed,
              half + ": HDF5 that cannot be read, expected a whole file; it may be cut short");
  }
}
#endif

TEST_F(MixedUp, OneOfAThingIsNotSeveral) {
  DadaFile one;
  one.nant = one.npol = "1";
  write_file(scratch / "in.dada", one.bytes());
  const CommandResult said = run_command({"inspect", scratch / "in.dada"}, scratch.path().string());
  ASSERT_EQ(said.status, kDone) << said.err;
  EXPECT_NE(said.out.find(" of 1 input (1 antenna x 1 polarisation), 1 channel\n"),
            std::string::npos)
      << said.out;
}

}  // namespace
}  // namespace tautline::tests
