#include "tautline/stages/correlate/gpu/prepare.h"

#include <algorithm>
#include <cstring>

#include "tautline/core/integers.h"
#include "tautline/jit/program.h"
#include "tautline/stages/correlate/gpu/tiled.h"

namespace tautline::stages::correlate::gpu {

namespace {

constexpr std::size_t kPrepareThreads = 256;
// Few enough to fill a GPU with small calls.
constexpr std::size_t kPrepareThreadSamples = 8;

std::shared_ptr<const device::Kernel> build_conversion(const Config& config,
                                                       const device::Device& device,
                                                       bool stays_half, bool masked) {
  jit::Defines defines;
  const bool half = config.format == core::kCf16;
  defines.set("SOURCE", config.format.bits)
      .set("HALF", !half        ? 0
                   : stays_half ? 2
                                : 1)
      .set("MASKED", masked)
      .set("THREADS", kPrepareThreads)
      .set("THREAD_SAMPLES", kPrepareThreadSamples);
  return jit::build(device, "correlate/gpu/prepare.kernel", defines)->kernel("prepare_samples");
}

bool aligned(std::ptrdiff_t value, std::size_t alignment) {
  return value >= 0 && static_cast<std::size_t>(value) % alignment == 0;
}

}  // namespace

bool has_holes(const Validity& validity, std::size_t samples) {
  const std::size_t words = core::validity_words(samples);
  const std::size_t channels = validity.stride(0) == 0 ? 1 : validity.extent(0);
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < validity.extent(1); ++i) {
      const std::uint64_t* row = validity.row(c, i);
      for (std::size_t w = 0; w < words; ++w) {
        const std::uint64_t wanted = core::low_bits(samples - 64 * w);
        if ((row[w] & wanted) != wanted) return true;
      }
    }
  return false;
}

SamplePreparer::SamplePreparer(const Config& config, const device::Device& device,
                               const GpuKernel& kernel)
    : config_(config),
      alignment_bytes_(kernel.alignment_bytes()),
      sample_bytes_(static_cast<std::size_t>(config.format.bits_per_sample()) / 8),
      prepared_sample_bytes_(kernel.sample_bytes()),
      staged_row_bytes_(core::round_up(config.max_samples * sample_bytes_, alignment_bytes_)),
      prepared_row_bytes_(
          core::round_up(config.max_samples * prepared_sample_bytes_, alignment_bytes_)),
      convert_(build_conversion(config, device, sample_bytes_ == prepared_sample_bytes_, false)),
      convert_masked_(
          build_conversion(config, device, sample_bytes_ == prepared_sample_bytes_, true)) {}

device::MemoryUse SamplePreparer::bytes(std::size_t slab_channels) const {
  const std::size_t rows = slab_channels * config_.inputs;
  const std::size_t mask = rows * core::validity_words(config_.max_samples) * sizeof(std::uint64_t);
  return {staged_row_bytes_, rows * (staged_row_bytes_ + prepared_row_bytes_) + mask};
}

SamplePreparer::Memory SamplePreparer::make_memory(const device::Device& device,
                                                   std::size_t slab_channels) const {
  const std::size_t rows = slab_channels * config_.inputs;
  return {device.allocate(rows * staged_row_bytes_), device.allocate(rows * prepared_row_bytes_),
          device.allocate(rows * core::validity_words(config_.max_samples) * sizeof(std::uint64_t)),
          device::Buffer(staged_row_bytes_)};
}

bool SamplePreparer::usable_in_place(const device::Device& device,
                                     const core::SampleView<3>& samples) const {
  if (sample_bytes_ != prepared_sample_bytes_ || !device.holds(samples.data())) return false;
  const auto stride_fits = [&](std::size_t axis) {
    return samples.extent(axis) == 1 ||
           aligned(samples.stride(axis) * static_cast<std::ptrdiff_t>(sample_bytes_),
                   alignment_bytes_);
  };
  return reinterpret_cast<std::uintptr_t>(samples.data()) % alignment_bytes_ == 0 &&
         stride_fits(0) && stride_fits(1) && (samples.extent(2) == 1 || samples.stride(2) == 1);
}

GpuSamples SamplePreparer::in_place(const core::SampleView<3>& samples) const {
  const auto stride_bytes = [&](std::size_t axis) {
    return samples.extent(axis) == 1
               ? std::size_t{0}
               : static_cast<std::size_t>(samples.stride(axis)) * sample_bytes_;
  };
  return {samples.data(), stride_bytes(0), stride_bytes(1), samples.extent(0), samples.extent(2)};
}

