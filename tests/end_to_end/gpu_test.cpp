// correlate and channelize on every device that compiles against the CPU, as a user runs them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <filesystem>
#include <random>

#include "tautline/core/error.h"
#include "tautline/core/half.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/visibility_reader.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"

namespace tautline::tests {
namespace {

struct Visibilities {
  std::vector<std::complex<float>> values;
  std::vector<std::int64_t> counts;
};

Visibilities read_all(const std::string& path) {
  Visibilities all;
  const auto reader = formats::open_visibilities(path);
  for (std::size_t k = 0; k < reader->integrations(); ++k) {
    const formats::Integration integration = reader->read(k);
    for (std::size_t c = 0; c < integration.visibilities.extent(0); ++c)
      for (std::size_t b = 0; b < integration.visibilities.extent(1); ++b) {
        all.values.push_back(integration.visibilities(c, b));
        all.counts.push_back(integration.counts(c, b));
      }
  }
  return all;
}

// Largest difference over the rms of the values.
double relative_difference(const Visibilities& a, const Visibilities& b) {
  double worst = 0, power = 0;
  for (std::size_t k = 0; k < a.values.size(); ++k) {
    worst = std::max(worst, static_cast<double>(std::abs(a.values[k] - b.values[k])));
    power += std::norm(a.values[k]);
  }
  return worst / std::sqrt(power / static_cast<double>(a.values.size()));
}

class OnGpu : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    try {
      formats::open_visibilities(scratch / "none.uvh5");
    } catch (const core::Error& error) {
      if (error.kind() == core::ErrorKind::unsupported) GTEST_SKIP() << error.what();
    }
  }
  CommandResult run(const std::string& device, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--device", device});
    return run_command(arguments, scratch.path().string());
  }
  Visibilities correlate(const std::string& device, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{
        "correlate",   scratch / "in.dada", "-o",   scratch / "v.uvh5",
        "--overwrite", "--integration",     "0.004"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = run(device, arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return result.status == 0 ? read_all(scratch / "v.uvh5") : Visibilities{};
  }
  ScratchFolder scratch;
};

TEST_P(OnGpu, ChannelizedIntegersGiveTheSameBits) {
  for (const char* bits : {"8", "4"}) {
    DadaFile file;
    file.nchan = "8";
    file.nant = "5";
    file.nbit = bits;
    file.payload_bytes = 8 * 10 * 10000;
    write_file(scratch / "in.dada", file.bytes());
    const Visibilities cpu = correlate("cpu"), gpu = correlate(GetParam());
    ASSERT_FALSE(cpu.values.empty());
    EXPECT_EQ(cpu.counts, gpu.counts);
    EXPECT_TRUE(cpu.values == gpu.values) << bits << " bits";
  }
}

// As many inputs as fill a tile of the matrix units, whose sums wait on the device.
TEST_P(OnGpu, ManyInputsInManyBlocksGiveTheSameBits) {
  DadaFile file;
  file.nchan = "4";
  file.nant = "64";
  file.payload_bytes = 4 * 128 * 2 * 4000;
  write_file(scratch / "in.dada", file.bytes());
  const std::vector<std::string> small{"--memory", "64M"};
  const Visibilities cpu = correlate("cpu"), gpu = correlate(GetParam(), small);
  ASSERT_FALSE(cpu.values.empty());
  EXPECT_EQ(cpu.counts, gpu.counts);
  EXPECT_TRUE(cpu.values == gpu.values);
}

TEST_P(OnGpu, HalvesAreTakenAsTheyAre) {
  std::mt19937_64 random = generator();
  std::normal_distribution<float> normal;
  constexpr std::size_t kNumbers = 3 * 6 * 1500 * 2;
  std::string halves, floats;
  for (std::size_t k = 0; k < kNumbers; ++k) {
    const core::Half half = core::to_half(normal(random));
    const float value = core::to_float(half);
    halves.append(reinterpret_cast<const char*>(&half), sizeof half);
    floats.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  using formats::npy::format_header;
  write_file(scratch / "halves.npy", format_header("<f2", {3, 6, 1500, 2}) + halves);
  write_file(scratch / "floats.npy", format_header("<c8", {3, 6, 1500}) + floats);
  const auto correlate_npy = [&](const std::string& device, const char* name) {
    const CommandResult result =
        run(device, {"correlate", scratch / name, "-o", scratch / "v.uvh5", "--overwrite",
                     "--integration", "0.5", "--rate-hz", "1000"});
    EXPECT_EQ(result.status, 0) << result.err;
    return result.status == 0 ? read_all(scratch / "v.uvh5") : Visibilities{};
  };
  const Visibilities expected = correlate_npy("cpu", "floats.npy");
  const Visibilities cpu = correlate_npy("cpu", "halves.npy");
  const Visibilities gpu = correlate_npy(GetParam(), "halves.npy");
  ASSERT_FALSE(expected.values.empty());
  ASSERT_EQ(gpu.values.size(), expected.values.size());
  EXPECT_TRUE(cpu.values == expected.values);
  EXPECT_EQ(cpu.counts, expected.counts);
  EXPECT_EQ(gpu.counts, expected.counts);
  EXPECT_LT(relative_difference(gpu, expected), 5e-4);  // of the autocorrelations' rms
}

TEST_P(OnGpu, TheWholeChainAgrees) {
  write_file(scratch / "in.dada", DadaFile{}.bytes());
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--channels", "64", "--requantize", "off"},
        std::vector<std::string>{"--channels", "60", "--requantize", "off", "--taps", "3"},
        std::vector<std::string>{"--channels", "64", "--requantize", "8"}}) {
    const Visibilities cpu = correlate("cpu", options), gpu = correlate(GetParam(), options);
    ASSERT_EQ(cpu.values.size(), gpu.values.size());
    ASSERT_FALSE(cpu.values.empty());
    EXPECT_EQ(cpu.counts, gpu.counts);
    // Floats by the stages' tolerances. A value on the edge between two steps may round the other
    // way: of 80 spectra, one of 5 sigma moves a power by 0.005 of itself, and two may meet.
    EXPECT_LT(relative_difference(cpu, gpu), options[3] == "8" ? 2e-2 : 2e-5);
  }
}

TEST_P(OnGpu, TracksASourceAsTheCpuDoes) {
  write_file(scratch / "in.dada", DadaFile{}.bytes());
  std::string delays = "phase_centre = \"a place\"\nra_deg = 10.0\ndec_deg = -20.0\n";
  for (int antenna = 0; antenna < 2; ++antenna)
    for (const char* feed : {"x", "y"})
      delays += "[[delay]]\nantenna = " + std::to_string(antenna) + "\nfeed = \"" + feed +
                "\"\npiece = [{ start = \"2026-03-20T13:59:00\", delay_s = " +
                std::to_string((antenna * 3 + (feed[0] == 'y')) * 1.7e-6) +
                ", delay_rate = 1e-9 }]\n";
  write_file(scratch / "delays.toml", delays);
  const std::vector<std::string> options{"--channels", "32",       "--requantize",
                                         "off",        "--delays", scratch / "delays.toml"};
  const Visibilities cpu = correlate("cpu", options), gpu = correlate(GetParam(), options);
  ASSERT_FALSE(cpu.values.empty());
  EXPECT_EQ(cpu.counts, gpu.counts);
  EXPECT_LT(relative_difference(cpu, gpu), 2e-5);
}

TEST_P(OnGpu, ChannelizeWritesWhatTheCpuWrites) {
  write_file(scratch / "in.dada", DadaFile{}.bytes());
  for (const std::string& device : {std::string("cpu"), GetParam()}) {
    const CommandResult result =
        run(device, {"channelize", scratch / "in.dada", "-o",
                     scratch / (test_name(device) + ".npy"), "--channels", "32"});
    ASSERT_EQ(result.status, 0) << result.err;
  }
  const std::string cpu = read_file(scratch / "cpu.npy");
  const std::string gpu = read_file(scratch / (test_name(GetParam()) + ".npy"));
  ASSERT_EQ(cpu.size(), gpu.size());
  ASSERT_GT(cpu.size(), 1000u);
  double worst = 0, power = 0;
  std::size_t values = 0;
  for (std::size_t at = 128; at + 4 <= cpu.size(); at += 4, ++values) {
    float a, b;
    std::memcpy(&a, cpu.data() + at, 4);
    std::memcpy(&b, gpu.data() + at, 4);
    worst = std::max(worst, static_cast<double>(std::abs(a - b)));
    power += static_cast<double>(a) * a;
  }
  EXPECT_LT(worst / std::sqrt(power / static_cast<double>(values)), 2e-5);
}

TEST_P(OnGpu, TooLittleDeviceMemoryIsSaidAndNothingIsLeft) {
  write_file(scratch / "in.dada", DadaFile{}.bytes());
  const CommandResult result =
      run(GetParam(), {"--device-memory", "100K", "correlate", scratch / "in.dada", "-o",
                       scratch / "v.uvh5", "--channels", "64"});
  EXPECT_EQ(result.status, kWrongUsage);
  EXPECT_NE(result.err.find("needed"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("--memory"), std::string::npos) << result.err;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
    EXPECT_EQ(entry.path().filename().string().find("v.uvh5"), std::string::npos) << entry.path();
}

// Compilers print the number of their warnings: of kernels (128 channels) and of VkFFT's (100). Nothing is cached.
TEST_P(OnGpu, QuietRunsPrintNothing) {
  write_file(scratch / "in.dada", DadaFile().bytes());
  for (const std::string channels : {"128", "100"}) {
    std::filesystem::create_directories(scratch / ("pocl" + channels));
    const CommandResult result =
        run_command({"--device", GetParam(), "--quiet", "channelize", scratch / "in.dada", "-o",
                     scratch / "c.npy", "--overwrite", "--channels", channels},
                    scratch.path().string(),
                    {{"TAUTLINE_CACHE", scratch / ("cache" + channels)},
                     {"POCL_CACHE_DIR", scratch / ("pocl" + channels)}});
    EXPECT_EQ(result.status, kDone) << result.err;
    EXPECT_EQ(result.out + result.err, "") << channels << " channels";
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, OnGpu, ::testing::ValuesIn(gpu_names()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace tautline::tests
