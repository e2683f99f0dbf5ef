// First mistakes of new users: the message says what is wrong and what to do.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/end_to_end/command_test.h"
#include "tests/end_to_end/documented_json.h"

namespace tautline::tests {
namespace {

class FirstTries : public CommandTest {
 protected:
  void expect_said(const std::vector<std::string>& arguments, int status, const std::string& words,
                   const Variables& variables = {}) {
    const CommandResult result = run(arguments, variables);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << words << " in " << result.err;
    // One line, and nothing before it that has nothing to do with it.
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.err.find("18446744073709551"), std::string::npos) << result.err;
  }
  std::string filterbank(const std::string& duration_s = "1") {
    const std::string path = scratch / "x.fil";
    const CommandResult made =
        run({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff", "-10",
             "--tsamp", "0.001", "--duration", duration_s, "--overwrite", "-o", path});
    EXPECT_EQ(made.status, kDone) << made.err;
    return path;
  }
};

TEST_F(FirstTries, NegativeNumbersAreShownAsTheyWereGiven) {
  expect_said({"compare", "a.csv", "b.csv", "--curve", "-4"}, kWrongUsage,
              "--curve: -4, expected a whole number of 0 or more");
  expect_said({"tune", "correlate", "--candidates", "-4"}, kWrongUsage,
              "--candidates: -4, expected a whole number of 0 or more");
  expect_said({"--threads", "-3", "devices"}, kWrongUsage,
              "--threads: -3, expected a whole number, 0 to 4096");
  expect_said({"tune", "correlate", "--budget", "-4"}, kWrongUsage,
              "--budget: -4, expected 0 or more");
  expect_said({"tune", "correlate", "--strategy", "gradient"}, kWrongUsage,
              "--strategy: gradient, expected exhaustive, random or guided");
  expect_said({"top", "--every", "0"}, kWrongUsage, "--every: 0, expected 0.1 to 3600");
}

TEST_F(FirstTries, TheEnvironmentIsNamedWhereItNamesTheDevice) {
  expect_said({"search", filterbank(), "-o", scratch / "c.csv", "--dms", "1"}, kWrongUsage,
              "TAUTLINE_DEVICE: foo, expected auto", {{"TAUTLINE_DEVICE", "foo"}});
  EXPECT_EQ(run({"search", scratch / "x.fil", "-o", scratch / "c.csv", "--dms", "1"},
                {{"TAUTLINE_DEVICE", ""}})
                .status,
            kDone);
}

TEST_F(FirstTries, StreamsAndAddressesAreNoMissingFiles) {
  expect_said({"send", "-", "--layout", "meerkat-f", "--to", "udp://127.0.0.1:9"}, kFailed,
              "-: standard input, expected the name of a file; the commands correlate");
  expect_said(
      {"correlate", "tcp://localhost:99", "-o", scratch / "v.uvh5"}, kFailed,
      "tcp://localhost:99: a network address, expected the name of a file; tautline run takes "
      "MWA receivers live, by its node receivers");
  expect_said({"channelize", "udp://localhost:99", "-o", scratch / "v.npy"}, kFailed,
              "tautline run takes packets live, by its node packets");
}

TEST_F(FirstTries, AnEmptyPipeIsNoFileOfAnUnknownKind) {
  for (const char* command : {"correlate", "channelize", "dedisperse", "search", "plot"}) {
    const std::string output = scratch / (command[0] == 's'   ? "c.csv"
                                          : command[0] == 'p' ? "p.html"
                                          : command[0] == 'd' ? "s.npy"
                                          : command[1] == 'o' ? "v.uvh5"
                                                              : "v.npy");
    std::vector<std::string> words{command, "-", "-o", output};
    if (command[0] == 's' || command[0] == 'd') words.insert(words.end(), {"--dms", "1"});
    // Standard input of these commands is empty.
    expect_said(words, kFailed,
                "standard input: nothing came, expected data; did the command before "
                "the pipe fail?");
  }
}

TEST_F(FirstTries, FilesOfAnotherKindAreSentToTheCommandThatReadsThem) {
  ASSERT_EQ(run({"simulate", "photons", "--duration", "0.01", "--model",
                 "diffusion:n=1,tau=2e-4,rate=5e4", "-o", scratch / "x.ptu"})
                .status,
            kDone);
  write_file(scratch / "v.dada", DadaFile{}.bytes());
  const std::string fil = filterbank();
  expect_said({"search", scratch / "x.ptu", "-o", scratch / "c.csv", "--dms", "1"}, kFailed,
              "this is photon data (PTU): autocorrelate reads it");
  write_file(scratch / "x.pt3", "PicoHarp 300" + std::string(1000, '\0'));
  for (const char* command : {"search", "dedisperse"})
    expect_said({command, scratch / "x.pt3", "-o",
                 scratch / (command[0] == 's' ? "c.csv" : "s.npy"), "--dms", "1"},
                kFailed, "this is photon data (PT3): autocorrelate reads it");
  expect_said({"correlate", fil, "-o", scratch / "v.uvh5"}, kFailed,
              "this is a filterbank (sigproc): search and dedisperse read it");
  expect_said({"autocorrelate", fil, "-o", scratch / "g.csv", "--bin", "1e-5"}, kFailed,
              "this is a filterbank (sigproc): search and dedisperse read it");
  expect_said({"dedisperse", scratch / "v.dada", "-o", scratch / "s.npy", "--dms", "1"}, kFailed,
              "this is voltage data (DADA): correlate and channelize read it");
}

TEST_F(FirstTries, MissingFilesAreMissing) {
  const std::string fil = filterbank();
  const auto missing = [&](const std::string& name, const std::vector<std::string>& words) {
    expect_said(words, kFailed,
                "tautline: " + name + ": cannot be opened: No such file or directory");
  };
  missing("no.json", {"compare", "no.uvh5", "no.json"});
  missing("other.csv", {"compare", "no.csv", "other.csv"});
  missing("no.toml", {"simulate", "voltages", "--array", "no.toml", "--scene", "no.toml",
                      "--duration", "1", "-o", scratch / "o.dada"});
  missing("no.toml", {"simulate", "filterbank", "--scene", "no.toml", "--duration", "1", "-o",
                      scratch / "o.fil"});
  missing("no.toml",
          {"delays", "--array", "no.toml", "--name", "A", "--ra-deg", "1", "--dec-deg", "1",
           "--utc-start", "2026-03-20-14:00:00", "--duration", "1", "-o", scratch / "d.toml"});
  missing("no.toml", {"run", "no.toml"});
  missing("no.dada", {"send", "no.dada", "--to", "tcp://127.0.0.1:1"});
  missing("no.csv", {"search", fil, "-o", scratch / "c.csv", "--dm-list", "no.csv"});
  missing("no.mask", {"search", fil, "-o", scratch / "c.csv", "--dms", "1", "--mask", "no.mask"});
  for (const std::string name : {"no", "no.vdif", "no.dada"}) {
    missing(name, {"correlate", name, "-o", scratch / "v.uvh5"});
    missing(name, {"channelize", name, "-o", scratch / "o.dada"});
  }
  for (const std::string name : {"no", "no.fil", "no.dat", "no.npy"}) {
    missing(name, {"search", name, "-o", scratch / "c.csv", "--dms", "1"});
    missing(name, {"dedisperse", name, "-o", scratch / "s.npy", "--dms", "1"});
  }
  for (const std::string name : {"no", "no.ptu", "no.npy", "no.h5"})
    missing(name, {"autocorrelate", name, "-o", scratch / "g.csv", "--bin", "1us"});
  for (const std::string name : {"no.h5", "no.csv", "no.zip", "no.SIN"})
    missing(name, {"fit", name, "-o", scratch / "f.csv", "--model", "3d"});
  for (const std::string name : {"no.uvh5", "no.ms", "no.ms/"})
    missing(name, {"report", name, "-o", scratch / "r.html"});
  for (const std::string name :
       {"no", "no.uvh5", "no.ms", "no.fil", "no.h5", "no.npy", "no.csv", "no.toml"}) {
    missing(name, {"inspect", name});
    missing(name, {"plot", name, "-o", scratch / "p.html"});
  }
}

// The warning is of a run that goes; what stops it before has nothing to do with antennas.
TEST_F(FirstTries, AMissingArrayIsNoWordBesideAnotherMistake) {
  write_file(scratch / "in.dada", DadaFile().bytes());
  const std::string in = scratch / "in.dada", out = scratch / "v.uvh5",
                    warning = "no --array: antenna positions";
  const std::vector<std::string> good{"correlate", in, "-o", out, "--channels", "16"};
  const CommandResult done = run(good);
  ASSERT_EQ(done.status, kDone) << done.err;
  EXPECT_NE(done.err.find(warning), std::string::npos) << done.err;
  EXPECT_EQ(done.err.find(warning), done.err.rfind(warning)) << done.err;
  expect_said(good, kFailed, out + ": output: it exists");
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = good;
    words.push_back("--overwrite");
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  expect_said(with({"--channels", "1"}), kWrongUsage, "--channels:");
  expect_said(with({"--start", "1000"}), kWrongUsage, "--start: 1000 s, expected less than");
  expect_said(with({"--delays", "no.toml"}), kFailed, "no.toml: cannot be opened");
  expect_said(with({"--gains", "no.npy"}), kFailed, "no.npy: cannot be opened");
}

TEST_F(FirstTries, CoordinatesMayBeSexagesimal) {
  write_file(scratch / "array.toml",
             "latitude_deg = 52.9\nlongitude_deg = 6.6\n[[antenna]]\nenu_m = [0, 0, 0]\n"
             "[[antenna]]\nenu_m = [30, 10, 0]\n");
  const auto delays = [&](const std::string& ra, const std::string& dec) {
    return std::vector<std::string>{"delays",
                                    "--array",
                                    scratch / "array.toml",
                                    "--name",
                                    "A",
                                    "--ra-deg",
                                    ra,
                                    "--dec-deg",
                                    dec,
                                    "--utc-start",
                                    "2026-03-20-14:00:00",
                                    "--duration",
                                    "1",
                                    "--overwrite",
                                    "-o",
                                    scratch / "d.toml"};
  };
  const auto tracked = [&](const std::string& ra, const std::string& dec) {
    const CommandResult made = run(delays(ra, dec));
    EXPECT_EQ(made.status, kDone) << ra << " " << dec << ": " << made.err;
    const std::string text = read_file(scratch / "d.toml");
    return text.substr(text.find('\n'));  // behind the command
  };
  EXPECT_EQ(tracked("23:23:24", "+58:48:54"), tracked("350.85", "58.815"));
  EXPECT_EQ(tracked("09:18:05.7", "-12:05:44"), tracked("139.52375", "-12.095555555555556"));
  EXPECT_EQ(tracked("23:23:24", "-00:30:00"), tracked("350.85", "-0.5"));
  EXPECT_NE(tracked("23:23:24", "-00:30:00"), tracked("350.85", "0.5"));
  for (const std::string wrong : {"25:00:00", "23:23", "23:60:24"})
    expect_said(delays(wrong, "1"), kWrongUsage,
                "--ra-deg: " + wrong + ", expected degrees, or hh:mm:ss[.fraction] of hours");
  expect_said(delays("1", "-12:05"), kWrongUsage,
              "--dec-deg: -12:05, expected degrees, or dd:mm:ss[.fraction]");
  expect_said(delays("1", "91:00:00"), kWrongUsage, "--dec-deg: 91, expected -90 to 90");
  write_file(scratch / "in.dada", DadaFile().bytes());
  (void)tracked("23:23:24", "+58:48:54");
  expect_said(
      {"correlate", scratch / "in.dada", "-o", scratch / "v.uvh5", "--channels", "16", "--array",
       scratch / "array.toml", "--delays", scratch / "d.toml", "--settle", "0.001"},
      kWrongUsage, "--settle: given with delays before the filter bank");
  const auto correlate = [&](const std::string& place) {
    return std::vector<std::string>{"correlate",
                                    scratch / "in.dada",
                                    "-o",
                                    scratch / "v.uvh5",
                                    "--overwrite",
                                    "--channels",
                                    "16",
                                    "--array",
                                    scratch / "array.toml",
                                    "--phase-center",
                                    place};
  };
  const CommandResult made = run(correlate("Hydra A=09:18:05.7,-12:05:44"));
  ASSERT_EQ(made.status, kDone) << made.err;
  const CommandResult inspected = run({"inspect", scratch / "v.uvh5"});
  EXPECT_NE(inspected.out.find("points at   Hydra A, 139.523750 -12.095556 degrees (ICRS)\n"),
            std::string::npos)
      << inspected.out;
  for (const std::string wrong : {"A=25:00:00,10", "A=23:23,10", "A=10", "A=10,95", "=1,2"})
    expect_said(
        correlate(wrong), kWrongUsage,
        "--phase-center: " + wrong + ", expected NAME=RA,DEC in degrees, or hh:mm:ss and dd:mm:ss");
}

// Each says what is wrong with it alone: edges in the wrong order, too near each other, beyond the photons.
TEST_F(FirstTries, GatesAreToldFromEachOther) {
  ASSERT_EQ(run({"simulate", "photons", "--duration", "0.01", "--model",
                 "diffusion:n=1,tau=2e-4,rate=5e4", "-o", scratch / "x.ptu"})
                .status,
            kDone);
  const auto gate = [&](const std::string& given, const std::string& words) {
    expect_said({"autocorrelate", scratch / "x.ptu", "-o", scratch / "g.csv", "--bin", "10us",
                 "--gate", given},
                kWrongUsage, "--gate: " + given + words);
  };
  for (const char* swapped : {"3e-9:1e-9", "1e-9:1e-9", "1e-9"})
    gate(swapped, ", expected LOW:HIGH, LOW below HIGH");
  gate("1e-07:2e-07",
       " s, in which " + scratch / "x.ptu" + " has no photon, expected a range with some of the ");
  expect_said({"autocorrelate", scratch / "x.ptu", "-o", scratch / "g.csv", "--bin", "10us",
               "--gate", "1.001ns:1.002ns"},
              kWrongUsage,
              "--gate: 1.001e-09 s to 1.002e-09 s, which holds no microtime, expected a range that "
              "does: they are "
              "multiples of ");
}

TEST_F(FirstTries, MistypedOptionsAreNamedBesideTheNearest) {
  expect_said({"search", "x.fil", "-o", "c.csv", "--treshold", "6"}, kWrongUsage,
              "--treshold: unknown option of tautline search, did you mean --threshold");
  // Also where another is missing.
  expect_said({"--overwrite", "correlate", "x"}, kWrongUsage,
              "--overwrite: stands before the command whose option it is; write tautline correlate "
              "--overwrite");
  expect_said({"correlate", "--integraton", "4", "x"}, kWrongUsage, "did you mean --integration");
  expect_said({"correlate", "x", "-o", "y.uvh5", "--thread=4"}, kWrongUsage,
              "--thread: unknown option of tautline correlate, did you mean --threads");
  const CommandResult far = run({"devices", "--zzzzzzzz"});
  EXPECT_NE(far.err.find("--zzzzzzzz: unknown option"), std::string::npos) << far.err;
  EXPECT_EQ(far.err.find("did you mean"), std::string::npos) << far.err;
}

TEST_F(FirstTries, ErrorsAndTheVersionAreJsonToo) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--json", "search", "nothere.fil", "-o", "c.csv", "--dms", "1"},
        {"--json", "correlate", "--bad"},
        {"serch", "--json"}}) {
    const CommandResult failed = run(words);
    const auto said = nlohmann::json::parse(failed.out, nullptr, false);
    ASSERT_TRUE(said.is_object()) << failed.out;
    EXPECT_EQ(keys_of(said), documented_object("`tautline.error` 1"));
    EXPECT_EQ(said["status"], failed.status);
    EXPECT_NE(failed.status, kDone);
    EXPECT_EQ(failed.err, "tautline: " + said["message"].get<std::string>() + "\n");
  }
  const CommandResult version = run({"--json", "--version"}), plain = run({"--version"});
  const auto said = nlohmann::json::parse(version.out, nullptr, false);
  ASSERT_TRUE(said.is_object()) << version.out;
  EXPECT_EQ(version.status, kDone);
  EXPECT_EQ(keys_of(said), documented_object("`tautline.version` 1"));
  EXPECT_EQ("tautline " + said["tautline"].get<std::string>() + "\n", plain.out);
}

