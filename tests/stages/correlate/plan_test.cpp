// Configs that plans refuse, the plans' reports, and that execute() allocates nothing.
#include "tautline/stages/correlate/cpu/plan.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "tautline/core/error.h"
#include "tautline/stages/correlate/cpu/dispatch.h"
#include "tests/stages/correlate/correlate_support.h"
#include "tests/support/error_of.h"

namespace {
std::atomic<std::size_t> allocations = 0;
}

// AddressSanitizer replaces the operators itself.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCountsAllocations = false;
#else
constexpr bool kCountsAllocations = true;
// Counts every allocation of this program by operator new. Not inlined: GCC would warn about malloc
// and free as mismatched with new and delete.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
#endif

namespace tautline::stages::correlate::tests {
namespace {

void expect_refused(const Config& config, const std::string& field, const std::string& value,
                    const std::string& limit) {
  const core::Error error =
      tautline::tests::error_of([&] { make_plan(config, device::open({}, {.threads = 1})); });
  EXPECT_EQ(error.kind(), core::ErrorKind::config);
  EXPECT_NE(error.field().find(field), std::string::npos) << error.what();
  EXPECT_EQ(error.value(), value);
  EXPECT_NE(error.limit().find(limit), std::string::npos) << error.what();
}

TEST(CorrelatePlan, NamesFieldValueAndLimit) {
  expect_refused({.channels = 0}, "channels", "0", "1 to");
  expect_refused({.inputs = 0}, "inputs", "0", "1 to 4096");
  expect_refused({.inputs = 4097}, "inputs", "4097", "1 to 4096");
  expect_refused({.max_samples = 0}, "max_samples", "0", "1 to");
  expect_refused({.format = core::kI8}, "format", "i8", "ci4, ci8, ci16, cf16 or cf32");
  expect_refused({.format = {8, true, core::Encoding::offset_binary}}, "format", "cu8", "ci8");
  EXPECT_THROW(make_plan({}, nullptr), core::Error);
}

TEST(CorrelatePlan, RefusesTunablesOutOfRange) {
  const auto device = device::open({}, {.threads = 1});
  const auto& kernel = cpu::choose_integer_kernel(*device);
  for (const Tunables bad : {Tunables{.chunk_samples = 63}, Tunables{.chunk_samples = 100},
                             Tunables{.chunk_samples = 65536}, Tunables{.cache_bytes = 1},
                             Tunables{.group_panels = 257}})
    EXPECT_THROW(cpu::make_integer_plan({}, device, kernel, bad), core::Error);
}

class Shapes : public ::testing::Test {
 protected:
  Config config_{.channels = 2, .inputs = 5, .max_samples = 100};
  std::shared_ptr<const device::Device> device_ = device::open({}, {.threads = 1});
  std::unique_ptr<device::Queue> queue_ = device_->make_queue();  // one worker

