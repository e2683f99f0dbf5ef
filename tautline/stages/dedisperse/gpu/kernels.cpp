#include "tautline/stages/dedisperse/gpu/kernels.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "tautline/core/integers.h"
#include "tautline/jit/program.h"

namespace tautline::stages::dedisperse {

GpuSum::GpuSum(std::shared_ptr<const DelayPlan> plan, std::shared_ptr<const device::Device> device,
               const GpuTunables& tunables, const GpuCost& cost)
    : plan_(std::move(plan)),
      device_(std::move(device)),
      work_(choose_sum_kernel(*plan_, *device_, tunables, cost)) {
  compile();
  // Not every compiler of OpenCL knows how many threads share the registers. CUDA's is told, and asking would wait for
  // it, while the kernels of other plans could be compiled beside this one.
  const auto too_many_threads = [&] {
    if (device_->api() == device::Api::cuda) return false;
    const std::size_t most = kernel_->resources().max_group_threads;
    return most > 0 && work_.group_threads() > most;
  };
  while (work_.tunables.items_dm > 1 && too_many_threads()) {
    GpuTunables fewer = work_.tunables;
    fewer.items_dm /= 2;
    work_ = choose_sum_kernel(*plan_, *device_, fewer, cost);
    compile();
  }
  work_.lists.push_back(plan_->order());
}

void GpuSum::compile() {
  jit::Defines defines;
  for (const auto& [name, value] : work_.constants) defines.set(name, value);
  program_ = jit::build(*device_, "dedisperse/gpu/" + work_.file, defines);
  kernel_ = program_->kernel(work_.function);
}

GpuSum::Lists GpuSum::upload(device::Queue& queue) const {
  Lists there;
  for (const auto& list : work_.lists) {
    there.push_back(device_->allocate(4 * list.size()));
    queue.copy(there.back().data(), list.data(), 4 * list.size());
  }
  queue.synchronise();
  return there;
}

std::size_t GpuSum::bytes() const {
  std::size_t bytes = 0;
  for (const auto& list : work_.lists) bytes += 4 * list.size();
  return bytes;
}

void GpuSum::launch(device::Queue& queue, const Lists& lists, const Rows& rows,
                    const Out& out) const {
  const bool staged = work_.shared_bytes > 0;
  // A tile begins at an aligned time; the times before the first one that is asked for are not written.
  const std::size_t skip = rows.first % work_.aligned_times;
  std::array<device::Argument, 20> arguments;
  std::size_t count = 0;
  const auto add = [&](auto... more) { ((arguments[count++] = device::Argument(more)), ...); };
  add(rows.data);
  for (const device::Buffer& list : lists) add(static_cast<const void*>(list.data()));
  add(out.data, std::uint64_t{rows.stride_bytes},
      std::uint64_t{rows.stride_bytes * plan_->positions()}, std::uint64_t{rows.first - skip});
  for (const std::size_t number : work_.numbers) add(core::u32(number));
  add(core::u32(plan_->trials()));
  if (staged) add(core::u32(skip));
  add(core::u32(skip + out.samples));
  add(std::uint64_t{out.trial_stride}, std::uint64_t{out.beam_stride});
  if (plan_->float_sums())
    add(0.0f);
  else
    add(static_cast<std::int32_t>(plan_->offset()));

  // Where rows are staged, groups of the same times are neighbours: groups that run together read rows that are in the
  // second-level cache.
  const std::size_t blocks = core::divide_up(plan_->trials(), work_.block_trials());
  const std::size_t tiles = core::divide_up(skip + out.samples, work_.tile_times);
  queue.launch(
      *kernel_,
      {.groups = {staged ? blocks * tiles : tiles, staged ? 1 : blocks, plan_->config().beams},
       .threads = work_.threads,
       .local_bytes = work_.shared_bytes},
      std::span(arguments).first(count));
}

}  // namespace tautline::stages::dedisperse
