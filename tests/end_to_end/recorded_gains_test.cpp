// Spectra that `channelize` rounded: the record beside the file has their gains, and `correlate` divides them out, as
// it does with its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tests/end_to_end/file_visibilities.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

/// Noise of four inputs of unlike power, whose spectrum falls off: no two gains are alike.
class RecordedGains : public ::testing::Test {
 protected:
  static constexpr std::size_t kTimes = 60'000, kInputs = 4, kChannels = 16, kBaselines = 10;

  RecordedGains() { write_file(scratch / "x.dada", voltages(1)); }

  std::string voltages(double scale) {
    DadaFile dada;
    dada.payload_bytes = 0;
    std::string bytes = dada.bytes();
    std::normal_distribution<double> normal;
    std::vector<std::complex<double>> last(kInputs);
    for (std::size_t t = 0; t < kTimes; ++t) {
      const std::complex<double> common(normal(random), normal(random));
      for (std::size_t i = 0; i < kInputs; ++i) {
        last[i] = 0.5 * last[i] + std::complex<double>(normal(random), normal(random)) + common;
        const double level = scale * (5 + 3 * static_cast<double>(i));
        for (const double part : {last[i].real(), last[i].imag()})
          bytes += static_cast<char>(std::lround(std::clamp(level * part, -127.0, 127.0)));
      }
    }
    return bytes;
  }
  CommandResult run(std::vector<std::string> words, int status = kDone) {
    words.emplace_back("--overwrite");
    const CommandResult result = run_command(words, scratch.path().string());
    EXPECT_EQ(result.status, status) << result.err;
    return result;
  }
  void channelize(const std::string& input, const std::string& output, const std::string& form) {
    run({"channelize", scratch / input, "-o", scratch / output, "--channels", "16", "--requantize",
         form});
  }
  FileVisibilities correlate(const std::string& input, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"correlate",          scratch / input, "-o",
                                   scratch / "out.uvh5", "--integration", "0.01"};
    words.insert(words.end(), more.begin(), more.end());
    run(words);
    return visibilities_in(scratch / "out.uvh5");
  }
  FileVisibilities of_voltages(const std::string& form) {
    return correlate("x.dada", {"--channels", "16", "--requantize", form});
  }
  nlohmann::json record_of(const std::string& file) {
    return nlohmann::json::parse(read_file(scratch / (file + ".json")));
  }
  void write_record(const std::string& file, const nlohmann::json& record) {
    write_file(scratch / (file + ".json"), record.dump());
  }
  // The largest difference, as a fraction of the power of the baseline's inputs.
  static double apart(const FileVisibilities& is, const FileVisibilities& should) {
    EXPECT_EQ(is.counts, should.counts);
    EXPECT_EQ(is.middles, should.middles);
    EXPECT_EQ(is.values.size(), should.values.size());
    if (is.values.size() != should.values.size()) return HUGE_VAL;
    double most = 0;
    for (std::size_t first = 0; first < is.values.size(); first += kBaselines)
      for (std::size_t i = 0, k = first; i < kInputs; ++i)
        for (std::size_t j = 0; j <= i; ++j, ++k) {
          const auto power = [&](std::size_t input) {
            return std::abs(should.values[first + input * (input + 3) / 2]);
          };
          if (should.counts[k] > 0)
            most = std::max(most, static_cast<double>(std::abs(is.values[k] - should.values[k])) /
                                      std::sqrt(power(i) * power(j)));
        }
    return most;
  }

  std::mt19937_64 random = generator();
  ScratchFolder scratch;
};

// Rounding to 8 bits adds noise of 1.4 % of an input's amplitude to each of 800 spectra, to 4 bits 10 %, and clips.
TEST_F(RecordedGains, AreDividedOutAsThoseOfCorrelate) {
  const FileVisibilities exact = of_voltages("off");
  ASSERT_GT(exact.middles.size(), 3u);
  for (const auto& [file, form, noise] :
       {std::tuple{"s.dada", "8", 8e-3}, {"s.npy", "8", 8e-3}, {"t.npy", "4", 0.1}}) {
    channelize("x.dada", file, form);
    const FileVisibilities is = correlate(file);
    EXPECT_EQ(formats::open_visibilities(scratch / "out.uvh5")
                  ->description()
                  .extra.at("requantised_bits"),
              form);
    EXPECT_TRUE(is == of_voltages(form)) << file;
    EXPECT_LT(apart(is, exact), noise) << file;
    nlohmann::json record = record_of(file);
    record.erase("requantisation_gains");
    write_record(file, record);
    EXPECT_GT(apart(correlate(file), exact), 0.5) << file;
  }
}

