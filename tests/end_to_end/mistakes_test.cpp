// Mistakes of every kind of user: values, names of outputs, files, signals, full disks.
#include "tests/end_to_end/mistakes.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <thread>

namespace tautline::tests {
namespace {

TEST_F(Mistakes, ADurationIsAbove0OrAll) {
  const std::string dada = voltages(), fil = filterbank(), npy = counts();
  const std::vector<std::vector<std::string>> runs{
      {"correlate", dada, "-o", scratch / "o.uvh5", "--channels", "16"},
      {"channelize", dada, "-o", scratch / "o.dada", "--channels", "16"},
      {"search", fil, "-o", scratch / "o.csv", "--dms", "1"},
      {"dedisperse", fil, "-o", scratch / "o.npy", "--dms", "1"},
      {"autocorrelate", npy, "-o", scratch / "o.h5", "--bin", "10us"}};
  for (std::vector<std::string> words : runs) {
    for (const char* wrong : {"-4", "0", "inf", "-1ms"}) {
      std::vector<std::string> with = words;
      with.insert(with.end(), {"--duration", wrong});
      refused(with, kWrongUsage,
              std::string("--duration: ") + wrong + ", expected above 0, or all; tautline");
    }
    if (words.front() == "autocorrelate") {
      std::vector<std::string> with = words;
      with.insert(with.end(), {"--duration", "1us"});
      refused(with, kWrongUsage, "--duration: 1e-06 s, expected at least one bin, 1e-05 s");
    }
    words.insert(words.end(), {"--duration", "all"});
    const CommandResult all = run(words);
    EXPECT_EQ(all.status, kDone) << words.front() << ": " << all.err;
  }
}

TEST_F(Mistakes, EmptyTextsAreNoValues) {
  refused({"search", "x.fil", "-o", "c.csv", "--dms", "1", "--mask", ""}, kWrongUsage,
          "--mask: an empty text, expected a value");
  refused({"correlate", "", "-o", "v.uvh5"}, kWrongUsage, "an empty text behind correlate");
}

TEST_F(Mistakes, TimesThatAreNoneAreToldTheirForm) {
  refused(
      {"correlate", "v.dada", "-o", "v.uvh5", "--integration", "5m"}, kWrongUsage,
      "--integration: 5m, expected a time (20ms, 1.5s, 5min; plain numbers are seconds), above 0; "
      "tautline");
  refused({"autocorrelate", "x.npy", "-o", "g.h5", "--bin", "10 u"}, kWrongUsage,
          "--bin: 10 u, expected a time");
  refused({"autocorrelate", "x.npy", "-o", "g.h5", "--bin", "-1us"}, kWrongUsage, "--bin: -1us,");
  refused({"autocorrelate", "x.npy", "-o", "g.h5", "--bin", "1e300"}, kWrongUsage,
          "--bin: 1e300, expected above 0, at most 3600 s");
  refused({"fit", "g.h5", "-o", "f.csv", "--model", "3d", "--range", "1us"}, kWrongUsage,
          "--range: 1us, expected LO:HI");
  refused({"correlate", "v.dada", "-o", "v.uvh5", "--channels", "1e3"}, kWrongUsage,
          "--channels: 1e3, expected a whole number, 2 to 65536; tautline");
}

TEST_F(Mistakes, ValuesAreCountedInPlainWords) {
  refused({"correlate", "v.dada", "-o"}, kWrongUsage, "--output: no value given, expected one;");
  refused({"correlate", "v.dada", "-o", "a.uvh5", "--taps", "4", "--taps", "8"}, kWrongUsage,
          "--taps: 2 values given, expected one;");
  refused({"autocorrelate", "a.ptu", "b.ptu", "-o", "g.csv"}, kWrongUsage,
          "b.ptu: a word more than tautline autocorrelate takes");
  const std::string g = curve(), again = "a second input, and tautline ";
  refused(
      {"autocorrelate", "a.ptu", g, "-o", "g.csv"}, kWrongUsage,
      g + ": " + again + "autocorrelate takes one; --save-state after the first file and --resume");
  refused({"plot", g, g, "-o", "g.png"}, kWrongUsage,
          again + "plot takes one; tautline plot --help");
  refused({"--log-level", "verbose", "devices"}, kWrongUsage,
          "--log-level: verbose, expected debug, info, warn or error");
  refused({"help", "corelate"}, kWrongUsage, "corelate: unknown command of tautline, perhaps");
}

TEST_F(Mistakes, OutputsAreNotNamedAsOtherKindsOfFiles) {
  const std::string fil = filterbank(), g = curve(), dada = voltages();
  for (const char* name : {"t.spc", "t.h5", "t.pt3", "t.dada"})
    refused({"simulate", "photons", "--duration", "0.01", "--bin", "1ms", "--model",
             "diffusion:n=1,tau=2e-4,rate=5e4", "-o", scratch / name},
            kWrongUsage, "expected a name ending in .npy or .ptu");
  refused({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff", "-10", "--tsamp",
           "1ms", "--duration", "1", "-o", scratch / "z.csv"},
          kWrongUsage, "expected a name ending in .fil");
  refused({"fit", g, "-o", scratch / "f.h5", "--model", "3d"}, kWrongUsage,
          "expected a name ending in .csv");
  refused({"fit", g, "-o", scratch / "f.csv", "--model", "3d", "--report", scratch / "f.pdf"},
          kWrongUsage, "--report: " + (scratch / "f.pdf") + ", expected a name ending in .html");
  refused({"dedisperse", fil, "-o", scratch / "d.csv", "--dms", "1"}, kWrongUsage,
          "d.csv, expected a name ending in .npy, .dat, .tim, or that of a folder");
  refused({"search", fil, "-o", scratch.path().string() + "/", "--dms", "1"}, kWrongUsage,
          "expected a name that ends with .csv");
  refused({"correlate", dada, "-o", scratch.path().string()}, kWrongUsage,
          "is a folder, expected a name ending in .uvh5 or .ms");
}

TEST_F(Mistakes, TablesAreSentToWhoeverReadsThem) {
  const std::string fil = filterbank(), g = curve();
  ASSERT_NE(run({"fit", g, "-o", scratch / "f.csv", "--model", "3d"}).status, kFailed);
  ASSERT_EQ(run({"search", fil, "-o", scratch / "c.csv", "--dms", "1"}).status, kDone);
  const std::string out = scratch / "o.csv";
  refused({"fit", scratch / "c.csv", "-o", out, "--model", "3d"}, kFailed,
          "these are candidates: compare, plot and inspect read them");
  refused({"fit", scratch / "y.npy", "-o", out, "--model", "3d"}, kFailed, "autocorrelate reads");
  for (const auto& words : {std::vector<std::string>{"inspect", scratch / "f.csv"},
                            {"fit", scratch / "f.csv", "-o", out, "--model", "3d"}})
    refused(words, kFailed,
            scratch / "f.csv" +
                std::string(": kind of file: text, expected a correlation curve; these are results "
                            "of fit: plot draws them with their curves, G.h5 with --fit F.csv"));
  refused({"autocorrelate", g, "-o", scratch / "h.csv", "--bin", "1us"}, kFailed,
          "this is a correlation curve: fit, compare and inspect read it");
  // The name promises a format that the bytes are not.
  write_file(scratch / "noise.fil", "\x01\x02" + DadaFile().bytes().substr(4200, 5000));
  const CommandResult noise = run({"search", scratch / "noise.fil", "-o", out, "--dms", "1"});
  EXPECT_EQ(noise.status, kFailed);
  EXPECT_EQ(noise.err.find("search and dedisperse read it"), std::string::npos) << noise.err;
  write_file(scratch / "empty.fil", "");
  refused({"inspect", scratch / "empty.fil"}, kFailed,
          "empty.fil: an empty file, expected data; check that the file was written completely");
}

TEST_F(Mistakes, ComparisonsNameTheFileThatIsWrong) {
  const std::string fil = filterbank(), truth = scratch / "x.truth.json";
  refused({"compare", fil, truth}, kFailed,
          fil +
              ": kind of file: a sigproc filterbank, expected visibilities, or the list of "
              "candidates that search wrote");
  ASSERT_EQ(run({"search", fil, "-o", scratch / "c.csv", "--dms", "1"}).status, kDone);
  std::filesystem::create_directory(scratch / "c.ms.json");
  refused({"compare", scratch / "c.csv", scratch / "c.ms.json"}, kFailed,
          "c.ms.json: kind of file: a folder, expected the .truth.json that simulate wrote");
  const std::string g = curve(), molecules = scratch / "y.truth.json";
  refused(
      {"compare", g, molecules}, kWrongUsage,
      molecules + ": a truth, expected another curve beside " + g + "; fit the curve, and hold");
}

TEST_F(Mistakes, FilterbanksThatHoldNothingAreNoSuccess) {
  std::string bytes = read_file(filterbank());
  const std::size_t header = bytes.size() - std::size_t{1000} * 16;
  write_file(scratch / "header.fil", bytes.substr(0, header));
  const std::string list = scratch / "c.csv";
  refused({"search", scratch / "header.fil", "-o", list, "--dms", "1"}, kFailed,
          "header.fil: no samples, expected at least one");
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end(), '\0');
  write_file(scratch / "zero.fil", bytes);
  for (const bool quiet : {false, true}) {
    std::vector<std::string> words{"search", scratch / "zero.fil", "-o", list, "--dms",
                                   "1",      "--overwrite"};
    if (quiet) words.insert(words.begin(), "--quiet");
    const CommandResult zeros = run(words);
    EXPECT_EQ(zeros.status, kDamaged) << zeros.err;
    EXPECT_NE(zeros.err.find("no channel changes in any of the 1000 samples"), std::string::npos)
        << zeros.err;
  }
  const CommandResult kept = run(
      {"search", scratch / "zero.fil", "-o", list, "--dms", "1", "--overwrite", "--keep-constant"});
  EXPECT_EQ(kept.status, kDone) << kept.err;
}

TEST_F(Mistakes, ArraysWithoutTheirRecordAreNotTakenForOthersWithoutAWord) {
  const std::string series = scratch / "d.npy", page = scratch / "d.html";
  ASSERT_EQ(run({"dedisperse", filterbank(), "-o", series, "--dms", "0:20:10"}).status, kDone);
  std::filesystem::remove(series + ".json");
  for (const char* command : {"inspect", "correlate"}) {
    std::vector<std::string> words{command, series};
    if (*command == 'c') words.insert(words.end(), {"-o", scratch / "d.uvh5"});
    refused(words, kWrongUsage,
            "give the sample rate (--rate-hz), or put the .json that tautline wrote with the array "
            "beside it");
  }
  ASSERT_EQ(run({"plot", series, "-o", page}).status, kDone);
  EXPECT_NE(read_file(page).find("Taken for photon counts, 3 times of "), std::string::npos);
}

TEST_F(Mistakes, MasksOfOtherKindsAreTold) {
  const std::string fil = filterbank();
  const auto refuses = [&](const std::string& mask, const std::string& words) {
    refused({"search", fil, "-o", scratch / "c.csv", "--dms", "1", "--mask", mask}, kFailed,
            mask + ": kind of file: " + words);
  };
  refuses(fil, "a sigproc filterbank, expected a .mask of rfifind; this is a filterbank (sigproc)");
  write_file(scratch / "list.mask", "0:5,34\n");
  refuses(scratch / "list.mask",
          "text, expected a .mask of rfifind; give the .mask that rfifind wrote");
}

TEST_F(Mistakes, CountsAreSentWithTheirBins) {
  std::filesystem::copy_file(counts(), scratch / "z.npy");  // without its record
  refused({"send", scratch / "z.npy", "--layout", "counts", "--to", "udp://127.0.0.1:9"},
          kWrongUsage, "--bin: not given, expected the length of the counts' bins");
}

TEST_F(Mistakes, OneAntennaHasNoPairToCompare) {
  write_file(scratch / "one.toml",
             "name = \"one\"\nlatitude_deg = 0\nlongitude_deg = 0\naltitude_m = 0\n"
             "[[antenna]]\nname = \"a\"\nenu_m = [0, 0, 0]\ndiameter_m = 4\n");
  const std::string array = scratch / "one.toml";
  ASSERT_EQ(run({"simulate", "voltages", "--array", array, "--scene",
                 TAUTLINE_SOURCE_DIR "/examples/demo/scene.toml", "--duration", "0.02", "-o",
                 scratch / "one.dada"})
                .status,
            kDone);
  ASSERT_EQ(
      run({"correlate", scratch / "one.dada", "--array", array, "-o", scratch / "one.uvh5"}).status,
      kDone);
  refused({"compare", scratch / "one.uvh5", scratch / "one.truth.json"}, kWrongUsage,
          "antennas: 1, expected two or more; simulate and correlate two antennas or more");
}

TEST_F(Mistakes, ListsOfDmsOfOtherKindsAreTold) {
  const std::string fil = filterbank();
  refused(
      {"search", fil, "-o", scratch / "c.csv", "--dm-list", fil}, kFailed,
      fil + ": kind of file: a sigproc filterbank, expected a list of DMs; this is a filterbank");
}

TEST_F(Mistakes, MemoryIsCountedInTheUnitsItIsGivenIn) {
  const std::string fil = filterbank();
  for (const std::string command : {"search", "dedisperse"}) {
    const std::string out = scratch / (command == "search" ? "c.csv" : "c.npy");
    const CommandResult little = run({command, fil, "-o", out, "--dms", "0:20", "--memory", "1k"});
    EXPECT_EQ(little.status, kWrongUsage) << little.err;
    EXPECT_NE(little.err.find("--memory: 1K, expected at least "), std::string::npos) << little.err;
    const std::size_t at = little.err.find("at least ") + 9;
    const std::string enough = little.err.substr(at, little.err.find(' ', at) - at);
    const CommandResult done =
        run({command, fil, "-o", out, "--dms", "0:20", "--memory", enough, "--overwrite"});
    EXPECT_EQ(done.status, kDone) << enough << ": " << done.err;
  }
}

TEST_F(Mistakes, TrialsAreAskedForWithAnExample) {
  const std::string fil = filterbank(), list = scratch / "c.csv";
  refused({"search", fil, "-o", list}, kWrongUsage,
          "expected one of --dms and --dm-list; as in --dms 0:1000");
  refused({"search", fil, "-o", list, "--dms", "300:0"}, kWrongUsage,
          "--dms: 300:0, expected the lower DM before the higher one, as 0:300");
  refused({"search", fil, "-o", list, "--dms", "300:0:2"}, kWrongUsage, "as 0:300:2");
  const CommandResult found = run({"search", fil, "-o", list, "--dms", "1"});
  EXPECT_NE(found.err.find("noise over all of the data (1.000000 s)"), std::string::npos)
      << found.err;
}

TEST_F(Mistakes, NumbersOfFitsHaveRanges) {
  const std::string g = curve();
  const auto refuses = [&](const std::vector<std::string>& more, const std::string& words) {
    std::vector<std::string> all{"fit", g, "-o", scratch / "f.csv", "--model", "3d"};
    all.insert(all.end(), more.begin(), more.end());
    refused(all, kWrongUsage, words);
  };
  refuses({"--kappa", "-5"}, "--kappa: -5, expected above 0");
  refuses({"--kappa", "nan"}, "--kappa: nan, expected");
  refuses({"--range", "10:20"}, "--range: 10:20 s, expected some of the curves' ");
  for (const char* waist : {"250", "2.5e-7", "-0.25"})
    refuses({"--waist", waist},
            std::string("--waist: ") + waist + ", expected 0, or 0.01 to 100 micrometres");
  refuses({"--pixel", "16000"}, "--pixel: 16000, expected 0, or 0.01 to 100 micrometres");
  refuses({"--fix", "n=-1"}, "--fix: n=-1, expected a value above 0");
  refuses({"--fix", "foo=1"}, "--fix: foo, expected one of the model's parameters, n, tau_d_s");
  // A unit belongs to times; what else has one is no parameter.
  for (const char* option : {"--fix", "--start-at"})
    refuses({option, "tau=1ms"}, std::string(option) +
                                     ": tau=1ms, expected a number without a unit: times have "
                                     "names that end in _s, as tau_d_s");
  refuses({"--bounds", "n=1us:2us"}, "--bounds: n=1us:2us, expected a number without a unit");
  refuses({"--bounds", "n"}, "--bounds: n, expected NAME=LO:HI");
  refuses({"--fix", "n"}, "--fix: n, expected NAME=VALUE");
  refuses({"--share", "foo"}, "--share: foo, expected");
  refuses({"--bounds", "n=5:1"}, "--bounds: n=5, expected a lower bound below the upper one, 1");
  refuses({"--start-at", "tau_d_s=-1"}, "--start-at: tau_d_s=-1, expected a start from");
}

TEST_F(Mistakes, CountsOfAnotherShapeAndWithoutAType) {
  ASSERT_EQ(run({"simulate", "photons", "--duration", "0.1", "--bin", "10us", "--shape", "4x4",
                 "--model", "diffusion:n=1,tau=2e-4,rate=5e4", "-o", scratch / "cam.npy"})
                .status,
            kDone);
  const auto autocorrelate = [&](const std::string& input, const std::vector<std::string>& more) {
    std::vector<std::string> all{"autocorrelate", input,  "-o",         scratch / "g.zip",
                                 "--bin",         "10us", "--overwrite"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  refused(autocorrelate(scratch / "cam.npy", {"--shape", "2x8"}), kWrongUsage,
          "--shape: 2x8, expected 4x4, as the input has it; leave it out");
  EXPECT_EQ(run(autocorrelate(scratch / "cam.npy", {"--shape", "4x4"})).status, kDone);
  write_file(scratch / "cam.raw", std::string(4096, '\3') + std::string(4096, '\1'));
  refused(autocorrelate(scratch / "cam.raw", {}), kWrongUsage,
          "cam.raw: type of the counts: unknown, expected u8, u16, u32 or f32, which raw counts "
          "cannot say; give --dtype");
  refused({"inspect", scratch / "cam.raw"}, kFailed,
          "cam.raw: no header of GUPPI RAW, expected a file that says what it holds; raw counts do "
          "not: autocorrelate reads them with --dtype and --sensors");
}

TEST_F(Mistakes, TheMeanRateOfPairsIsThatOfTheirSensors) {
  ASSERT_EQ(run({"simulate", "photons", "--duration", "1", "--bin", "10us", "--sensors", "2",
                 "--hot-sensors", "1", "--hot-rate", "5e4", "--model",
                 "diffusion:n=1,tau=2e-4,rate=1e4", "-o", scratch / "two.npy"})
                .status,
            kDone);
  const auto rate_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all{
        "autocorrelate", scratch / "two.npy", "-o",    scratch / "g.zip", "--bin",
        "10us",          "--overwrite",       "--json"};
    all.insert(all.end(), more.begin(), more.end());
    const auto said = nlohmann::json::parse(run(all).out, nullptr, false);
    return said.is_object() ? said.value("mean_rate_hz", 0.0) : 0.0;
  };
  const double both_hz = rate_of({});
  EXPECT_GT(both_hz, 1e4);
  for (const char* pair : {"0x1", "1x0"}) EXPECT_DOUBLE_EQ(rate_of({"--pairs", pair}), both_hz);
  EXPECT_LT(rate_of({"--pairs", "0x0"}), 0.9 * both_hz);
}

TEST_F(Mistakes, CurvesThatAreGivenTwice) {
  const std::string g = curve(), link = scratch / "link.csv", copy = scratch / "copy.csv";
  const auto fit = [&](const std::string& other) {
    return std::vector<std::string>{"fit", g, other, "-o", scratch / "f.csv", "--model", "3d"};
  };
  refused(fit(g), kWrongUsage, g + " twice, expected each file of curves once");
  std::filesystem::create_symlink(g, link);
  refused(fit(link), kWrongUsage, link + ", which is " + g);
  std::filesystem::copy_file(g, copy);
  const CommandResult result = run(fit(copy));
  EXPECT_NE(result.err.find("1 of 2 curves repeat another's values at every lag"),
            std::string::npos)
      << result.err;
}

TEST_F(Mistakes, PartsAndTrialsThatAreNotThere) {
  const std::string fil = filterbank(), npy = counts();
  refused({"autocorrelate", npy, "-o", scratch / "g.h5", "--bin", "10us", "--start", "100"},
          kWrongUsage, "--start: 100 s, expected less than the 0.1 s of " + npy);
  refused({"search", fil, "-o", scratch / "c.csv", "--dms", "0:inf"}, kWrongUsage,
          "--dms: 0:inf, expected LO:HI:STEP");
  refused({"search", fil, "-o", scratch / "c.csv", "--dms", "1", "--baseline", "1e-9"}, kWrongUsage,
          "--baseline: 1e-09, expected 4 x --max-width (0.4 s) or more");
  refused({"autocorrelate", npy, "-o", scratch / "g.h5", "--bin", "10us", "--bins", "7", "--lags",
           "standard"},
          kWrongUsage, "--bins: 7, expected an even number");
  // No control characters of it reach the terminal.
  write_file(scratch / "dms.txt", "\x1b[31m\n");
  refused({"search", fil, "-o", scratch / "c.csv", "--dm-list", scratch / "dms.txt"}, kFailed,
          "dms.txt: kind of file: unknown, expected a list of DMs");
}

TEST_F(Mistakes, PulsesTakeTimesAndNameTheKeyThatIsWrong) {
  const auto with = [&](const std::string& pulse) {
    return std::vector<std::string>{
        "simulate", "filterbank", "--nchans", "16",         "--fch1", "1500", "--foff",
        "-10",      "--tsamp",    "1ms",      "--duration", "1",      "-o",   scratch / "p.fil",
        "--pulse",  pulse};
  };
  refused(with("dm=1"), kWrongUsage, "time= too: it has no default");
  refused(with("dm=x,time=0.5,width=5ms,snr=9"), kWrongUsage, "a number behind dm=");
  // Of several: which one, and where it is wrong.
  const auto after_a_good_one = [&](const std::string& pulse) {
    auto words = with("dm=1,time=0.2,width=5ms,snr=9");
    words.insert(words.end(), {"--pulse", pulse});
    return words;
  };
  for (const auto& [pulse, message] :
       {std::pair{"dm=2,time=0.5,snr=9", "width= too: it has no default, in 'dm=2,time=0.5,snr=9'"},
        {"dm=2,time=0.5,widht=5ms,snr=9", ", not 'widht=5ms' in 'dm=2,time=0.5,widht=5ms,snr=9'"},
        {"dm=2,time=0.5,width=0,snr=9",
         "width: 0 in 'dm=2,time=0.5,width=0,snr=9,index=0,scattering=0', expected above 0 s"}})
    refused(after_a_good_one(pulse), kWrongUsage, message);
  ASSERT_EQ(run(with("dm=1,time=500ms,width=5ms,snr=9")).status, kDone);
  const auto truth = nlohmann::json::parse(read_file(scratch / "p.truth.json"));
  EXPECT_EQ(truth.at("pulses").at(0).at("width_s"), 0.005);
  EXPECT_EQ(truth.at("pulses").at(0).at("time_s"), 0.5);
}

TEST_F(Mistakes, AHangUpLeavesNothing) {
  const pid_t pid =
      start_command({"simulate", "filterbank", "--nchans", "1024", "--fch1", "1465", "--foff",
                     "-0.3", "--tsamp", "1e-4", "--duration", "500", "-o", scratch / "out.fil"},
                    scratch.path().string());
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  kill(pid, SIGHUP);
  const CommandResult result = finish_command(pid, scratch.path().string());
  EXPECT_EQ(result.status, 128 + SIGHUP) << result.err;
  for (const std::string& name : files()) EXPECT_FALSE(name.starts_with("out.")) << name;
}

TEST_F(Mistakes, AFullDiskUnderStandardOutputIsNoSuccess) {
  if (!std::filesystem::exists("/dev/full"))
    GTEST_SKIP() << "no /dev/full: nothing to write to that is always full";
  const CommandResult full =
      run_shell(command_line({"inspect", filterbank()}) + " > /dev/full", scratch.path().string());
  EXPECT_EQ(full.status, kFailed) << full.err;
  EXPECT_NE(full.err.find("standard output: No space left on device"), std::string::npos)
      << full.err;
}

// A result is renamed when it is complete, and would take the place of the device.
TEST_F(Mistakes, DevicesAndPipesAreNoOutputs) {
  const std::string fil = filterbank(), g = curve(), dada = voltages();
  ASSERT_EQ(mkfifo((scratch / "pipe.csv").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/null", scratch / "null.csv");
  refused({"correlate", dada, "-o", "/dev/null"}, kWrongUsage,
          "--output: /dev/null, expected a name ending in .uvh5 or .ms");
  refused({"channelize", dada, "-o", "/dev/null"}, kWrongUsage,
          "--output: /dev/null, expected a name ending in .dada, .npy or .fil");
  for (const auto& [name, kind] : {std::pair{"pipe.csv", "a pipe"}, {"null.csv", "a device"}})
    for (const auto& words :
         {std::vector<std::string>{"fit", g, "--model", "3d"}, {"search", fil, "--dms", "1"}}) {
      std::vector<std::string> all = words;
      all.insert(all.end(), {"--overwrite", "-o", scratch / name});
      refused(all, kFailed,
              scratch / name + std::string(": output: it is ") + kind +
                  ", expected the name of a file: results are written to files alone");
    }
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "null.csv"));
  EXPECT_TRUE(std::filesystem::is_fifo(scratch / "pipe.csv"));
}

TEST_F(Mistakes, FewBytesOfMemoryAreNotNone) {
  refused({"correlate", voltages(), "-o", scratch / "v.uvh5", "--memory", "10"}, kWrongUsage,
          ", expected at most 10 bytes; raise --memory or lower --channels");
  refused({"channelize", voltages(), "-o", scratch / "v.npy", "--channels", "16", "--memory", "1"},
          kWrongUsage, ", expected at most 1 byte; raise --memory or lower --channels");
}

TEST_F(Mistakes, AFileOverItsLimitOfSizeIsAnErrorOfWriting) {
  const CommandResult result = run_shell(
      "ulimit -f 20; " +
          command_line({"channelize", voltages(), "--channels", "16", "-o", scratch / "out.npy"}),
      scratch.path().string());
  EXPECT_EQ(result.status, kFailed) << result.err;
  EXPECT_NE(result.err.find("File too large"), std::string::npos) << result.err;
  for (const std::string& name : files()) EXPECT_FALSE(name.starts_with("out.")) << name;
}

}  // namespace
}  // namespace tautline::tests
