// The driver: channels, chunks of time, panels and blocks, shared out over the workers.
#include "tautline/stages/correlate/cpu.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/stages/correlate/cpu_counts.h"
#include "tautline/stages/correlate/cpu_layout.h"
#include "tautline/stages/correlate/shapes.h"

namespace tautline::stages::correlate::cpu {

namespace {

// The loops that go with a kernel: those of the best Highway target up to the device's set.
const RowLoops& choose_row_loops(const device::Device& device) {
  using device::InstructionSet;
  const InstructionSet most = std::min(device.instruction_set(), InstructionSet::avx512);
  for (const InstructionSet set : {InstructionSet::avx512, InstructionSet::avx2})
    if (set <= most)
      if (const RowLoops* loops = simd_row_loops(set)) return *loops;
  return *simd_row_loops(InstructionSet::portable);
}

auto copy_loop(const RowLoops& loops, const core::ci8*) {
  return loops.copy_ci8;
}
auto copy_loop(const RowLoops& loops, const core::ci4*) {
  return loops.widen_ci4;
}
auto copy_loop(const RowLoops& loops, const core::ci16*) {
  return loops.convert_ci16;
}
auto copy_loop(const RowLoops& loops, const std::complex<float>*) {
  return loops.copy_cf32;
}

core::SampleFormat format_of(const core::ci8*) {
  return core::kCi8;
}
core::SampleFormat format_of(const core::ci4*) {
  return core::kCi4;
}
core::SampleFormat format_of(const core::ci16*) {
  return core::kCi16;
}
core::SampleFormat format_of(const std::complex<float>*) {
  return core::kCf32;
}

// Runs body(first, last, worker) over [0, count): on this thread as `worker`, or on all of a queue.
template <class Body>
void for_range(device::Queue* queue, std::size_t worker, std::size_t count, const Body& body) {
  if (queue == nullptr) {
    body(0, count, worker);
  } else {
    // One reference is captured, which std::function holds without allocating.
    queue->parallel_for(count, 1, [&body](std::size_t first, std::size_t last, std::size_t w) {
      body(first, last, w);
    });
  }
}

bool all_valid(const std::uint64_t* mask, std::size_t samples) {
  for (std::size_t w = 0; w < samples / 64; ++w)
    if (mask[w] != ~std::uint64_t{0}) return false;
  const std::uint64_t rest = core::low_bits(samples % 64);
  return samples % 64 == 0 || (mask[samples / 64] & rest) == rest;
}

class CpuState final : public State {
 public:
  CpuState(const Layout& layout, std::size_t inputs, std::size_t workers)
      : workers_(workers), memory_(layout.bytes(workers)), count_rows_(workers * inputs) {
    for (std::size_t w = 0; w < workers; ++w) counters_.emplace_back(inputs);
  }
  static std::size_t bytes(const Layout& layout, std::size_t inputs, std::size_t workers) {
    return layout.bytes(workers) +
           workers * (inputs * sizeof(std::int64_t) + PairCounter::bytes(inputs));
  }

  std::size_t workers() const { return workers_; }
  std::byte* lane(const Layout& layout, std::size_t lane) const {
    return memory_.as<std::byte>() + lane * layout.lane_bytes;
  }
  template <class Row>
  Row* rows(const Layout& layout, std::size_t worker) const {
    return reinterpret_cast<Row*>(lane(layout, layout.lanes) + worker * layout.rows_bytes);
  }
  /// A row that stays zero, for the missing inputs of the last panel.
  template <class Row>
  const Row* zero_row(const Layout& layout) const {
    return rows<Row>(layout, workers_);
  }
  PairCounter& counter(std::size_t worker) { return counters_[worker]; }
  std::int64_t* count_row(std::size_t worker) {
    return count_rows_.data() + worker * (count_rows_.size() / workers_);
  }

 private:
  std::size_t workers_;
  device::Buffer memory_;  // lanes, then rows of each worker, then the zero row
  std::vector<PairCounter> counters_;
  std::vector<std::int64_t> count_rows_;  // [worker][input]
};

template <class Row, class Sum, class Visibility>
class CpuPlan final : public Plan {
 public:
  using Visibilities = core::View<Visibility, 2>;

