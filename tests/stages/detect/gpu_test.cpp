// Properties of the GPU plan alone: full buffers, batches, series in the device's memory.
#include <gtest/gtest.h>

#include <numeric>

#include "tautline/stages/detect/backends.h"
#include "tautline/stages/detect/gpu/schedule.h"
#include "tests/stages/detect/support.h"
#include "tests/support/gpus.h"

namespace tautline::stages::detect {
namespace {

class Gpu : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device = device::open(device::parse_selection(GetParam()));
  }
  template <class T>
  Found run_with(const GpuTunables& gpu, const Config& config, const Rows<T>& rows,
                 std::size_t step) {
    const auto plan = make_gpu_plan(fit(config, rows, step), device, {.gpu = gpu});
    return run(plan, device, rows, random);
  }

  std::shared_ptr<const device::Device> device;
  std::mt19937_64 random = tests::generator();
};

// With a threshold far below the noise there are more peaks than the buffer holds. They are fetched
// in parts; none is lost, and none counted twice.
TEST_P(Gpu, MorePeaksThanTheBufferHoldsAreAllFetched) {
  const Config config = config_for(0.03, 0.7);
  const auto rows = noise_rows<std::int32_t>(3, 17000, 30, 2, random);
  const Found reference = run("reference", config, rows, 17000, random);
  EXPECT_GT(std::accumulate(reference.over.begin(), reference.over.end(), std::uint64_t{0}),
            17000u);
  GpuTunables gpu;
  gpu.records = 1;  // the buffer still holds all peaks of one block
  expect_same(reference, run_with(gpu, config, rows, 17000), "whole");
  expect_same(reference, run_with(gpu, config, rows, 7000), "parts");
  // In a buffer that holds them: several threads sort them by block.
  const auto many = noise_rows<std::int32_t>(8, 17000, 30, 2, random);
  const Found all = run("reference", config, many, 17000, random);
  EXPECT_GT(std::accumulate(all.over.begin(), all.over.end(), std::uint64_t{0}), 200'000u);
  expect_same(all, run_with({}, config, many, 17000), "several threads");
}

// Runs of neighbouring times come from the device as one where links join them, and time by time
// where they do not.
TEST_P(Gpu, LinksInTimeOfAnyLength) {
  Config config = config_for(0.03, 3);
  const auto rows = noise_rows<std::int32_t>(3, 34000, 30, 6, random);
  for (const std::size_t samples : {0, 1, 40}) {
    config.links.time_samples = samples;
    const Found reference = run("reference", config, rows, 34000, random);
    EXPECT_FALSE(reference.pulses.empty());
    expect_same(reference, run_with({}, config, rows, 9000), std::to_string(samples));
  }
}

TEST_P(Gpu, EveryTunableGivesTheSameList) {
  const Config config = config_for(0.04, 4.5);
  const auto rows = noise_rows<float>(5, 35000, 0.2, 5, random);
  const Found reference = run("reference", config, rows, 35000, random);
  EXPECT_FALSE(reference.pulses.empty());
  for (const GpuTunables& gpu :
       {GpuTunables{.threads = 64, .tile = 256, .coarse = 1},
        GpuTunables{.threads = 256, .tile = 1024, .coarse = 3, .sums_bytes = 1},
        GpuTunables{.threads = 1024, .sums_bytes = 400'000}})
    expect_same(reference, run_with(gpu, config, rows, 20000),
                std::to_string(gpu.threads) + " threads");
}

// Noise with few distinct values, without values, or with values decades apart: medians that bins
// do not resolve.
TEST_P(Gpu, MediansOfAwkwardValues) {
  Config config = config_for(0.02, 5);
  Rows<float> rows(6, std::vector<float>(17000));
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (std::size_t t = 0; t < rows[0].size(); ++t) {
    rows[0][t] = t % 3 == 0 ? 1.0f : 2.0f;
    rows[1][t] = std::pow(10.0f, 20 * uniform(random));  // 40 decades
    rows[2][t] = t % 500 == 0 ? 1e20f : uniform(random);
    rows[3][t] = t < 16000 ? 5.0f : uniform(random);
    // The samples that give the first range are not typical of the others.
    rows[4][t] = t % 32 < 4 ? 1000 + uniform(random) : uniform(random);
    rows[5][t] = t % 32 < 4 ? NAN : uniform(random);
  }
  for (const Noise noise : {Noise::trial, Noise::width}) {
    config.noise = noise;
    const Found reference = run("reference", config, rows, 17000, random);
    EXPECT_FALSE(reference.pulses.empty());
    expect_same(reference, run_with({}, config, rows, 6000), "floats");
  }
}

TEST_P(Gpu, SeriesInTheDevicesMemory) {
  const Config config = config_for(0.02, 4.5);
  const std::size_t samples = 36000, trials = 4, step = 9000;
  const auto rows = noise_rows<std::int32_t>(trials, samples, 30, 4, random);
  const Found reference = run("reference", config, rows, samples, random);
  EXPECT_FALSE(reference.pulses.empty());
  CaseRun calls(device);
  calls.use(make_plan(fit(config, rows, step), device));
  const device::Buffer memory = device->allocate(trials * step * 4);
  for (std::size_t first = 0; first < samples; first += step) {
    for (std::size_t r = 0; r < trials; ++r)
      calls.queue().copy(memory.as<std::byte>() + r * step * 4, rows[r].data() + first, step * 4);
    calls.give(Integers(memory.as<std::int32_t>(), {trials, step}));
    calls.queue().fill(memory.data(), 0x5A, memory.bytes());  // in the queue's order
  }
  expect_same(reference, end(calls), "on the device");
}

// Wide boxcars, eight at a time or one by one, in tiles of which the last ends with the stream.
TEST_P(Gpu, WideBoxcarsEightAtOnce) {
  const Config config = config_for(0.7, 6);
  const auto rows = noise_rows<std::int32_t>(4, 40001, 30, 6, random);
  const Found reference = run("reference", config, rows, 40001, random);
  EXPECT_FALSE(reference.pulses.empty());
  for (const std::size_t coarse : {std::size_t{0}, std::size_t{8}, kMaxWidthSamples}) {
    GpuTunables gpu;
    gpu.coarse = coarse;
    expect_same(reference, run_with(gpu, config, rows, 30000), std::to_string(coarse));
  }
}

// Series written to the state's input area, or elsewhere, in calls of any length, some of which
// cross the ring's end.
TEST_P(Gpu, SeriesInTheInputArea) {
  Config config = config_for(0.02, 4.5);
  const std::size_t samples = 40000, trials = 3, step = 5001;
  const auto rows = noise_rows<std::int32_t>(trials, samples, 30, 4, random);
  const Found reference = run("reference", config, rows, samples, random);
  EXPECT_FALSE(reference.pulses.empty());
  config = fit(config, rows, step);
  EXPECT_EQ(make_plan(config, device)->make_state(*device->make_queue())->input_area().data,
            nullptr);
  config.in_place = true;
  const auto plan = make_plan(config, device);
  CaseRun calls(device);
  calls.use(plan);
  const device::Buffer elsewhere = device->allocate(trials * step * 4);
  Found found;
  std::size_t call = 0;
  for (std::size_t first = 0; first < samples; ++call) {
    const std::size_t n = std::min(samples - first, step - random() % 3000);
    const InputArea there = calls.state().input_area();
    ASSERT_TRUE(device->holds(there.data));
    ASSERT_GE(there.samples, n);
    const InputArea to = call % 4 == 3 ? InputArea{elsewhere.data(), step, step} : there;
    for (std::size_t r = 0; r < trials; ++r)
      calls.queue().copy(static_cast<std::byte*>(to.data) + r * to.stride * 4,
                         rows[r].data() + first, n * 4);
    calls.give(Integers(static_cast<std::int32_t*>(to.data), {trials, n},
                        {static_cast<std::ptrdiff_t>(to.stride), 1}));
    collect(calls.state(), found.pulses);
    if (call % 3 == 2) save_and_load(calls, plan, random);
    first += n;
  }
  expect_same(reference, end(calls, std::move(found)), "in place");
}

// Noise and pulses in three beams, the same in two of them: each beam has the pulses of a search of
// that beam alone.
TEST_P(Gpu, BeamsTogetherAreBeamsAlone) {
  Config config = config_for(0.02, 4.5);
  const std::size_t trials = 3, samples = 30000;
  const auto first_beam = noise_rows<std::int32_t>(trials, samples, 30, 4, random);
  Rows<std::int32_t> all = first_beam;
  all.insert(all.end(), first_beam.begin(), first_beam.end());
  for (auto& row : noise_rows<std::int32_t>(trials, samples, 30, 5, random)) all.push_back(row);
  config.links.beam_trials = trials;
  const Found together = run_with({}, config, all, 9000);
  expect_same(run("reference", config, all, samples, random), together, "beams");
  expect_same(run("cpu", config, all, 7000, random), together, "beams");
  config.links.beam_trials = 0;
  std::vector<Pulse> alone;
  for (std::size_t beam = 0; beam < 3; ++beam) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(beam * trials);
    const Rows<std::int32_t> rows(first, first + trials);
    for (Pulse pulse : run("reference", config, rows, samples, random).pulses) {
      pulse.trial += beam * trials;
      pulse.first_trial += beam * trials;
      pulse.last_trial += beam * trials;
      alone.push_back(pulse);
    }
  }
  EXPECT_EQ(together.pulses, in_order(alone));
}

// A search that is given up while the device still works on its last step: the device must not
// write to the memory that the next search of the plan gets.
TEST_P(Gpu, AnAbandonedStreamDoesNotDisturbTheNext) {
  const Config config = config_for(0.02, 4.5);
  const std::size_t samples = 40000;
  const auto rows = noise_rows<std::int32_t>(2, samples, 30, 4, random);
  const Found reference = run("reference", config, rows, samples, random);
  EXPECT_FALSE(reference.pulses.empty());
  const auto plan = make_plan(fit(config, rows, samples), device);
  for (int stream = 0; stream < 3; ++stream) {
    const auto queue = device->make_queue();
    const auto state = plan->make_state(*queue);
    // Bright samples, whose peaks would show in the next search.
    std::vector<std::int32_t> block(2 * samples);
    for (std::int32_t& x : block) x = static_cast<std::int32_t>(random() % 1'000'000);
    plan->execute(*queue, *state, Integers(block.data(), {2, samples}));
    // The step is launched, and its peaks are not collected.
    ASSERT_EQ(state->counters().searched, 0u);
  }
  expect_same(reference, run(plan, device, rows, random), "after abandoned streams");
}

INSTANTIATE_TEST_SUITE_P(Devices, Gpu, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

// Whatever the calls, each sample is baselined once and each block searched once, in order, and
// rings are large enough for the samples that are still needed.
TEST(GpuSchedule, GivesOutEverySampleOnce) {
  auto random = tests::generator();
  for (int round = 0; round < 20; ++round) {
    Config config;
    config.trials = 5;
    config.sample_time_s = 1e-3;
    config.max_width_s = 0.001 + 0.05 * static_cast<double>(random() % 4);
    const std::size_t total = 1 + random() % 60000, step = 1 + random() % 20000;
    for (std::size_t t = 0; t < config.trials; ++t)
      config.lengths.push_back(t == 0 ? total + 5 : random() % (total + 1));
    const Sizes sizes = derive_sizes(config);
    const GpuRings rings = derive_rings(sizes, step);
    GpuSchedule schedule(config, sizes, rings);
    std::vector<std::uint64_t> baselined(config.trials), searched(config.trials),
        averaged(config.trials);
    std::vector<bool> ended(config.trials);
    const auto follow = [&] {
      for (Step next; schedule.next(next);) {
        for (const EmitJob& e : next.emits) {
          ASSERT_EQ(e.first_segment * sizes.segment, baselined[e.trial]);
          ASSERT_EQ(e.first_mean, averaged[e.trial]);
          averaged[e.trial] += e.mean_count;
          baselined[e.trial] += e.samples;
          ASSERT_LE(baselined[e.trial], schedule.received());
          // y's ring has the samples that the refinement of the block before reads.
          const std::uint64_t kept = 2 * sizes.widest();
          const std::uint64_t oldest = searched[e.trial] - std::min(searched[e.trial], kept);
          ASSERT_LE(baselined[e.trial] - oldest, rings.y_samples);
        }
        ASSERT_LE(next.blocks.size(), config.trials * rings.step_blocks);
        std::vector<BlockJob> blocks = next.blocks;
        std::sort(blocks.begin(), blocks.end(), [](const BlockJob& a, const BlockJob& b) {
          return std::tuple(a.trial, a.first) < std::tuple(b.trial, b.first);
        });
        for (const BlockJob& b : blocks) {
          ASSERT_EQ(b.first, searched[b.trial]);
          ASSERT_FALSE(ended[b.trial]);
          searched[b.trial] += b.starts;
          ASSERT_LE(b.first + b.samples, baselined[b.trial]);
          ended[b.trial] = b.last;
        }
      }
    };
    for (std::size_t done = 0; done < total;) {
      const std::size_t n = std::min(total - done, 1 + random() % step);
      schedule.receive(n);
      follow();
      done += n;
    }
    schedule.finish();
    follow();
    for (std::size_t t = 0; t < config.trials; ++t) {
      EXPECT_EQ(baselined[t], std::min<std::uint64_t>(total, config.lengths[t]));
      EXPECT_EQ(searched[t], baselined[t]);
    }
  }
}

}  // namespace
}  // namespace tautline::stages::detect
