#include "tautline/stages/autocorrelate/gpu/state.h"

#include <algorithm>
#include <string>

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

// Equal for CUDA and OpenCL: a state saved on one continues on the other.
std::string text_of(const GpuLayout& layout) {
  std::string text = "gpu";
  for (const std::size_t value : {layout.bytes, layout.chunk, layout.pending, layout.folds})
    text += " " + std::to_string(value);
  return text;
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
    : BaseState(its_layout.config, text_of(its_layout)),
      layout(its_layout),
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

void GpuState::clear() {
  parity = known_total = known_at = 0;
  std::fill(done.begin(), done.end(), 0);
  queue->wait(*latest);
  queue->fill(memory.data(), 0, memory.bytes());
  queue->record(*ready);
}

void GpuState::save_content(core::ByteWriter& writer) const {
  for (const std::uint64_t value : {parity, known_total, known_at}) writer(value);
  writer(done);
  std::vector<std::byte> content(memory.bytes());
  queue->wait(*latest);
  queue->copy(content.data(), memory.data(), memory.bytes());
  queue->synchronise();
  writer(std::span(content));
}

void GpuState::load_content(core::ByteReader& reader) {
  for (std::uint64_t* value : {&parity, &known_total, &known_at}) reader(*value);
  reader(done);
  if (parity > 1 || done.size() != layout.levels.size()) reader.refuse();
  std::vector<std::byte> content(memory.bytes());
  reader(std::span(content));
  queue->wait(*latest);
  queue->copy(memory.data(), content.data(), memory.bytes());
  queue->record(*ready);
  queue->synchronise();
}

}  // namespace tautline::stages::autocorrelate::gpu
