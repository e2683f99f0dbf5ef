#include "tautline/stages/autocorrelate/gpu/launch.h"

#include <algorithm>
#include <span>
#include <vector>

#include "tautline/core/integers.h"

namespace tautline::stages::autocorrelate::gpu {

namespace {

using device::Argument;

// A level's series, as series.kernel describes it.
struct Series {
  const void* fresh = nullptr;
  const void* old = nullptr;
  std::size_t new_pitch = 0, old_pitch = 0, old_rows = 0;
};

// The launches of one chunk, or of a read (without rows).
class Launcher {
 public:
  Launcher(device::Queue& queue, const GpuKernels& kernels, const GpuState& state, const Rows& rows)
      : queue_(queue),
        kernels_(kernels),
        state_(state),
        layout_(state.layout),
        rows_(rows),
        before_(state.taken),
        after_(state.taken + rows.count) {}

  void add_totals() const;
  void fold() const;
  void make_level(std::size_t to) const;
  void multiply(std::size_t index, std::uint64_t first, std::uint64_t last) const;
  void multiply(const MatrixLevels& levels, std::span<const std::uint64_t> first,
                std::span<const std::uint64_t> last) const;
  void keep() const;
  void read(std::size_t index, std::size_t first_pair, std::size_t pairs) const;
  std::uint64_t available(std::size_t level) const { return after_ >> level; }
  std::uint64_t available_before(std::size_t level) const { return before_ >> level; }

 private:
  Series series(std::size_t index, bool e) const {
    const GpuLevel& level = layout_.levels[index];
    if (index == 0)
      return {rows_.data == nullptr ? state_.kept() : rows_.data, state_.kept(), rows_.pitch_bytes,
              level.pitch_bytes, level.rows};
    const void* ring = state_.at(e && level.separate ? level.e_at : level.d_at);
    return {ring, ring, level.pitch_bytes, level.pitch_bytes, level.rows};
  }
  // The kernels' number of row `row` of a series, such that the `below` rows before it have
  // consecutive smaller numbers in spite of the ring.
  std::int32_t place(std::size_t index, std::int64_t row, std::size_t below) const {
    if (index == 0) {
      const auto first = static_cast<std::int64_t>(rows_.data == nullptr ? after_ : before_);
      return static_cast<std::int32_t>(row - first);
    }
    const auto size = static_cast<std::int64_t>(layout_.levels[index].rows);
    const std::int64_t lowest = row - static_cast<std::int64_t>(below);
    return static_cast<std::int32_t>((lowest % size + size) % size - size +
                                     static_cast<std::int64_t>(below));
  }
  // Rows of a thread in kernels without shared loads: few additions in memory, enough threads.
  std::size_t part(std::size_t count) const {
    constexpr std::size_t kEnoughThreads = std::size_t{1} << 18;
    if (layout_.floats())
      return std::max<std::size_t>(1, count);  // floats are added in order of time
    return std::clamp<std::size_t>(count * layout_.padded_sensors / kEnoughThreads, 1, 256);
  }
  // Rows of a partial sum: fewer where the device would have too few groups.
  std::size_t part_of(const Products& products, std::size_t count, std::size_t groups) const {
    if (layout_.floats()) return count;
    const std::size_t parts = core::divide_up(4 * kernels_.enough_groups, groups);
    const std::size_t least = std::min<std::size_t>(products.part, 16 * products.lags);
    return std::clamp(core::divide_up(count, parts), least, products.part);
  }
  std::size_t part_of(const MatrixLevels& levels, std::size_t count, std::size_t groups) const {
    constexpr std::size_t kRows = MatrixLevels::kTileRows;
    const std::size_t parts = core::divide_up(kernels_.enough_groups, groups);
    return std::clamp(core::divide_up(core::divide_up(count, parts), kRows) * kRows, kRows,
                      levels.part);
  }
  device::LaunchShape columns_by_parts(std::size_t columns, std::size_t parts) const {
    const Threads& t = kernels_.threads;
    return {.groups = {core::divide_up(columns, t.x), core::divide_up(parts, t.y), 1},
            .threads = {t.x, t.y, 1}};
  }

