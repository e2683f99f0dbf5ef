// Features of the GPU plan alone: device addresses, slabs, designs and tunables.
#include "tautline/stages/correlate/case.h"
#include "tautline/stages/correlate/gpu/plan.h"
#include "tests/stages/correlate/correlate_support.h"
#include "tests/stages/correlate/covering_tunables.h"

namespace tautline::stages::correlate::tests {
namespace {

constexpr Backend kGpus[] = {kBackends[5], kBackends[6]};

class Gpu : public EachBackend {
 protected:
  void SetUp() override {
    EachBackend::SetUp();
    if (IsSkipped()) return;
    device_ = opened(GetParam());
    queue_ = device_->make_queue();
  }

  /// A copy of host memory at `offset` bytes of a device buffer.
  template <class T>
  T* upload(const std::vector<T>& from, std::size_t offset = 0) {
    buffers_.push_back(device_->allocate(from.size() * sizeof(T) + offset));
    auto* to = buffers_.back().template as<std::byte>() + offset;
    queue_->copy(to, from.data(), from.size() * sizeof(T));
    return reinterpret_cast<T*>(to);
  }
  template <class T>
  std::vector<T> download(const T* from, std::size_t count) {
    std::vector<T> to(count);
    queue_->copy(to.data(), from, count * sizeof(T));
    queue_->synchronise();
    return to;
  }

  /// The same view of other memory.
  template <class T, std::size_t Rank>
  static core::View<T, Rank> moved(const core::View<T, Rank>& view, T* data) {
    return {data, view.extents(), view.strides()};
  }

  /// Runs `plan` with each buffer on the device or on the host, and compares with the reference.
  template <class Sample>
  void check(const Plan& plan, Data<Sample>& data, const Masks* masks, unsigned on_device,
             const std::string& what, std::size_t offset = 0, std::size_t spread = 1) {
    const auto reference = make_plan(config_for(data.samples()), reference_device());
    const Validity validity = masks != nullptr ? masks->view() : Validity();
    Sums<VisibilityOf<Sample>> got(data.extents[0], data.extents[1], spread), expected = got;
    const auto oracle_queue = reference_device()->make_queue();
    const auto oracle_state = reference->make_state(*oracle_queue);
    reference->execute(*oracle_queue, *oracle_state, data.samples(), validity,
                       expected.visibility_view(), expected.count_view());

    auto samples = data.samples();
    if (on_device & 1) samples = moved<const Sample>(samples, upload(data.storage, offset) + 1);
    auto mask = validity;
    if (masks != nullptr && (on_device & 2) != 0)
      mask = moved<const std::uint64_t>(mask, upload(masks->words));
    auto visibilities = got.visibility_view();
    if (on_device & 4) visibilities = moved(visibilities, upload(got.visibilities));
    auto counts = got.count_view();
    if (on_device & 8) counts = moved(counts, upload(got.counts));
    const auto state = plan.make_state(*queue_);
    plan.execute(*queue_, *state, samples, mask, visibilities, counts);
    if (on_device & 4) got.visibilities = download(visibilities.data(), got.visibilities.size());
    if (on_device & 8) got.counts = download(counts.data(), got.counts.size());
    compare(got, expected, data, what);
  }

  static void compare(const Sums<core::ci64>& got, const Sums<core::ci64>& expected,
                      Data<core::ci8>&, const std::string& what) {
    expect_equal(got, expected, what);
  }
  static void compare(const Sums<core::ci64>& got, const Sums<core::ci64>& expected,
                      Data<core::ci4>&, const std::string& what) {
    expect_equal(got, expected, what);
  }
  template <class Sample>
  static void compare(const Sums<std::complex<double>>& got,
                      const Sums<std::complex<double>>& expected, Data<Sample>& data,
                      const std::string& what) {
    ASSERT_EQ(got.counts, expected.counts) << what;
    double energy = 0;  // of the loudest input: a bound for all of its baselines
    for (const auto& x : data.storage) energy = std::max<double>(energy, std::norm(value(x)));
    for (std::size_t k = 0; k < got.visibilities.size(); ++k)
      ASSERT_LE(std::abs(got.visibilities[k] - expected.visibilities[k]),
                kTolerance<Sample> * static_cast<double>(data.extents[2]) * energy)
          << what << " at " << k;
  }
  static std::complex<double> value(std::complex<float> x) { return x; }
  static std::complex<double> value(core::cf16 x) {
    return {core::to_float(x.re), core::to_float(x.im)};
  }
  static std::complex<double> value(core::ci16 x) { return {double(x.re), double(x.im)}; }