  CpuPlan(const Config& config, std::shared_ptr<const device::Device> device,
          const Kernel<Row, Sum>& kernel, const Tunables& tunables)
      : config_(config),
        device_(std::move(device)),
        kernel_(kernel),
        loops_(choose_row_loops(*device_)),
        tunables_(tunables),
        layout_(layout_for(device_->make_queue()->workers())),
        order_(block_order(layout_.panels, tunables.group_panels)),
        places_(block_places(order_)) {}

  const Config& config() const override { return config_; }
  std::string backend() const override { return kernel_.backend; }
  device::MemoryUse bytes() const override {
    const std::size_t workers = device_->make_queue()->workers();
    return {CpuState::bytes(layout_for(workers), config_.inputs, workers), 0};
  }
  std::unique_ptr<State> make_state(const device::Queue& queue) const override {
    return std::make_unique<CpuState>(layout_for(queue.workers()), config_.inputs, queue.workers());
  }

  void execute(device::Queue& queue, State& state, const Samples<core::ci8>& samples,
               const Validity& validity, const IntegerVisibilities& visibilities,
               const Counts& counts) const override {
    run(queue, state, samples, validity, visibilities, counts);
  }
  void execute(device::Queue& queue, State& state, const Samples<core::ci4>& samples,
               const Validity& validity, const IntegerVisibilities& visibilities,
               const Counts& counts) const override {
    run(queue, state, samples, validity, visibilities, counts);
  }
  void execute(device::Queue& queue, State& state, const Samples<core::ci16>& samples,
               const Validity& validity, const FloatVisibilities& visibilities,
               const Counts& counts) const override {
    run(queue, state, samples, validity, visibilities, counts);
  }
  void execute(device::Queue& queue, State& state, const Samples<std::complex<float>>& samples,
               const Validity& validity, const FloatVisibilities& visibilities,
               const Counts& counts) const override {
    run(queue, state, samples, validity, visibilities, counts);
  }

 private:
  // Everything of one execute.
  template <class Sample>
  struct Call {
    CpuState& state;
    const Samples<Sample>& samples;
    const Validity& validity;
    const Visibilities& visibilities;
    const Counts& counts;
    std::size_t length() const { return samples.extent(2); }
  };

  Layout layout_for(std::size_t workers) const {
    const KernelSizes sizes{kernel_.step_samples, kernel_.step_bytes, kernel_.max_chunk_samples,
                            sizeof(Row), sizeof(Sum)};
    return make_layout(config_, sizes, tunables_, workers);
  }

  template <class Sample, class View>
  void run(device::Queue& queue, State& state, const Samples<Sample>& samples,
           const Validity& validity, const View& visibilities, const Counts& counts) const {
    const core::SampleFormat format = format_of(static_cast<const Sample*>(nullptr));
    if (format != config_.format) throw_wrong_type(config_, core::to_string(format).c_str());
    check_shapes(config_, samples, validity, visibilities, counts);
    if constexpr (std::is_same_v<View, Visibilities>) {
      auto& own = dynamic_cast<CpuState&>(state);
      if (samples.extent(2) == 0) return;
      const Call<Sample> call{own, samples, validity, visibilities, counts};
      add_counts(queue, call);
      add_visibilities(queue, call);
    }
  }

  // As many channels as divide evenly go one to a worker; the others are each shared by all.
  template <class Sample>
  void add_visibilities(device::Queue& queue, const Call<Sample>& call) const {
    const std::size_t workers = queue.workers();
    const std::size_t left_over = config_.channels % workers;
    // With many rounds an uneven last one costs less than sharing out a channel.
    constexpr std::size_t kManyRounds = 16;
    const bool one_lane = layout_.lanes == 1 && workers > 1;
    const std::size_t shared = one_lane                                    ? config_.channels
                               : config_.channels >= kManyRounds * workers ? 0
                                                                           : left_over;
    const std::size_t own = config_.channels - shared;
    if (own > 0) {
      const auto channels = [&](std::size_t first, std::size_t last, std::size_t worker) {
        for (std::size_t c = first; c < last; ++c) add_channel(nullptr, call, worker, c);
      };
      for_range(&queue, 0, own, channels);
    }
    for (std::size_t c = own; c < config_.channels; ++c) add_channel(&queue, call, 0, c);
  }