  device::Queue& queue_;
  const GpuKernels& kernels_;
  const GpuState& state_;
  const GpuLayout& layout_;
  const Rows& rows_;
  std::uint64_t before_, after_;
};

void Launcher::add_totals() const {
  const std::size_t rows = part(rows_.count);
  queue_.run(*kernels_.totals,
             columns_by_parts(layout_.config.sensors, core::divide_up(rows_.count, rows)),
             rows_.data, rows_.data, state_.at(layout_.levels[0].total_d_at),
             state_.at(layout_.largest_at), std::uint64_t{rows_.pitch_bytes},
             core::u32(rows_.count), core::u32(rows), core::u32(layout_.config.sensors));
}

// Totals and the first levels in one launch.
void Launcher::fold() const {
  constexpr std::size_t kMostLevels = 5, kEnoughThreads = std::size_t{1} << 16, kMostPart = 8;
  const std::size_t folds = layout_.folds;
  const std::uint64_t first = before_ >> folds;
  const std::uint64_t windows = ((after_ - 1) >> folds) + 1 - first;
  const std::size_t words = core::divide_up(layout_.config.sensors, 4);
  const std::size_t part = std::clamp<std::size_t>(windows * words / kEnoughThreads, 1, kMostPart);
  const GpuLevel& counts = layout_.levels[0];
  std::uint64_t careful = 0;
  for (std::size_t l = 1; l <= folds; ++l)
    careful = std::max<std::uint64_t>(
        careful, core::divide_up(layout_.levels[l].begin_rows, std::size_t{1} << (folds - l)));
  const Series d = series(0, false);
  std::vector<Argument> arguments{d.fresh,
                                  d.old,
                                  state_.at(0),
                                  state_.at(counts.total_d_at),
                                  std::uint64_t{d.new_pitch},
                                  std::uint64_t{d.old_pitch},
                                  core::u32(d.old_rows),
                                  place(0, static_cast<std::int64_t>(first << folds), 0),
                                  core::u32(rows_.count),
                                  first,
                                  core::u32(windows),
                                  core::u32(part),
                                  careful,
                                  std::uint64_t{layout_.levels[1].pitch_bytes},
                                  core::u32(words)};
  for (std::size_t l = 1; l <= kMostLevels; ++l) {
    const GpuLevel& level = layout_.levels[std::min(l, folds)];
    const std::uint64_t row = l <= folds ? first << (folds - l) : 0;
    arguments.insert(arguments.end(), {std::uint64_t{level.d_at}, std::uint64_t{level.begin_at},
                                       core::u32(level.rows), core::u32(row % level.rows),
                                       core::u32(level.begin_rows)});
  }
  const Threads& t = kernels_.fold_threads;
  queue_.launch(*kernels_.fold,
                {.groups = {core::divide_up(words, t.x),
                            core::divide_up(core::divide_up(windows, part), t.y), 1},
                 .threads = {t.x, t.y, 1}},
                arguments);
}

void Launcher::make_level(std::size_t to) const {
  const GpuLevel& level = layout_.levels[to];
  const GpuLevel& source = layout_.levels[to - 1];
  const std::uint64_t first = available_before(to);
  const auto count = static_cast<std::size_t>(available(to) - first);
  if (count == 0) return;
  const Series d = series(to - 1, false), e = series(to - 1, true);
  const auto delay = static_cast<std::int64_t>(layout_.config.bins + source.shift);
  const auto row = static_cast<std::int64_t>(2 * first);
  const std::size_t rows = part(count);
  queue_.run(
      *kernels_.coarsen[to - 1],
      columns_by_parts(layout_.config.sensors, core::divide_up(count, rows)), d.fresh, d.old,
      e.fresh, e.old, state_.at(level.d_at), state_.at(level.separate ? level.e_at : level.d_at),
      state_.at(level.begin_at), state_.at(level.lead_at), state_.at(level.total_d_at),
      state_.at(level.total_e_at), std::uint64_t{d.new_pitch}, std::uint64_t{d.old_pitch},
      core::u32(d.old_rows), place(to - 1, row, 0), place(to - 1, row - delay, 0),
      std::uint64_t{layout_.padded_sensors}, core::u32(first % level.rows), core::u32(level.rows),
      first, core::u32(count), core::u32(rows), core::u32(level.begin_rows),
      level.range.has_lead_in() ? level.range.whole - 1 : ~std::uint64_t{0},
      core::u32(layout_.config.sensors));
}

void Launcher::multiply(std::size_t index, std::uint64_t first, std::uint64_t last) const {
  if (first == last) return;
  const GpuLevel& level = layout_.levels[index];
  const Products& products = kernels_.products[index];
  const Series d = series(index, false), e = series(index, true);
  const std::size_t lags = (level.range.steps + products.lags - 1) / products.lags * products.lags;
  const auto row = static_cast<std::int64_t>(first);
  const auto e_row = row - static_cast<std::int64_t>(level.range.first_steps + level.shift);
  const auto count = static_cast<std::size_t>(last - first);
  const Threads& t = products.threads;
  const std::size_t columns = core::divide_up(layout_.config.pair_count(), t.x);
  const std::size_t part = part_of(products, count, columns * (lags / products.lags) * t.y);
  queue_.run(*products.kernel,
             {.groups = {columns, lags / products.lags,
                         core::divide_up(core::divide_up(count, part), t.y)},
              .threads = {t.x, t.y, 1}},
             d.fresh, d.old, e.fresh, e.old, state_.a(), state_.b(), state_.at(layout_.sums_at),
             std::uint64_t{d.new_pitch}, std::uint64_t{d.old_pitch}, core::u32(d.old_rows),
             place(index, row, 0), place(index, e_row, lags), core::u32(count), core::u32(part),
             core::u32(layout_.config.pair_count()), core::u32(layout_.lags),
             core::u32(level.range.first_lag), core::u32(level.range.steps));
}

// Multiplies the rows [first[l], last[l]) of levels l of one kind.
void Launcher::multiply(const MatrixLevels& levels, std::span<const std::uint64_t> first,
                        std::span<const std::uint64_t> last) const {
  std::size_t rows = 0, most_lags = 0;
  for (std::size_t l = levels.first; l < levels.first + levels.count; ++l) {
    rows += static_cast<std::size_t>(last[l] - first[l]);
    most_lags = std::max(most_lags, layout_.levels[l].range.steps);
  }
  if (rows == 0) return;
  const std::size_t lag_groups = core::divide_up(most_lags, levels.lags);
  const std::size_t columns = core::divide_up(layout_.config.pair_count(), levels.group_pairs);
  const std::size_t part = part_of(levels, rows, columns * lag_groups);
  const Series counts = series(0, false);
  std::vector<Argument> arguments{
      counts.fresh,
      counts.old,
      state_.at(0),
      state_.table.as<std::byte>() + levels.first * GpuState::kTableLevelBytes,
      state_.a(),
      state_.b(),
      state_.at(layout_.sums_at),
      std::uint64_t{counts.new_pitch},
      std::uint64_t{counts.old_pitch},
      core::u32(counts.old_rows),
      core::u32(part),
      core::u32(layout_.config.pair_count()),
      core::u32(layout_.lags),
      core::u32(levels.count)};
  std::size_t parts = 0;
  const auto pack = [](std::uint32_t low, std::uint32_t high) {
    return std::uint64_t{high} << 32 | low;
  };
  for (std::size_t k = 0; k < MatrixLevels::kMostLevels; ++k) {
    const std::size_t l = levels.first + std::min(k, levels.count - 1);
    const GpuLevel& level = layout_.levels[l];
    const auto row = static_cast<std::int64_t>(first[l]);
    const auto e_row = row - static_cast<std::int64_t>(level.range.first_steps + level.shift);
    const auto count = static_cast<std::size_t>(last[l] - first[l]);
    if (k < levels.count) parts += core::divide_up(count, part);
    arguments.emplace_back(
        pack(static_cast<std::uint32_t>(place(l, row, 0)),
             static_cast<std::uint32_t>(
                 place(l, e_row, core::divide_up(level.range.steps, levels.lags) * levels.lags))));
    arguments.emplace_back(pack(core::u32(count), core::u32(parts)));
  }
  queue_.launch(*levels.kernel,
                {.groups = {columns, lag_groups, parts},
                 .threads = {MatrixLevels::kThreads, 1, 1},
                 .local_bytes = levels.local_bytes},
                arguments);
}

void Launcher::keep() const {
  const GpuLevel& level = layout_.levels[0];
  const std::size_t words = core::divide_up(layout_.config.sensors * level.sample_bytes, 4);
  queue_.run(*kernels_.keep, columns_by_parts(words, level.rows + level.begin_rows), rows_.data,
             state_.kept(), state_.to_keep(), state_.at(level.begin_at),
             std::uint64_t{rows_.pitch_bytes / 4}, std::uint64_t{level.pitch_bytes / 4},
             core::u32(words), core::u32(rows_.count), core::u32(level.rows),
             core::u32(level.begin_rows), before_);
}

void Launcher::read(std::size_t index, std::size_t first_pair, std::size_t pairs) const {
  const GpuLevel& level = layout_.levels[index];
  const Series e = series(index, true);
  const std::size_t below = level.range.first_steps + level.range.steps;
  const auto newest =
      static_cast<std::int64_t>(available(index)) - 1 - static_cast<std::int64_t>(level.shift);
  const GpuLevel& counts = layout_.levels[0];
  const std::uint64_t tail = level.folded ? after_ - (available(index) << index) : 0;
  queue_.run(*kernels_.read[index],
             {.groups = {core::divide_up(pairs, kernels_.read_threads), 1, 1},
              .threads = {kernels_.read_threads, 1, 1}},
             e.fresh, e.old, state_.kept(), state_.at(level.begin_at), state_.at(level.lead_at),
             state_.at(level.total_d_at), state_.at(level.total_e_at), state_.a(), state_.b(),
             state_.at(layout_.sums_at), state_.out.data(), std::uint64_t{e.new_pitch},
             std::uint64_t{e.old_pitch}, core::u32(e.old_rows), place(index, newest, below),
             std::uint64_t{layout_.padded_sensors}, core::u32(first_pair), core::u32(pairs),
             core::u32(layout_.lags), core::u32(level.range.first_lag),
             core::u32(level.range.steps), core::u32(level.range.first_steps),
             core::u32(level.range.whole), core::u32(level.shift),
             core::u32(level.range.has_lead_in() ? 1 : 0), available(index),
             std::uint64_t{counts.pitch_bytes}, core::u32(counts.rows), core::u32(tail));
}

// Multiplies all rows of level 0, and those of levels with `enough` or more pending rows.
void multiply_due(const Launcher& launcher, const GpuKernels& kernels, const GpuState& state,
                  std::size_t enough) {
  std::vector<std::uint64_t> last = state.done;
  for (std::size_t l = 0; l < last.size(); ++l)
    if (const std::uint64_t available = launcher.available(l);
        l == 0 || available - last[l] >= enough)
      last[l] = available;
  for (const MatrixLevels& levels : kernels.matrix) launcher.multiply(levels, state.done, last);
  for (std::size_t l = 0; l < last.size(); ++l)
    if (kernels.products[l].kernel != nullptr) launcher.multiply(l, state.done[l], last[l]);
  state.done = last;
}

}  // namespace

void enqueue_rows(device::Queue& queue, const GpuKernels& kernels, GpuState& state,
                  const Rows& rows) {
  if (rows.count == 0) return;
  const std::size_t levels = state.layout.levels.size();
  const Launcher launcher(queue, kernels, state, rows);
  if (state.layout.folds > 0) {
    launcher.fold();
  } else {
    launcher.add_totals();
  }
  for (std::size_t l = 1 + state.layout.folds; l < levels; ++l) launcher.make_level(l);
  multiply_due(launcher, kernels, state, state.layout.pending);
  launcher.keep();
  state.taken += rows.count;
  state.parity ^= 1;
}

void enqueue_flush(device::Queue& queue, const GpuKernels& kernels, const GpuState& state) {
  const Rows none;
  const Launcher launcher(queue, kernels, state, none);
  multiply_due(launcher, kernels, state, 1);
}

void enqueue_read(device::Queue& queue, const GpuKernels& kernels, const GpuState& state,
                  std::size_t first, std::size_t count) {
  const Rows none;
  const Launcher launcher(queue, kernels, state, none);
  for (std::size_t l = 0; l < state.layout.levels.size(); ++l) launcher.read(l, first, count);
}

}  // namespace tautline::stages::autocorrelate::gpu
