#include "tautline/stages/dedisperse/gpu/sum.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "tautline/core/integers.h"
#include "tautline/jit/program.h"

namespace tautline::stages::dedisperse {

namespace {

// A row is long where a bundle has few: then several warps stage it.
std::size_t row_threads(std::size_t threads, std::size_t rows) {
  std::size_t of_row = std::min(threads, kWarpThreads);
  while (threads % (2 * of_row) == 0 && 2 * of_row * rows <= threads) of_row *= 2;
  return of_row;
}

}  // namespace

GpuSum::GpuSum(std::shared_ptr<const DelayPlan> plan, std::shared_ptr<const device::Device> device,
               const GpuTunables& tunables, const GpuCost& cost)
    : plan_(std::move(plan)),
      device_(std::move(device)),
      element_bytes_(gpu_element_bytes(*plan_)),
      chosen_(choose_sum_kernel(*plan_, *device_, tunables, cost)) {
  compile();
  // Not every compiler knows how many threads share the registers.
  const auto too_many_threads = [&] {
    const std::size_t most = kernel_->resources().max_group_threads;
    return most > 0 && chosen_.group_threads() > most;
  };
  while (chosen_.tunables.items_dm > 1 && too_many_threads()) {
    GpuTunables fewer = chosen_.tunables;
    fewer.items_dm /= 2;
    chosen_ = choose_sum_kernel(*plan_, *device_, fewer, cost);
    compile();
  }
  if (chosen_.tile || chosen_.channel_blocks) return;
  for (std::size_t p = 0; p < plan_->positions(); ++p)
    for (const std::uint32_t trial : plan_->order())
      delays_.push_back(static_cast<std::uint32_t>(plan_->delays()(trial, p)));
}

void GpuSum::compile() {
  const GpuTunables& t = chosen_.tunables;
  jit::Defines defines;
  const auto set = [&](const char* name, std::size_t value) {
    defines.set(name, static_cast<std::int64_t>(value));
  };
  set("ITEMS_TIME", t.items_time);
  set("ITEMS_DM", t.items_dm);
  set("ELEMENTS_TIME", t.elements_time);
  set("ELEMENTS_DM", t.elements_dm);
  std::string file = "sum.kernel", function = "dedisperse";
  if (const auto& list = chosen_.channel_blocks) {
    file = "hopper/channel_blocks.cuda.kernel", function = "dedisperse_channel_blocks";
    set("PRODUCER_WARPS", kProducerWarps);
    set("FETCH_WARPS", kFetchWarps);
    set("CHANNELS", list->channels);
    set("WINDOW", list->window);
    set("TILES", list->tiles);
    set("ROW_WORDS", list->row_words);
    set("PACKET_WORDS", list->packet_words);
    set("LOCAL_WORDS", list->local_words);
    set("CARRIES", list->carries ? 1 : 0);
    set("PACKETS", list->packet_slots);
  } else {
    set("ROW", 8 * element_bytes_);
  }
  if (const auto& list = chosen_.tile) {
    file = "tile.kernel", function = "dedisperse_tile";
    set("LEVELS", list->levels);
    set("GROUPS", t.groups);
    set("LOCAL_BYTES", list->local_bytes);
    set("ROW_THREADS",
        row_threads(chosen_.group_threads(), std::min(list->bundle_rows, plan_->positions())));
  }
  program_ = jit::build(*device_, "dedisperse/gpu/" + file, defines);
  kernel_ = program_->kernel(function);
}

std::vector<const std::vector<std::uint32_t>*> GpuSum::lists() const {
  if (const auto& list = chosen_.channel_blocks) return {&list->packets, &plan_->order()};
  if (const auto& list = chosen_.tile)
    return {&list->staged, &list->starts, &list->ops, &list->places, &plan_->order()};
  return {&delays_, &plan_->order()};
}

GpuSum::Lists GpuSum::upload(device::Queue& queue) const {
  Lists there;
  for (const auto* list : lists()) {
    there.push_back(device_->allocate(4 * list->size()));
    queue.copy(there.back().data(), list->data(), 4 * list->size());
  }
  queue.synchronise();
  return there;
}

std::size_t GpuSum::bytes() const {
  std::size_t bytes = 0;
  for (const auto* list : lists()) bytes += 4 * list->size();
  return bytes;
}

void GpuSum::launch(device::Queue& queue, const Lists& lists, const Rows& rows,
                    const Out& out) const {
  const auto& tile = chosen_.tile;
  const auto& channel_blocks = chosen_.channel_blocks;
  // A tile begins where whole words of rows do; the times before are not written.
  const std::size_t skip = channel_blocks ? rows.first % ChannelBlockWorkList::kAligned
                           : tile && element_bytes_ == 1 ? rows.first % 4
                                                         : 0;
  std::array<device::Argument, 20> arguments;
  std::size_t count = 0;
  const auto add = [&](auto... more) { ((arguments[count++] = device::Argument(more)), ...); };
  const auto add_numbers = [&](auto... more) { add(core::u32(more)...); };
  add(rows.data);
  for (const device::Buffer& list : lists) add(static_cast<const void*>(list.data()));
  add(out.data, std::uint64_t{rows.stride_bytes},
      std::uint64_t{rows.stride_bytes * plan_->positions()}, std::uint64_t{rows.first - skip});
  if (channel_blocks) {
    add_numbers(channel_blocks->channel_blocks, channel_blocks->blocks_in_sum);
  } else if (tile) {
    add_numbers(plan_->positions(), tile->bundle_rows, tile->bundles_in_sum);
  } else {
    add_numbers(plan_->positions(),
                element_bytes_ == 1 ? 65535 / plan_->max_value() : plan_->positions());
  }
  add_numbers(plan_->trials());
  if (tile || channel_blocks) add_numbers(skip);
  add_numbers(skip + out.samples);
  add(std::uint64_t{out.trial_stride}, std::uint64_t{out.beam_stride});
  if (plan_->float_sums())
    add(0.0f);
  else
    add(static_cast<std::int32_t>(plan_->offset()));

  // Where rows are staged, groups of the same times lie next to each other: those that run together
  // read what the second-level cache holds.
  const std::size_t blocks = core::divide_up(plan_->trials(), chosen_.tile_trials());
  const std::size_t tiles = core::divide_up(skip + out.samples, tile_times());
  const bool staged = tile || channel_blocks;
  device::LaunchShape shape{
      .groups = {staged ? blocks * tiles : tiles, staged ? 1 : blocks, plan_->config().beams},
      .threads = {chosen_.tunables.items_time, chosen_.tunables.items_dm, 1},
      .local_bytes = channel_blocks ? 4 * channel_blocks->local_words
                     : tile         ? tile->local_bytes
                                    : 0};
  if (channel_blocks) shape.threads = {chosen_.group_threads(), 1, 1};
  queue.launch(*kernel_, shape, std::span(arguments).first(count));
}

}  // namespace tautline::stages::dedisperse
