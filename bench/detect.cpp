// Detection beside plain loops over the same boxcars: a running mean, a sigma from the mean of squares, and a running
// sum for each width, without a list of pulses. One thread.
#include "bench/baseline/detect.h"

#include <random>

#include "bench/in_turns.h"
#include "tautline/stages/detect/detect.h"

namespace {

using namespace tautline;

bench::Baseline plain(const pipeline::Problem& sizes,
                      const std::shared_ptr<const device::Device>& host) {
  stages::detect::Config config;
  config.trials = sizes.at("trials");
  config.max_samples = sizes.at("samples");
  config.sample_time_s = 1 / static_cast<double>(sizes.at("rate_hz"));
  config.max_width_s = 1e-3 * static_cast<double>(sizes.at("width_ms"));
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal(100000.f, 300.f);
  std::vector<std::int32_t> series(config.trials * config.max_samples);
  for (std::int32_t& x : series) x = static_cast<std::int32_t>(normal(random));
  return {"baseline",
          [config, series = std::move(series), plan = stages::detect::make_plan(config, host),
           hits = std::vector<bench::PlainHit>()]() mutable {
            for (std::size_t t = 0; t < config.trials; ++t)
              bench::plain_search(series.data() + t * config.max_samples, config.max_samples,
                                  plan->baseline_samples(), plan->widths(), config.threshold, hits);
          }};
}

}  // namespace

int main(int count, char** arguments) {
  return bench::run(
      count, arguments,
      {"detect",
       {"trials=64,samples=65536,width_ms=100", "trials=64,samples=65536,width_ms=500"},
       plain});
}
