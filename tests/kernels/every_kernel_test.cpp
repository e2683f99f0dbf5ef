// Every GPU kernel at least once, on problems small enough for compute-sanitizer, which slows a
// kernel down a hundred times and more (scripts/test-gpu). The stages' own tests look closer.
//
// Comments name the kernels of each test in full: scripts/check_layers.py wants every kernel in this folder.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tautline/stages/correlate/gpu/plan.h"
#include "tautline/stages/unpack/case_run.h"
#include "tests/stages/channelize/support.h"
#include "tests/stages/correlate/correlate_support.h"
#include "tests/support/gpus.h"
#include "tests/support/rewriting_device.h"

namespace tautline::tests {
namespace {
using stages::channelize::GpuDesign;
using stages::channelize::Output;

class KernelTest : public ::testing::Test {
 protected:
  void open(const std::string& name) {
    SKIP_WITHOUT_GPU(name);
    device = stages::channelize::open_device(name);
    queue = device->make_queue();
  }
  std::shared_ptr<const device::Device> device;
  std::unique_ptr<device::Queue> queue;
};

class EveryKernel : public KernelTest, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override { open(GetParam()); }
};

// unpack/gpu/unpack.kernel: rows or times next to each other, every size of element, with lost
// spans. unpack/gpu/floats.kernel: floats that lie on the device.
TEST_P(EveryKernel, Unpack) {
  namespace unpack = stages::unpack;
  auto random = generator();
  for (const auto& [format, order] :
       {std::pair(core::kCi8, "TA"), std::pair(core::kCi4, "AT"), std::pair(core::kCi16, "TA"),
        std::pair(core::SampleFormat{1, false, core::Encoding::twos_complement}, "AT"),
        std::pair(core::kCf32, "AT")}) {
    const unpack::Case c{"", format, 1, 37, 1, order, 150};
    core::RawBlock block = unpack::make_block(c, random, format.is_float());
    block.invalid = {{3, 60, 10}, {core::InvalidSpan::kAllInputs, 140, 20}};
    const auto reference = device::open(device::parse_selection("reference"));
    unpack::Config config = c.config();
    config.blocks_on_device = format.is_float();
    unpack::CaseRun oracle(c.config(), block, reference), calls(config, block, device);
    const auto plan = unpack::make_plan(config, device);
    EXPECT_TRUE(jit::results_of(calls, plan) ==
                jit::results_of(oracle, unpack::make_plan(c.config(), reference)))
        << core::to_string(format) << " " << plan->backend();
  }
}

// channelize/gpu/fused.kernel; channelize/gpu/columns.kernel and channelize/gpu/rows.kernel; channelize/gpu/fir.kernel
// and channelize/gpu/finish.kernel; channelize/gpu/gains.kernel. Every form of output, real and complex input, both
// sidebands, oversampled.
struct BankShape {
  const char* format;
  std::size_t channels, taps, spectra;
  Output output;
  GpuDesign design;
  bool lower = false;
  std::size_t p = 1, q = 1;
};

const std::vector<BankShape> kBankShapes{
    {"ci8", 64, 8, 70, Output::corner_turned_ci8, GpuDesign::fused},
    {"ci8", 1024, 4, 19, Output::spectra_float, GpuDesign::fused},
    {"i8", 256, 3, 18, Output::corner_turned_ci4, GpuDesign::fused, true},
    {"cf32", 128, 2, 17, Output::corner_turned_float, GpuDesign::fused, false, 4, 3},
    {"i16", 512, 2, 18, Output::corner_turned_ci8, GpuDesign::fused},
    {"ci8", 16384, 2, 3, Output::spectra_float, GpuDesign::fused},
    {"ci8", 8192, 3, 5, Output::corner_turned_ci8, GpuDesign::split, true},
    {"ci16", 32768, 1, 2, Output::spectra_float, GpuDesign::split},
    {"ci8", 12, 3, 40, Output::corner_turned_ci8, GpuDesign::separate, true, 4, 3},
    {"f32", 30, 2, 21, Output::corner_turned_float, GpuDesign::separate},
    {"ci8", 1000, 2, 6, Output::spectra_float, GpuDesign::separate}};

class EveryFilterBank : public KernelTest,
                        public ::testing::WithParamInterface<std::tuple<std::string, BankShape>> {
 protected:
  void SetUp() override { open(std::get<0>(GetParam())); }
};

TEST_P(EveryFilterBank, AgreesWithTheCpu) {
  namespace channelize = stages::channelize;
  auto random = generator();
  const BankShape& shape = std::get<1>(GetParam());
  if (std::getenv("TAUTLINE_SMALL") != nullptr && shape.channels > 8192)
    GTEST_SKIP() << "TAUTLINE_SMALL leaves out more than 8,192 channels";
  channelize::Config config;
  config.inputs = 3;
  config.channels = shape.channels, config.taps = shape.taps;
  config.input = core::parse_sample_format(shape.format);
  config.output = shape.output;
  config.lower_sideband = shape.lower;
  config.oversample_numerator = shape.p, config.oversample_denominator = shape.q;
  config.max_samples = channelize::Case{config, shape.spectra}.samples();
  channelize::Tunables tunables;
  tunables.gpu.design = shape.design;
  std::shared_ptr<const channelize::Plan> plan;
  try {
    plan = channelize::make_plan(config, device, tunables);
  } catch (const core::Error& error) {  // too little local memory, or no FFT library
    if (error.kind() != core::ErrorKind::unsupported) throw;
    GTEST_SKIP() << error.what();
  }
  SCOPED_TRACE(std::string(shape.format) + " " + plan->backend());
  channelize::Stream stream(config.input, config.inputs, config.max_samples);
  stream.randomise(random);
  core::ValidityMask mask(config.inputs, config.max_samples);
  mask.set(1, config.max_samples / 2, 3, false);
  const auto cpu = device::open({});
  channelize::Runner on_cpu(channelize::make_plan(config, cpu), cpu), here(plan, device);
  for (channelize::Runner* runner : {&on_cpu, &here}) {
    runner->mask = &mask;
    const float gain =
        channelize::gain_for(config, shape.output == Output::corner_turned_ci4 ? 2.0 : 20.0);
    runner->gains.assign(config.channels * config.inputs, gain);
  }
  const std::vector<std::size_t> cuts{config.max_samples / 3};  // so that history is used
  const channelize::Result expected = on_cpu.run(stream, cuts), got = here.run(stream, cuts);
  ASSERT_EQ(got.spectra, expected.spectra);
  if (shape.output == Output::corner_turned_ci8 || shape.output == Output::corner_turned_ci4) {
    double steps = 0;
    for (std::size_t k = 0; k < got.values.size(); ++k) {
      const auto d = got.values[k] - expected.values[k];
      ASSERT_LE(std::max(std::abs(d.real()), std::abs(d.imag())), 1.0F);
      steps += std::abs(d.real()) + std::abs(d.imag());
    }
    EXPECT_LE(steps,
              2 + 4 * channelize::Case::kStepFraction * static_cast<double>(got.values.size()));
  } else {
    EXPECT_LE(channelize::worst_difference(got, expected), 2 * channelize::Case::kFloatTolerance);
  }
}

// All with correlate/gpu/prepare.kernel, correlate/gpu/counts.kernel and correlate/gpu/add.kernel; few and many inputs,
// lost samples.
class EveryCorrelator : public EveryKernel {
 protected:
  template <class Sample>
  void check(std::size_t channels, std::size_t inputs, std::size_t samples,
             const stages::correlate::GpuTunables& tunables = {}) {
    namespace correlate = stages::correlate;
    correlate::tests::Data<Sample> data(channels, inputs, samples);
    correlate::tests::Masks masks(channels, inputs, samples);
    masks.randomise(0.1);
    const correlate::Config config = correlate::tests::config_for(data.samples());
    const auto plan = correlate::gpu::make_gpu_plan(config, device, tunables);
    SCOPED_TRACE(core::to_string(config.format) + " " + plan->backend());
    for (const bool masked : {false, true}) {
      const correlate::Validity valid = masked ? masks.view() : correlate::Validity();
      const auto expected = correlate::tests::run_reference(data.samples(), valid);
      const auto got = correlate::tests::run(*plan, *queue, data.samples(), valid);
      EXPECT_EQ(got.counts, expected.counts);
      double worst = 0;
      for (std::size_t k = 0; k < got.visibilities.size(); ++k) {
        const auto& a = got.visibilities[k];
        const auto& b = expected.visibilities[k];
        if constexpr (std::is_same_v<std::decay_t<decltype(a)>, core::ci64>)
          worst += !(a == b);
        else
          worst = std::max(
              worst, std::abs(a - b) / (1e-30 + scale_ * scale_ * static_cast<double>(samples)));
      }
      EXPECT_LE(worst, tolerance_) << (masked ? "masked" : "all valid");
    }
  }
  // One tile's diagonal; several tiles, not all of them whole; a last round in parts.
  void check_tensor_cores(stages::correlate::GpuDesign design) {
    stages::correlate::GpuTunables tunables;
    tunables.design = design;
    check<core::ci8>(3, 33, 70, tunables);
    check<core::ci8>(2, 260, 130, tunables);
    check<core::ci8>(1, 129, 2100, tunables);
    check<core::ci4>(2, 150, 200, tunables);
    tolerance_ = 1e-3;  // the matrix units cut sums of halves off
    check<core::cf16>(2, 150, 200, tunables);
    check<core::cf16>(1, 129, 700, tunables);
  }
  // 32-bit sums that wait in the state from call to call, and are then added.
  void check_deferred() {
    namespace correlate = stages::correlate;
    correlate::tests::Data<core::ci8> data(2, 200, 192);
    correlate::Config config = correlate::tests::config_for(data.samples());
    config.defer_sums = true;
    const auto plan = correlate::make_plan(config, device);
    EXPECT_NE(plan->backend().find("deferred"), std::string::npos) << plan->backend();
    correlate::tests::Sums<core::ci64> got(2, 200), expected(2, 200);
    const device::Buffer samples = device->allocate((data.storage.size() - 1) * sizeof(core::ci8));
    const device::Buffer sums = device->allocate(got.visibilities.size() * sizeof(core::ci64));
    const device::Buffer counts = device->allocate(got.counts.size() * sizeof(std::int64_t));
    queue->copy(samples.data(), data.storage.data() + 1, samples.bytes());
    queue->copy(sums.data(), got.visibilities.data(), sums.bytes());
    queue->copy(counts.data(), got.counts.data(), counts.bytes());
    const correlate::Samples<core::ci8> here(samples.as<core::ci8>(), data.extents);
    const auto state = plan->make_state(*queue);
    const auto reference = correlate::tests::reference_device();
    const auto oracle =
        correlate::make_plan(correlate::tests::config_for(data.samples()), reference);
    const auto oracle_queue = reference->make_queue();
    const auto oracle_state = oracle->make_state(*oracle_queue);
    for (int call = 0; call < 3; ++call) {
      plan->execute(*queue, *state, here, {}, got.view(sums.as<core::ci64>()),
                    got.view(counts.as<std::int64_t>()));
      oracle->execute(*oracle_queue, *oracle_state, data.samples(), {}, expected.visibility_view(),
                      expected.count_view());
    }
    plan->flush(*queue, *state, got.view(sums.as<core::ci64>()),
                got.view(counts.as<std::int64_t>()));
    queue->copy(got.visibilities.data(), sums.data(), sums.bytes());
    queue->copy(got.counts.data(), counts.data(), counts.bytes());
    queue->synchronise();
    correlate::tests::expect_equal(got, expected, plan->backend());
  }
  /// 0 through OpenCL, which cannot say what these kernels say.
  int capability() const {
    return device->api() == device::Api::cuda ? device->properties().compute_capability : 0;
  }

