// The loops over channels, chunks of time, panels and blocks, and how workers share them.
#pragma once

#include <algorithm>
#include <type_traits>

#include "tautline/core/baseline.h"
#include "tautline/core/validity.h"
#include "tautline/stages/correlate/cpu/kernels.h"
#include "tautline/stages/correlate/cpu/layout.h"

namespace tautline::stages::correlate::cpu {

/// The memory of one stream: lanes, then the rows of each worker, then a row that stays zero.
class SumMemory {
 public:
  SumMemory(const Layout& layout, std::size_t workers)
      : layout_(layout), workers_(workers), memory_(layout.bytes(workers)) {}

  std::byte* lane(std::size_t index) const {
    return memory_.as<std::byte>() + index * layout_.lane_bytes;
  }
  template <class Row>
  Row* rows(std::size_t worker) const {
    return reinterpret_cast<Row*>(lane(layout_.lanes) + worker * layout_.rows_bytes);
  }
  /// Stands for the inputs that the last panel lacks.
  template <class Row>
  const Row* zero_row() const {
    return rows<Row>(workers_);
  }

 private:
  Layout layout_;
  std::size_t workers_;
  device::Buffer memory_;
};

/// Sums of one execute(). Row and Sum are the kernel's types, Sample the caller's; Visibility is
/// ci64 or complex double.
template <class Row, class Sum, class Sample, class Visibility>
class SumEngine {
 public:
  using Visibilities = core::View<Visibility, 2>;

  SumEngine(const Kernel<Row, Sum>& kernel, const RowLoops& loops, const Layout& layout,
            const BlockOrder& order, const SumMemory& memory, const Samples<Sample>& samples,
            const Validity& validity, const Visibilities& visibilities)
      : kernel_(kernel),
        loops_(loops),
        layout_(layout),
        order_(order),
        memory_(memory),
        samples_(samples),
        validity_(validity),
        visibilities_(visibilities),
        channels_(samples.extent(0)),
        inputs_(samples.extent(1)),
        length_(samples.extent(2)) {}

  /// Workers take whole channels as long as all of them have one; all workers share each of the
  /// remaining channels.
  void add(device::Queue& queue) const {
    const std::size_t workers = queue.workers();
    // With many rounds of channels, an uneven last round costs less than sharing channels.
    constexpr std::size_t kManyRounds = 16;
    std::size_t shared = channels_ >= kManyRounds * workers ? 0 : channels_ % workers;
    if (layout_.lanes == 1 && workers > 1) shared = channels_;
    const std::size_t own = channels_ - shared;
    if (own > 0)
      for_range(&queue, 0, own, [&](std::size_t first, std::size_t last, std::size_t worker) {
        add_channels(nullptr, worker, first, last);
      });
    if (shared > 0) add_channels(&queue, 0, own, channels_);
  }

 private:
  struct Chunk {
    std::size_t channel, first, count;
  };
  struct Lane {
    std::byte* panels;
    std::byte* row_factors;
    Sum* sums;
    Sum* corrections;
  };

  Lane lane(std::size_t index) const {
    std::byte* at = memory_.lane(index);
    return {at, at + layout_.row_factors_offset, reinterpret_cast<Sum*>(at + layout_.sums_offset),
            reinterpret_cast<Sum*>(at + layout_.corrections_offset)};
  }

  Chunk chunk_at(std::size_t channel, std::size_t first, std::size_t last_channel) const {
    if (first >= length_) {
      first = 0;
      ++channel;
    }
    if (channel >= last_channel) return {channel, 0, 0};
    return {channel, first, std::min(layout_.chunk_samples, length_ - first)};
  }

  std::size_t steps_of(const Chunk& chunk) const {
    return (chunk.count + kernel_.step_samples - 1) / kernel_.step_samples;
  }

  Packed packed(const Lane& own, const Chunk& chunk, std::size_t row_panels) const {
    return {own.panels, layout_.panel_bytes, own.row_factors, layout_.row_factor_bytes,
            row_panels, steps_of(chunk)};
  }

