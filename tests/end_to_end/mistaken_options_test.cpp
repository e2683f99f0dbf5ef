// Options that have no effect on what was given: each is refused by its name, not passed over.
#include "tautline/formats/npy/header.h"
#include "tests/end_to_end/mistakes.h"

namespace tautline::tests {
namespace {

TEST_F(Mistakes, OptionsOfOtherKindsOfFilesAreNotDrawnWithoutAWord) {
  const std::string fil = filterbank(), g = curve(), page = scratch / "p.html";
  const auto only = [&](const std::string& file, const std::string& option,
                        const std::string& value, const std::string& kinds) {
    refused({"plot", file, "-o", page, option, value}, kWrongUsage,
            option + ": " + file + ", expected " + kinds);
  };
  only(fil, "--baseline", "1-2", "visibilities, for which alone it is");
  only(fil, "--channels", "64", "voltages, for which alone it is");
  only(fil, "--fit", g, "correlation curves, for which alone it is");
  only(g, "--bin", "1us", "counts, for which alone it is");
  only(g, "--start", "1", "voltages, filterbanks, series, visibilities, time tags or counts");
  only(g, "--duration", "1", "voltages, filterbanks, series, visibilities, time tags or counts");
  only(scratch / "y.npy", "--mask", "x.mask", "a filterbank, for which alone it is");
  only(fil, "--dtype", "u8", "counts, for which alone it is");
  only(g, "--sensors", "4", "counts, for which alone it is");
  only(g, "--rate-hz", "1e6", "voltages, for which alone it is");
}

TEST_F(Mistakes, NamesThatAreNearlyRight) {
  const auto meant = [&](const std::vector<std::string>& words, const std::string& name) {
    refused(words, kWrongUsage, "; did you mean " + name);
  };
  const std::string g = curve(), f = scratch / "f.csv", out = scratch / "o.npy";
  meant({"fit", g, "-o", f, "--model", "3d-anomalus"}, "3d-anomalous");
  meant({"fit", g, "-o", f, "--model", "3d+triplte"}, "3d+triplet");
  meant({"fit", g, "-o", f, "--model", "3d", "--fix", "kapa=4"}, "kappa");
  meant({"simulate", "photons", "--duration", "1", "--bin", "1ms", "--model", "diffusoin:n=1", "-o",
         out},
        "diffusion");
  meant({"search", "x.fil", "-o", f, "--dms", "1", "--noise", "trail"}, "trial");
  meant({"dedisperse", "x.fil", "-o", out, "--dms", "1", "--method", "subbands"}, "subband");
  meant({"correlate", "x.dada", "-o", scratch / "v.uvh5", "--window", "haming"}, "hamming");
  meant({"autocorrelate", "y.npy", "-o", g, "--normalize", "symetric"}, "symmetric");
  meant({"bench", "chanelize"}, "channelize");
  meant({"bench", "channelize", "--problem", "chanels=4"}, "channels");
  meant({"send", voltages(), "--to", "udp://127.0.0.1:9", "--layout", "vdif-vpt"}, "vdif-vtp");
  meant({"run", "--types", "filter_bnak"}, "filter_bank");
  // Of short names another is always near.
  refused({"autocorrelate", "y.npy", "-o", g, "--dtype", "f64"}, kWrongUsage,
          "--dtype: f64, expected u8, u16, u32 or f32; tautline");
}

TEST_F(Mistakes, WhatTheHeaderOfVoltagesMayNotSayIsOfVoltagesAlone) {
  for (const std::string& file : {filterbank(), curve()})
    refused({"inspect", file, "--rate-hz", "1e6"}, kWrongUsage,
            "--rate-hz: given for " + file + ", expected only for voltages; leave it out");
  // An array may be of voltages.
  const CommandResult array = run({"inspect", counts(), "--rate-hz", "1e6"});
  EXPECT_EQ(array.err.find("only for voltages"), std::string::npos) << array.err;
}

TEST_F(Mistakes, LengthsThatAModelHasNoUseFor) {
  const std::string g = curve();
  const auto refuses = [&](const std::string& model, const std::string& option,
                           const std::string& words) {
    refused({"fit", g, "-o", scratch / "f.csv", "--model", model, option, "0.2"}, kWrongUsage,
            option + ": 0.2, expected none with the model " + words);
  };
  refuses("3d", "--q", "3d: it is for cumulants; leave it out");
  refuses("3d", "--pixel", "3d: it is for 2d-pixel");
  refuses("cumulants2", "--waist", "cumulants2: it is for a focus");
  for (const std::string model : {"cumulants1", "2d-pixel"})
    refuses(model, "--kappa", model + ": it is for models of a focus, as 3d");
  refused({"fit", g, "-o", scratch / "f.csv", "--model", "2d-pixel", "--waist", "0.2"}, kWrongUsage,
          "--waist: 0.2, expected with 2d-pixel --pixel too");
}

TEST_F(Mistakes, OptionsThatSimulatedPhotonsHaveNoUseFor) {
  const auto simulate = [&](const std::string& output, const std::vector<std::string>& more) {
    std::vector<std::string> all{
        "simulate",           "photons", "--duration",     "0.01",      "--model",
        "diffusion:rate=1e4", "-o",      scratch / output, "--sensors", "2"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto of_tags = [&](const std::string& option, const std::string& value) {
    refused(simulate("c.npy", {option, value}), kWrongUsage,
            option + ": given for " + scratch / "c.npy" + ", expected only for time tags (.ptu)");
  };
  const auto of_counts = [&](const std::string& option, const std::string& value) {
    refused(simulate("c.ptu", {option, value}), kWrongUsage,
            option + ": given for " + scratch / "c.ptu" + ", expected only for counts (.npy)");
  };
  of_tags("--tags", "t2");
  of_tags("--sync-rate", "1e7");
  of_tags("--lifetime", "3ns");
  of_counts("--bin", "1us");
  of_counts("--dtype", "u16");
  for (const std::string option : {"--lifetime", "--sync-rate"})
    refused(simulate("c.ptu", {"--tags", "t2", option, "2000"}), kWrongUsage,
            option + ": given with --tags t2, expected only for T3");
  refused(simulate("c.npy", {"--hot-rate", "1e5"}), kWrongUsage,
          "--hot-rate: given alone, expected only with --hot-sensors");
  refused(simulate("c.npy", {"--hot-sensors", "1"}), kWrongUsage,
          "--hot-sensors: given alone, expected only with --hot-rate");
  EXPECT_EQ(run(simulate("c.ptu", {"--tags", "t3", "--lifetime", "3ns"})).status, kDone);
}

TEST_F(Mistakes, OptionsOfFitsThatContradictEachOther) {
  const std::string g = curve();
  const auto refuses = [&](const std::vector<std::string>& more, const std::string& words) {
    std::vector<std::string> all{"fit", g, "-o", scratch / "f.csv", "--model", "3d"};
    all.insert(all.end(), more.begin(), more.end());
    refused(all, kWrongUsage, words);
  };
  refuses({"--fix", "kappa=5", "--free", "kappa"},
          "--free: kappa, expected a parameter that --fix leaves; leave one of them out");
  refuses({"--kappa", "1e6"}, "--kappa: 1e+06, expected 1 to 100; a focus without an end");
  refuses({"--kappa", "5", "--fix", "kappa=3"}, "--kappa: 5, expected none beside --fix kappa=");
  refuses({"--kappa", "5", "--start-at", "kappa=3"},
          "--kappa: 5, expected none beside --start-at kappa=");
  refuses({"--range", "100.1us:100.2us"}, "s, expected some of the curves' ");
}

TEST_F(Mistakes, NumbersOfOneThingGivenForAnother) {
  const std::string fil = filterbank();
  ASSERT_EQ(run({"search", fil, "-o", scratch / "c.csv", "--dms", "1"}).status, kDone);
  refused({"compare", scratch / "c.csv", scratch / "x.truth.json", "--curve", "1"}, kWrongUsage,
          "--curve: given for " + scratch / "c.csv" + ", expected only for correlation curves");
  refused({"search", fil, "-o", scratch / "d.csv", "--dms", "1", "--ifs", "3"}, kWrongUsage,
          "x.fil: IF: 3, expected 0, the only one");
  refused({"search", fil, "-o", scratch / "d.csv", "--dms", "1", "--latency", "1ms"}, kWrongUsage,
          "--latency: 0.001 s, expected about ");
  refused({"search", fil, "-o", scratch / "d.csv", "--dms", "1", "--inject", "foo"}, kWrongUsage,
          "--inject: foo, expected every=S,dm=LOW:HIGH");
  refused({"search", fil, "-o", scratch / "d.csv", "--dms", "1", "--inject", "every=10"},
          kWrongUsage,
          "--inject: every=10, expected width=LOW:HIGH beside it; without dm, snr and seed pulses "
          "have dm=0, snr=10 and seed=1");
  refused({"search", fil, "-o", scratch / "d.csv", "--dms", "1", "--inject", "dm=5"}, kWrongUsage,
          "--inject: dm=5, expected every=S and width=LOW:HIGH beside it");
  DadaFile many;
  many.nant = "32";
  write_file(scratch / "many.dada", many.bytes());
  refused({"send", scratch / "many.dada", "--to", "udp://127.0.0.1:9999"}, kWrongUsage,
          "--layout: not given, expected for packets (udp:) one of ");
  refused({"send", scratch / "many.dada", "--to", "udp://127.0.0.1:9999", "--layout", "mwa32t"},
          kWrongUsage,
          "--to: 1 address, expected 4; by mwa32t each sender has an address of its own; --layout "
          "names another");
  refused({"send", voltages(), "--to", "udp://127.0.0.1:9999", "--layout", "meerkat-f"},
          kWrongUsage,
          "--layout: meerkat-f, expected packets of the 1 channel that the voltages have; this "
          "layout takes a multiple of ");
}

#ifdef TAUTLINE_HDF5
// Either may select no integration; the option that does is named.
TEST_F(Mistakes, PartsOfVisibilitiesWithoutAnIntegration) {
  ASSERT_EQ(run({"correlate", voltages(), "-o", scratch / "v.uvh5", "--channels", "16",
                 "--integration", "5ms"})
                .status,
            kDone);
  refused(
      {"plot", scratch / "v.uvh5", "--duration", "1us"}, kWrongUsage,
      "--duration: 1e-06 s, expected more than 0.0025 s, which reach the middle of an integration");
  refused({"plot", scratch / "v.uvh5", "--start", "3ms", "--duration", "1us"}, kWrongUsage,
          "--duration: 1e-06 s, expected more than 0.004");
  refused({"plot", scratch / "v.uvh5", "--start", "1", "--duration", "1us"}, kWrongUsage,
          "--start: 1 s, expected a time that the file has integrations of");
}
#endif

TEST_F(Mistakes, WhatHasNoDefaultIsAskedFor) {
  refused({"simulate", "filterbank", "--duration", "1", "--fch1", "1500", "-o", scratch / "q.fil"},
          kWrongUsage,
          "--nchans, --foff, --tsamp: not given, expected all sizes of a filterbank, or a --scene "
          "that has them");
}

TEST_F(Mistakes, InterferenceOutsideOfTheData) {
  const auto refuses = [&](const std::string& option, const std::string& value,
                           const std::string& words) {
    refused({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff", "-10",
             "--tsamp", "1ms", "--duration", "1", "-o", scratch / "q.fil", option, value},
            kWrongUsage, option + words);
  };
  refuses("--impulse", "time=2,duration=1ms,amplitude=5",
          ": time: 2 s, expected an impulse with a part in the data, 0 to 1 s");
  refuses("--carrier", "frequency=1400,amplitude=5,start=2",
          ": start: 2 s, expected a carrier with a part in the data, 0 to 1 s");
  refuses("--carrier", "frequency=2000,amplitude=5",
          ": frequency: 2000 MHz, expected a frequency in the band, 1350 to 1500 MHz");
  refuses("--random-pulses", "count=3", ": count=3, expected width: above 0 s");
  refuses("--random-pulses", "count=3,width=1ms:x",
          ": count=3,width=1ms:x, expected width: LOW:HIGH");
  EXPECT_EQ(
      run({"simulate", "filterbank", "--nchans", "16", "--fch1", "1500", "--foff", "-10", "--tsamp",
           "1ms", "--duration", "1", "-o", scratch / "q.fil", "--carrier",
           "frequency=1504,amplitude=5", "--random-pulses", "count=3,dm=1,width=5ms:10ms,snr=9"})
          .status,
      kDone);
}

TEST_F(Mistakes, AFolderIsNoFigure) {
  refused({"plot", scratch.path().string(), "-o", "p.html"}, kFailed,
          "kind of file: a folder, expected voltages, filterbanks, series, visibilities, curves, "
          "photons, candidates, cut-outs or timings; give a file in it");
}

TEST_F(Mistakes, PlacesAndTimesThatNoDelaysTrack) {
  write_file(scratch / "array.toml",
             "latitude_deg = 52.9\nlongitude_deg = 6.6\n[[antenna]]\nenu_m = [0, 0, 0]\n"
             "[[antenna]]\nenu_m = [1e6, 0, 0]\n");
  const auto delays = [&](const std::string& ra_deg, const std::string& duration) {
    return std::vector<std::string>{"delays",
                                    "--array",
                                    scratch / "array.toml",
                                    "--name",
                                    "A",
                                    "--ra-deg",
                                    ra_deg,
                                    "--dec-deg",
                                    "10",
                                    "--utc-start",
                                    "2026-03-20-14:00:00",
                                    "--duration",
                                    duration,
                                    "-o",
                                    scratch / "d.toml"};
  };
  refused(delays("400", "10"), kWrongUsage, "--ra-deg: 400, expected 0 to 360");
  refused(delays("10", "1e8"), kWrongUsage, "--duration: 1e+08 s, expected at most ");
  refused(delays("10", "0"), kWrongUsage, "--duration: 0, expected above 0");
}

TEST_F(Mistakes, VoltagesInArraysThatAreTakenForSomethingElse) {
  const auto array = [&](const std::vector<std::uint64_t>& shape, std::size_t bytes) {
    write_file(scratch / "n.npy",
               formats::npy::format_header("|i1", shape) + std::string(bytes, '\xf4'));
    return scratch / "n.npy";
  };
  refused(
      {"correlate", array({4, 100'000, 2}, 800'000), "--format", "i8", "--rate-hz", "1e6", "-o",
       scratch / "o.uvh5"},
      kFailed,
      "where the last axis is the real and the imaginary part, give a complex --format, as ci8");
  refused({"correlate", array({4, 100'000, 3}, 1'200'000), "--format", "i8", "--rate-hz", "1e6",
           "-o", scratch / "o.uvh5"},
          kFailed, "time is the last");
  refused({"plot", array({2, 20'000}, 40'000), "-o", scratch / "o.html"}, kFailed,
          "voltages need --rate-hz; counts are not negative");
  refused({"channelize", voltages(), "--requantize", "4", "-o", scratch / "o.dada"}, kFailed,
          "--requantize: 4, expected 8 or off for voltages in a DADA file; write an array (.npy)");
}

}  // namespace
}  // namespace tautline::tests
