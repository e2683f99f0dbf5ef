// A new user's slips: words that are no commands, files of another kind, names that collide.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "tautline/formats/npy/header.h"
#include "tests/end_to_end/command_test.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

class Slips : public CommandTest {
 protected:
  void expect_said(const std::vector<std::string>& arguments, int status,
                   const std::string& words) {
    const CommandResult result = run(arguments);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_TRUE(result.err.starts_with("tautline: ")) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << words << " in " << result.err;
  }
  CommandResult simulate_photons(const std::string& name) {
    return run({"simulate", "photons", "--duration", "0.01", "--model",
                "diffusion:n=1,tau=2e-4,rate=5e4", "-o", scratch / name});
  }
};

TEST_F(Slips, UnknownCommandsAreNamedBesideTheNearest) {
  expect_said({"serch", "in.fil"}, kWrongUsage,
              "serch: unknown command of tautline, perhaps search");
  expect_said({"--quiet", "corelate"}, kWrongUsage, "perhaps correlate");
  expect_said({"simulate", "filterbnk", "-o", "x"}, kWrongUsage,
              "filterbnk: unknown command of tautline simulate, perhaps filterbank");
  expect_said({"search", "x.fil", "--thresh", "3"}, kWrongUsage, "did you mean --threshold;");
  for (const char* of_several : {"--max", "--iqr"}) {
    const CommandResult vague = run({"search", "x.fil", of_several, "3"});
    EXPECT_EQ(vague.status, kWrongUsage);
    EXPECT_EQ(vague.err.find("--max-"), std::string::npos) << vague.err;
  }
  expect_said({"--nosuch"}, kWrongUsage, "--nosuch: unknown option");
  expect_said({}, kWrongUsage, "no command given after tautline;");
  const CommandResult far = run({"zzzzzzz"});
  EXPECT_EQ(far.status, kWrongUsage);
  EXPECT_NE(far.err.find("zzzzzzz"), std::string::npos) << far.err;
  EXPECT_EQ(far.err.find("perhaps"), std::string::npos) << far.err;
}

TEST_F(Slips, OptionsThatCannotBeReadAreErrorsLikeOthers) {
  expect_said({"search", "x.fil", "-o", "c.csv", "--threshold", "abc"}, kWrongUsage,
              "--threshold: abc, expected a number, above 0; tautline search --help");
  expect_said({"search", "x.fil", "-o", "c.csv", "--noise", "foo"}, kWrongUsage,
              "--noise: foo, expected trial or width");
}

TEST_F(Slips, HelpIsACommandToo) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, {"search"}, {"simulate", "photons"}}) {
    std::vector<std::string> command{"help"}, option = words;
    command.insert(command.end(), words.begin(), words.end());
    option.push_back("--help");
    const CommandResult said = run(command), expected = run(option);
    EXPECT_EQ(said.status, kDone);
    EXPECT_FALSE(expected.out.empty());
    EXPECT_EQ(said.out, expected.out);
  }
}

TEST_F(Slips, ATruthOfAnotherFileIsNamedAndKept) {
  ASSERT_EQ(simulate_photons("x.npy").status, kDone);
  const std::string truth = read_file(scratch / "x.truth.json");
  const CommandResult refused = simulate_photons("x.ptu");
  EXPECT_EQ(refused.status, kFailed);
  EXPECT_NE(refused.err.find("x.truth.json: output (the truth of "), std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("): it exists, as the truth of x.npy, expected a new name; give "
                             "--overwrite or an output whose name differs before its ending"),
            std::string::npos)
      << refused.err;
  EXPECT_FALSE(std::filesystem::exists(scratch / "x.ptu"));
  const std::vector<std::string> filterbank{
      "simulate", "filterbank", "--nchans", "4",          "--fch1", "1500", "--foff",
      "-1",       "--tsamp",    "0.001",    "--duration", "0.1",    "-o",   scratch / "x.fil"};
  expect_said(filterbank, kFailed, "it exists, as the truth of x.npy");
  EXPECT_EQ(read_file(scratch / "x.truth.json"), truth);
  // The same output again is refused by its own name.
  EXPECT_NE(simulate_photons("x.npy").err.find("x.npy: output: it exists"), std::string::npos);
  // A truth that says nothing.
  write_file(scratch / "x.truth.json", "\x01\x02");
  expect_said(filterbank, kFailed, "): it exists, expected a new name");
}

