// Every GPU kernel of the autocorrelator, on problems small enough for compute-sanitizer.
#include "tautline/stages/autocorrelate/gpu/plan.h"
#include "tautline/stages/autocorrelate/step_sums.h"
#include "tests/stages/autocorrelate/support.h"
#include "tests/support/gpus.h"

namespace tautline::stages::autocorrelate::tests {
namespace {

class EveryAutocorrelator : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device_ = device::open(device::parse_selection(GetParam()));
    queue_ = device_->make_queue();
  }
  /// In two calls, so that what is kept is used.
  template <class Count>
  void check(const Config& config, std::size_t samples, double most, GpuDesign design) {
    const auto data = random_counts<Count>(samples, config.sensors, most);
    const auto plan = gpu::make_plan(config, device_,
                                     {.design = design,
                                      .lags = 4,
                                      .threads = 32,
                                      .part_rows = 64,
                                      .chunk_samples = 256,
                                      .pending_rows = 16});
    const auto state = plan->make_state(*queue_);
    plan->execute(*queue_, *state, view_of(data, config.sensors, 0, samples / 3));
    plan->execute(*queue_, *state, view_of(data, config.sensors, samples / 3));
    Result<ValueOf<Count>> got(config);
    plan->read(*queue_, *state, got.views());
    queue_->synchronise();
    const auto expected = run_on(kReference, config, data);
    const std::string where = config_text(config, samples);
    if constexpr (std::is_same_v<Count, float>) {
      EXPECT_EQ(got.sums, expected.sums) << where;
    } else {
      expect_equal(config, got, expected, where);
    }
  }
  void check_all(GpuDesign design) {
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard}) {
      check<std::uint8_t>({.sensors = 37, .lag_scheme = scheme, .bins = 32, .levels = 6}, 900, 255,
                          design);
      check<std::uint16_t>(
          {.sensors = 5, .lag_scheme = scheme, .bins = 6, .levels = 5, .type = SampleType::u16},
          700, 65535, design);
    }
    check<std::uint8_t>(
        {.sensors = 21, .bins = 8, .levels = 5, .pairs = {{3, 20}, {20, 3}, {7, 7}}}, 700, 255,
        design);
    check<std::uint32_t>({.sensors = 3, .bins = 6, .levels = 7, .type = SampleType::u32}, 700, 1e6,
                         design);
    check<float>({.sensors = 3, .bins = 6, .levels = 5, .type = SampleType::f32}, 700, 10, design);
  }
  std::shared_ptr<const device::Device> device_;
  std::unique_ptr<device::Queue> queue_;
};

// autocorrelate/gpu/gather.kernel, autocorrelate/gpu/read.kernel, autocorrelate/gpu/products.kernel,
// autocorrelate/gpu/coarsen.kernel, autocorrelate/gpu/keep.kernel, autocorrelate/gpu/totals.kernel and
// autocorrelate/gpu/fold.kernel.
TEST_P(EveryAutocorrelator, Portable) {
  check_all(GpuDesign::portable);
}

// autocorrelate/gpu/matrix.cuda.kernel.
TEST_P(EveryAutocorrelator, Matrix) {
  if (!gpu::has_matrix_design(*device_)) GTEST_SKIP() << "no matrix units to use";
  check_all(GpuDesign::matrix);
}

// autocorrelate/gpu/step_sums.kernel.
TEST_P(EveryAutocorrelator, StepSums) {
  const std::size_t sensors = 33, steps = 7, times = 300;
  for (const SampleType type : {SampleType::u8, SampleType::f32}) {
    StepSums sums(*device_, type, sensors, steps);
    std::vector<double> values(sensors * steps, 1);
    sums.write(*queue_, values);
    const device::Buffer counts = device_->allocate(times * sensors * core::bytes_of(type));
    queue_->fill(counts.data(), 0, counts.bytes());
    sums.add(*queue_, {counts.data(), type, {times, sensors}}, 5, 50);
    sums.read(*queue_, values);
    EXPECT_EQ(values, std::vector<double>(sensors * steps, 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryAutocorrelator,
                         ::testing::ValuesIn(tautline::tests::gpu_names()),
                         [](const auto& info) { return tautline::tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::stages::autocorrelate::tests
