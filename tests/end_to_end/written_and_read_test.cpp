// Files that one command writes are read by another without further options; lists and texts for people.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/file_visibilities.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class WrittenAndRead : public ::testing::Test {
 protected:
  CommandResult run(const std::vector<std::string>& arguments) {
    const CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, kDone) << result.err;
    return result;
  }
  nlohmann::json json(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--json");
    const std::string out = run(arguments).out;
    const std::size_t end = out.find_last_not_of('\n');
    const std::size_t begin = end == std::string::npos ? end : out.rfind('\n', end);
    return nlohmann::json::parse(out.substr(begin == std::string::npos ? 0 : begin + 1));
  }
  // Pulses that a search finds, far apart in time.
  void simulate_pulses() {
    std::vector<std::string> words{"simulate",   "filterbank",
                                   "--nchans",   "64",
                                   "--fch1",     "1500",
                                   "--foff",     "-2",
                                   "--tsamp",    "0.0005",
                                   "--duration", "12",
                                   "--seed",     std::to_string(generator()() >> 1),
                                   "-o",         scratch / "x.fil"};
    for (int k = 0; k < 6; ++k) {
      std::ostringstream pulse;
      pulse << "dm=" << 20 + 13.7 * k << ",time=" << 1 + 1.7 * k << ",width=0.003,snr=" << 20 + k;
      words.insert(words.end(), {"--pulse", pulse.str()});
    }
    run(words);
  }

  ScratchFolder scratch;
};

TEST_F(WrittenAndRead, ChannelizedArraysNeedNoOptions) {
  write_file(scratch / "v.dada", DadaFile{}.bytes());
  for (const char* form : {"off", "8"}) {
    run({"channelize", scratch / "v.dada", "-o", scratch / "s.npy", "--channels", "16",
         "--requantize", form, "--overwrite"});
    run({"channelize", scratch / "v.dada", "-o", scratch / "s.dada", "--channels", "16",
         "--requantize", "8", "--overwrite"});
    const nlohmann::json array = json({"inspect", scratch / "s.npy"});
    const nlohmann::json dada = json({"inspect", scratch / "s.dada"});
    for (const char* field : {"antennas", "polarisations", "channels", "rate_hz", "samples",
                              "start_utc", "centre_hz", "bandwidth_hz"})
      EXPECT_EQ(array[field], dada[field]) << field << " " << form;
  }
  // An option that is given goes first.
  const nlohmann::json other = json({"inspect", scratch / "s.npy", "--rate-hz", "1000"});
  EXPECT_EQ(other["rate_hz"], nlohmann::json::parse("[1000, 1]"));
#ifdef TAUTLINE_HDF5
  run({"correlate", scratch / "s.npy", "-o", scratch / "npy.uvh5", "--integration", "0.01"});
  run({"correlate", scratch / "s.dada", "-o", scratch / "dada.uvh5", "--integration", "0.01"});
  const nlohmann::json of_array = json({"inspect", scratch / "npy.uvh5"});
  const nlohmann::json of_dada = json({"inspect", scratch / "dada.uvh5"});
  for (const char* field :
       {"antennas", "channels", "first_channel_hz", "integrations", "integration_s", "first_utc"})
    EXPECT_EQ(of_array[field], of_dada[field]) << field;
#endif
#ifdef TAUTLINE_HDF5
  // So does a pipeline's source.
  write_file(scratch / "p.toml", correlate_pipeline(scratch / "s.npy", scratch / "run.uvh5", "",
                                                    "integration_s = 0.01\n"));
  run({"run", scratch / "p.toml"});
  const FileVisibilities of_run = visibilities_in(scratch / "run.uvh5"),
                         of_command = visibilities_in(scratch / "npy.uvh5");
  EXPECT_EQ(of_run.values, of_command.values);
#endif
  std::filesystem::remove(scratch / "s.npy.json");
#ifdef TAUTLINE_HDF5
  EXPECT_EQ(run_command({"run", scratch / "p.toml"}, scratch.path().string()).status, kWrongUsage);
#endif
  const CommandResult without =
      run_command({"inspect", scratch / "s.npy"}, scratch.path().string());
  EXPECT_NE(without.err.find("--rate-hz"), std::string::npos) << without.err;
}

