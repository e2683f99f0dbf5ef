// Detection beside plain loops over the same boxcars: a running mean, a sigma from the mean of squares, and a running
// sum for each width, without a list of pulses. One thread.
#include "bench/baseline/detect.h"

#include "bench/in_turns.h"
#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/stages/detect/case_run.h"

namespace {

using namespace tautline;

bench::Baseline plain(const pipeline::Problem& sizes,
                      const std::shared_ptr<const device::Device>& host) {
  const stages::detect::Case problem = pipeline::detect_case(sizes);
  const auto series = std::make_shared<stages::detect::CaseRun>(problem, host);
  return {"baseline", [=, plan = stages::detect::make_plan(problem.config, host),
                       hits = std::vector<bench::PlainHit>()]() mutable {
            for (std::size_t t = 0; t < problem.config.trials; ++t)
              bench::plain_search(series->series().as<std::int32_t>() + t * problem.samples,
                                  problem.samples, plan->baseline_samples(), plan->widths(),
                                  problem.config.threshold, hits);
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
