// The autocorrelator beside the chain of levels as a plain loop in floats, on one thread.
#include "bench/baseline/autocorrelate.h"

#include "bench/in_turns.h"
#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/stages/autocorrelate/case_run.h"

namespace {

using namespace tautline;

bench::Baseline plain(const pipeline::Problem& sizes,
                      const std::shared_ptr<const device::Device>&) {
  const auto config = pipeline::autocorrelate_config(sizes);
  if (config.type != core::SampleType::u8 || sizes.at("standard") != 0) return {};
  const auto loop =
      std::make_shared<bench::PlainMultiTau>(config.sensors, config.bins, config.levels);
  std::vector<std::uint8_t> counts(config.sensors * config.max_samples);
  stages::autocorrelate::draw_counts(counts.data(), counts.size(), config.type, sizes.at("most"));
  return {"baseline", [loop, counts = std::move(counts), times = config.max_samples] {
            loop->add(counts.data(), times);
          }};
}

}  // namespace

int main(int count, char** arguments) {
  return bench::run(
      count, arguments,
      {"autocorrelate",
       {"array1024", "array1024,most=15", "array1024,samples=100", "array1024,type=u16,most=1000",
        "array1024,type=u16,most=65535", "array1024,type=u32,most=1000,samples=2048",
        "array1024,type=f32,samples=2048", "array100000,samples=1024", "detector,most=15"},
       plain});
}
