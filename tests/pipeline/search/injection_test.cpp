// Pulses that are put into data on purpose: which ones, where their power goes, and what is said of them.
#include "tautline/pipeline/search/injection.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tautline/core/dispersion.h"
#include "tautline/core/error.h"
#include "tautline/engine/run.h"
#include "tautline/pipeline/search/filterbank_source_node.h"
#include "tautline/pipeline/search/inject_node.h"
#include "tests/pipeline/search/noise_in_memory.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

TEST(Injection, IsSaidInOneText) {
  const std::string text = "every=10,dm=5:300,width=0.001:0.02,snr=8:30,seed=7";
  EXPECT_EQ(to_text(parse_injection(text)), text);
  EXPECT_EQ(to_text(parse_injection("every=2,width=0.01")),
            "every=2,dm=0,width=0.01,snr=10,seed=1");
  EXPECT_EQ(to_text(parse_injection("every=2s,width=10ms")),
            to_text(parse_injection("every=2,width=0.01")));
  EXPECT_EQ(parse_injection("every=2,width=500us:2ms").high_width_s, 0.002);
  EXPECT_EQ(parse_injection("").every_s, 0);
  for (const char* bad : {"every=0,width=1", "every=1", "every=1,width=2:1", "every=1,width=x",
                          "every=1,width=1,dm=-1", "every=1,width=1,snr=0", "count=3",
                          "every=1,width=1,seed=-1", "every=1,width=1:2:3"})
    EXPECT_THROW(parse_injection(bad), core::Error) << bad;
}

TEST(Injection, PulsesAreTheSameWheneverTheyAreAskedFor) {
  const InjectionConfig config = parse_injection("every=3,dm=10:20,width=0.01:0.02,snr=5:9,seed=4");
  double mean_dm = 0;
  for (std::uint64_t k = 0; k < 1000; ++k) {
    const InjectedPulse pulse = injected_pulse(config, k);
    const double place = pulse.time_s / 3 - static_cast<double>(k);
    EXPECT_TRUE(place >= 0.25 && place < 0.75) << place;
    EXPECT_TRUE(pulse.dm >= 10 && pulse.dm < 20 && pulse.width_s >= 0.01 && pulse.width_s < 0.02);
    EXPECT_TRUE(pulse.snr >= 5 && pulse.snr < 9);
    mean_dm += pulse.dm / 1000;
    EXPECT_EQ(injected_pulse(config, k).time_s, pulse.time_s);
  }
  EXPECT_NEAR(mean_dm, 15, 0.5);
}

constexpr std::size_t kPlaces = 32, kMoments = 20000;

class KeepInjected final : public engine::Node {
 public:
  explicit KeepInjected(std::vector<std::byte>& kept) : kept_(kept) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream> inputs) override {
    EXPECT_NE(inputs[0].detail<FilterbankStream>().injected, nullptr);
    return {};
  }
  void process(std::size_t, const engine::Block& block, engine::Outputs&) override {
    const auto samples = block.view<2>().as<const std::uint8_t>();
    for (std::size_t t = 0; t < block.samples; ++t) {
      const auto* row = reinterpret_cast<const std::byte*>(samples.row(t));
      kept_.insert(kept_.end(), row, row + samples.extent(1));
    }
  }

 private:
  std::vector<std::byte>& kept_;
};

std::vector<InjectedPulse> inject(formats::FilterbankReader& reader, const InjectionConfig& config,
                                  std::size_t block_samples, std::vector<std::byte>& kept) {
  engine::Graph graph;
  FilterbankSourceConfig read{{{{{0, kMoments}, 0}}}, block_samples};
  read.left_out = {{3}};
  const auto source =
      graph.add("filterbank", std::make_unique<FilterbankSourceNode>(reader, std::move(read)));
  auto node = std::make_unique<InjectNode>(config, core::kDispersionConstant);
  const InjectNode& injects = *node;
  const auto injected = graph.add("inject", std::move(node));
  graph.connect(source, injected);
  graph.connect(injected, graph.add("kept", std::make_unique<KeepInjected>(kept)));
  engine::Run run(std::move(graph));
  run.go();
  EXPECT_EQ(run.counters()["inject.clipped"], 0u);
  return injects.pulses().all();
}

// A pulse's mean over sample t in a channel, its peak 1 were it not smeared: that of Gaussians at frequencies all over
// the channel.
double share(const InjectedPulse& pulse, double mhz, double t) {
  constexpr int kParts = 200;
  const double scale = 1 / (1000 * pulse.width_s * kSigmaPerWidth * std::numbers::sqrt2);
  double sum = 0;
  for (int part = 0; part < kParts; ++part) {
    const double at_mhz = mhz + 10 * ((part + 0.5) / kParts - 0.5);
    const double middle = 1000 * (pulse.time_s + core::dispersion_delay_s(pulse.dm, at_mhz, 1500));
    sum += std::erf((t + 1 - middle) * scale) - std::erf((t - middle) * scale);
  }
  return sum * std::sqrt(std::numbers::pi) / (2 * scale * kParts);
}