TEST_F(FirstTries, RangesThatAreNoneAndTooLongAreRefusedByTheOption) {
  const std::string fil = filterbank();
  const auto refused = [&](const std::string& dms, const std::string& words) {
    for (const char* command : {"search", "dedisperse"})
      expect_said({command, fil, "-o", scratch / (command[0] == 's' ? "c.csv" : "s.npy"),
                   "--overwrite", "--dms", dms},
                  kWrongUsage, words);
  };
  refused("10:0:1", "--dms: 10:0:1, expected the lower DM before the higher one, as 0:10:1");
  refused("-5", "--dms: -5, expected a lowest DM of 0 or more");
  for (const char* dms : {"0:50000", "0:50000:10"}) {
    refused(dms, "--dms: DM 50000 delays the lowest channel by");
    // The DM that is named is searched.
    const CommandResult result =
        run({"search", fil, "-o", scratch / "c.csv", "--overwrite", "--dms", dms});
    const std::string words = "the highest DM may be ";
    const std::size_t at = result.err.find(words);
    ASSERT_NE(at, std::string::npos) << result.err;
    std::string most = result.err.substr(at + words.size());
    most.erase(most.find('\n'));
    EXPECT_EQ(run({"search", fil, "-o", scratch / "c.csv", "--dms", most, "--overwrite"}).status,
              kDone)
        << most;
    const double above = 1.02 * std::stod(most);
    EXPECT_EQ(run({"search", fil, "-o", scratch / "d.csv", "--dms", std::to_string(above)}).status,
              kWrongUsage);
  }
}