  template <class Sample>
  void expect_refused(const Samples<Sample>& samples, const Validity& validity,
                      Sums<VisibilityOf<Sample>>& sums, const std::string& field) {
    for (const auto& device : {device_, reference_device()}) {
      const auto plan = make_plan(config_, device);
      const auto state = plan->make_state(*queue_);
      const auto before = sums.counts;
      const core::Error error = tautline::tests::error_of([&] {
        plan->execute(*queue_, *state, samples, validity, sums.visibility_view(),
                      sums.count_view());
      });
      EXPECT_EQ(error.kind(), core::ErrorKind::config);
      EXPECT_NE(error.field().find(field), std::string::npos) << error.what();
      EXPECT_EQ(sums.counts, before);
    }
  }
};

TEST_F(Shapes, ContradictionsAreRefused) {
  Sums<core::ci64> sums(2, 5), few(2, 4), one(1, 5);
  Data<core::ci8> right(2, 5, 50), channels(3, 5, 50), inputs(2, 4, 50), late(2, 5, 101);
  expect_refused(channels.samples(), {}, sums, "samples");
  expect_refused(inputs.samples(), {}, sums, "samples");
  expect_refused(late.samples(), {}, sums, "time");
  expect_refused(right.samples(), {}, few, "visibilities");
  expect_refused(right.samples(), {}, one, "visibilities");
  Data<core::ci8> longer(2, 5, 65);
  expect_refused(longer.samples(), Masks(2, 5, 64).view(), sums, "validity");
  expect_refused(longer.samples(), Masks(2, 4, 65).view(), sums, "validity");
  const Masks masks(2, 5, 65);
  const Validity spread(masks.words.data(), {2, 5, 2}, {0, 2, 2});
  expect_refused(longer.samples(), spread, sums, "word stride");
}

TEST_F(Shapes, OtherSampleTypesAreRefused) {
  Data<core::ci4> ci4(2, 5, 10);
  Data<core::ci16> ci16(2, 5, 10);
  Data<std::complex<float>> cf32(2, 5, 10);
  Sums<core::ci64> integers(2, 5);
  Sums<std::complex<double>> floats(2, 5);
  expect_refused(ci4.samples(), {}, integers, "sample type");
  expect_refused(ci16.samples(), {}, floats, "sample type");
  expect_refused(cf32.samples(), {}, floats, "sample type");
}

TEST_F(Shapes, EmptyInputChangesNothing) {
  Data<core::ci8> data(2, 5, 10);
  for (const auto& device : {device_, reference_device()}) {
    const auto plan = make_plan(config_, device);
    const auto state = plan->make_state(*queue_);
    Sums<core::ci64> sums(2, 5);
    plan->execute(*queue_, *state, data.samples().slice(2, 0, 0), {}, sums.visibility_view(),
                  sums.count_view());
    expect_equal(sums, Sums<core::ci64>(2, 5), "untouched");
  }
}

TEST(CorrelatePlan, SaysWhatRuns) {
  EXPECT_EQ(make_plan({}, reference_device())->backend(), "reference");
  const auto automatic = device::open({}, {.threads = 1});
  EXPECT_EQ(make_plan({}, automatic)->backend(), device::to_string(device::best_instruction_set()));
  EXPECT_EQ(make_plan({.channels = 7}, automatic)->config().channels, 7u);
}

TEST(CorrelatePlan, MemoryIsKnownBeforeAndModest) {
  const auto device = device::open({}, {.threads = 2});
  const auto bytes = [&](std::size_t channels, std::size_t inputs) {
    return make_plan({.channels = channels, .inputs = inputs}, device)->bytes().host_bytes;
  };
  const std::size_t workers = device->make_queue()->workers();
  EXPECT_GT(bytes(8, 256), workers * core::baseline_count(256) * 8);  // every worker's sums
  EXPECT_LT(bytes(8, 256), std::size_t{8} << 20);
  EXPECT_LT(bytes(1, 4096), std::size_t{100} << 20);
  EXPECT_LT(bytes(1000, 4096), std::size_t{100} << 20);
}

TEST(CorrelatePlan, ExecuteAllocatesNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "AddressSanitizer's own operator new is in the way";
  const auto device = device::open({}, {.threads = 1});
  Data<core::ci8> data(3, 40, 500);
  Masks masks(3, 40, 500);
  masks.randomise(0.1);
  const auto plan = make_plan(config_for(data.samples()), device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  Sums<core::ci64> sums(3, 40);
  const std::size_t before = allocations;
  plan->execute(*queue, *state, data.samples(), masks.view(), sums.visibility_view(),
                sums.count_view());
  EXPECT_EQ(allocations, before);
}

TEST(CorrelatePlan, RefusesAQueueOfAnotherDevice) {
  const auto plan = make_plan({}, device::open({}, {.threads = 1}));
  const auto queue = device::open({}, {.threads = 3})->make_queue();
  if (queue->workers() == 1) GTEST_SKIP() << "one core: no queue has more workers than the plan";
  EXPECT_THROW(plan->make_state(*queue), core::Error);
}

TEST(CorrelatePlan, OnePlanServesManyThreads) {
  const auto device = device::open({}, {.threads = 2});
  Data<core::ci8> data(4, 30, 300);
  const auto plan = make_plan(config_for(data.samples()), device);
  const auto expected = run_reference(data.samples());
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      const auto queue = device->make_queue();
      for (int n = 0; n < 5; ++n)
        expect_equal(run(*plan, *queue, data.samples()), expected, "shared plan");
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace tautline::stages::correlate::tests
