// The JSON of the commands for photons has the fields that the guide lists.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class PhotonsJson : public ::testing::Test {
 protected:
  // The one object that the command prints, with the fields of `schema` in the guide.
  nlohmann::json json(std::vector<std::string> arguments, const std::string& schema,
                      int status = 0) {
    arguments.insert(arguments.begin(), "--json");
    const CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, status) << schema << ": " << result.err;
    return documented_in(result.out, schema);
  }
  // The second sensor is a bad one, so that one curve is left.
  std::string mask() {
    write_file(scratch / "mask.txt", "1 0\n");
    return scratch / "mask.txt";
  }
  ScratchFolder scratch;
};

const std::string kModel = "diffusion:n=1,tau=1e-4,rate=50000";

TEST_F(PhotonsJson, SimulateAndInspectTags) {
  for (const char* mode : {"t2", "t3"}) {
    const std::string file = scratch / (std::string(mode) + ".ptu");
    const auto made = json(
        {"simulate", "photons", "--duration", "0.2", "--tags", mode, "--model", kModel, "-o", file},
        "tautline.simulate.photons");
    EXPECT_EQ(made["sensors"], 1);
    const auto held = json({"inspect", file}, "tautline.inspect.photons");
    EXPECT_EQ(held["photons"], made["photons"]);
    ASSERT_EQ(held["detectors"].size(), 1u);
    EXPECT_EQ(keys_of(held["detectors"][0]), (Keys{"detector", "photons"}));
    EXPECT_EQ(held["damage"], nlohmann::json::array());
    // Cut short: the same fields, and status 3.
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 6);
    EXPECT_EQ(json({"inspect", file}, "tautline.inspect.photons", 3)["damage"].size(), 1u);
  }
}

#ifdef TAUTLINE_TIFF
TEST_F(PhotonsJson, InspectStacks) {
  // One frame of 2 rows and 3 columns of bytes.
  std::string tiff("II*\0\x0e\0\0\0", 8);
  const auto number = [&](std::uint32_t value, std::size_t bytes) {
    for (std::size_t b = 0; b < bytes; ++b) tiff += static_cast<char>(value >> 8 * b & 255);
  };
  tiff += std::string("\1\2\3\4\5\6", 6);
  const std::uint32_t tags[][2] = {{256, 3}, {257, 2}, {258, 8}, {259, 1}, {262, 1},
                                   {273, 8}, {277, 1}, {278, 2}, {279, 6}};
  number(9, 2);
  for (const auto& [tag, value] : tags) {
    number(tag, 2);
    number(3, 2);  // 16-bit value
    number(1, 4);
    number(value, 4);
  }
  number(0, 4);
  write_file(scratch / "x.tif", tiff);
  const auto held = json({"inspect", scratch / "x.tif"}, "tautline.inspect.counts");
  EXPECT_EQ(held["samples"], 1);
  EXPECT_EQ(held["rows"], 2);
  EXPECT_EQ(held["columns"], 3);
}
#endif

