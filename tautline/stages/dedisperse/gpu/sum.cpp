#include "tautline/stages/dedisperse/gpu/sum.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tautline/jit/program.h"

namespace tautline::stages::dedisperse {

namespace {

std::int64_t number(std::size_t value) {
  return static_cast<std::int64_t>(value);
}

jit::Defines group_defines(const GpuTunables& t) {
  return jit::Defines()
      .set("ITEMS_TIME", number(t.items_time))
      .set("ITEMS_DM", number(t.items_dm))
      .set("ELEMENTS_TIME", number(t.elements_time))
      .set("ELEMENTS_DM", number(t.elements_dm));
}

// A row is long where a bundle has few: then several warps stage it.
std::size_t row_threads(std::size_t threads, std::size_t rows) {
  std::size_t of_row = std::min(threads, kWarpThreads);
  while (threads % (2 * of_row) == 0 && 2 * of_row * rows <= threads) of_row *= 2;
  return of_row;
}

}  // namespace

GpuSum::GpuSum(std::shared_ptr<const DelayPlan> plan, std::shared_ptr<const device::Device> device,
               std::size_t element_bytes, const GpuTunables& tunables, const GpuCost& cost)
    : plan_(std::move(plan)),
      device_(std::move(device)),
      element_bytes_(element_bytes),
      chosen_(choose_sum_kernel(*plan_, *device_, element_bytes, tunables, cost)) {
  compile();
  // Not every compiler knows how many threads share the registers.
  while (chosen_.tunables.items_dm > 1 && too_many_threads()) {
    GpuTunables fewer = chosen_.tunables;
    fewer.items_dm /= 2;
    chosen_ = choose_sum_kernel(*plan_, *device_, element_bytes, fewer, cost);
    compile();
  }
}

bool GpuSum::too_many_threads() const {
  const std::size_t most = kernel_->resources().max_group_threads;
  return most > 0 && chosen_.group_threads() > most;
}

void GpuSum::compile() {
  if (chosen_.channel_blocks) return compile_channel_blocks();
  auto defines = group_defines(chosen_.tunables).set("ROW", number(8 * element_bytes_));
  if (chosen_.tile)
    defines.set("LEVELS", number(chosen_.tile->levels))
        .set("GROUPS", number(chosen_.tunables.groups))
        .set("LOCAL_BYTES", number(chosen_.tile->local_bytes))
        .set("ROW_THREADS",
             number(row_threads(chosen_.group_threads(),
                                std::min(chosen_.tile->bundle_rows, plan_->positions()))));
  program_ = jit::build(
      *device_, chosen_.tile ? "dedisperse/gpu/tile.kernel" : "dedisperse/gpu/sum.kernel", defines);
  kernel_ = program_->kernel(chosen_.tile ? "dedisperse_tile" : "dedisperse");
}

void GpuSum::compile_channel_blocks() {
  const GpuTunables& t = chosen_.tunables;
  const ChannelBlockWorkList& channel_blocks = *chosen_.channel_blocks;
  const bool whole_warps = t.items_time * t.items_dm % kWarpThreads == 0;
  program_ = jit::build(*device_, "dedisperse/gpu/channel_blocks.kernel",
                        group_defines(t)
                            .set("PRODUCER_WARPS", number(t.producer_warps))
                            .set("CHANNELS", number(t.block_channels))
                            .set("WINDOW", number(channel_blocks.window))
                            .set("TILES", number(std::min(t.tiles, channel_blocks.most_tiles)))
                            .set("MATRIX", chosen_.matrix ? 1 : 0)
                            .set("FETCH_WARPS", number(chosen_.fetch_warps))
                            .set("CONSUMERS_FETCH", t.consumers_fetch && whole_warps ? 1 : 0)
                            .set("ROW_WORDS", number(channel_blocks.row_words))
                            .set("PACKET_WORDS", number(channel_blocks.packet_words))
                            .set("LOCAL_WORDS", number(channel_blocks.local_words))
                            .set("CARRIES", channel_blocks.carries ? 1 : 0)
                            .set("PACKETS", number(channel_blocks.packets_held))
                            .set("GROUPS", number(t.groups)));
  kernel_ = program_->kernel("dedisperse_channel_blocks");
}

GpuSum::Lists GpuSum::upload(device::Queue& queue) const {
  Lists lists;
  const auto bring = [&](device::Buffer& buffer, const std::vector<std::uint32_t>& values) {
    if (values.empty()) return;
    buffer = device_->allocate(4 * values.size());
    queue.copy(buffer.data(), values.data(), 4 * values.size());
  };
  std::vector<std::uint32_t> delays;
  bring(lists.order, plan_->order());
  if (chosen_.channel_blocks) {
    bring(lists.packets, chosen_.channel_blocks->packets);
  } else if (chosen_.tile) {
    bring(lists.staged_rows, chosen_.tile->staged);
    bring(lists.starts, chosen_.tile->starts);
    bring(lists.ops, chosen_.tile->ops);
    bring(lists.places, chosen_.tile->places);
  } else {
    for (std::size_t p = 0; p < plan_->positions(); ++p)
      for (const std::uint32_t trial : plan_->order())
        delays.push_back(static_cast<std::uint32_t>(plan_->delays()(trial, p)));
    bring(lists.delays, delays);
  }
  queue.synchronise();
  return lists;
}

std::size_t GpuSum::bytes() const {
  return 4 * plan_->trials() + (chosen_.channel_blocks ? chosen_.channel_blocks->bytes()
                                : chosen_.tile         ? chosen_.tile->bytes()
                                                       : plan_->delays().samples.size() * 4);
}

// Where rows are staged, groups of the same times lie next to each other: those that run together
// read what the second-level cache holds.
device::LaunchShape GpuSum::shape(std::size_t times) const {
  const std::size_t blocks = (plan_->trials() + chosen_.tile_trials() - 1) / chosen_.tile_trials();
  const std::size_t tiles = (times + tile_times() - 1) / tile_times();
  const bool staged = chosen_.tile || chosen_.channel_blocks;
  return {.groups = {staged ? blocks * tiles : tiles, staged ? 1 : blocks, plan_->config().beams},
          .threads = {chosen_.tunables.items_time, chosen_.tunables.items_dm, 1}};
}

void GpuSum::launch(device::Queue& queue, const Lists& lists, const Rows& rows,
                    const Out& out) const {
  const bool floats = plan_->float_sums();
  if (chosen_.channel_blocks) return launch_channel_blocks(queue, lists, rows, out);
  if (chosen_.tile)
    return floats ? launch_tiles<float>(queue, lists, rows, out)
                  : launch_tiles<std::int32_t>(queue, lists, rows, out);
  return floats ? launch_where_they_lie<float>(queue, lists, rows, out)
                : launch_where_they_lie<std::int32_t>(queue, lists, rows, out);
}

template <class T>
void GpuSum::launch_tiles(device::Queue& queue, const Lists& lists, const Rows& rows,
                          const Out& out) const {
  // Words of bytes are read: a tile begins at a whole one, and the times before are not written.
  const std::size_t skip = element_bytes_ == 1 ? rows.first % 4 : 0;
  const device::Argument arguments[] = {
      rows.data,
      lists.staged_rows.data(),
      lists.starts.data(),
      lists.ops.data(),
      lists.places.data(),
      lists.order.data(),
      out.data,
      static_cast<std::uint64_t>(rows.stride_bytes),
      static_cast<std::uint64_t>(rows.stride_bytes * plan_->positions()),
      static_cast<std::uint64_t>(rows.first - skip),
      static_cast<std::uint32_t>(plan_->positions()),
      static_cast<std::uint32_t>(chosen_.tile->bundle_rows),
      static_cast<std::uint32_t>(chosen_.tile->bundles_in_sum),
      static_cast<std::uint32_t>(plan_->trials()),
      static_cast<std::uint32_t>(skip),
      static_cast<std::uint32_t>(skip + out.samples),
      static_cast<std::uint64_t>(out.trial_stride),
      static_cast<std::uint64_t>(out.beam_stride),
      static_cast<T>(plan_->float_sums() ? 0 : plan_->offset())};
  device::LaunchShape groups = shape(skip + out.samples);
  groups.local_bytes = chosen_.tile->local_bytes;
  queue.launch(*kernel_, groups, arguments);
}

void GpuSum::launch_channel_blocks(device::Queue& queue, const Lists& lists, const Rows& rows,
                                   const Out& out) const {
  const std::size_t skip = rows.first % ChannelBlockWorkList::kAligned;
  const device::Argument arguments[] = {
      rows.data,
      lists.packets.data(),
      lists.order.data(),
      out.data,
      static_cast<std::uint64_t>(rows.stride_bytes),
      static_cast<std::uint64_t>(rows.stride_bytes * plan_->positions()),
      static_cast<std::uint64_t>(rows.first - skip),
      static_cast<std::uint32_t>(chosen_.channel_blocks->channel_blocks),
      static_cast<std::uint32_t>(chosen_.channel_blocks->blocks_in_sum),
      static_cast<std::uint32_t>(plan_->trials()),
      static_cast<std::uint32_t>(skip),
      static_cast<std::uint32_t>(skip + out.samples),
      static_cast<std::uint64_t>(out.trial_stride),
      static_cast<std::uint64_t>(out.beam_stride),
      static_cast<std::int32_t>(plan_->offset())};
  device::LaunchShape groups = shape(skip + out.samples);
  groups.threads = {chosen_.group_threads(), 1, 1};
  groups.local_bytes = 4 * chosen_.channel_blocks->local_words;
  queue.launch(*kernel_, groups, arguments);
}

template <class T>
void GpuSum::launch_where_they_lie(device::Queue& queue, const Lists& lists, const Rows& rows,
                                   const Out& out) const {
  const std::size_t most_in_sum =
      element_bytes_ == 1 ? 65535 / plan_->max_value() : plan_->positions();
  const device::Argument arguments[] = {
      rows.data,
      lists.delays.data(),
      lists.order.data(),
      out.data,
      static_cast<std::uint64_t>(rows.stride_bytes),
      static_cast<std::uint64_t>(rows.stride_bytes * plan_->positions()),
      static_cast<std::uint64_t>(rows.first),
      static_cast<std::uint32_t>(plan_->positions()),
      static_cast<std::uint32_t>(most_in_sum),
      static_cast<std::uint32_t>(plan_->trials()),
      static_cast<std::uint32_t>(out.samples),
      static_cast<std::uint64_t>(out.trial_stride),
      static_cast<std::uint64_t>(out.beam_stride),
      static_cast<T>(plan_->float_sums() ? 0 : plan_->offset())};
  queue.launch(*kernel_, shape(out.samples), arguments);
}

}  // namespace tautline::stages::dedisperse
