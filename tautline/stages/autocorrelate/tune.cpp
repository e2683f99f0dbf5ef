#include "tautline/stages/autocorrelate/tune.h"

#include <algorithm>
#include <vector>

#include "tautline/stages/autocorrelate/backends.h"
#include "tautline/stages/autocorrelate/case_run.h"
#include "tautline/stages/autocorrelate/gpu/plan.h"
#include "tautline/stages/autocorrelate/gpu/tuning.h"

namespace tautline::stages::autocorrelate {

namespace {

// 16 bits of larger counts, so that no sum can reach 2^63.
std::size_t most_tuned(core::SampleType type) {
  return type == core::SampleType::u8 ? 0xff : type == core::SampleType::f32 ? 999 : 0xffff;
}

struct TunedRun : CaseRun {
  TunedRun(const Config& config, std::shared_ptr<const device::Device> on)
      : CaseRun(config, most_tuned(config.type), std::move(on)), sums(zeros(read_bytes())) {
    draw();
  }

  // The sums of the first packet.
  void run_for_results() {
    state().reset();
    run(1);
    std::vector<std::byte> host(sums.bytes(), std::byte{jit::kPoison});
    read(host.data());
    queue().synchronise();
    queue().copy(sums.data(), host.data(), host.size());
    queue().synchronise();
  }
  const device::Buffer& results() const { return sums; }

  device::Buffer sums;
};

}  // namespace

jit::Tunable make_tunable(const Config& config, std::shared_ptr<const device::Device> device) {
  check_config(config);
  jit::require_tunable("autocorrelate", device.get());
  return jit::with_candidates<TunedRun>(
      {gpu::tuning_key(config, *device),
       gpu::tuning_space(config, *device),
       static_cast<double>(config.pair_count()) * static_cast<double>(config.max_samples),
       "samples/s",
       {},
       {}},
      {device, [config](auto on) { return std::make_unique<TunedRun>(config, on); },
       [config](auto host) { return make_plan(config, host); },
       [config, device](const jit::Configuration& c) {
         return gpu::make_plan(config, device, gpu::tunables_of(c));
       },
       [config](jit::Bytes found, jit::Bytes expected) {
         // Monitors of floats are rounded differently: the sums alone.
         const std::size_t sums = found.size() / 4;
         if (config.type == core::SampleType::f32)
           return jit::describe_difference_as<double>(found.first(sums), expected.first(sums));
         return jit::describe_difference_as<std::int64_t>(found, expected);
       }});
}

}  // namespace tautline::stages::autocorrelate