TEST_F(PhotonsJson, InspectArraysOfCounts) {
  const std::string file = scratch / "x.npy";
  json({"simulate", "photons", "--shape", "2x3", "--duration", "0.01", "--bin", "1e-5", "--model",
        kModel, "-o", file},
       "tautline.simulate.photons");
  const auto held = json({"inspect", file}, "tautline.inspect.counts");
  EXPECT_EQ(held["samples"], 1000);
  EXPECT_EQ(held["sensors"], 6);
  EXPECT_EQ(held["columns"], 3);
  // With dedisperse's record beside it another array is a series; without, the error names the option.
  std::string series = read_file(file).substr(0, 10);
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
  series[8] = static_cast<char>(text.size());
  series[9] = 0;
  write_file(scratch / "s.npy", series + text + std::string(24, '\0'));
  const auto inspect = [&](const std::vector<std::string>& files) {
    std::vector<std::string> words{"inspect"};
    words.insert(words.end(), files.begin(), files.end());
    return run_command(words, scratch.path().string());
  };
  const CommandResult unknown = inspect({scratch / "s.npy"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.err.find("--rate-hz"), std::string::npos) << unknown.err;
  write_file(scratch / "s.npy.json",
             R"({"schema": "tautline.dedisperse.record", "version": 1, "dms": [0, 1.5],)"
             R"( "tsamp_s": 0.001, "f_ref_mhz": 1400, "dm_constant": 4148.808})");
  const auto known = json({"inspect", scratch / "s.npy"}, "tautline.inspect.series");
  EXPECT_EQ(known["trials"], 2);
  EXPECT_EQ(known["samples"], 3);
  // Of the other byte order.
  const std::string swapped = "{'descr': '>u2', 'fortran_order': False, 'shape': (2, 3), }\n";
  write_file(scratch / "b.npy", series + swapped + std::string(12, '\0'));
  EXPECT_EQ(json({"inspect", scratch / "b.npy"}, "tautline.inspect.counts")["type"], "u16");
  // One that is missing does not end it.
  write_file(scratch / "g.zip", std::string("PK\3\4") + std::string(100, '\0'));
  const CommandResult several = inspect({scratch / "none.ptu", scratch / "g.zip", file});
  EXPECT_EQ(several.status, 1);
  EXPECT_NE(several.err.find("none.ptu"), std::string::npos) << several.err;
  EXPECT_NE(several.err.find("g.zip: archive"), std::string::npos) << several.err;
  EXPECT_NE(several.out.find("x.npy: photon counts"), std::string::npos) << several.out;
}

TEST_F(PhotonsJson, SimulateCorrelateFitAndInspectCurves) {
  const auto made = json({"simulate", "photons", "--sensors", "2", "--duration", "0.5", "--bin",
                          "1e-5", "--model", kModel, "-o", scratch / "x.npy"},
                         "tautline.simulate.photons");
  EXPECT_EQ(made["bins"], 50'000);
  const auto correlated =
      json({"--device", "cpu", "autocorrelate", scratch / "x.npy", "-o", scratch / "g.zip", "--bin",
            "1e-5", "--lags", "standard", "--bins", "16"},
           "tautline.autocorrelate");
  EXPECT_EQ(correlated["segments"], 10);
  EXPECT_EQ(correlated["live"], false);
  EXPECT_EQ(correlated["writes"], 1);
  json({"--device", "cpu", "autocorrelate", scratch / "x.npy", "-o", scratch / "g.csv", "--bin",
        "1e-5", "--lags", "standard", "--bins", "16", "--sensor-mask", mask()},
       "tautline.autocorrelate");
  const auto held = json({"inspect", scratch / "g.csv"}, "tautline.inspect.curves");
  ASSERT_EQ(held["curves"].size(), 1u);
  EXPECT_EQ(keys_of(held["curves"][0]), (Keys{"first", "second", "cross", "lags", "undefined_lags",
                                              "standard_errors", "mean_rate_hz"}));
  EXPECT_EQ(held["curves"][0]["undefined_lags"], 0);
  // The same with a heading, and with lag 0.
  ASSERT_EQ(run_command({"--device", "cpu", "autocorrelate", scratch / "x.npy", "-o",
                         scratch / "g.table.csv", "--bin", "1e-5", "--lags", "standard", "--bins",
                         "16", "--sensor-mask", mask()},
                        scratch.path().string())
                .status,
            kDone);
  const auto table = json({"inspect", scratch / "g.table.csv"}, "tautline.inspect.curves");
  EXPECT_EQ(table["format"], "CSV table");
  EXPECT_GT(table["curves"][0]["lags"], held["curves"][0]["lags"]);
  EXPECT_EQ(table["curves"][0]["mean_rate_hz"], held["curves"][0]["mean_rate_hz"]);
  EXPECT_EQ(json({"compare", scratch / "g.table.csv", scratch / "g.csv"},
                 "tautline.compare.curves")["rms_sigmas"],
            0);
  const auto compared =
      json({"compare", scratch / "g.csv", scratch / "g.csv"}, "tautline.compare.curves");
  EXPECT_EQ(compared["rms_sigmas"], 0);
  EXPECT_EQ(compared["agrees"], true);
#ifdef TAUTLINE_FIT
  const auto fitted = json({"fit", scratch / "g.csv", "-o", scratch / "fit.csv", "--model", "3d",
                            "--range", "1e-5:5e-3", "--waist", "0.25"},
                           "tautline.fit");
  EXPECT_EQ(fitted["curves"], 1);
  EXPECT_EQ(fitted["from_segments"], false);
  EXPECT_EQ(json({"fit", scratch / "g.table.csv", "-o", scratch / "again.csv", "--model", "3d",
                  "--range", "1e-5:5e-3", "--waist", "0.25"},
                 "tautline.fit")["medians"],
            fitted["medians"]);
  EXPECT_EQ(keys_of(fitted["medians"]),
            (Keys{"n", "tau_d_s", "kappa", "offset", "g0", "d_um2_per_s", "reduced_chi2"}));
#else
  GTEST_SKIP() << "a build without cminpack fits nothing";
#endif
}

}  // namespace
}  // namespace tautline::tests