TEST_F(FirstTries, ThePlanSaysStepsTrialsAndTheWorstLoss) {
  const std::string fil = filterbank();
  for (const char* command : {"search", "dedisperse"}) {
    const CommandResult result =
        run({"--json", command, fil, "-o", scratch / (command[0] == 's' ? "c.csv" : "s.npy"),
             "--dms", "0:100"});
    ASSERT_EQ(result.status, kDone) << result.err;
    EXPECT_NE(result.err.find(" trials, DM 0 to 100 in steps of "), std::string::npos)
        << result.err;
    EXPECT_NE(result.err.find("% of the S/N of a pulse of 1 ms"), std::string::npos) << result.err;
    // The summary is the last line.
    const std::size_t last = result.out.rfind('\n', result.out.size() - 2);
    const auto summary = nlohmann::json::parse(
        result.out.substr(last == std::string::npos ? 0 : last + 1), nullptr, false);
    ASSERT_TRUE(summary.is_object()) << result.out;
    EXPECT_GT(summary["loss_of_snr_by_spacing"], 0);
    EXPECT_LE(summary["loss_of_snr_by_spacing"], 0.02);
    EXPECT_EQ(summary["loss_of_snr"], 0);
  }
}

TEST_F(FirstTries, ErrorsOfOneOfSeveralInputsAreJson) {
  const std::string fil = filterbank();
  write_file(scratch / "broken.fil", "no filterbank");
  const CommandResult result =
      run({"--json", "inspect", fil, scratch / "broken.fil", "nothere.fil"});
  EXPECT_EQ(result.status, kFailed);
  std::istringstream lines(result.out);
  std::vector<nlohmann::json> said;
  for (std::string line; std::getline(lines, line);) said.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(said.size(), 3u) << result.out;
  EXPECT_EQ(said[0]["schema"], "tautline.inspect.filterbank");
  const std::vector<std::string> names{fil, scratch / "broken.fil", "nothere.fil"};
  for (std::size_t k = 1; k < said.size(); ++k) {
    EXPECT_EQ(keys_of(said[k]), documented_object("`tautline.inspect.error` 1"));
    EXPECT_EQ(said[k]["file"], names[k]);
    EXPECT_EQ(said[k]["status"], kFailed);
    const std::string message = said[k]["message"];
    EXPECT_NE(message.find(names[k]), std::string::npos) << message;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
  }
}