  std::shared_ptr<const device::Device> device_;
  std::unique_ptr<device::Queue> queue_;
  std::vector<device::Buffer> buffers_;
};

TEST_P(Gpu, EachBufferOnEitherSide) {
  Data<core::ci8> data(3, 21, 200);
  Masks masks(3, 21, 200);
  masks.randomise(0.2);
  const auto plan = make_plan(config_for(data.samples()), device_);
  for (unsigned on_device = 0; on_device < 16; ++on_device)
    for (const Masks* mask : {static_cast<const Masks*>(nullptr), &std::as_const(masks)}) {
      check(*plan, data, mask, on_device,
            "on device " + std::to_string(on_device) + (mask != nullptr ? ", masked" : ""));
      if (HasFatalFailure()) return;
    }
}

TEST_P(Gpu, EveryFormatOnTheDevice) {
  const auto run_format = [&](auto data) {
    const auto plan = make_plan(config_for(data.samples()), device_);
    Masks masks(2, 18, 150, /*shared=*/true);
    masks.randomise(0.2);
    check(*plan, data, nullptr, 15, core::to_string(plan->config().format));
    check(*plan, data, &masks, 15, core::to_string(plan->config().format) + " masked");
    check(*plan, data, &masks, 0, core::to_string(plan->config().format) + " masked, on the host");
  };
  run_format(Data<core::ci4>(2, 18, 150));
  run_format(Data<core::ci8>(2, 18, 150));
  run_format(Data<core::ci16>(2, 18, 150));
  run_format(Data<core::cf16>(2, 18, 150));
  run_format(Data<std::complex<float>>(2, 18, 150));
}

TEST_P(Gpu, AnyAlignmentAndStrides) {
  const auto plan = make_plan({.channels = 2, .inputs = 17, .max_samples = 200}, device_);
  for (const std::size_t samples : {128u, 131u, 200u})
    for (const std::size_t offset : {0u, 2u, 14u, 16u})  // the samples start 2 bytes later
      for (const Spacing spacing : {Spacing{}, Spacing{1, 8, 16}, Spacing{2, 1, 3}}) {
        Data<core::ci8> data(2, 17, samples, spacing);
        check(*plan, data, nullptr, 15, std::to_string(samples) + " samples", offset);
        if (HasFatalFailure()) return;
      }
}

TEST_P(Gpu, StridedOutputsOnTheDevice) {
  Data<core::ci8> data(2, 21, 100);
  const auto plan = make_plan(config_for(data.samples()), device_);
  check(*plan, data, nullptr, 15, "every third", 0, 3);
  Data<std::complex<float>> floats(2, 21, 100);
  const auto float_plan = make_plan(config_for(floats.samples()), device_);
  check(*float_plan, floats, nullptr, 15, "every third, float", 0, 3);
}

GpuTunables small_slabs() {
  GpuTunables tunables;
  tunables.slab_bytes = 1 << 20;
  return tunables;
}

TEST_P(Gpu, ManySlabs) {
  // 1 MiB holds 7 channels of 70 inputs x 1000 samples.
  Data<core::ci8> data(23, 70, 1000);
  Masks masks(23, 70, 1000);
  masks.randomise(0.1);
  const auto plan = gpu::make_gpu_plan(config_for(data.samples()), device_, small_slabs());
  EXPECT_LT(plan->bytes().device_bytes, std::size_t{4} << 20);
  for (const unsigned on_device : {0u, 1u, 14u, 15u})
    check(*plan, data, &masks, on_device, "slabs, on device " + std::to_string(on_device));
}

TEST_P(Gpu, NothingIsWrittenAroundTheSums) {
  // Visibilities and counts in the middle of buffers of a pattern.
  constexpr std::size_t kInputs = 19, kChannels = 2, kGuard = 256;
  Data<core::ci8> data(kChannels, kInputs, 100);
  Sums<core::ci64> start(kChannels, kInputs);
  const std::size_t size = start.visibilities.size();
  std::vector<core::ci64> visibilities(size + 2 * kGuard, core::ci64{0x55aa, -77});
  std::vector<std::int64_t> counts(size + 2 * kGuard, 0x5a5a);
  auto* v = upload(visibilities);
  auto* n = upload(counts);
  const auto plan = make_plan(config_for(data.samples()), device_);
  const auto state = plan->make_state(*queue_);
  plan->execute(*queue_, *state, data.samples(), {}, moved(start.visibility_view(), v + kGuard),
                moved(start.count_view(), n + kGuard));
  const auto v_after = download(v, visibilities.size());
  const auto n_after = download(n, counts.size());
  for (std::size_t k = 0; k < kGuard; ++k) {
    EXPECT_EQ(v_after[k], visibilities[k]);
    EXPECT_EQ(v_after[size + kGuard + k], visibilities[k]);
    EXPECT_EQ(n_after[k], counts[k]);
    EXPECT_EQ(n_after[size + kGuard + k], counts[k]);
  }
  EXPECT_NE(v_after[kGuard], visibilities[0]);
}

TEST_P(Gpu, CountsMayWaitForTheRelease) {
  Data<core::cf16> data(3, 21, 100);
  Masks masks(3, 21, 100);
  masks.randomise(0.2);
  Config config = config_for(data.samples());
  config.defer_sums = true;
  const auto plan = make_plan(config, device_), reference = make_plan(config, reference_device());
  const auto state = plan->make_state(*queue_);
  const auto reference_queue = reference_device()->make_queue();
  const auto reference_state = reference->make_state(*reference_queue);
  Sums<std::complex<double>> got(3, 21), expected(3, 21);
  std::int64_t* const counts = upload(got.counts);
  for (int call = 0; call < 3; ++call) {
    const Validity validity = call == 1 ? masks.view() : Validity();
    plan->execute(*queue_, *state, data.samples(), validity, got.visibility_view(),
                  got.view(counts));
    reference->execute(*reference_queue, *reference_state, data.samples(), validity,
                       expected.visibility_view(), expected.count_view());
  }
  plan->flush(*queue_, *state, got.visibility_view(), got.view(counts));
  plan->flush(*queue_, *state, got.visibility_view(), got.view(counts));
  got.counts = download(counts, got.counts.size());
  compare(got, expected, data, "three calls");
  EXPECT_THROW(
      plan->flush(*queue_, *state, got.visibility_view(), Sums<core::ci64>(3, 20).count_view()),
      core::Error);
}

TEST_P(Gpu, MemoryIsWhatWasSaid) {
  // With a memory limit, the free bytes are exactly those not allocated.
  const auto limited = device::open(GetParam().selection, {.device_memory_bytes = 256 << 20});
  const auto queue = limited->make_queue();
  for (const core::SampleFormat format : {core::kCi4, core::kCi8, core::kCf16, core::kCf32}) {
    const auto plan =
        make_plan({.channels = 5, .inputs = 33, .max_samples = 1000, .format = format}, limited);
    const std::size_t before = limited->free_bytes();
    const auto state = plan->make_state(*queue);
    EXPECT_EQ(before - limited->free_bytes(), plan->bytes().device_bytes);
    EXPECT_GT(plan->bytes().host_bytes, 0u);
  }
}

TEST_P(Gpu, ExecuteTakesNoDeviceMemory) {
  // With a memory limit, other processes on the same card change nothing.
  const auto limited = device::open(GetParam().selection, {.device_memory_bytes = 256 << 20});
  const auto queue = limited->make_queue();
  Data<core::ci8> data(3, 40, 500);
  const auto plan = make_plan(config_for(data.samples()), limited);
  const auto state = plan->make_state(*queue);
  Sums<core::ci64> sums(3, 40);
  const std::size_t before = limited->free_bytes();
  plan->execute(*queue, *state, data.samples(), {}, sums.visibility_view(), sums.count_view());
  EXPECT_EQ(limited->free_bytes(), before);
}

TEST_P(Gpu, EveryTunableValue) {
  for (const CoveringTunables& covering : kCovering) {
    const TiledTunables& tunables = covering.tunables;
    Data<core::ci8> small(2, 19, 77), large(1, 131, 520);
    for (Data<core::ci8>* data : {&small, &large}) {
      const auto plan = gpu::make_gpu_plan(config_for(data->samples()), device_,
                                           {.design = GpuDesign::tiled, .tiled = tunables});
      ASSERT_NE(plan->backend().find("tiled"), std::string::npos);
      check(*plan, *data, nullptr, 15, plan->backend());
      if (HasFatalFailure()) return;
    }
    if (tunables.emulate_dot4) continue;
    Data<std::complex<float>> floats(1, 131, 520);
    const auto plan = gpu::make_gpu_plan(config_for(floats.samples()), device_,
                                         {.design = GpuDesign::tiled, .tiled = tunables});
    check(*plan, floats, nullptr, 15, "float " + plan->backend());
    if (HasFatalFailure()) return;
  }
}

TEST_P(Gpu, RefusesTunablesOutOfRange) {
  const TiledTunables bad[] = {{3},
                               {.register_columns = 16},
                               {.thread_rows = 4},
                               {.thread_columns = 32},
                               {.stage_bytes = 48},
                               {.local_buffers = 3},
                               {.vector_bytes = 2},
                               {.groups_per_multiprocessor = 9},
                               {8, 8, 16, 16, std::size_t{1} << 20, 2}};
  for (const TiledTunables& tunables : bad)
    EXPECT_THROW(gpu::make_gpu_plan({}, device_, {.design = GpuDesign::tiled, .tiled = tunables}),
                 core::Error);
  GpuTunables slabs;
  slabs.slab_bytes = 1000;
  EXPECT_THROW(gpu::make_gpu_plan({}, device_, slabs), core::Error);
}

TEST_P(Gpu, MemoryLimitEndsInTheRightError) {
  const auto limited = device::open(GetParam().selection, {.device_memory_bytes = 1 << 20});
  const auto plan = make_plan({.channels = 64, .inputs = 64}, limited);
  const auto queue = limited->make_queue();
  try {
    plan->make_state(*queue);
    ADD_FAILURE() << "allocated " << plan->bytes().device_bytes << " bytes of 1 MiB";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.kind(), core::ErrorKind::memory) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Gpu, ::testing::ValuesIn(kGpus), backend_name);

}  // namespace
}  // namespace tautline::stages::correlate::tests