void SamplePreparer::stage_rows(device::Queue& queue, Memory& memory, std::byte* to,
                                const core::SampleView<3>& samples) const {
  const auto [channels, inputs, count] = samples.extents();
  const auto bytes = static_cast<std::ptrdiff_t>(sample_bytes_);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto* channel = static_cast<const std::byte*>(samples.slice(0, c, 1).data());
    std::byte* to_channel = to + c * inputs * staged_row_bytes_;
    if (samples.stride(2) == 1 || count == 1) {
      queue.copy_strided(to_channel, static_cast<std::ptrdiff_t>(staged_row_bytes_), channel,
                         samples.stride(1) * bytes, count * sample_bytes_, inputs);
      continue;
    }
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::byte* from = channel + static_cast<std::ptrdiff_t>(i) * samples.stride(1) * bytes;
      auto* row = memory.row.as<std::byte>();
      for (std::size_t t = 0; t < count; ++t)
        std::memcpy(row + t * sample_bytes_,
                    from + static_cast<std::ptrdiff_t>(t) * samples.stride(2) * bytes,
                    sample_bytes_);
      // `row` is not pinned memory, so copy() has read it when it returns.
      queue.copy(to_channel + i * staged_row_bytes_, row, count * sample_bytes_);
    }
  }
}

// Copies host samples to device memory, dense in time.
core::SampleView<3> SamplePreparer::stage(device::Queue& queue, Memory& memory,
                                          const core::SampleView<3>& samples) const {
  auto* to = memory.staged.as<std::byte>();
  const auto row = static_cast<std::ptrdiff_t>(staged_row_bytes_ / sample_bytes_);
  const auto [channels, inputs, count] = samples.extents();
  const core::SampleView<3>::Strides strides{row * static_cast<std::ptrdiff_t>(inputs), row, 1};
  const bool dense = samples.strides() == strides && count == static_cast<std::size_t>(row);
  if (dense)
    queue.copy(to, samples.data(), channels * inputs * staged_row_bytes_);
  else
    stage_rows(queue, memory, to, samples);
  return {to, samples.type(), samples.extents(), strides};
}

GpuSamples SamplePreparer::prepare(device::Queue& queue, const device::Device& device,
                                   Memory& memory, const core::SampleView<3>& samples,
                                   const DeviceMask& mask) const {
  const core::SampleView<3> from =
      device.holds(samples.data()) ? samples : stage(queue, memory, samples);
  if (mask.data == nullptr && usable_in_place(device, from)) return in_place(from);
  const auto [channels, inputs, count] = from.extents();
  const std::size_t parts = core::divide_up(count, kPrepareThreads * kPrepareThreadSamples);
  const device::LaunchShape shape{.groups = {channels * inputs * parts},
                                  .threads = {kPrepareThreads}};
  queue.run(mask.data == nullptr ? *convert_ : *convert_masked_, shape, from.data(), from.stride(0),
            from.stride(1), from.stride(2), mask.data, mask.channel_stride, mask.input_stride,
            core::u32(inputs), count, core::u32(parts), memory.prepared.data(),
            prepared_row_bytes_ / prepared_sample_bytes_);
  return {memory.prepared.data(), prepared_row_bytes_ * inputs, prepared_row_bytes_, channels,
          count};
}

DeviceMask SamplePreparer::mask_on_device(device::Queue& queue, const device::Device& device,
                                          Memory& memory, const Validity& validity) const {
  if (device.holds(validity.data()))
    return {validity.data(), validity.stride(0), validity.stride(1)};
  const auto [channels, inputs, words] = validity.extents();
  auto* to = memory.mask.as<std::uint64_t>();
  const bool shared = validity.stride(0) == 0;
  for (std::size_t c = 0; c < (shared ? 1 : channels); ++c)
    queue.copy_strided(to + c * inputs * words, static_cast<std::ptrdiff_t>(words * sizeof *to),
                       validity.row(c, 0),
                       validity.stride(1) * static_cast<std::ptrdiff_t>(sizeof *to),
                       words * sizeof *to, inputs);
  return {to, shared ? 0 : static_cast<std::ptrdiff_t>(inputs * words),
          static_cast<std::ptrdiff_t>(words)};
}

}  // namespace tautline::stages::correlate::gpu
