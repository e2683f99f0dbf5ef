// correlate on several GPUs of one host: the same bits as on one, whatever they share.
#include <gtest/gtest.h>

#include <complex>
#include <nlohmann/json.hpp>

#include "tautline/formats/npy/header.h"
#include "tautline/formats/visibility_reader.h"
#include "tests/end_to_end/run_command.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"
#include "tests/support/visibilities.h"

namespace tautline::tests {
namespace {

struct Outcome {
  std::vector<std::complex<float>> values;
  std::vector<std::int64_t> counts;
  nlohmann::json summary;
  std::vector<std::uint64_t> sent() const {
    std::vector<std::uint64_t> bytes;
    for (const auto& device : summary["devices"]) bytes.push_back(device["sent_bytes"]);
    return bytes;
  }
};

// PoCL shows the CPU as several devices when asked to.
class SeveralDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device::cuda::device_count() > 1) {
      one_ = "cuda:0";
      several_ = two_ = "cuda:0,cuda:1";
    } else if (device::opencl::device_count() > 0 && device::opencl::is_host_cpu(0)) {
      one_ = "opencl:0";
      several_ = "opencl:0,opencl:1,opencl:2";
      two_ = "opencl:0,opencl:1";
    } else {
      GTEST_SKIP() << "neither two NVIDIA GPUs nor PoCL as the first OpenCL device";
    }
  }

  Outcome correlate(const std::string& device, const std::string& input,
                    const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"--device",      device, "--json",           "correlate",
                                       scratch / input, "-o",   scratch / "v.uvh5", "--overwrite"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result =
        run_command(arguments, scratch.path().string(), {{"POCL_DEVICES", "pthread basic basic"}});
    const bool done = result.status == 0 || result.status == 3;  // with damage
    EXPECT_TRUE(done) << result.err;
    Outcome run;
    if (!done) return run;
    run.summary = nlohmann::json::parse(result.out);
    const auto reader = formats::open_visibilities(scratch / "v.uvh5");
    for (std::size_t k = 0; k < reader->integrations(); ++k) {
      const formats::Integration integration = reader->read(k);
      for (std::size_t c = 0; c < integration.visibilities.extent(0); ++c)
        for (std::size_t b = 0; b < integration.visibilities.extent(1); ++b) {
          run.values.push_back(integration.visibilities(c, b));
          run.counts.push_back(integration.counts(c, b));
        }
    }
    return run;
  }
  void expect_same(const Outcome& a, const Outcome& b, const std::string& what) {
    ASSERT_FALSE(a.values.empty()) << what;
    EXPECT_EQ(a.counts, b.counts) << what;
    EXPECT_TRUE(a.values == b.values) << what;
    for (const char* counter : {"integrations", "spectra", "samples", "clipped", "not_finite",
                                "gap_samples", "lost_samples"})
      EXPECT_EQ(a.summary[counter], b.summary[counter]) << what << " " << counter;
  }

  ScratchFolder scratch;
  std::string one_, two_, several_;
};

TEST_F(SeveralDevices, ShareTheChannelsOfAChannelizedStream) {
  constexpr std::size_t kChannels = 7, kInputs = 4, kTimes = 9000;  // 7 does not divide evenly
  for (const char* order : {"TFAP", "FTAP"})
    for (const char* bits : {"8", "4"}) {
      DadaFile file;
      file.nchan = "7";
      file.nbit = bits;
      file.order = order;
      const std::size_t sample = bits[0] == '8' ? 2 : 1;
      file.payload_bytes = kChannels * kInputs * kTimes * sample;
      write_file(scratch / "in.dada", file.bytes());
      const std::vector<std::string> options{"--integration", "0.003"};
      const Outcome cpu = correlate("cpu", "in.dada", options);
      const Outcome shared = correlate(several_, "in.dada", options);
      expect_same(cpu, shared, std::string(order) + " " + bits);
      ASSERT_GE(shared.sent().size(), 2u);
      for (const std::uint64_t bytes : shared.sent())
        EXPECT_EQ(bytes, kChannels * kInputs * kTimes * sample) << order;
    }
}

