// Every backend against the reference over a covering set of configurations.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "tautline/core/error.h"
#include "tautline/stages/channelize/gpu/dispatch.h"
#include "tests/stages/channelize/support.h"

namespace tautline::stages::channelize {
namespace {

struct Row {
  std::size_t inputs, channels, taps, spectra;
  const char* format;
  Output output;
  bool lower = false;
  std::size_t p = 1, q = 1;
  const char* window = "hann";
};

// Every value of every parameter at least once, powers of two and other sizes with each output.
const std::vector<Row> kRows = {
    {1, 2, 1, 40, "ci8", Output::corner_turned_ci8},
    {3, 2, 8, 37, "i8", Output::corner_turned_float},
    {1, 3, 2, 33, "cf32", Output::spectra_float},
    {3, 3, 7, 19, "f32", Output::corner_turned_ci8},
    {1, 5, 8, 50, "i16", Output::spectra_float, true},
    {3, 5, 16, 17, "ci16", Output::corner_turned_ci4, true},
    {3, 8, 2, 35, "ci8", Output::corner_turned_float},
    {1, 8, 7, 16, "i8", Output::corner_turned_ci4, true},
    {1, 12, 1, 64, "ci8", Output::corner_turned_ci8, false, 4, 3},
    {3, 12, 8, 20, "i16", Output::corner_turned_float},
    {1, 30, 16, 18, "cf32", Output::corner_turned_ci8, true},
    {3, 30, 2, 21, "i8", Output::spectra_float, false, 4, 3},
    {1, 4, 3, 23, "ci16", Output::corner_turned_ci8},
    {1, 16, 8, 31, "f32", Output::corner_turned_float, true},
    {2, 32, 5, 33, "i8", Output::corner_turned_ci8, true},
    {1, 64, 8, 47, "ci8", Output::corner_turned_ci8},
    {3, 64, 7, 15, "i8", Output::corner_turned_ci8},
    {3, 64, 16, 32, "cf32", Output::corner_turned_float, true, 4, 3},
    {1, 64, 1, 16, "f32", Output::spectra_float, true},
    {1, 100, 8, 20, "ci8", Output::corner_turned_ci8},
    {3, 100, 2, 17, "f32", Output::corner_turned_ci4},
    {1, 128, 8, 17, "i16", Output::corner_turned_ci8, false, 4, 3},
    {1, 256, 8, 33, "i8", Output::corner_turned_ci8, false},
    {2, 512, 4, 18, "i8", Output::corner_turned_float, true},
    {1, 1024, 8, 35, "ci8", Output::corner_turned_ci8},
    {3, 1024, 16, 16, "ci16", Output::corner_turned_ci4},
    {1, 1024, 7, 17, "cf32", Output::spectra_float, true},
    {1, 1024, 8, 18, "i16", Output::corner_turned_float, true},
    {1, 1024, 8, 20, "ci8", Output::corner_turned_ci8, false, 32, 27},
    {1, 512, 8, 20, "i8", Output::corner_turned_float, true, 32, 27},
    {1, 2048, 2, 17, "ci8", Output::spectra_float},
    {1, 4096, 8, 17, "ci8", Output::corner_turned_ci8, true},
    {1, 4096, 2, 9, "f32", Output::corner_turned_ci8},
    {1, 8192, 4, 5, "ci8", Output::spectra_float},
    {1, 16384, 2, 3, "i8", Output::spectra_float},
    {1, 32768, 1, 2, "ci16", Output::corner_turned_float},
    {1, 65536, 2, 3, "ci8", Output::corner_turned_ci8},
};

Config config_of(const Row& row) {
  Config config;
  config.inputs = row.inputs;
  config.channels = row.channels;
  config.taps = row.taps;
  config.input = core::parse_sample_format(row.format);
  config.window = core::parse_window(row.window);
  config.oversample_numerator = row.p;
  config.oversample_denominator = row.q;
  config.lower_sideband = row.lower;
  config.output = row.output;
  return config;
}

bool integers(const Config& config) {
  return config.output == Output::corner_turned_ci8 || config.output == Output::corner_turned_ci4;
}

void expect_close(const Result& got, const Result& reference, const Config& config) {
  ASSERT_EQ(got.spectra, reference.spectra);
  ASSERT_EQ(got.values.size(), reference.values.size());
  if (!integers(config)) {
    EXPECT_LT(worst_difference(got, reference), Case::kFloatTolerance);
    return;
  }
  std::size_t different = 0;
  for (std::size_t n = 0; n < got.values.size(); ++n) {
    const auto d = got.values[n] - reference.values[n];
    ASSERT_LE(std::abs(d.real()), 1) << n;
    ASSERT_LE(std::abs(d.imag()), 1) << n;
    different += (d.real() != 0) + (d.imag() != 0);
  }
  // Four steps are always allowed: of 6,000 components, of which 1 in 100,000 differs, more than
  // one differ once in 600 runs, and more than four once in 1e8.
  EXPECT_LE(different, 4 + static_cast<std::size_t>(Case::kStepFraction * 2.0 *
                                                    static_cast<double>(got.values.size())));
}

class Backend : public ::testing::TestWithParam<Row> {};

TEST_P(Backend, EqualsTheReference) {
  const Config config = config_of(GetParam());
  auto random = tests::generator();
  const Case problem{config, GetParam().spectra};
  Stream stream(config.input, config.inputs, problem.samples() + config.hop_samples() / 2);
  stream.randomise(random);
  // A few clipped components: a target of 40 steps of 127, or 2.9 of 7.
  const float gain = gain_for(config, config.output == Output::corner_turned_ci4 ? 2.9 : 40);
  const auto run = [&](const std::string& device, const Tunables& tunables, std::string* name) {
    const auto opened = open_device(device);
    const auto plan = make_plan(config, opened, tunables);
    *name = plan->backend();
    Runner runner(plan, opened);
    runner.gains.assign(config.channels * config.inputs, gain);
    return runner.run(stream);
  };
  std::string name;
  const Result reference = run("reference", {}, &name);
  EXPECT_EQ(name, "reference");
  EXPECT_EQ(reference.spectra, GetParam().spectra);
  for (const std::string& device : forced_devices()) {
    SCOPED_TRACE(device);
    const std::string set =
        device == "cpu:portable" || device == "cpu:avx2" ? device.substr(4) : "avx512";
    expect_close(run(device, {}, &name), reference, config);
    EXPECT_EQ(name.substr(0, name.find(',')), set);
    expect_close(run(device, {.fused_max_channels = 0}, &name), reference, config);
    EXPECT_EQ(name.substr(0, name.find(',')), set);
    EXPECT_EQ(name.find("fused"), std::string::npos);
  }
}

// The designs of GPUs, and variants of the fused kernel.
const std::vector<GpuTunables> kGpuVariants = {
    {},
    {.design = GpuDesign::split},
    {.design = GpuDesign::separate},
    {.design = GpuDesign::fused, .fetch = 1, .symmetry = 1},
    {.design = GpuDesign::fused, .positions = 2, .unrolled_taps = 1, .fetch = 0, .symmetry = 1}};

struct GpuCase {
  const Row* row;
  GpuTunables tunables;
};

// Each case costs a compilation: some are left out by default.
std::vector<GpuCase> gpu_cases() {
  std::vector<GpuCase> cases;
  for (const Row& row : kRows)
    for (const GpuTunables& t : kGpuVariants) {
      const bool left_out = (t.fetch == 1 && row.taps != 8) ||
                            (t.unrolled_taps == 1 && row.taps % 2 == 0 && row.taps != 16);
      if (!left_out || std::getenv("TAUTLINE_FULL") != nullptr) cases.push_back({&row, t});
    }
  return cases;
}

class GpuBackend : public ::testing::TestWithParam<GpuCase> {
 protected:
  struct Expected {
    explicit Expected(const Row& of)
        : row(&of),
          config(config_of(of)),
          stream(config.input, config.inputs,
                 Case{config, of.spectra}.samples() + config.hop_samples() / 2) {
      auto random = tests::generator();
      stream.randomise(random);
      config.max_samples = stream.samples;  // buffers no larger than the test needs
      const auto device = open_device("reference");
      result = run(make_plan(config, device), device);
    }
    Result run(const std::shared_ptr<const Plan>& plan,
               const std::shared_ptr<const device::Device>& device) const {
      Runner runner(plan, device);
      const float gain = gain_for(config, config.output == Output::corner_turned_ci4 ? 2.9 : 40);
      runner.gains.assign(config.channels * config.inputs, gain);
      return runner.run(stream);
    }
    const Row* row;
    Config config;
    Stream stream;
    Result result;
  };
  /// Computed once for all cases of a row, which are consecutive.
  static const Expected& expected(const Row& row) {
    static std::unique_ptr<const Expected> last;
    if (last == nullptr || last->row != &row) last = std::make_unique<const Expected>(row);
    return *last;
  }
};

TEST_P(GpuBackend, EqualsTheReference) {
  if (gpu_devices().empty()) GTEST_SKIP() << "no OpenCL device (pocl-opencl-icd) and no NVIDIA GPU";
  const Expected& e = expected(*GetParam().row);
  Tunables tunables;
  tunables.gpu = GetParam().tunables;
  std::string unsupported;
  for (const std::string& name : gpu_devices()) {
    const auto device = open_device(name);
    std::shared_ptr<const Plan> plan;
    try {
      plan = make_plan(e.config, device, tunables);
    } catch (const core::Error& error) {
      ASSERT_EQ(error.kind(), core::ErrorKind::unsupported) << error.what();
      ASSERT_TRUE(tunables.gpu.design == GpuDesign::split ||
                  tunables.gpu.design == GpuDesign::fused)
          << error.what();
      unsupported += name + ": " + error.what() + "\n";
      continue;
    }
    SCOPED_TRACE(plan->backend());
    EXPECT_EQ(plan->backend().substr(0, 4), name.substr(0, 4));
    expect_close(e.run(plan, device), e.result, e.config);
  }
  if (!unsupported.empty()) GTEST_SKIP() << unsupported;
}

std::string row_name(const Row& r) {
  return std::to_string(r.channels) + "x" + std::to_string(r.taps) + "_" + r.format +
         (r.lower ? "_lower" : "");
}

INSTANTIATE_TEST_SUITE_P(Rows, Backend, ::testing::ValuesIn(kRows), [](const auto& info) {
  return std::to_string(info.index) + "_" + row_name(info.param);
});
INSTANTIATE_TEST_SUITE_P(Rows, GpuBackend, ::testing::ValuesIn(gpu_cases()), [](const auto& info) {
  return std::to_string(info.index) + "_" + row_name(*info.param.row) + "_" +
         gpu::name(info.param.tunables.design);
});

}  // namespace
}  // namespace tautline::stages::channelize