TEST_F(RecordedGains, AreMissedWhereTheRecordIs) {
  const auto missed = [&](const std::string& form, bool gains) {
    channelize("x.dada", "s.dada", form);
    const std::vector<std::string> words{"correlate", scratch / "s.dada", "-o",
                                         scratch / "out.uvh5"};
    EXPECT_EQ(run(words).err.find("no record beside"), std::string::npos);
    std::filesystem::rename(scratch / "s.dada", scratch / "moved.dada");
    const std::string said =
        run({"correlate", scratch / "moved.dada", "-o", scratch / "out.uvh5"}).err;
    EXPECT_NE(said.find("moved.dada: no record beside these spectra of tautline"),
              std::string::npos)
        << said;
    EXPECT_EQ(said.find("gains before rounding are not divided out") != std::string::npos, gains)
        << said;
  };
  missed("8", true);
  missed("off", false);
}

TEST_F(RecordedGains, AreMissedBesideSpectraOfAPipelineToo) {
  write_file(scratch / "p.toml",
             "[voltages]\ntype = \"voltage_files\"\nfiles = \"" + (scratch / "x.dada") +
                 "\"\n[f]\ntype = \"filter_bank\"\ninputs = \"voltages\"\nchannels = 16\n"
                 "[s]\ntype = \"spectra_file\"\ninputs = \"f\"\npath = \"" +
                 (scratch / "s.dada") + "\"\n");
  run({"run", scratch / "p.toml"});
  const std::vector<std::string> words{"correlate", scratch / "s.dada", "-o", scratch / "out.uvh5"};
  EXPECT_EQ(run(words).err.find("no record beside"), std::string::npos);
  std::filesystem::remove(scratch / "s.dada.json");
  const std::string said = run(words).err;
  EXPECT_NE(said.find("no record beside these spectra"), std::string::npos) << said;
  EXPECT_NE(said.find("gains before rounding are not divided out"), std::string::npos) << said;
}

// What rounding clipped is in the record alone. 1 % of the components: gains put 7 steps at some 2.6 sigma.
TEST_F(RecordedGains, WhatWasClippedBeforeIsSaid) {
  channelize("x.dada", "s.npy", "4");
  const auto clipped = record_of("s.npy").at("clipped").get<std::uint64_t>();
  ASSERT_GT(clipped, 0u);
  const std::vector<std::string> words{"correlate", scratch / "s.npy", "-o", scratch / "out.uvh5"};
  EXPECT_NE(run(words).out.find(" 0 components clipped in rounding and " + std::to_string(clipped) +
                                " before,"),
            std::string::npos);
  EXPECT_EQ(
      formats::open_visibilities(scratch / "out.uvh5")->description().extra.at("clipped_before"),
      std::to_string(clipped));
  const auto summary = nlohmann::json::parse(
      run({"--json", "channelize", scratch / "s.npy", "-o", scratch / "fine.npy", "--fine", "4"})
          .out);
  EXPECT_EQ(summary["clipped_before"], clipped);
  EXPECT_EQ(record_of("fine.npy").at("clipped_before"), clipped);
  const auto of_voltages = nlohmann::json::parse(
      run({"--json", "correlate", scratch / "x.dada", "-o", scratch / "out.uvh5"}).out);
  EXPECT_EQ(of_voltages["clipped_before"], 0);
}

TEST_F(RecordedGains, AreThoseOfARangeOfChannelsAndOfPipelines) {
  channelize("x.dada", "s.dada", "8");
  EXPECT_TRUE(correlate("s.dada", {"--channel-range", "3:9"}) ==
              correlate("x.dada", {"--channels", "16", "--channel-range", "3:9"}));
  write_file(scratch / "p.toml", correlate_pipeline(scratch / "s.dada", scratch / "p.uvh5", "",
                                                    "integration_s = 0.01\n"));
  run({"run", scratch / "p.toml"});
  EXPECT_TRUE(visibilities_in(scratch / "p.uvh5") == of_voltages("8"));
}

// Of fine channels inside rounded ones, with gains of their own or none; and of these in a file.
TEST_F(RecordedGains, HoldForTheFineChannelsOfEachChannel) {
  channelize("x.dada", "floats.dada", "off");
  channelize("x.dada", "s.dada", "8");
  const FileVisibilities exact =
      correlate("floats.dada", {"--fine", "4", "--taps", "4", "--requantize", "off"});
  for (const std::string form : {"off", "8"}) {
    const std::vector<std::string> filter{"--fine", "4", "--taps", "4", "--requantize", form};
    const FileVisibilities is = correlate("s.dada", filter);
    EXPECT_LT(apart(is, exact), 2e-2) << form;
    std::vector<std::string> words{"channelize", scratch / "s.dada", "-o", scratch / "fine.npy"};
    words.insert(words.end(), filter.begin(), filter.end());
    run(words);
    EXPECT_LT(apart(correlate("fine.npy"), is), 1e-6) << form;
  }
}