TEST_F(Slips, ADedispersionThatIsRefusedShowsNoPlan) {
  const std::string fil = scratch / "d.fil", out = scratch / "d.npy";
  ASSERT_EQ(run({"simulate", "filterbank", "--nchans", "4", "--fch1", "1500", "--foff", "-1",
                 "--tsamp", "0.001", "--duration", "1", "-o", fil})
                .status,
            kDone);
  const std::vector<std::string> dedisperse{"dedisperse", fil, "-o", out, "--dms", "0:20:1"};
  const CommandResult done = run(dedisperse);
  ASSERT_EQ(done.status, kDone) << done.err;
  EXPECT_NE(done.err.find("21 trials"), std::string::npos) << done.err;
  const auto refused_without_plan = [&](const std::vector<std::string>& words,
                                        const std::string& why) {
    const CommandResult refused = run(words);
    EXPECT_EQ(refused.status, kFailed) << refused.err;
    EXPECT_TRUE(refused.err.starts_with("tautline: ")) << refused.err;
    EXPECT_NE(refused.err.find(why), std::string::npos) << refused.err;
  };
  refused_without_plan(dedisperse, "d.npy: output: it exists");
  std::filesystem::remove(out);  // and not its record
  refused_without_plan(dedisperse, "d.npy.json: output: it exists");
  EXPECT_FALSE(std::filesystem::exists(out));
  refused_without_plan({"dedisperse", fil, "-o", scratch / "none/d.npy", "--dms", "0:20:1"},
                       "No such file or directory");
}

TEST_F(Slips, SimulationsThatTheDiskHasNoRoomForAreRefusedAtOnce) {
  const auto refused = [&](std::vector<std::string> words, const std::string& output,
                           const std::string& size, int status = kFailed) {
    words.insert(words.end(), {"-o", scratch / output});
    expect_said(words, status, size);
    EXPECT_FALSE(std::filesystem::exists(scratch / output));
  };
  refused({"simulate", "photons", "--duration", "1e7", "--bin", "1us", "--model",
           "diffusion:n=2,tau=200us,rate=1e4", "--sensors", "1000"},
          "x.npy", "x.npy: output: 10 PB, expected at most ");
  refused({"simulate", "photons", "--duration", "4e6", "--model",
           "diffusion:n=2,tau=200us,rate=1e6", "--sensors", "60"},
          "x.ptu", "x.ptu: output: 960 TB, expected at most ");
  const std::string demo = TAUTLINE_SOURCE_DIR "/examples/demo/";
  // Before the tracks of its sources, which no memory holds.
  refused({"simulate", "voltages", "--array", demo + "array.toml", "--scene", demo + "scene.toml",
           "--duration", "1e12"},
          "x.dada", "which the disk has left; a shorter --duration takes less");
  const std::vector<std::string> filterbank{"simulate", "filterbank", "--nchans", "256",
                                            "--fch1",   "1500",       "--foff",   "-1",
                                            "--tsamp",  "1us"};
  const auto lasting = [&](const std::string& duration_s) {
    auto words = filterbank;
    words.insert(words.end(), {"--duration", duration_s});
    return words;
  };
  refused(lasting("1e8"), "x.fil", "x.fil: output: 25.6 PB, expected at most ");
  refused(lasting("1e10"), "x.fil", "expected at most 1e+09 s, 1e+15 samples of 1e-06 s",
          kWrongUsage);
}

TEST_F(Slips, ADashIsNoNameOfAnOutput) {
  const std::string refusal = "output: -, expected the name of a file";
  for (const bool overwrite : {false, true}) {
    std::vector<std::string> words{"simulate", "photons", "--duration",
                                   "0.01",     "--model", "diffusion:n=1,tau=2e-4,rate=5e4",
                                   "-o",       "-"};
    if (overwrite) words.push_back("--overwrite");
    expect_said(words, kWrongUsage, refusal);
  }
  EXPECT_FALSE(std::filesystem::exists("-"));
  EXPECT_FALSE(std::filesystem::exists("-.truth.json"));
}

