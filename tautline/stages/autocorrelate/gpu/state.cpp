#include "tautline/stages/autocorrelate/gpu/state.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "tautline/core/count_type.h"
#include "tautline/core/error.h"

namespace tautline::stages::autocorrelate::gpu {

namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 20;

std::size_t slot_bytes(const GpuLayout& layout) {
  return layout.chunk * layout.levels[0].pitch_bytes;
}

std::size_t out_bytes(const GpuLayout& layout) {
  return GpuState::read_pairs(layout) * layout.lags * 4 * 8;
}

// Level of matrix.cuda.kernel.
struct TableLevel {
  std::uint64_t d_at, e_at, pitch, rows, separate, delay, lag_first, lag_count;
};
static_assert(sizeof(TableLevel) == GpuState::kTableLevelBytes);

std::vector<TableLevel> table_of(const GpuLayout& layout) {
  std::vector<TableLevel> table;
  for (const GpuLevel& level : layout.levels)
    table.push_back({level.d_at, level.separate ? level.e_at : level.d_at, level.pitch_bytes,
                     level.rows, level.separate ? 1U : 0U, level.shift + level.range.first_steps,
                     level.range.first_lag, level.range.steps});
  return table;
}

std::size_t list_bytes(const GpuLayout& layout) {
  return std::max<std::size_t>(1, layout.config.pairs.size()) * 2 * sizeof(std::uint32_t);
}

}  // namespace

std::size_t GpuState::read_pairs(const GpuLayout& layout) {
  return std::min(layout.config.pair_count(),
                  std::max<std::size_t>(1, kReadBytes / (layout.lags * 4 * 8)));
}

device::MemoryUse GpuState::bytes(const GpuLayout& layout) {
  return {layout.padded_sensors * 8, layout.bytes + layout.levels.size() * sizeof(TableLevel) +
                                         2 * slot_bytes(layout) + out_bytes(layout) +
                                         list_bytes(layout)};
}

GpuState::GpuState(const GpuLayout& its_layout, std::shared_ptr<const device::Device> device)
    : layout(its_layout),
      done(layout.levels.size()),
      memory(device->allocate(layout.bytes)),
      lists(device->allocate(list_bytes(layout))),
      table(device->allocate(layout.levels.size() * sizeof(TableLevel))),
      out(device->allocate(out_bytes(layout))),
      queue(device->make_queue()),
      ready(device->make_event()),
      latest(device->make_event()) {
  for (Slot& slot : slots) {
    slot.rows = device->allocate(slot_bytes(layout));
    slot.uploaded = device->make_event();
    slot.consumed = device->make_event();
    // Kernels read the padding of rows, too.
    queue->fill(slot.rows.data(), 0, slot.rows.bytes());
  }
  std::vector<std::uint32_t> sensors;
  for (const Pair& pair : layout.config.pairs) sensors.push_back(pair.a);
  for (const Pair& pair : layout.config.pairs) sensors.push_back(pair.b);
  if (!sensors.empty()) queue->copy(lists.data(), sensors.data(), lists.bytes());
  const auto levels = table_of(layout);
  queue->copy(table.data(), levels.data(), table.bytes());
  reset();
  queue->synchronise();
}

void GpuState::reset() {
  taken = parity = known_total = known_at = 0;
  std::fill(done.begin(), done.end(), 0);
  refused = false;
  queue->wait(*latest);
  queue->fill(memory.data(), 0, memory.bytes());
  queue->record(*ready);
}

std::vector<std::byte> GpuState::save() const {
  std::vector<std::uint64_t> header{layout.bytes, taken, parity, known_total, known_at};
  header.insert(header.end(), done.begin(), done.end());
  const std::size_t head = header.size() * sizeof header[0];
  std::vector<std::byte> bytes(head + memory.bytes());
  std::memcpy(bytes.data(), header.data(), head);
  queue->wait(*latest);
  queue->copy(bytes.data() + head, memory.data(), memory.bytes());
  queue->synchronise();
  return bytes;
}

void GpuState::load(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> header(5 + done.size());
  const std::size_t head = header.size() * sizeof header[0];
  if (bytes.size() == head + memory.bytes()) std::memcpy(header.data(), bytes.data(), head);
  if (header[0] != layout.bytes)
    throw core::Error(core::ErrorKind::format, "autocorrelate state",
                      std::to_string(bytes.size()) + " bytes",
                      std::to_string(head + memory.bytes()) + ", those of a GPU's state",
                      "load it with a plan for GPUs of the same config and tunables");
  taken = header[1];
  parity = header[2] & 1;
  known_total = header[3];
  known_at = header[4];
  std::copy(header.begin() + 5, header.end(), done.begin());
  refused = false;
  queue->wait(*latest);
  queue->copy(memory.data(), bytes.data() + head, memory.bytes());
  queue->record(*ready);
  queue->synchronise();
}

}  // namespace tautline::stages::autocorrelate::gpu
