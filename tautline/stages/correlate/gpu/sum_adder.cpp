#include "tautline/stages/correlate/gpu/sum_adder.h"

#include "tautline/core/integers.h"
#include "tautline/jit/program.h"
#include "tautline/stages/correlate/gpu/tiled.h"

namespace tautline::stages::correlate::gpu {

namespace {

constexpr std::size_t kAddThreads = 256;

// Of the counting kernel: tiles of 32 x 32 inputs, 4 x 4 a thread, so that a word is read once for
// four pairs.
constexpr std::size_t kCountRegisters = 4;
constexpr std::size_t kCountThreads = 8;
constexpr std::size_t kCountTile = kCountRegisters * kCountThreads;

jit::Defines count_defines(const device::Device& device) {
  jit::Defines defines;
  defines.set("REGISTER_ROWS", kCountRegisters)
      .set("REGISTER_COLUMNS", kCountRegisters)
      .set("THREAD_ROWS", kCountThreads)
      .set("THREAD_COLUMNS", kCountThreads)
      .set("STAGE_CHUNKS", 1)
      .set("LOCAL_BUFFERS", 0)
      .set("VECTOR_BYTES", 4)
      .set("SAMPLE_BYTES", 2)
      .set("HOST_CPU", device.properties().host_cpu);
  return defines;
}

jit::Defines add_defines(const Config& config) {
  jit::Defines defines;
  defines.set("THREADS", kAddThreads).set("VALUE", config.exact() ? "i64" : "double");
  return defines;
}

std::uint32_t parts_of(std::size_t baselines) {
  return core::u32((baselines + kAddThreads - 1) / kAddThreads);
}

device::LaunchShape additions(std::size_t channels, std::size_t baselines) {
  const device::LaunchShape shape{.groups = {channels * parts_of(baselines)},
                                  .threads = {kAddThreads}};
  return shape;
}

// to[c][b] += from[c][b], on the host.
template <class T>
void add_on_host(device::Queue& queue, const T* from, const core::View<T, 2>& to) {
  const auto [channels, baselines] = to.extents();
  queue.parallel_for(channels, 1,
                     [&, n = baselines](std::size_t first, std::size_t last, std::size_t) {
                       for (std::size_t c = first; c < last; ++c)
                         for (std::size_t b = 0; b < n; ++b) to(c, b) += from[c * n + b];
                     });
}

}  // namespace

SumAdder::SumAdder(const Config& config, const device::Device& device)
    : config_(config), baselines_(core::baseline_count(config.inputs)) {
  count_pairs_ = jit::build(device, "correlate/gpu/counts.kernel", count_defines(device))
                     ->kernel("count_pairs");
  const auto additions = jit::build(device, "correlate/gpu/add.kernel", add_defines(config));
  add_value_ = additions->kernel("add_value");
  set_value_ = additions->kernel("set_value");
  add_array_ = additions->kernel("add_array");
}

device::MemoryUse SumAdder::bytes(std::size_t slab_channels) const {
  const std::size_t both = slab_channels * baselines_ * (kVisibilityBytes + sizeof(std::int64_t));
  return {both, both};
}

SumAdder::Memory SumAdder::make_memory(const device::Device& device,
                                       std::size_t slab_channels) const {
  const std::size_t sums = slab_channels * baselines_ * kVisibilityBytes;
  const std::size_t counts = slab_channels * baselines_ * sizeof(std::int64_t);
  return {device.allocate(sums), device.allocate(counts), device.allocate_pinned(sums),
          device.allocate_pinned(counts)};
}

void SumAdder::count_pairs(device::Queue& queue, const DeviceMask& mask, std::size_t samples,
                           std::size_t channels, std::int64_t* counts,
                           std::ptrdiff_t channel_stride, std::ptrdiff_t baseline_stride) const {
  const bool shared = mask.channel_stride == 0;
  const std::size_t squares = core::baseline_count((config_.inputs + kCountTile - 1) / kCountTile);
  const device::LaunchShape shape{.groups = {squares * (shared ? 1 : channels)},
                                  .threads = {kCountThreads * kCountThreads}};
  queue.run(*count_pairs_, shape, mask.data, mask.channel_stride, mask.input_stride,
            core::u32(config_.inputs), samples, core::u32(squares),
            core::u32(shared ? channels : 1), counts, channel_stride, baseline_stride);
}

// Runs add_value or set_value.
void SumAdder::on_all(device::Queue& queue, const device::Kernel& kernel, std::int64_t value,
                      const Counts& counts) const {
  queue.run(kernel, additions(counts.extent(0), baselines_), value, core::u32(baselines_),
            parts_of(baselines_), counts.data(), counts.stride(0), counts.stride(1));
}

void SumAdder::clear(device::Queue& queue, const device::Device& device,
                     const Counts& counts) const {
  if (device.holds(counts.data())) return on_all(queue, *set_value_, 0, counts);
  for (std::size_t c = 0; c < counts.extent(0); ++c)
    for (std::size_t b = 0; b < counts.extent(1); ++b) counts(c, b) = 0;
}

// A zero of either type is all zero bits: two counts.
void SumAdder::clear(device::Queue& queue, const device::Device& device,
                     const core::MutableSampleView<2>& visibilities) const {
  for (std::ptrdiff_t part = 0; part < 2; ++part)
    clear(queue, device,
          Counts(static_cast<std::int64_t*>(visibilities.data()) + part, visibilities.extents(),
                 {2 * visibilities.stride(0), 2 * visibilities.stride(1)}));
}

void SumAdder::add_counts(device::Queue& queue, const device::Device& device, Memory& memory,
                          const DeviceMask& mask, std::size_t samples, const Counts& counts,
                          bool replace) const {
  const std::size_t channels = counts.extent(0);
  const bool on_device = device.holds(counts.data());
  if (mask.data == nullptr && on_device)
    return on_all(queue, replace ? *set_value_ : *add_value_, static_cast<std::int64_t>(samples),
                  counts);
  if (replace) clear(queue, device, counts);
  if (mask.data == nullptr) {
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t b = 0; b < baselines_; ++b)
        counts(c, b) += static_cast<std::int64_t>(samples);
  } else if (on_device) {
    count_pairs(queue, mask, samples, channels, counts.data(), counts.stride(0), counts.stride(1));
  } else {
    const std::size_t bytes = channels * baselines_ * sizeof(std::int64_t);
    queue.fill(memory.counts.data(), 0, bytes);
    count_pairs(queue, mask, samples, channels, memory.counts.as<std::int64_t>(),
                static_cast<std::ptrdiff_t>(baselines_), 1);
    queue.copy(memory.host_counts.data(), memory.counts.data(), bytes);
    queue.synchronise();
    add_on_host(queue, memory.host_counts.as<const std::int64_t>(), counts);
  }
}

void SumAdder::add_sums(device::Queue& queue, const device::Device& device, Memory& memory,
                        const core::MutableSampleView<2>& visibilities) const {
  const std::size_t channels = visibilities.extent(0);
  if (device.holds(visibilities.data())) {
    queue.run(*add_array_, additions(channels, baselines_), memory.sums.data(),
              core::u32(baselines_), parts_of(baselines_), visibilities.data(),
              visibilities.stride(0), visibilities.stride(1));
    return;
  }
  queue.copy(memory.host_sums.data(), memory.sums.data(), channels * baselines_ * kVisibilityBytes);
  queue.synchronise();
  core::with_type<core::ci64, std::complex<double>>(
      visibilities, "visibilities", [&]<class T>(const core::View<T, 2>& to) {
        add_on_host(queue, memory.host_sums.as<const T>(), to);
      });
}

}  // namespace tautline::stages::correlate::gpu