TEST_F(Slips, PulsesOutsideTheFileAreRefusedAndThoseCutAreAWarning) {
  const auto simulate = [&](const std::string& time_s) {
    return run({"simulate", "filterbank", "--nchans", "4", "--fch1", "1500", "--foff", "-1",
                "--tsamp", "0.001", "--duration", "1", "--pulse",
                "dm=1,width=0.005,snr=20,time=" + time_s, "--overwrite", "-o", scratch / "x.fil"});
  };
  const CommandResult outside = simulate("20"), cut = simulate("1"), whole = simulate("0.5");
  EXPECT_EQ(outside.status, kWrongUsage);
  EXPECT_NE(outside.err.find("time: 20 s, expected a pulse with a part in the data, 0 to 1 s; give "
                             "another time, or a longer --duration"),
            std::string::npos)
      << outside.err;
  EXPECT_NE(cut.err.find("1 pulse is only in part in the file"), std::string::npos) << cut.err;
  EXPECT_EQ(whole.err, "");
}

TEST_F(Slips, AFolderThatIsNoWholeMeasurementSetIsSaidToBeOne) {
  std::filesystem::create_directory(scratch / "v.ms");
  expect_said({"inspect", scratch / "v.ms"}, kFailed, "a folder, expected a file");
  write_file(scratch / "v.ms/table.dat", "x");
  expect_said({"inspect", scratch / "v.ms"}, kFailed, "Measurement Set");
}

#ifdef TAUTLINE_HDF5
TEST_F(Slips, AReportOfAnotherKindOfFileSaysWhichItSeemsToBe) {
  write_file(scratch / "v.dada", DadaFile{}.bytes());
  write_file(scratch / "v.csv", "lag,g\n1,2\n");
  std::filesystem::create_directory(scratch / "set");
  write_file(scratch / "set/table.dat", "x");
  const std::pair<std::string, std::string> cases[] = {
      {"v.dada", "DADA voltages"}, {"v.csv", "text"}, {"set", "a Measurement Set (a folder)"}};
  for (const auto& [name, kind] : cases)
    expect_said({"report", scratch / name, "-o", scratch / "v.html"}, kFailed,
                name + ": seems to be " + kind + ", expected UVH5 visibilities");
  // A file that is HDF5 by its first bytes is damaged.
  write_file(scratch / "v.uvh5", "\x89HDF\r\n\x1a\n");
  expect_said({"report", scratch / "v.uvh5", "-o", scratch / "v.html"}, kFailed,
              "it may be cut short");
}

TEST_F(Slips, CompareOfSwappedFilesSaysSoAndTonesLeaveNoPowerRatio) {
  const std::string demo = TAUTLINE_SOURCE_DIR "/examples/demo/";
  write_file(scratch / "scene.toml", read_file(demo + "scene.toml") +
                                         "\n[[tone]]\nfrequency_hz = 1420.5e6\namplitude = 0.5\n");
  ASSERT_EQ(run({"simulate", "voltages", "--array", demo + "array.toml", "--scene",
                 scratch / "scene.toml", "--duration", "0.1", "-o", scratch / "v.dada"})
                .status,
            kDone);
  ASSERT_EQ(run({"correlate", scratch / "v.dada", "--array", demo + "array.toml", "--integration",
                 "0.05", "-o", scratch / "v.uvh5"})
                .status,
            kDone);
  expect_said({"compare", scratch / "v.truth.json", scratch / "v.uvh5"}, kWrongUsage,
              "v.truth.json: a truth, expected visibilities or candidates first, then their truth; "
              "swap them: tautline compare ");
  const CommandResult compared =
      run({"--json", "compare", scratch / "v.uvh5", scratch / "v.truth.json"});
  const auto found = nlohmann::json::parse(compared.out, nullptr, false);
  ASSERT_TRUE(found.is_object()) << compared.out << compared.err;
  EXPECT_TRUE(found["power_ratio"].is_null()) << compared.out;
  // Powers alone have nothing to compare; a truth of something else and other visibilities are named.
  ASSERT_EQ(run({"correlate", scratch / "v.dada", "--array", demo + "array.toml", "--integration",
                 "0.05", "--autos-only", "-o", scratch / "autos.uvh5"})
                .status,
            kDone);
  expect_said({"compare", scratch / "autos.uvh5", scratch / "v.truth.json"}, kWrongUsage,
              "no valid product of two antennas, expected cross products; correlate without "
              "--autos-only");
  write_file(scratch / "x.truth.json",
             "{\n \"schema\": \"tautline.simulation.filterbank\",\n \"version\": 1\n}\n");
  expect_said({"compare", scratch / "v.uvh5", scratch / "x.truth.json"}, kFailed,
              "this is the truth of a simulated filterbank");
  expect_said({"compare", scratch / "v.uvh5", scratch / "autos.uvh5"}, kFailed,
              "kind of file: visibilities (UVH5), expected the .truth.json that simulate wrote");
}
#endif