TEST(InjectNode, AddsItsPowerAlongTheDispersionAndNothingElsewhere) {
  auto random = tests::generator();
  NoiseInMemory reader(kPlaces, kMoments, random);
  // At DM 400 channels smear pulses by 10 samples and more.
  InjectionConfig config = parse_injection("every=2,dm=50:400,width=0.002:0.02,snr=20:40");
  config.seed = random();
  std::vector<std::byte> kept;
  const auto pulses = inject(reader, config, 1000, kept);
  ASSERT_EQ(kept.size(), reader.bytes.size());
  ASSERT_GE(pulses.size(), 8u);
  EXPECT_LE(pulses.size(), 10u);
  std::vector<bool> touched(kept.size(), false);
  for (const InjectedPulse& pulse : pulses) {
    EXPECT_GT(pulse.time_s, 1);  // the noise of the first second is measured
    double series_power = 0, matched = 0;
    std::vector<double> series(400, 0), model(400, 0);
    double channel_power = 0, squares = 0;  // along the model of each channel
    for (std::size_t c = 0; c < kPlaces; ++c) {
      const double delay =
          1000 * core::dispersion_delay_s(pulse.dm, 1500 - 10.0 * static_cast<double>(c), 1500);
      const double middle = 1000 * pulse.time_s + delay;
      const double mhz = 1500 - 10.0 * static_cast<double>(c);
      const double smear = 1000 * core::dispersion_delay_s(pulse.dm, mhz - 5, mhz + 5);
      for (int k = -200; k < 200; ++k) {
        const double t = std::floor(middle) + k;
        if (t < 0 || t >= kMoments) continue;
        const std::size_t at = static_cast<std::size_t>(t) * kPlaces + c;
        touched[at] = touched[at] || std::fabs(t - middle) < 2 * 1000 * pulse.width_s + 4 + smear;
        if (c == 3) continue;  // left out
        const double added =
            std::to_integer<int>(kept[at]) - std::to_integer<int>(reader.bytes[at]);
        const double aligned = t - std::nearbyint(delay) - std::floor(1000 * pulse.time_s) + 200;
        const double expected = share(pulse, mhz, t);
        if (aligned >= 0 && aligned < 400) {
          series[static_cast<std::size_t>(aligned)] += added;
          model[static_cast<std::size_t>(aligned)] += expected;
        }
        series_power += added;
        channel_power += added * expected;
        squares += expected * expected;
      }
    }
    if (!pulse.whole) continue;
    // A pulse of S/N s in noise n has the energy s^2 n^2 after dedispersion.
    const double noise = 6 * std::sqrt(31.0), rounded = 31 * 8 * 1000 * pulse.width_s;
    double model_energy = 0, model_sum = 0;
    for (const double value : model) model_energy += value * value, model_sum += value;
    const double amplitude = pulse.snr * noise / std::sqrt(model_energy);
    // Rounding adds a variance of up to 1/4 to a pulse's samples; noise is measured to 1 %.
    EXPECT_NEAR(series_power, amplitude * model_sum,
                0.05 * amplitude * model_sum + 4 * std::sqrt(rounded / 4));
    EXPECT_NEAR(channel_power / squares, amplitude, 0.05 * amplitude + 2 / std::sqrt(squares));
    double energy = 0;
    for (const double value : series) energy += value * value;
    matched = std::sqrt(std::max(0.0, energy - rounded / 6)) / noise;
    EXPECT_NEAR(matched, pulse.snr, 0.1 * pulse.snr);
  }
  for (std::size_t k = 0; k < kept.size(); ++k)
    if (!touched[k]) {
      ASSERT_EQ(kept[k], reader.bytes[k]) << k;
    }

  for (const std::size_t block : {1u, 777u, 4096u}) {
    std::vector<std::byte> other;
    EXPECT_EQ(inject(reader, config, block, other).size(), pulses.size());
    EXPECT_EQ(other, kept) << block;
  }
}

TEST(Injection, MarksWhatIsOfAPulseAndCountsWholeOnes) {
  const InjectionBand band{0.01, 0.001};
  std::vector<core::Candidate> candidates(4);
  candidates[0] = {.dm = 100, .snr = 12, .sample = 5000, .time_s = 5, .width_samples = 10};
  candidates[1] = {.dm = 100.5, .snr = 9, .sample = 5004, .time_s = 5.004, .width_samples = 10};
  candidates[2] = {.dm = 300, .snr = 9, .sample = 5004, .time_s = 5.004, .width_samples = 10};
  candidates[3] = {.dm = 50, .snr = 20, .sample = 9000, .time_s = 9, .width_samples = 4};
  const std::vector<InjectedPulse> pulses{
      {5.001, 100, 0.01, 10, true}, {9, 50, 0.004, 40, false}, {12, 60, 0.01, 10, true}};
  const InjectionsFound found = mark_injected(candidates, pulses, band);
  EXPECT_EQ(found.injected, 2u);
  EXPECT_EQ(found.recalled, 1u);
  EXPECT_DOUBLE_EQ(found.snr_ratio, 1.2);
  EXPECT_TRUE(candidates[0].injected && candidates[1].injected && candidates[3].injected);
  EXPECT_FALSE(candidates[2].injected);
}

}  // namespace
}  // namespace tautline::pipeline