TEST_F(RecordedGains, ThatContradictTheFileOrEachOtherAreRefused) {
  channelize("x.dada", "s.dada", "8");
  const nlohmann::json record = record_of("s.dada");
  const auto refused = [&](const nlohmann::json& gains, const std::string& said) {
    nlohmann::json other = record;
    other["requantisation_gains"] = gains;
    write_record("s.dada", other);
    const CommandResult result =
        run({"correlate", scratch / "s.dada", "-o", scratch / "out.uvh5"}, kFailed);
    EXPECT_NE(result.err.find("s.dada.json"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
  };
  nlohmann::json gains = record["requantisation_gains"];
  gains.erase(3);
  refused(gains, "of 15 channels, not 16");
  gains = record["requantisation_gains"];
  gains[3].erase(1);
  refused(gains, "of 3 inputs, not 4");
  gains = record["requantisation_gains"];
  gains[3][1] = -1;
  refused(gains, "a gain of -1");
  refused("none", "type");
  write_record("s.dada", record);
  // A second file that goes on where the first one ends, with gains of its own.
  std::string bytes = voltages(0.5);
  write_file(scratch / "y.dada", bytes);
  channelize("y.dada", "u.dada", "8");
  bytes = read_file(scratch / "u.dada");
  const std::size_t at = bytes.find("OBS_OFFSET");
  ASSERT_NE(at, std::string::npos);
  const std::string offset =
      std::to_string(record["spectra"].get<std::size_t>() * kChannels * kInputs * 2);
  bytes.replace(bytes.find('0', at), 1, offset);
  bytes.erase(bytes.find('\0'), offset.size() - 1);
  write_file(scratch / "u.dada", bytes);
  const CommandResult result = run(
      {"correlate", scratch / "s.dada", scratch / "u.dada", "-o", scratch / "out.uvh5"}, kFailed);
  EXPECT_NE(result.err.find("u.dada: other requantisation_gains"), std::string::npos) << result.err;
  std::filesystem::copy_file(scratch / "s.dada.json", scratch / "u.dada.json",
                             std::filesystem::copy_options::overwrite_existing);
  run({"correlate", scratch / "s.dada", scratch / "u.dada", "-o", scratch / "out.uvh5"});
}

// Gains that the user chose, far too small and far too large: the run says what became of the samples, and gains
// multiplied by the factor that it names are right.
TEST_F(RecordedGains, ThatAreFarFromRightAreNamedWithTheFactorThatIsRight) {
  const auto said = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{
        "correlate", scratch / "x.dada", "-o",         scratch / "out.uvh5",
        "--report",  scratch / "r.html", "--channels", "16"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words).err;
  };
  EXPECT_EQ(said({}).find("rounding to"), std::string::npos);
  EXPECT_EQ(said({"--requantize", "4"}).find("rounding to"), std::string::npos);
  std::string err = said({"--gains", "1e-4"});
  EXPECT_NE(err.find("rounding to 8 bits: 100 % of the samples of all inputs are zeros"),
            std::string::npos)
      << err;
  EXPECT_NE(err.find("leave --gains out"), std::string::npos) << err;
  EXPECT_EQ(err.find("multiply"), std::string::npos) << err;
  EXPECT_NE(read_file(scratch / "r.html").find("of the samples of all inputs are zeros"),
            std::string::npos);
  for (const double gain : {0.01, 30.0}) {
    err = said({"--gains", std::to_string(gain)});
    EXPECT_NE(err.find(gain < 1 ? "are zeros" : "were clipped"), std::string::npos) << err;
    const std::string words = "multiply --gains by about ";
    const std::size_t at = err.find(words);
    ASSERT_NE(at, std::string::npos) << gain << err;
    const double factor = std::stod(err.substr(at + words.size()));
    err = said({"--gains", std::to_string(gain * factor)});
    EXPECT_EQ(err.find("rounding to"), std::string::npos) << gain << " " << factor << err;
  }
}

// The level rises thirty times behind the spectra that gains are measured of.
TEST_F(RecordedGains, OfALevelThatRisesClipWhichIsSaid) {
  std::string bytes = voltages(0.1);
  bytes += voltages(3).substr(4096);
  write_file(scratch / "x.dada", bytes);
  const auto said = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{
        "correlate", scratch / "x.dada", "-o",  scratch / "out.uvh5", "--channels",
        "16",        "--integration",    "0.01"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words).err;
  };
  std::string err = said({});
  EXPECT_NE(err.find("of the samples of all inputs were clipped"), std::string::npos) << err;
  EXPECT_NE(err.find("--settle measures them again, --follow-gains"), std::string::npos) << err;
  err = said({"--follow-gains"});
  EXPECT_EQ(err.find("--settle measures"), std::string::npos) << err;
  EXPECT_EQ(said({"--requantize", "off"}).find("rounding to"), std::string::npos);
  write_file(scratch / "p.toml",
             correlate_pipeline(scratch / "x.dada", scratch / "p.uvh5", "channels = 16\n"));
  err = run({"run", scratch / "p.toml"}).err;
  EXPECT_NE(err.find("of the samples of all inputs were clipped"), std::string::npos) << err;
}

}  // namespace
}  // namespace tautline::tests