  double scale_ = 1;         // rms of a sample that is not exact
  double tolerance_ = 1e-5;  // of its sums, over the power of all samples
};

// correlate/gpu/tiled.kernel and correlate/gpu/tiled_float.kernel.
TEST_P(EveryCorrelator, Portable) {
  using stages::correlate::GpuDesign;
  stages::correlate::GpuTunables tunables;
  tunables.design = GpuDesign::tiled;
  for (const int buffers : {0, 1, 2}) {
    tunables.tiled.local_buffers = buffers;
    check<core::ci8>(2, 37, 150, tunables);
    check<std::complex<float>>(2, 37, 150, tunables);
  }
  check<core::ci4>(2, 20, 100, tunables);
  check<core::cf16>(2, 20, 100, tunables);
  scale_ = 32768;
  check<core::ci16>(2, 20, 100, tunables);
}

// correlate/gpu/mma.cuda.kernel.
TEST_P(EveryCorrelator, Mma) {
  if (capability() < 80) GTEST_SKIP() << "mma.sync wants CUDA and compute capability 8.0";
  check_tensor_cores(stages::correlate::GpuDesign::mma);
}

// correlate/gpu/hopper/wgmma.cuda.kernel, correlate/gpu/hopper/wgmma_deferred.cuda.kernel and
// correlate/gpu/hopper/flush_deferred.cuda.kernel.
TEST_P(EveryCorrelator, Wgmma) {
  if (capability() != 90) GTEST_SKIP() << "only CUDA on compute capability 9.0 has wgmma";
  check_tensor_cores(stages::correlate::GpuDesign::wgmma);
  check_deferred();
}

// Of a warp one lane arrives at a barrier, behind __syncwarp: in PTX's memory model that speaks for
// all of them, but compute-sanitizer's racecheck takes each lane's stores for themselves and
// reports hazards. Here all 32 lanes arrive, and nothing else is changed: what it reports is then a
// race.
void let_every_lane_arrive(device::ProgramSource& source) {
  const auto replace = [&source](const std::string& what, const std::string& with) {
    const std::size_t at = source.text.find(what);
    ASSERT_NE(at, std::string::npos) << source.name << " no longer has: " << what;
    source.text.replace(at, what.size(), with);
  };
  if (source.text.find("mbarrier.init") == std::string::npos) return;
  replace("if (THREAD_X % 32 == 0) barrier_arrive(barrier);", "barrier_arrive(barrier);");
  replace(R"(::"r"(barrier), "r"(arrivals) : "memory");)",
          R"(::"r"(barrier), "r"(32 * arrivals) : "memory");)");
  // The fetching thread stands alone: it arrives once with its bytes, and 31 times without.
  replace("DEVICE void barrier_arrive_and_expect(u32 barrier, u32 bytes) {",
          "DEVICE void barrier_arrive_and_expect(u32 barrier, u32 bytes) {\n"
          "  for (int k = 0; k < 31; ++k) barrier_arrive(barrier);");
}

TEST_P(EveryCorrelator, WgmmaWithEveryLaneArriving) {
  if (capability() != 90) GTEST_SKIP() << "only CUDA on compute capability 9.0 has wgmma";
  device = std::make_shared<RewritingDevice>(device, let_every_lane_arrive);
  check_tensor_cores(stages::correlate::GpuDesign::wgmma);
  check_deferred();
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryKernel, ::testing::ValuesIn(gpu_names()),
                         [](const auto& info) { return test_name(info.param); });
INSTANTIATE_TEST_SUITE_P(Devices, EveryFilterBank,
                         ::testing::Combine(::testing::ValuesIn(gpu_names()),
                                            ::testing::ValuesIn(kBankShapes)),
                         [](const auto& info) {
                           const BankShape& shape = std::get<1>(info.param);
                           return test_name(std::get<0>(info.param)) + "_" + shape.format + "_" +
                                  std::to_string(shape.channels);
                         });
INSTANTIATE_TEST_SUITE_P(Devices, EveryCorrelator, ::testing::ValuesIn(gpu_names()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace tautline::tests