  // With a null `queue` on this thread, in the worker's lane; else on all workers, in the first
  // lane.
  void add_channels(device::Queue* queue, std::size_t worker, std::size_t first_channel,
                    std::size_t last_channel) const {
    const Lane own = lane(worker);
    std::size_t summed = 0;
    std::size_t fetched_rows = 0;  // prefetched rows of this chunk, then of the next
    for (Chunk chunk = chunk_at(first_channel, 0, last_channel); chunk.count > 0;) {
      const Chunk next = chunk_at(chunk.channel, chunk.first + chunk.count, last_channel);
      if (std::is_same_v<Sum, std::int32_t> && summed + chunk.count > kMaxSumSamples) {
        flush(queue, worker, own, chunk.channel);
        summed = 0;
      }
      if (queue == nullptr) {
        add_chunk(worker, own, chunk, next, fetched_rows);
        fetched_rows -= std::min(fetched_rows, inputs_);
      } else {
        add_chunk(*queue, own, chunk, next);
      }
      summed += chunk.count;
      if (next.channel != chunk.channel) {
        flush(queue, worker, own, chunk.channel);
        summed = 0;
      }
      chunk = next;
    }
  }

  // On this thread: packs each group's panels, then multiplies its blocks.
  void add_chunk(std::size_t worker, const Lane& own, const Chunk& chunk, const Chunk& next,
                 std::size_t& fetched_rows) const {
    const Packed packs = packed(own, chunk, layout_.group_panels);
    for (const BlockOrder::Group& group : order_.groups) {
      for (std::size_t p = group.first_panel; p < group.last_panel; ++p)
        pack(worker, own, chunk, packs, p);
      fetched_rows = std::max(fetched_rows, std::min(group.last_panel * kPanel, inputs_));
      const std::size_t wanted =
          order_.rows_ahead + inputs_ * group.last_block / order_.blocks.size();
      Prefetch ahead =
          prefetch(chunk, next, fetched_rows, wanted, group.last_block - group.first_block);
      kernel_.multiply(order_.blocks.data() + group.first_block,
                       group.last_block - group.first_block, packs,
                       own.sums + group.first_block * kSumsPerBlock, ahead);
    }
  }

  // On all of the queue's workers.
  void add_chunk(device::Queue& queue, const Lane& own, const Chunk& chunk,
                 const Chunk& next) const {
    const Packed packs = packed(own, chunk, layout_.panels);
    for_range(&queue, 0, layout_.panels, [&](std::size_t p, std::size_t last, std::size_t w) {
      for (; p < last; ++p) pack(w, own, chunk, packs, p);
    });
    const std::size_t blocks = order_.blocks.size();
    for_range(&queue, 0, blocks, [&](std::size_t k, std::size_t last, std::size_t) {
      std::size_t fetched_rows = inputs_ + k * inputs_ / blocks;
      Prefetch ahead =
          prefetch(chunk, next, fetched_rows, inputs_ + last * inputs_ / blocks, last - k);
      kernel_.multiply(order_.blocks.data() + k, last - k, packs, own.sums + k * kSumsPerBlock,
                       ahead);
    });
  }

  void pack(std::size_t worker, const Lane& own, const Chunk& chunk, const Packed& packs,
            std::size_t panel) const {
    Row* scratch = memory_.rows<Row>(worker);
    const Row* rows[kPanel];
    for (std::size_t r = 0; r < kPanel; ++r)
      rows[r] = make_row(chunk, panel * kPanel + r, scratch + r * layout_.row_stride_samples);
    kernel_.pack(rows, packs.steps, packs.panel(panel), packs.row_factors(panel),
                 own.corrections + panel * kCorrections);
  }

  // Prefetches rows from `fetched` (counted through this chunk, then the next) to `wanted`, but not
  // beyond the chunk in which they begin, over `blocks` blocks. Advances `fetched`.
  Prefetch prefetch(const Chunk& chunk, const Chunk& next, std::size_t& fetched, std::size_t wanted,
                    std::size_t blocks) const {
    const bool in_next = fetched >= inputs_;
    const Chunk& from = in_next ? next : chunk;
    const std::size_t first = fetched;
    const std::size_t last = std::max(first, std::min(wanted, in_next ? 2 * inputs_ : inputs_));
    fetched = last;
    if (first == last || from.count == 0 || samples_.stride(2) != 1) return {};
    return {&samples_(from.channel, first % inputs_, from.first),
            samples_.stride(1) * static_cast<std::ptrdiff_t>(sizeof(Sample)), last - first,
            from.count * sizeof(Sample), blocks};
  }

  // Null when all samples of the chunk are valid.
  const std::uint64_t* mask_of(const Chunk& chunk, std::size_t input) const {
    if (validity_.data() == nullptr) return nullptr;
    const std::uint64_t* mask = validity_.row(chunk.channel, input) + chunk.first / 64;
    bool all = true;
    for (std::size_t w = 0; w < chunk.count / 64; ++w) all = all && mask[w] == ~std::uint64_t{0};
    if (chunk.count % 64 != 0) {
      const std::uint64_t rest = core::low_bits(chunk.count % 64);
      all = all && (mask[chunk.count / 64] & rest) == rest;
    }
    return all ? nullptr : mask;
  }

