// Dedispersion beside a plain loop over trials, channels and samples on as many threads.
#include "bench/baseline/dedisperse.h"

#include "bench/in_turns.h"
#include "tautline/pipeline/bench/stage_run.h"

namespace {

using namespace tautline;

bench::Baseline plain(const pipeline::Problem& sizes,
                      const std::shared_ptr<const device::Device>& host) {
  if (sizes.at("bits") != 8 || sizes.at("beams") != 1) return {};
  const auto loop = std::make_shared<bench::PlainDedisperser>(pipeline::dedisperse_config(sizes),
                                                              host->make_queue()->workers());
  return {"baseline", [loop] { loop->run(); }};
}

}  // namespace

// Half a second; exact, shared, sub-bands.
int main(int count, char** arguments) {
  return bench::run(count, arguments,
                    {"dedisperse",
                     {"apertif,samples=10000,method=1", "apertif,samples=10000,method=2",
                      "apertif,samples=10000,method=3", "lofar,samples=100000,method=1"},
                     plain});
}
