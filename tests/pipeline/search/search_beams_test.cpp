// Beams that are searched together: what is found in each is what it would be alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tautline/core/dispersion.h"
#include "tautline/pipeline/search/search_pass.h"
#include "tests/support/gpus.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using stages::detect::Pulse;

constexpr std::size_t kBeamChannels = 16, kSamples = 24000, kBeams = 3, kBlock = 4096;

struct Burst {
  std::size_t beam;
  double time_s, dm, amplitude;
};

PassRequest request_for(std::size_t beams) {
  PassRequest request;
  for (std::size_t c = 0; c < kBeamChannels; ++c)
    request.dedisperse.frequencies_mhz.push_back(1500 - 15 * static_cast<double>(c));
  request.dedisperse.sample_time_s = 1e-3;
  request.dedisperse.beams = beams;
  request.dedisperse.method = stages::dedisperse::Method::exact;
  request.detect.max_width_s = 0.02;
  request.samples = kSamples;
  request.sample_bytes = kBeamChannels;
  request.memory_bytes = std::size_t{1} << 30;
  request.most_block_samples = kBlock;
  return request;
}

stages::dedisperse::DmPlan trials_to(std::size_t downsample) {
  stages::dedisperse::DmPlan trials;
  stages::dedisperse::DmRange low{{}, 1, 0}, high{{}, downsample, 12};
  for (int i = 0; i < 12; ++i) low.dms.push_back(8.0 * i);
  for (int i = 12; i < 20; ++i) high.dms.push_back(8.0 * i);
  trials.ranges = {low, high};
  return trials;
}

class SearchBeams : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device = device::open(device::parse_selection(GetParam()));
    // The same burst in two beams at once, and one of another DM in the third.
    const std::vector<Burst> bursts{
        {0, 7, 40, 18}, {1, 7, 40, 12}, {2, 13, 120, 15}, {0, 16, 104, 14}, {2, 20, 0, 9}};
    std::normal_distribution<double> normal(100, 5);
    spectra.resize(kBeams * kSamples * kBeamChannels);
    for (std::size_t b = 0; b < kBeams; ++b)
      for (std::size_t c = 0; c < kBeamChannels; ++c)
        for (std::size_t t = 0; t < kSamples; ++t) {
          double value = normal(random);
          for (const Burst& burst : bursts) {
            const double late = core::dispersion_delay_s(
                burst.dm, 1500 - 15 * static_cast<double>(c), 1500, core::kDispersionConstant);
            const double x = (static_cast<double>(t) * 1e-3 - burst.time_s - late) / 2e-3;
            if (burst.beam == b && std::fabs(x) < 5) value += burst.amplitude * std::exp(-x * x);
          }
          spectra[(b * kSamples + t) * kBeamChannels + c] =
              static_cast<std::byte>(std::lround(std::clamp(value, 0.0, 255.0)));
        }
  }

  // Blocks of `beams` beams from number `first` on, in the host's memory or the device's.
  std::vector<std::vector<Pulse>> search(std::size_t first, std::size_t beams, bool there,
                                         bool zero_dm) {
    PassRequest request = request_for(beams);
    request.dedisperse.zero_dm = zero_dm;
    const auto passes = plan_passes(request, trials_to(2), device);
    EXPECT_EQ(passes.size(), 1u);
    const auto queue = device->make_queue();
    SearchPass pass(passes.front(), kBeamChannels, device, *queue);
    const std::size_t most = passes.front().block_samples;
    device::Buffer block = there ? device->allocate(beams * most * kBeamChannels)
                                 : device::Buffer(beams * most * kBeamChannels);
    for (std::size_t done = 0; done < kSamples;) {
      const std::size_t count = std::min(most, kSamples - done);
      queue->synchronise();  // what was there before has been read
      for (std::size_t b = 0; b < beams; ++b) {
        std::byte* to = block.as<std::byte>() + b * count * kBeamChannels;
        const std::byte* from = spectra.data() + ((first + b) * kSamples + done) * kBeamChannels;
        if (there) {
          queue->copy(to, from, count * kBeamChannels);
        } else {
          std::copy_n(from, count * kBeamChannels, to);
        }
      }
      pass.push(block.as<std::byte>(), count);
      done += count;
    }
    pass.finish();
    std::vector<std::vector<Pulse>> found(beams);
    for (std::size_t b = 0; b < beams; ++b) {
      for (const RangePulses& range : pass.found(b)) {
        EXPECT_TRUE(range.joined);
        found[b].insert(found[b].end(), range.pulses.begin(), range.pulses.end());
      }
      std::sort(found[b].begin(), found[b].end(), [](const Pulse& p, const Pulse& q) {
        return std::tuple(p.trial, p.first, p.width) < std::tuple(q.trial, q.first, q.width);
      });
    }
    return found;
  }

  std::shared_ptr<const device::Device> device;
  std::mt19937_64 random = tests::generator();
  std::vector<std::byte> spectra;
};

TEST_P(SearchBeams, FindInEachWhatItHasAlone) {
  for (const bool zero_dm : {false, true}) {
    SCOPED_TRACE(zero_dm ? "zero-DM" : "as it is");
    const auto together = search(0, kBeams, device->compiles(), zero_dm);
    for (std::size_t b = 0; b < kBeams; ++b) {
      SCOPED_TRACE("beam " + std::to_string(b));
      const auto alone = search(b, 1, false, zero_dm)[0];
      EXPECT_FALSE(alone.empty());
      EXPECT_EQ(together[b], alone);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SearchBeams, ::testing::ValuesIn(tests::gpu_names_and_cpu()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::pipeline