  // The caller's samples if they can be packed in place, else null.
  const Row* row_in_place(const Chunk& chunk, std::size_t input) const {
    if (input >= inputs_) return memory_.zero_row<Row>();
    if constexpr (std::is_same_v<Sample, Row>)
      if (samples_.stride(2) == 1 && chunk.count % kernel_.step_samples == 0 &&
          mask_of(chunk, input) == nullptr)
        return &samples_(chunk.channel, input, chunk.first);
    return nullptr;
  }

  const Row* make_row(const Chunk& chunk, std::size_t input, Row* scratch) const {
    if (const Row* row = row_in_place(chunk, input)) return row;
    const Sample* source = &samples_(chunk.channel, input, chunk.first);
    std::get<RowLoops::Copy<Sample, Row>>(loops_.copies)(
        source, samples_.stride(2), mask_of(chunk, input), chunk.count,
        steps_of(chunk) * kernel_.step_samples, scratch);
    return scratch;
  }

  void flush(device::Queue* queue, std::size_t worker, const Lane& own, std::size_t channel) const {
    for_range(queue, worker, layout_.panels, [&](std::size_t p, std::size_t last, std::size_t) {
      for (; p < last; ++p) flush_panel(p, own, channel);
    });
    std::fill_n(own.corrections, layout_.panels * kCorrections, Sum{});
  }

  // Adds the sums of a panel's rows to the visibilities, in the order of the visibilities in
  // memory, and clears the sums.
  void flush_panel(std::size_t panel, const Lane& own, std::size_t channel) const {
    const std::uint32_t* places = order_.places.data() + core::baseline_index(panel, 0);
    const auto sums = [&](std::size_t column) { return own.sums + places[column] * kSumsPerBlock; };
    if (kernel_.half_diagonal) subtract_transpose(sums(panel) + kBlock);
    const Sum* corrections = own.corrections + panel * kCorrections;
    for (std::size_t r = 0; r < kPanel && panel * kPanel + r < inputs_; ++r) {
      const std::size_t row = panel * kPanel + r;
      for (std::size_t column = 0; column <= row; column += kPanel) {
        const bool half = kernel_.half_diagonal && column == panel * kPanel;
        flush_row(sums(column / kPanel) + r * kPanel, corrections[r],
                  half ? Sum{} : corrections[kPanel + r], std::min(kPanel, row + 1 - column),
                  &visibilities_(channel, core::baseline_index(row, column)));
      }
    }
    for (std::size_t column = 0; column <= panel; ++column)
      std::fill_n(sums(column), kSumsPerBlock, Sum{});
  }

  // Integer sums wrap, so they are subtracted as unsigned integers.
  using Modular = std::conditional_t<std::is_integral_v<Sum>, std::uint32_t, Sum>;
  static Sum difference(Sum a, Sum b) {
    return static_cast<Sum>(static_cast<Modular>(a) - static_cast<Modular>(b));
  }

  // im[i][j] holds the sum of im_i re_j; the sum of re_i im_j to subtract from it is im[j][i].
  static void subtract_transpose(Sum* im) {
    for (std::size_t i = 0; i < kPanel; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        im[i * kPanel + j] = difference(im[i * kPanel + j], im[j * kPanel + i]);
  }

  void flush_row(const Sum* re, Sum correction_re, Sum correction_im, std::size_t columns,
                 Visibility* out) const {
    const std::ptrdiff_t stride = visibilities_.stride(1);
    Visibility spread[kPanel] = {};
    Visibility* dense = stride == 1 ? out : spread;
    if constexpr (std::is_same_v<Sum, std::int32_t>) {
      loops_.flush_integer(re, re + kBlock, correction_re, correction_im, columns, dense);
    } else {
      for (std::size_t j = 0; j < columns; ++j) dense[j] += Visibility(re[j], re[kBlock + j]);
    }
    if (stride == 1) return;
    for (std::size_t j = 0; j < columns; ++j)
      out[static_cast<std::ptrdiff_t>(j) * stride] += spread[j];
  }

  const Kernel<Row, Sum>& kernel_;
  const RowLoops& loops_;
  const Layout& layout_;
  const BlockOrder& order_;
  const SumMemory& memory_;
  const Samples<Sample>& samples_;
  const Validity& validity_;
  const Visibilities& visibilities_;
  std::size_t channels_, inputs_, length_;
};

}  // namespace tautline::stages::correlate::cpu