// Voltages in an array, whose rate, band and axes the user gives.
class SlipsOfArrays : public Slips {
 protected:
  void write_array(const std::vector<std::uint64_t>& shape) {
    std::size_t bytes = 1;
    for (const std::uint64_t extent : shape) bytes *= extent;
    std::string noise(bytes, '\0');
    for (char& byte : noise) byte = static_cast<char>(random() % 41) - 20;
    write_file(scratch / "x.npy", formats::npy::format_header("|i1", shape) + noise);
  }
  std::vector<std::string> correlate(const std::string& file,
                                     const std::vector<std::string>& more) {
    std::vector<std::string> words{"correlate", scratch / file, "-o", scratch / "v.uvh5",
                                   "--overwrite"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::mt19937_64 random = generator();
};

TEST_F(SlipsOfArrays, RatesAndBandsThatCannotBeAreRefused) {
  write_array({4, 4000, 2});
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--format", "ci8", "--rate-hz", "1e6", "--channels", "16"});
    return correlate("x.npy", more);
  };
  expect_said(with({"--centre-hz", "1420.4"}), kWrongUsage,
              "--centre-hz: 1420.4 Hz, expected at least half of the band of 1000000 Hz; a number "
              "without a unit is hertz: 1420.4MHz");
  expect_said(with({"--centre-hz", "1420.4e6MHz"}), kWrongUsage,
              "--centre-hz: 1.4204e+15 Hz, expected at most 10 THz");
  expect_said(with({"--centre-hz", "1e9", "--utc-start", "2026-03-20-25:00:00"}), kWrongUsage,
              "an hour of 0 to 23");
  expect_said(with({"--centre-hz", "1e9", "--bandwidth-hz", "2e6"}), kWrongUsage,
              "--bandwidth-hz: 2000000 Hz, expected 1000000 Hz, that of complex samples at 1000000 "
              "Hz (--rate-hz); leave it out");
  expect_said(with({"--centre-hz", "1e9", "--bandwidth-hz", "-1"}), kWrongUsage,
              "of a lower sideband give -1000000");
#ifdef TAUTLINE_HDF5
  for (const std::vector<std::string>& good :
       {std::vector<std::string>{"--centre-hz", "1e9", "--bandwidth-hz", "-1e6"},
        {"--centre-hz", "500kHz"},
        {"--centre-hz", "1e9", "--bandwidth-hz", "1MHz"}}) {
    const CommandResult result = run(with(good));
    EXPECT_EQ(result.status, kDone) << result.err;
  }
#endif
}

TEST_F(SlipsOfArrays, ARateWithoutAUnitMayBeOneOfMegahertz) {
  write_array({4, 4000, 2});
  const auto with = [&](const std::string& rate) {
    return correlate("x.npy", {"--format", "ci8", "--channels", "16", "--integration", "1000",
                               "--rate-hz", rate});
  };
  for (const std::string rate : {"1.28", "999"})
    expect_said(with(rate), kWrongUsage,
                "--rate-hz: " + rate + ", expected 1000 or more, or a number with its unit: " +
                    rate + "MHz, or " + rate + "Hz if that is meant");
#ifdef TAUTLINE_HDF5
  for (const std::string rate : {"1.28MHz", "100Hz", "1000"}) {
    const CommandResult result = run(with(rate));
    EXPECT_EQ(result.status, kDone) << result.err;
  }
#endif
}

#ifdef TAUTLINE_HDF5
TEST_F(SlipsOfArrays, IntegrationsThatReadersTakeForOneTimeAreNamed) {
  write_array({4, 4000, 2});
  const auto with = [&](const std::string& integration, const std::string& averaged) {
    const CommandResult result =
        run(correlate("x.npy", {"--format", "ci8", "--channels", "16", "--rate-hz", "1MHz",
                                "--integration", integration, "--average-time", averaged}));
    EXPECT_EQ(result.status, kDone) << result.err;
    return result.err.find(
               "integrations of 32 us: pyuvdata cannot tell times apart that are closer "
               "than 40 us") != std::string::npos;
  };
  EXPECT_TRUE(with("32us", "1"));
  EXPECT_TRUE(with("16us", "2"));
  EXPECT_FALSE(with("48us", "1"));
  EXPECT_FALSE(with("32us", "2"));
}
#endif

TEST_F(SlipsOfArrays, ARateThatARecordContradictsIsUsedAndSaid) {
  write_array({4, 4000, 2});
  ASSERT_EQ(run({"channelize", scratch / "x.npy", "-o", scratch / "s.npy", "--format", "ci8",
                 "--rate-hz", "1e6", "--centre-hz", "1e9", "--channels", "16"})
                .status,
            kDone);
#ifdef TAUTLINE_HDF5
  EXPECT_EQ(run(correlate("s.npy", {"--rate-hz", "62500"})).err.find("as given"),
            std::string::npos);
  const CommandResult other = run(correlate("s.npy", {"--rate-hz", "2e6"}));
  EXPECT_EQ(other.status, kDone) << other.err;
  EXPECT_NE(other.err.find("--rate-hz: 2000000 Hz as given, though " + scratch / "s.npy" +
                           ".json says 62500 Hz"),
            std::string::npos)
      << other.err;
#endif
}

TEST_F(SlipsOfArrays, TimesBeforeInputsAreToldToBeTransposed) {
  write_array({5000, 4, 2});
  expect_said(correlate("x.npy", {"--format", "ci8", "--rate-hz", "1e6"}), kFailed,
              "(5000, 4, 2), expected [input][time]; this is 5000 inputs of 4 samples; an array of "
              "[time][input] has to be transposed");
}

TEST_F(SlipsOfArrays, AnotherFormatThanTheArraysIsRefused) {
  write_array({4, 5000, 2});
  expect_said(correlate("x.npy", {"--format", "cf32", "--rate-hz", "1e6"}), kWrongUsage,
              "--format: cf32, expected ci8, which the array of ");
}

TEST_F(SlipsOfArrays, CountsOfSensorsBeforeTimesAreToldToBeTransposed) {
  write_file(scratch / "c.npy",
             formats::npy::format_header("|u1", {8, 3'000'000}) + std::string(24'000'000, '\1'));
  expect_said(
      {"autocorrelate", scratch / "c.npy", "-o", scratch / "g.h5", "--bin", "1us", "--memory",
       "64M"},
      kWrongUsage,
      "these are 3000000 sensors of 8 samples, [time][sensor]: an array of [sensor][time] has "
      "to be transposed, numpy.save(\"x.npy\", x.T); else give --memory ");
}

// A run of a pipeline warns of what is not known as correlate does, and a picture does not make it up.
#ifdef TAUTLINE_HDF5
TEST_F(SlipsOfArrays, WhatIsNotKnownIsSaidByEveryCommand) {
  write_array({4, 4000, 2});
  const CommandResult command = run(correlate(
      "x.npy", {"--format", "ci8", "--rate-hz", "1MHz", "--channels", "16", "--integration", "1"}));
  write_file(scratch / "run.toml", correlate_pipeline(scratch / "x.npy", scratch / "r.uvh5",
                                                      "channels = 16\n", "integration_s = 1\n"));
  const CommandResult pipeline = run({"run", scratch / "run.toml", "--set", "voltages.format=ci8",
                                      "--set", "voltages.rate_hz=1MHz"});
  for (const CommandResult& result : {command, pipeline}) {
    EXPECT_EQ(result.status, kDone) << result.err;
    for (const char* words : {"does not say the sky frequency: frequencies are written as if",
                              "does not say when it begins: times are written from 1970-01-01",
                              "antenna positions are unknown and written as zero"})
      EXPECT_NE(result.err.find(words), std::string::npos) << words << " in " << result.err;
  }
  const CommandResult drawn = run({"plot", scratch / "x.npy", "--format", "ci8", "--rate-hz",
                                   "1MHz", "-o", scratch / "x.html"});
  ASSERT_EQ(drawn.status, kDone) << drawn.err;
  const std::string page = read_file(scratch / "x.html");
  EXPECT_EQ(page.find("1970-01-01"), std::string::npos);
  EXPECT_NE(page.find("not known"), std::string::npos);
}
#endif

// A truth by a pipe is one as by its name; in place of data it is named.
TEST_F(Slips, TruthsAreNamedForWhatTheyAre) {
  const std::string csv = scratch / "a.csv", truth = scratch / "a.truth.json";
  ASSERT_EQ(run({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff", "-10",
                 "--tsamp", "0.001", "--duration", "2", "--pulse", "dm=20,time=1,width=0.01,snr=30",
                 "-o", scratch / "a.fil"})
                .status,
            kDone);
  ASSERT_EQ(run({"search", scratch / "a.fil", "-o", csv, "--dms", "0:40:5"}).status, kDone);
  const CommandResult by_name = run({"compare", csv, truth});
  const CommandResult by_pipe = run_shell(
      "cat '" + truth + "' | " + command_line({"compare", csv, "-"}), scratch.path().string());
  EXPECT_EQ(by_name.status, kDone) << by_name.err;
  EXPECT_EQ(by_pipe.status, kDone) << by_pipe.err;
  EXPECT_EQ(by_pipe.out, by_name.out);
  expect_said({"search", truth, "-o", scratch / "b.csv", "--dms", "0:10"}, kFailed,
              "this is the truth of a simulated filterbank: compare takes it behind");
}

TEST_F(Slips, AnInterruptedCommandIsNotCalledARun) {
  const CommandResult result = run_shell(
      "sleep 2 | timeout -s INT 0.5 '" + command_path() + "' search - -o c.csv --dms 0:10",
      scratch.path().string());
  EXPECT_NE(result.err.find("tautline: interrupted; nothing was made of standard input"),
            std::string::npos)
      << result.err;
}

TEST_F(Slips, InspectNamesTheOptionOfASearch) {
  write_file(scratch / "v.dada", DadaFile().bytes());
  ASSERT_EQ(run({"channelize", scratch / "v.dada", "-o", scratch / "x.fil", "--channels", "16",
                 "--stokes", "IQUV"})
                .status,
            kDone);
  const CommandResult result = run({"inspect", scratch / "x.fil"});
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_NE(result.err.find("I alone is taken; a search takes others with --ifs"),
            std::string::npos)
      << result.err;
}

TEST_F(Slips, TypesOfNodesAreListedByName) {
  const CommandResult one = run({"run", "--types", "correlator"});
  EXPECT_EQ(one.status, kDone) << one.err;
  EXPECT_TRUE(one.out.starts_with("correlator: ")) << one.out;
  EXPECT_EQ(one.out.find("filter_bank: "), std::string::npos) << one.out;
  expect_said({"run", "--types", "corelator"}, kWrongUsage,
              "expected with --types a type of nodes");
}

TEST_F(Slips, ABinThatTheTruthContradictsIsUsedAndSaid) {
  ASSERT_EQ(simulate_photons("x.npy").status, kDone);
  const auto correlated = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"autocorrelate", scratch / "x.npy", "-o", scratch / "g.csv",
                                   "--overwrite",   "--levels",        "2"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run(words);
    EXPECT_EQ(result.status, kDone) << result.err;
    return result.err;
  };
  EXPECT_EQ(correlated({}).find("as given"), std::string::npos);
  const std::string said = correlated({"--bin", "50us"});
  EXPECT_NE(said.find("--bin: 5e-05 s as given, though bins are of "), std::string::npos) << said;
  EXPECT_NE(said.find(" s, as " + (scratch / "x.truth.json") + " says; "), std::string::npos)
      << said;
}

TEST_F(Slips, TwoListsOfCandidatesAreNotCompared) {
  for (const char* name : {"a.csv", "b.csv"})
    write_file(scratch / name, "snr,time_s,sample\n9,0.1,100\n");
  expect_said({"compare", scratch / "a.csv", scratch / "b.csv"}, kWrongUsage,
              "tautline: " + (scratch / "b.csv") + ": a list of candidates, expected the X.truth");
  expect_said({"compare", scratch / "a.csv", scratch / "b.csv"}, kWrongUsage,
              "two lists are not compared: each is, with the truth");
}

}  // namespace
}  // namespace tautline::tests