  // `queue` null: on this thread, with worker's lane and rows.
  template <class Sample>
  void add_channel(device::Queue* queue, const Call<Sample>& call, std::size_t worker,
                   std::size_t channel) const {
    std::byte* lane = call.state.lane(layout_, worker);
    auto* sums = reinterpret_cast<Sum*>(lane + layout_.sums_offset);
    auto* corrections = reinterpret_cast<Sum*>(lane + layout_.corrections_offset);
    const auto flush = [&] {
      for_range(queue, worker, layout_.panels, [&](std::size_t p, std::size_t last, std::size_t) {
        for (; p < last; ++p) flush_panel(p, sums, corrections, call.visibilities, channel);
      });
    };
    std::size_t summed = 0;
    for (std::size_t first = 0; first < call.length(); first += layout_.chunk_samples) {
      const std::size_t count = std::min(layout_.chunk_samples, call.length() - first);
      if (std::is_same_v<Sum, std::int32_t> && summed + count > kMaxSumSamples) {
        flush();
        summed = 0;
      }
      const std::size_t steps = (count + kernel_.step_samples - 1) / kernel_.step_samples;
      for_range(queue, worker, layout_.panels, [&](std::size_t p, std::size_t last, std::size_t w) {
        for (; p < last; ++p)
          pack_panel(call, channel, p, first, count, steps, w, lane + p * layout_.panel_bytes,
                     corrections + p * kCorrections);
      });
      const Packed packed{lane, layout_.panel_bytes, steps};
      for_range(queue, worker, order_.size(), [&](std::size_t k, std::size_t last, std::size_t) {
        Prefetch ahead = next_samples(call, channel, first + count, k, last);
        kernel_.multiply(order_.data() + k, last - k, packed, sums + k * kSumsPerBlock, ahead);
      });
      summed += count;
    }
    flush();
  }

  // This call's share, blocks [first_block, last_block), of what will be packed next: the channel's
  // samples from `next` on, or the first of the channel after it.
  template <class Sample>
  Prefetch next_samples(const Call<Sample>& call, std::size_t channel, std::size_t next,
                        std::size_t first_block, std::size_t last_block) const {
    if (next >= call.length()) {
      next = 0;
      ++channel;
    }
    if (channel >= config_.channels || call.samples.stride(2) != 1) return {};
    const std::size_t first = first_block * config_.inputs / order_.size();
    const std::size_t last = last_block * config_.inputs / order_.size();
    const std::size_t count = std::min(layout_.chunk_samples, call.length() - next);
    return {&call.samples(channel, first, next),
            call.samples.stride(1) * static_cast<std::ptrdiff_t>(sizeof(Sample)), last - first,
            count * sizeof(Sample), last_block - first_block};
  }

  template <class Sample>
  void pack_panel(const Call<Sample>& call, std::size_t channel, std::size_t panel,
                  std::size_t first, std::size_t count, std::size_t steps, std::size_t worker,
                  std::byte* packed, Sum* corrections) const {
    Row* scratch = call.state.template rows<Row>(layout_, worker);
    const Row* rows[kPanel];
    for (std::size_t r = 0; r < kPanel; ++r) {
      const std::size_t input = panel * kPanel + r;
      rows[r] = input < config_.inputs
                    ? make_row(call, channel, input, first, count, steps * kernel_.step_samples,
                               scratch + r * layout_.row_stride_samples)
                    : call.state.template zero_row<Row>(layout_);
    }
    kernel_.pack(rows, steps, packed, corrections);
  }

  // The caller's own samples when they can be packed as they lie, else a copy in `scratch`.
  template <class Sample>
  const Row* make_row(const Call<Sample>& call, std::size_t channel, std::size_t input,
                      std::size_t first, std::size_t count, std::size_t padded,
                      Row* scratch) const {
    const Sample* source = &call.samples(channel, input, first);
    const std::ptrdiff_t stride = call.samples.stride(2);
    const std::uint64_t* mask =
        call.validity.data() == nullptr ? nullptr : call.validity.row(channel, input) + first / 64;
    if (mask != nullptr && all_valid(mask, count)) mask = nullptr;
    if constexpr (std::is_same_v<Sample, Row>)
      if (mask == nullptr && stride == 1 && count == padded) return source;
    copy_loop(loops_, source)(source, stride, mask, count, padded, scratch);
    return scratch;
  }