// None keeps the others from being inspected, and none is waited for.
TEST_F(FirstTries, SeveralInputsArePipesAndFilesInTheirOrder) {
  const std::string fil = filterbank(), pipe = scratch / "pipe.fil";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto inspect = [&](const std::string& input, const std::string& files) {
    const CommandResult result = run_program(
        "/bin/bash", {"-c", input + "exec '" + command_path() + "' --json inspect " + files},
        scratch.path().string());
    std::istringstream lines(result.out);
    std::string said;
    for (std::string line; std::getline(lines, line);)
      said += nlohmann::json::parse(line)["schema"] == "tautline.inspect.error" ? 'e' : 'f';
    return std::pair(said + " " + std::to_string(result.status), result.err);
  };
  const auto [piped, err] = inspect("", "nothere.fil " + pipe + " " + fil);
  EXPECT_EQ(piped, "eef 1") << err;
  EXPECT_NE(err.find(pipe + ": a named pipe among several inputs"), std::string::npos) << err;
  const auto [empty, err_of_empty] = inspect("", fil + " - " + fil + " < /dev/null");
  EXPECT_EQ(empty, "fef 1") << err_of_empty;
  const auto [both, err_of_both] =
      inspect("cat '" + fil + "' | ", fil + " - <(cat '" + fil + "') " + fil);
  EXPECT_EQ(both, "ffff 0") << err_of_both;
  const auto [noise, err_of_noise] = inspect("cat /dev/urandom | ", fil + " - " + fil);
  EXPECT_EQ(noise, "fef 1") << err_of_noise;
  const auto [twice, err_of_twice] = inspect("", fil + " - -");
  EXPECT_EQ(twice, "f 2") << err_of_twice;
}