// The record beside the power says what its IFs are.
TEST_F(WrittenAndRead, OfStokesParametersIAloneIsSearched) {
  write_file(scratch / "v.dada", DadaFile{}.bytes());
  for (const char* stokes : {"I", "IQUV"})
    run({"channelize", scratch / "v.dada", "-o", scratch / (std::string(stokes) + ".fil"),
         "--channels", "16", "--stokes", stokes});
  EXPECT_EQ(json({"inspect", scratch / "IQUV.fil"})["summed_ifs"], nlohmann::json({0}));
  const auto dedispersed = [&](const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> words{"dedisperse", scratch / file, "-o",         scratch / "d.npy",
                                   "--dms",      "0:1:0.5",      "--overwrite"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult result = run(words);
    return std::pair(read_file(scratch / "d.npy"), result.err);
  };
  const std::string intensity = dedispersed("I.fil", {}).first;
  const auto [taken, said] = dedispersed("IQUV.fil", {});
  EXPECT_EQ(taken, intensity);
  EXPECT_NE(said.find("I alone is taken; a search takes others with --ifs"), std::string::npos)
      << said;
  const auto [chosen, nothing] = dedispersed("IQUV.fil", {"--ifs", "0,1"});
  EXPECT_NE(chosen, intensity);
  EXPECT_EQ(nothing.find("--ifs"), std::string::npos) << nothing;
  run({"search", scratch / "IQUV.fil", "-o", scratch / "c.csv", "--dms", "0:1"});
  EXPECT_EQ(nlohmann::json::parse(read_file(scratch / "c.csv.json"))["summed_ifs"],
            nlohmann::json({0}));
  std::filesystem::remove(scratch / "IQUV.fil.json");
  const auto [added, warned] = dedispersed("IQUV.fil", {});
  EXPECT_NE(added, intensity);
  EXPECT_NE(warned.find("4 IFs are added up"), std::string::npos) << warned;
}

// Through a second filter bank, to arrays and to detected power. Names of equal length, which the power's header has.
TEST_F(WrittenAndRead, ChannelizedArraysAreChannelizedAgainWithoutOptions) {
  write_file(scratch / "v.dada", DadaFile{}.bytes());
  const std::string array = scratch / "s2.npy", dada = scratch / "s.dada";
  for (const std::string& made : {array, dada})
    run({"channelize", scratch / "v.dada", "-o", made, "--channels", "16", "--requantize", "8"});
  const auto again = [&](const std::string& input, const std::string& output) {
    run({"channelize", input, "-o", scratch / output, "--fine", "4", "--overwrite"});
    return read_file(scratch / output);
  };
  EXPECT_EQ(again(array, "of_array.npy"), again(dada, "of_dada.npy"));
  std::string power = again(array, "of_array.fil");
  const std::size_t name = power.find(array);
  ASSERT_NE(name, std::string::npos);
  EXPECT_EQ(power.replace(name, array.size(), dada), again(dada, "of_dada.fil"));
  const auto record = [&](const std::string& of) {
    nlohmann::json all = nlohmann::json::parse(read_file(scratch / of));
    for (const char* field : {"history", "inputs", "kernels"}) all.erase(field);
    return all;
  };
  const nlohmann::json record_of_array = record("of_array.npy.json");
  EXPECT_EQ(record_of_array, record("of_dada.npy.json"));
  EXPECT_EQ(record_of_array["source"], "noise");
  std::filesystem::remove(array + ".json");
  const CommandResult without = run_command(
      {"channelize", array, "-o", scratch / "none.npy", "--fine", "4"}, scratch.path().string());
  EXPECT_EQ(without.status, kWrongUsage);
  EXPECT_NE(without.err.find("--rate-hz"), std::string::npos) << without.err;
}

// Every command that takes counts reads the bin in the truth beside them.
TEST_F(WrittenAndRead, SimulatedCountsSayTheirBin) {
  run({"simulate", "photons", "--sensors", "1", "--duration", "0.1", "--bin", "20us", "--model",
       "diffusion:n=2,tau=1e-3,rate=50000", "-o", scratch / "x.npy"});
  const auto curves = [&](const std::string& input, const std::vector<std::string>& more) {
    std::vector<std::string> words{"autocorrelate", scratch / input, "-o", scratch / "g.table.csv",
                                   "--overwrite"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::string says = "as " + (scratch / "x.truth.json") + " says";
  auto said = json(curves("x.npy", {}));
  EXPECT_EQ(said["bin_s"], 2e-5);
  EXPECT_EQ(said["bin_chosen"], says);
  const std::string table = read_file(scratch / "g.table.csv");
  auto given = json(curves("x.npy", {"--bin", "1us"}));
  EXPECT_EQ(given["bin_s"], 1e-6);
  EXPECT_EQ(given["bin_chosen"], "");
  auto held = json({"inspect", scratch / "x.npy"});
  EXPECT_EQ(held["bin_s"], 2e-5);
  EXPECT_NE(run({"inspect", scratch / "x.npy"}).out.find("  bins        2e-05 s, " + says),
            std::string::npos);
  const auto rate = [&](const std::string& name) {
    return json({"plot", scratch / name, "--overwrite"})["panels"][0];
  };
  EXPECT_EQ(rate("x.npy")["y"]["unit"], "kHz");
  // A pipeline's curves, without a bin of its own.
  write_file(scratch / "p.toml", "[counts]\ntype = \"count_file\"\npath = \"" +
                                     (scratch / "x.npy") +
                                     "\"\n[curves]\ntype = \"autocorrelator\"\ninputs = "
                                     "\"counts\"\n[file]\ntype = \"curve_file\"\ninputs = "
                                     "\"curves\"\npath = \"" +
                                     (scratch / "p.table.csv") + "\"\n");
  run({"run", scratch / "p.toml"});
  const auto rows = [](const std::string& text) { return text.substr(text.find("\nlag_s,")); };
  EXPECT_EQ(rows(read_file(scratch / "p.table.csv")), rows(table));
  // The truth is another file's.
  std::filesystem::copy_file(scratch / "x.npy", scratch / "y.npy");
  std::filesystem::copy_file(scratch / "x.truth.json", scratch / "y.truth.json");
  const CommandResult unknown = run_command(curves("y.npy", {}), scratch.path().string());
  EXPECT_EQ(unknown.status, kWrongUsage);
  EXPECT_NE(unknown.err.find("--bin"), std::string::npos) << unknown.err;
  EXPECT_TRUE(json({"inspect", scratch / "y.npy"})["bin_s"].is_null());
  EXPECT_EQ(rate("y.npy")["y"]["unit"], "a bin");
}

TEST_F(WrittenAndRead, CandidatesAreComparedWithTheTruth) {
  simulate_pulses();
  for (const char* name : {"c.csv", "c.cand", "c.singlepulse", "c.your.csv"}) {
    run({"search", scratch / "x.fil", "-o", scratch / name, "--dms", "0:120"});
    const nlohmann::json found = json({"compare", scratch / name, scratch / "x.truth.json"});
    EXPECT_EQ(keys_of(found), documented_object("`tautline.compare.candidates` 1"));
    EXPECT_EQ(found["pulses"], 6) << name;
    EXPECT_EQ(found["found"], 6) << name << found;
    EXPECT_EQ(found["recall"], 1) << name;
    // 0.943 of the true S/N in the best boxcar, up to 2 % less by spacing and 5 % by widths, and a few
    // percent more by the best of many; the mean of six has an error of 1 / (22 sqrt 6) = 0.02.
    EXPECT_GT(found["mean_snr_ratio"].get<double>(), 0.943 * 0.93 - 4 * 0.02) << name;
    EXPECT_LT(found["mean_snr_ratio"].get<double>(), 0.943 * 1.05 + 4 * 0.02) << name;
    EXPECT_EQ(found["candidates"].get<int>(),
              found["found"].get<int>() + found["duplicates"].get<int>() +
                  found["false_alarms"].get<int>() + found["cut"].get<int>());
  }
  // A list of nothing but a false alarm.
  write_file(scratch / "false.cand", "9\t1000\t0.5\t2\t3\t500\t1\t1000\t1001\n");
  const std::vector<std::string> words{"compare", scratch / "false.cand", scratch / "x.truth.json"};
  const nlohmann::json none = json({"compare", words[1], words[2], "--recall", "0"});
  EXPECT_EQ(none["found"], 0);
  EXPECT_EQ(none["false_alarms"], 1);
  EXPECT_TRUE(none["mean_snr_ratio"].is_null());
  const CommandResult text = run_command(words, scratch.path().string());
  EXPECT_EQ(text.status, kFailed);
  EXPECT_NE(text.out.find("missed"), std::string::npos) << text.out;
}

TEST_F(WrittenAndRead, TheColumnsOfYour) {
  simulate_pulses();
  run({"search", scratch / "x.fil", "-o", scratch / "c.your.csv", "--dms", "0:120"});
  std::istringstream lines(read_file(scratch / "c.your.csv"));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "file,snr,stime,width,dm,label,chan_mask_path,num_files");
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with(scratch / "x.fil,")) << line;
  EXPECT_TRUE(line.ends_with(",0,,1")) << line;
  const nlohmann::json shown = json({"inspect", scratch / "c.your.csv"});
  EXPECT_GE(shown["candidates"].get<int>(), 6) << shown;
}

TEST_F(WrittenAndRead, InspectShowsArraysScenesTruthsAndRecords) {
  write_file(scratch / "a.toml",
             "name = \"two\"\nlatitude_deg = \"-26:42:11.95\"\nlongitude_deg = \"116:40:14.93\"\n"
             "[[antenna]]\nenu_m = [0, 0, 0]\n[[antenna]]\nenu_m = [10, 0, 0]\n");
  const nlohmann::json array = json({"inspect", scratch / "a.toml"});
  EXPECT_EQ(keys_of(array), documented_object("`tautline.inspect.array` 1"));
  EXPECT_NEAR(array["latitude_deg"].get<double>(), -(26 + 42 / 60.0 + 11.95 / 3600), 1e-12);
  EXPECT_NEAR(array["longitude_deg"].get<double>(), 116 + 40 / 60.0 + 14.93 / 3600, 1e-12);
  EXPECT_EQ(array["antennas"].size(), 2u);
  write_file(
      scratch / "s.toml",
      "[[source]]\nname = \"Crab\"\nra_deg = \"05:34:31.9\"\ndec_deg = \"22:00:52\"\nflux = 1\n");
  EXPECT_EQ(keys_of(json({"inspect", scratch / "s.toml"})),
            documented_object("`tautline.inspect.scene` 1"));
  write_file(scratch / "f.toml", "nchans = 4\nfch1_mhz = 1500\nfoff_mhz = -1\ntsamp_s = 0.001\n");
  EXPECT_EQ(keys_of(json({"inspect", scratch / "f.toml"})),
            documented_object("`tautline.inspect.filterbank_scene` 1"));
  run({"delays", "--array", scratch / "a.toml", "--name", "Crab", "--ra-deg", "05:34:31.9",
       "--dec-deg", "22:00:52", "--utc-start", "2026-03-20-14:00:00", "--duration", "60", "-o",
       scratch / "d.toml"});
  const nlohmann::json delays = json({"inspect", scratch / "d.toml"});
  EXPECT_EQ(keys_of(delays), documented_object("`tautline.inspect.delays` 1"));
  EXPECT_EQ(delays["phase_centre"], "Crab");
  EXPECT_NEAR(delays["ra_deg"].get<double>(), 15 * (5 + 34 / 60.0 + 31.9 / 3600), 1e-9);
  EXPECT_EQ(delays["delays"], 4);
  EXPECT_TRUE(delays["valid_until"].get<std::string>().starts_with("2026-03-20T14:0"));
  simulate_pulses();
  const nlohmann::json truth = json({"inspect", scratch / "x.truth.json"});
  EXPECT_EQ(keys_of(truth), documented_object("`tautline.inspect.record` 1"));
  EXPECT_EQ(truth["record"]["pulses"].size(), 6u);
  for (const char* name : {"a.toml", "s.toml", "f.toml", "d.toml", "x.truth.json"})
    EXPECT_TRUE(run({"inspect", scratch / name}).out.starts_with(scratch / name)) << name;
}

}  // namespace
}  // namespace tautline::tests