  // Adds the sums of a panel's rows to the visibilities, row after row as these lie in memory, and
  // clears the sums and corrections.
  void flush_panel(std::size_t panel, Sum* sums, Sum* corrections, const Visibilities& visibilities,
                   std::size_t channel) const {
    const std::uint32_t* places = places_.data() + core::baseline_index(panel, 0);
    Sum* own_corrections = corrections + panel * kCorrections;
    if (kernel_.half_diagonal) subtract_transpose(sums + places[panel] * kSumsPerBlock + kBlock);
    for (std::size_t r = 0; r < kPanel && panel * kPanel + r < config_.inputs; ++r) {
      const std::size_t row = panel * kPanel + r;
      for (std::size_t column = 0; column <= row; column += kPanel) {
        const Sum* re = sums + places[column / kPanel] * kSumsPerBlock + r * kPanel;
        flush_row(
            re, own_corrections[r], own_corrections[kPanel + r], std::min(kPanel, row + 1 - column),
            &visibilities(channel, core::baseline_index(row, column)), visibilities.stride(1));
      }
    }
    for (std::size_t column = 0; column <= panel; ++column)
      std::fill_n(sums + places[column] * kSumsPerBlock, kSumsPerBlock, Sum{});
    std::fill_n(own_corrections, kCorrections, Sum{});
  }

  // im[i][j] = sum of im_i re_j, less the sum of re_i im_j, which is im[j][i].
  static void subtract_transpose(Sum* im) {
    for (std::size_t i = 0; i < kPanel; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        using Modular = std::conditional_t<std::is_integral_v<Sum>, std::uint32_t, Sum>;
        im[i * kPanel + j] = static_cast<Sum>(static_cast<Modular>(im[i * kPanel + j]) -
                                              static_cast<Modular>(im[j * kPanel + i]));
      }
  }

  void flush_row(const Sum* re, Sum correction_re, Sum correction_im, std::size_t columns,
                 Visibility* out, std::ptrdiff_t stride) const {
    Visibility spread[kPanel] = {};
    Visibility* dense = stride == 1 ? out : spread;
    if constexpr (std::is_same_v<Sum, std::int32_t>) {
      loops_.flush_integer(re, re + kBlock, correction_re, correction_im, columns, dense);
    } else {
      for (std::size_t j = 0; j < columns; ++j) dense[j] += Visibility(re[j], re[kBlock + j]);
    }
    if (stride == 1) return;
    for (std::size_t j = 0; j < columns; ++j)
      add(out[static_cast<std::ptrdiff_t>(j) * stride], spread[j]);
  }
  static void add(core::ci64& to, const core::ci64& value) {
    to.re += value.re;
    to.im += value.im;
  }
  static void add(std::complex<double>& to, const std::complex<double>& value) { to += value; }

  template <class Sample>
  void add_counts(device::Queue& queue, const Call<Sample>& call) const {
    if (call.validity.data() == nullptr) {
      add_full_counts(queue, call);
    } else if (call.validity.stride(0) == 0) {
      prepare_counter(call, 0, 0);
      add_count_rows(queue, call, 0, config_.channels);
    } else if (config_.channels >= queue.workers()) {
      for_range(&queue, 0, config_.channels,
                [&](std::size_t c, std::size_t last, std::size_t worker) {
                  for (; c < last; ++c) {
                    prepare_counter(call, worker, c);
                    for (std::size_t i = 0; i < config_.inputs; ++i)
                      add_count_row(call, worker, worker, i, c, c + 1);
                  }
                });
    } else {
      for (std::size_t c = 0; c < config_.channels; ++c) {
        prepare_counter(call, 0, c);
        add_count_rows(queue, call, c, c + 1);
      }
    }
  }

  template <class Sample>
  void add_full_counts(device::Queue& queue, const Call<Sample>& call) const {
    const std::size_t inputs = config_.inputs;
    const auto count = static_cast<std::int64_t>(call.length());
    for_range(&queue, 0, config_.channels * inputs,
              [&](std::size_t k, std::size_t last, std::size_t) {
                for (; k < last; ++k) {
                  const std::size_t row = k % inputs;
                  std::int64_t* out = &call.counts(k / inputs, core::baseline_index(row, 0));
                  for_strided(out, call.counts.stride(1), row + 1,
                              [count](std::int64_t& n, std::size_t) { n += count; });
                }
              });
  }