// Each filters its own coarse channels, and what it clips there is counted.
TEST_F(SeveralDevices, OfFineChannelsEachCountsWhatItClips) {
  constexpr std::size_t kChannels = 5, kInputs = 4, kTimes = 20000;
  DadaFile file;
  file.nchan = "5";
  file.bw = "6.4";
  file.payload_bytes = kChannels * kInputs * kTimes * 2;
  write_file(scratch / "in.dada", file.bytes());
  const std::vector<std::string> options{"--fine",        "8",   "--requantize", "4",
                                         "--integration", "0.01"};
  const Outcome one = correlate(one_, "in.dada", options),
                shared = correlate(several_, "in.dada", options);
  expect_same(one, shared, "fine channels");
  EXPECT_GT(one.summary["clipped"], 0);
}

// A NaN in a channel of one device makes the sample invalid on all of them.
TEST_F(SeveralDevices, AgreeOnSamplesThatAreNotFinite) {
  auto random = generator();
  std::normal_distribution<float> normal;
  std::string floats;
  for (std::size_t k = 0; k < 5 * 4 * 3000 * 2; ++k) {
    const float value = random() % 501 == 0 ? std::nanf("") : normal(random);
    floats.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  write_file(scratch / "in.npy", formats::npy::format_header("<c8", {5, 4, 3000}) + floats);
  const std::vector<std::string> options{"--integration", "1.1", "--rate-hz", "1000"};
  const Outcome one = correlate(one_, "in.npy", options),
                shared = correlate(two_, "in.npy", options);
  expect_same(one, shared, "floats");
  EXPECT_GT(one.summary["not_finite"], 0);
  for (const std::uint64_t bytes : shared.sent()) EXPECT_LE(bytes, 3 * 4 * 3000 * 8u);
}

TEST_F(SeveralDevices, ShareTheChannelsOfVoltages) {
  constexpr std::size_t kPayload = std::size_t{12} << 20;
  DadaFile file;
  file.payload_bytes = kPayload;
  write_file(scratch / "in.dada", file.bytes());
  // Blocks of 2 MiB; integrations end inside them, and some blocks end several.
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--integration", "0.7", "--channels", "64"},
        std::vector<std::string>{"--integration", "0.05", "--channels", "50", "--taps", "3",
                                 "--requantize", "4"}}) {
    std::vector<std::string> more{"--memory", "32M"};
    more.insert(more.end(), options.begin(), options.end());
    const Outcome one = correlate(one_, "in.dada", more),
                  shared = correlate(several_, "in.dada", more);
    expect_same(one, shared, options[1]);
    EXPECT_EQ(one.sent(), std::vector<std::uint64_t>{kPayload});
    for (const std::uint64_t bytes : shared.sent()) EXPECT_EQ(bytes, kPayload);
  }
}

TEST_F(SeveralDevices, GoOnAfterAGapAndFromBlocksShorterThanASpectrum) {
  DadaFile file;
  file.payload_bytes = 8 * 300000;
  write_file(scratch / "a.dada", file.bytes());
  file.utc = "2026-03-20-14:00:01";
  write_file(scratch / "b.dada", file.bytes());
  const std::string both = scratch / "b.dada";
  // A spectrum spans 40,960 samples; blocks are as short as they get.
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{both, "--channels", "32", "--integration", "0.1"},
        std::vector<std::string>{both, "--channels", "640", "--taps", "64", "--integration", "0.1",
                                 "--memory", "16M"}}) {
    const Outcome one = correlate(one_, "a.dada", options);
    const Outcome shared = correlate(two_, "a.dada", options);
    expect_same(one, shared, options[2]);
    EXPECT_GT(one.summary["gap_samples"], 0);
  }
}

TEST_F(SeveralDevices, ShareTheChannelsOfVoltagesWhoseSumsAreFloats) {
  write_file(scratch / "in.dada", DadaFile{}.bytes());
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--requantize", "off", "--channels", "32"},
        std::vector<std::string>{"--oversample", "4/3", "--channels", "32"}}) {
    const Outcome one = correlate(one_, "in.dada", options);
    const Outcome shared = correlate(two_, "in.dada", options);
    expect_same(one, shared, options[0]);
  }
}

}  // namespace
}  // namespace tautline::tests