TEST_F(FirstTries, TextThatSpeaksOfCurvesIsNone) {
  write_file(scratch / "README", "Curves of ALV-7004 correlators are read.\n");
  for (const char* command : {"inspect", "plot"}) {
    const CommandResult result = run({command, scratch / "README"});
    EXPECT_NE(result.status, kDone);
    EXPECT_EQ(result.err.find("correlation curve"), std::string::npos) << result.err;
  }
}

TEST_F(FirstTries, HelpIsNamedWhereTheOptionStands) {
  expect_said({"--threads", "-3", "devices"}, kWrongUsage, "; tautline --help lists the options");
  expect_said({"devices", "--thread", "3"}, kWrongUsage,
              "did you mean --threads; tautline --help lists the options");
  expect_said({"search", "x.fil", "--treshold", "3"}, kWrongUsage,
              "did you mean --threshold; tautline search --help lists the options");
  for (const char* command : {"search", "devices"}) {
    const CommandResult help = run({command, "--help"});
    EXPECT_NE(help.out.find("tautline --help"), std::string::npos) << help.out;
  }
}

TEST_F(FirstTries, ExistingOutputsHaveOneStatus) {
  const std::string fil = filterbank();
  for (const char* name : {"c.csv", "e.jsonl", "s.npy", "v.uvh5"})
    write_file(scratch / name, "kept");
  write_file(scratch / "v.dada", DadaFile{}.bytes());
  expect_said({"search", fil, "-o", scratch / "c.csv", "--dms", "1"}, kFailed, "it exists");
  expect_said({"search", fil, "-o", scratch / "d.csv", "--dms", "1", "--events",
               scratch / "e.jsonl", "--quiet"},
              kFailed, "--events: " + (scratch / "e.jsonl") + ": it exists");
  expect_said({"dedisperse", fil, "-o", scratch / "s.npy", "--dms", "1"}, kFailed, "it exists");
  expect_said({"run", source_folder() + "/examples/pipelines/correlate.toml", "--set",
               "voltages.files=" + (scratch / "v.dada"), "--set",
               "visibilities.path=" + (scratch / "v.uvh5")},
              kFailed, "it exists");
  for (const char* name : {"c.csv", "e.jsonl", "s.npy", "v.uvh5"})
    EXPECT_EQ(read_file(scratch / name), "kept");
}

