// Ordinary bad days: what the command says, how it exits, and what it leaves behind.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "tautline/core/baseline.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/visibility_reader.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

class BadInput : public ::testing::Test {
 protected:
  CommandResult correlate(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{
        "correlate", scratch / "in.dada", "-o",   scratch / "out.uvh5", "--channels",
        "16",        "--integration",     "0.005"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_command(arguments, scratch.path().string());
  }
  // No file under the final name, nor beside it.
  void expect_nothing_left() {
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path())) {
      const std::string name = entry.path().filename().string();
      EXPECT_FALSE(name.starts_with("out.")) << name;
    }
  }
  void write(const DadaFile& file) { write_file(scratch / "in.dada", file.bytes()); }

  ScratchFolder scratch;
};

struct Lie {
  const char* name;
  void (*tell)(DadaFile&);
  const char* named;  // what the message must name
};

class LyingHeader : public BadInput, public ::testing::WithParamInterface<Lie> {};

TEST_P(LyingHeader, IsRefusedByNameAndLeavesNothing) {
  DadaFile file;
  GetParam().tell(file);
  write(file);
  const CommandResult result = correlate();
  EXPECT_EQ(result.status, kFailed) << result.err;
  EXPECT_NE(result.err.find("in.dada"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(GetParam().named), std::string::npos) << result.err;
  expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(
    Dada, LyingHeader,
    ::testing::Values(
        Lie{"nbit_zero", [](DadaFile& f) { f.nbit = "0"; }, "NBIT"},
        Lie{"nbit_negative", [](DadaFile& f) { f.nbit = "-8"; }, "NBIT"},
        Lie{"nbit_absurd", [](DadaFile& f) { f.nbit = "7"; }, "NBIT"},
        Lie{"nchan_zero", [](DadaFile& f) { f.nchan = "0"; }, "NCHAN"},
        Lie{"nchan_negative", [](DadaFile& f) { f.nchan = "-3"; }, "NCHAN"},
        Lie{"nchan_absurd", [](DadaFile& f) { f.nchan = "99999999999"; }, "NCHAN"},
        Lie{"tsamp_zero", [](DadaFile& f) { f.tsamp = "0"; }, "TSAMP"},
        Lie{"tsamp_negative", [](DadaFile& f) { f.tsamp = "-0.78"; }, "TSAMP"},
        Lie{"tsamp_absurd", [](DadaFile& f) { f.tsamp = "1e300"; }, "TSAMP"},
        Lie{"tsamp_nan", [](DadaFile& f) { f.tsamp = "nan"; }, "TSAMP"},
        Lie{"header_size_zero", [](DadaFile& f) { f.hdr_size = "0"; }, "HDR_SIZE"},
        Lie{"header_size_past_the_end", [](DadaFile& f) { f.hdr_size = "9999999"; }, "HDR_SIZE"},
        Lie{"antennas_absurd", [](DadaFile& f) { f.nant = "1000000000000"; }, "NANT"},
        Lie{"polarisations_zero", [](DadaFile& f) { f.npol = "0"; }, "NPOL"},
        Lie{"dimensions_three", [](DadaFile& f) { f.ndim = "3"; }, "NDIM"},
        Lie{"order_unknown", [](DadaFile& f) { f.order = "TXYZ"; }, "ORDER"},
        Lie{"order_twice", [](DadaFile& f) { f.order = "TTAP"; }, "ORDER"},
        Lie{"utc_nonsense", [](DadaFile& f) { f.utc = "2026-13-45-99:00:00"; }, "UTC_START"}),
    [](const auto& lie) { return std::string(lie.param.name); });

TEST_F(BadInput, ATruncatedFileIsProcessedAndNamed) {
  DadaFile file;
  file.payload_bytes += 5;  // a sample of 4 inputs takes 8 bytes
  write(file);
  const CommandResult result = correlate();
  EXPECT_EQ(result.status, kDamaged) << result.err;
  EXPECT_NE(result.err.find("in.dada"), std::string::npos) << result.err;
  EXPECT_TRUE(std::filesystem::exists(scratch / "out.uvh5"));
  EXPECT_EQ(correlate({"--overwrite", "--strict"}).status, kFailed);
}

TEST_F(BadInput, AnEmptyFileAndAFileOfNoise) {
  write_file(scratch / "in.dada", "");
  EXPECT_EQ(correlate().status, kFailed);
  DadaFile noise;
  write_file(scratch / "in.dada", noise.bytes().substr(4096));
  EXPECT_EQ(correlate().status, kFailed);
  expect_nothing_left();
}

TEST_F(BadInput, AMissingFileAndAFolder) {
  EXPECT_EQ(correlate().status, kFailed);
  std::filesystem::create_directory(scratch / "in.dada");
  EXPECT_EQ(correlate().status, kFailed);
  expect_nothing_left();
}

TEST_F(BadInput, SamplesThatAreNotFiniteAreFlaggedAndCounted) {
  DadaFile file;
  file.nbit = "32";
  file.extra = "ENCODING IEEE_FLOAT\n";
  std::string bytes = file.bytes().substr(0, 4096);
  std::vector<float> samples(8 * 20000, 1.0f);
  auto random = generator();
  std::normal_distribution<float> normal;
  for (float& x : samples) x = normal(random);
  samples[1000] = std::numeric_limits<float>::quiet_NaN();
  samples[80001] = std::numeric_limits<float>::infinity();
  bytes.append(reinterpret_cast<const char*>(samples.data()), samples.size() * sizeof(float));
  write_file(scratch / "in.dada", bytes);
  const CommandResult result = correlate({"--json"});
  EXPECT_EQ(result.status, kDamaged) << result.err;
  EXPECT_NE(result.out.find("\"not_finite\":2"), std::string::npos) << result.out;
}

// Finite samples whose products are not: no infinity is written as if it had been measured. One such sample does not set
// the gain of its input: it is clipped, which is said.
TEST_F(BadInput, VisibilitiesThatOverflowAreFlaggedAndCounted) {
  constexpr std::size_t kInputs = 3, kTimes = 4000, kLoud = 1;
  auto random = generator();
  std::normal_distribution<float> normal;
  for (const bool all : {false, true})  // one loud sample, or every one
    for (const char* requantise : {"8", "off"}) {
      const std::string what = std::string(all ? "all, " : "one, ") + requantise;
      std::string bytes = formats::npy::format_header("<c8", {kInputs, kTimes});
      for (std::size_t i = 0; i < kInputs; ++i)
        for (std::size_t t = 0; t < kTimes; ++t) {
          std::complex<float> value(normal(random), normal(random));
          if (all) value *= 1e37f;
          if (!all && i == kLoud && t == 1000) value = 3e38f;
          bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
        }
      write_file(scratch / "in.npy", bytes);
      const CommandResult result = run_command(
          {"--json", "correlate", scratch / "in.npy", "-o", scratch / "out.uvh5", "--rate-hz",
           "1280000", "--centre-hz", "1e8", "--channels", "16", "--integration", "0.001",
           "--requantize", requantise, "--overwrite", "--keep-edge"},
          scratch.path().string());
      const bool clipped = !all && requantise == std::string("8");
      EXPECT_EQ(result.status, clipped ? kDone : kDamaged) << what << result.err;
      EXPECT_NE(result.err.find(clipped ? "of input 1x were clipped" : "overflowed"),
                std::string::npos)
          << what << result.err;
      const auto reader = formats::open_visibilities(scratch / "out.uvh5");
      std::size_t flagged = 0;
      for (std::size_t k = 0; k < reader->integrations(); ++k) {
        const formats::Integration one = reader->read(k);
        for (std::size_t c = 0; c < 16; ++c)
          for (std::size_t i = 0; i < kInputs; ++i)
            for (std::size_t j = 0; j <= i; ++j) {
              const std::complex<float> value = one.visibilities(c, core::baseline_index(i, j));
              const std::int64_t count = one.counts(c, core::baseline_index(i, j));
              EXPECT_TRUE(std::isfinite(value.real()) && std::isfinite(value.imag())) << what;
              flagged += count == 0 ? 1 : 0;
              if (count != 0) continue;
              EXPECT_EQ(value, std::complex<float>()) << what;
              EXPECT_TRUE(all || (i == kLoud && j == kLoud && k == 0)) << what;
            }
      }
      const std::size_t values = reader->integrations() * 16 * core::baseline_count(kInputs);
      EXPECT_EQ(flagged, all ? values : clipped ? 0 : 16) << what;
      EXPECT_EQ(nlohmann::json::parse(result.out)["overflowed"], flagged) << what;
    }
}

TEST_F(BadInput, AnExistingOutputIsKept) {
  write(DadaFile{});
  write_file(scratch / "out.uvh5", "precious");
  EXPECT_NE(correlate().status, kDone);
  EXPECT_EQ(read_file(scratch / "out.uvh5"), "precious");
  EXPECT_EQ(correlate({"--overwrite"}).status, kDone);
}

TEST_F(BadInput, AnUnwritableOutputIsAnError) {
  write(DadaFile{});
  const CommandResult result = run_command(
      {"correlate", scratch / "in.dada", "-o", "/proc/nowhere/out.uvh5"}, scratch.path().string());
  EXPECT_EQ(result.status, kFailed) << result.err;
  EXPECT_NE(result.err.find("/proc/nowhere"), std::string::npos) << result.err;
}

TEST_F(BadInput, OverlappingAndDisagreeingFilesAreErrors) {
  write(DadaFile{});
  write_file(scratch / "second.dada", DadaFile{}.bytes());
  EXPECT_EQ(correlate({scratch / "second.dada"}).status, kFailed);
  EXPECT_NE(read_file(scratch / "err").find("overlap"), std::string::npos);
  EXPECT_EQ(read_file(scratch / "err").find("--receivers"), std::string::npos);
  DadaFile other;
  other.utc = "2026-03-20-15:00:00";
  other.npol = "1";
  write_file(scratch / "second.dada", other.bytes());
  EXPECT_EQ(correlate({scratch / "second.dada"}).status, kFailed);
  expect_nothing_left();
}

TEST_F(BadInput, AGapClosesTheIntegrationAndIsCounted) {
  write(DadaFile{});
  DadaFile later;
  later.utc = "2026-03-20-14:00:01";
  write_file(scratch / "second.dada", later.bytes());
  // In the wrong order: files are sorted by time.
  const CommandResult result =
      run_command({"--json", "correlate", scratch / "second.dada", scratch / "in.dada", "-o",
                   scratch / "out.uvh5", "--channels", "16", "--integration", "1"},
                  scratch.path().string());
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_NE(result.out.find("\"integrations\":2"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("\"gap_samples\":1260000"), std::string::npos) << result.out;
  // Two of 20,000 samples, 1,250 spectra less the window's, where 80,000 would be a whole one.
  const CommandResult said =
      run_command({"correlate", scratch / "second.dada", scratch / "in.dada", "-o",
                   scratch / "out.uvh5", "--channels", "16", "--integration", "1", "--overwrite"},
                  scratch.path().string());
  EXPECT_EQ(said.status, kDone) << said.err;
  EXPECT_NE(said.out.find("2 integrations of at most 1 s, 0.031075 s together"), std::string::npos)
      << said.out;
  EXPECT_NE(said.out.find("1260000 in gaps (0.984375 s)"), std::string::npos) << said.out;
}

TEST_F(BadInput, WrongUsageIsStatusTwoAndSaysWhat) {
  write(DadaFile{});
  const struct {
    std::vector<std::string> more;
    const char* named;
  } cases[] = {{{"--channels", "1"}, "channels"},
               {{"--channels", "100000"}, "channels"},
               {{"--taps", "0"}, "taps"},
               {{"--window", "gauss"}, "window"},
               {{"--integration", "0"}, "integration"},
               {{"--integration", "-1"}, "integration"},
               {{"--start", "99"}, "start"},
               {{"--memory", "lots"}, "memory"},
               {{"--oversample", "1/2"}, "oversample"},
               {{"--phase-center", "nowhere"}, "phase-center"}};
  for (const auto& c : cases) {
    std::vector<std::string> arguments{"correlate", scratch / "in.dada", "-o",
                                       scratch / "out.uvh5"};
    arguments.insert(arguments.end(), c.more.begin(), c.more.end());
    const CommandResult result = run_command(arguments, scratch.path().string());
    EXPECT_EQ(result.status, kWrongUsage) << c.named << ": " << result.err;
    EXPECT_NE(result.err.find(c.named), std::string::npos) << result.err;
    expect_nothing_left();
  }
  EXPECT_EQ(run_command({"correlate"}, scratch.path().string()).status, kWrongUsage);
  EXPECT_EQ(run_command({"fly"}, scratch.path().string()).status, kWrongUsage);
  EXPECT_EQ(run_command({"--device", "cpu:quantum", "devices"}, scratch.path().string()).status,
            kWrongUsage);
}

// Options in place of a header: each is named when it is wrong.
TEST_F(BadInput, NumbersThatMakeNoSenseNameTheirOption) {
  write_file(scratch / "in.npy", "never read");
  const struct {
    const char *option, *value;
  } cases[] = {{"--rate-hz", "nan"},    {"--rate-hz", "0"},      {"--centre-hz", "-5"},
               {"--centre-hz", "1e9x"}, {"--bandwidth-hz", "0"}, {"--bandwidth-hz", "-inf"},
               {"--bandwidth-hz", "-"}};
  for (const auto& c : cases) {
    const CommandResult result =
        run_command({"correlate", scratch / "in.npy", "-o", scratch / "out.uvh5",
                     std::string(c.option) + "=" + c.value},
                    scratch.path().string());
    EXPECT_EQ(result.status, kWrongUsage) << result.err;
    const std::string said = std::string(c.option) + ": " + c.value + ", expected";
    EXPECT_NE(result.err.find(said), std::string::npos) << said << " in " << result.err;
  }
  expect_nothing_left();
}

// Without --receivers, files that start together are taken for two of the same time.
TEST_F(BadInput, ReceiversWithoutTheirOptionAreToldOfIt) {
  const std::string demo = TAUTLINE_SOURCE_DIR "/examples/demo/";
  const CommandResult made = run_command(
      {"simulate", "voltages", "--array", demo + "array.toml", "--scene", demo + "scene.toml",
       "--format", "mwa32t", "--bits", "4", "--duration", "0.01", "-o", scratch / "mwa"},
      scratch.path().string());
  ASSERT_EQ(made.status, kDone) << made.err;
  std::vector<std::string> arguments{"correlate", scratch / "mwa.0",    scratch / "mwa.1",
                                     "-o",        scratch / "out.uvh5", "--integration",
                                     "0.005"};
  const CommandResult refused = run_command(arguments, scratch.path().string());
  EXPECT_EQ(refused.status, kFailed) << refused.err;
  EXPECT_NE(refused.err.find("--receivers"), std::string::npos) << refused.err;
  arguments.push_back("--receivers");
  EXPECT_EQ(run_command(arguments, scratch.path().string()).status, kDone);
}

TEST_F(BadInput, TooLittleMemoryIsRefusedWithTheNumbers) {
  write(DadaFile{});
  const std::size_t needed = needed_kib(correlate({"--memory", "1K"}).err);
  const CommandResult result = correlate({"--memory", std::to_string(needed - 1) + "K"});
  EXPECT_EQ(result.status, kWrongUsage) << result.err;
  EXPECT_NE(result.err.find("--memory"), std::string::npos) << result.err;
  expect_nothing_left();
}

}  // namespace
}  // namespace tautline::tests