  // body(element, index) over a row; the dense case is a loop that vectorises.
  template <class Body>
  static void for_strided(std::int64_t* row, std::ptrdiff_t stride, std::size_t count,
                          const Body& body) {
    if (stride == 1) {
      for (std::size_t j = 0; j < count; ++j) body(row[j], j);
    } else {
      for (std::size_t j = 0; j < count; ++j) body(row[static_cast<std::ptrdiff_t>(j) * stride], j);
    }
  }

  template <class Sample>
  void prepare_counter(const Call<Sample>& call, std::size_t counter, std::size_t channel) const {
    call.state.counter(counter).prepare(loops_, call.validity.row(channel, 0),
                                        call.validity.stride(1), call.length());
  }

  // All rows, from the first counter, added to the given channels.
  template <class Sample>
  void add_count_rows(device::Queue& queue, const Call<Sample>& call, std::size_t first_channel,
                      std::size_t last_channel) const {
    for_range(&queue, 0, config_.inputs, [&](std::size_t i, std::size_t last, std::size_t worker) {
      for (; i < last; ++i) add_count_row(call, 0, worker, i, first_channel, last_channel);
    });
  }

  template <class Sample>
  void add_count_row(const Call<Sample>& call, std::size_t counter, std::size_t worker,
                     std::size_t row, std::size_t first_channel, std::size_t last_channel) const {
    std::int64_t* counted = call.state.count_row(worker);
    call.state.counter(counter).count_row(row, counted);
    for (std::size_t c = first_channel; c < last_channel; ++c)
      for_strided(&call.counts(c, core::baseline_index(row, 0)), call.counts.stride(1), row + 1,
                  [counted](std::int64_t& n, std::size_t j) { n += counted[j]; });
  }

  Config config_;
  std::shared_ptr<const device::Device> device_;
  Kernel<Row, Sum> kernel_;
  const RowLoops& loops_;
  Tunables tunables_;
  Layout layout_;
  std::vector<Block> order_;
  std::vector<std::uint32_t> places_;
};

// The Highway kernel of the device's set, or of the next lower one that this build has.
template <class AnyKernel>
const AnyKernel& choose_simd_kernel(const device::Device& device, device::InstructionSet set,
                                    const AnyKernel* (*find)(device::InstructionSet)) {
  using device::InstructionSet;
  if (const AnyKernel* kernel = find(set)) return *kernel;
  if (device.forced())
    throw core::Error(core::ErrorKind::unsupported, "correlate instruction set",
                      std::string(device::to_string(set)), "one that this build has code for",
                      "build for x86-64, or choose cpu:portable");
  if (set > InstructionSet::avx2)
    if (const AnyKernel* kernel = find(InstructionSet::avx2)) return *kernel;
  return *find(InstructionSet::portable);
}

}  // namespace

const IntegerKernel& choose_integer_kernel(const device::Device& device) {
  const device::InstructionSet set = device.instruction_set();
#if defined(__x86_64__)
  if (set == device::InstructionSet::amx) return amx_kernel();
  if (set == device::InstructionSet::vnni) return vnni_kernel();
#endif
  return choose_simd_kernel(device, set, simd_integer_kernel);
}

const FloatKernel& choose_float_kernel(const device::Device& device) {
  // VNNI and AMX bring nothing to floats of 32 bits.
  const auto set = std::min(device.instruction_set(), device::InstructionSet::avx512);
  return choose_simd_kernel(device, set, simd_float_kernel);
}

std::shared_ptr<const Plan> make_integer_plan(const Config& config,
                                              std::shared_ptr<const device::Device> device,
                                              const IntegerKernel& kernel,
                                              const Tunables& tunables) {
  return std::make_shared<CpuPlan<core::ci8, std::int32_t, core::ci64>>(config, std::move(device),
                                                                        kernel, tunables);
}

std::shared_ptr<const Plan> make_float_plan(const Config& config,
                                            std::shared_ptr<const device::Device> device,
                                            const FloatKernel& kernel, const Tunables& tunables) {
  return std::make_shared<CpuPlan<std::complex<float>, double, std::complex<double>>>(
      config, std::move(device), kernel, tunables);
}

}  // namespace tautline::stages::correlate::cpu