TEST_F(FirstTries, APlaceThatNeverRisesIsNamed) {
  write_file(scratch / "array.toml",
             "latitude_deg = 52.9\nlongitude_deg = 6.6\n[[antenna]]\nenu_m = [0, 0, 0]\n"
             "[[antenna]]\nenu_m = [100, 0, 0]\n");
  const auto delays = [&](const std::string& name, const std::string& dec_deg) {
    const CommandResult result =
        run({"delays", "--array", scratch / "array.toml", "--name", name, "--ra-deg", "10",
             "--dec-deg", dec_deg, "--utc-start", "2026-03-20-14:00:00", "--duration", "60", "-o",
             scratch / (name + ".toml")});
    EXPECT_EQ(result.status, kDone) << result.err;
    return result.err;
  };
  const std::string said = delays("South", "-80");
  EXPECT_NE(said.find("warning: South: below the horizon"), std::string::npos) << said;
  EXPECT_NE(said.find("it never rises at the array"), std::string::npos) << said;
  EXPECT_EQ(delays("North", "80"), "");
}

TEST_F(FirstTries, AsManyCandidatesAreShownAsAreAskedFor) {
  const std::string fil = filterbank("2");
  const auto rows = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"search",          fil,           "-o",
                                   scratch / "c.csv", "--overwrite", "--dms",
                                   "0:100:10",        "--threshold", "3"};
    words.insert(words.end(), options.begin(), options.end());
    const CommandResult result = run(words);
    EXPECT_EQ(result.status, kDone) << result.err;
    std::vector<double> snrs;
    std::istringstream text(result.out);
    bool table = false;
    for (std::string line; std::getline(text, line);) {
      double snr = 0, time_s = 0, dm = 0;
      if (table && std::sscanf(line.c_str(), " %lf %lf %lf", &snr, &time_s, &dm) == 3)
        snrs.push_back(snr);
      table = table || line.find("S/N") != std::string::npos;
    }
    EXPECT_TRUE(std::is_sorted(snrs.rbegin(), snrs.rend()));
    return snrs.size();
  };
  EXPECT_EQ(rows({"--from-top", "3"}), 3u);
  EXPECT_EQ(rows({"--from-top", "12"}), 12u);
  EXPECT_EQ(rows({"--from-top", "0"}), 0u);
  EXPECT_EQ(rows({}), 10u);
}

}  // namespace
}  // namespace tautline::tests
