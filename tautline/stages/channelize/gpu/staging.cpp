#include "tautline/stages/channelize/gpu/staging.h"

#include <algorithm>

#include "tautline/core/integers.h"
#include "tautline/stages/channelize/gpu/launch.h"

namespace tautline::stages::channelize::gpu {

namespace {

constexpr std::size_t kStagedRowAlignment = 256;

}  // namespace

StagingSizes::StagingSizes(const Bank& bank, const GpuTunables& tunables, std::size_t granule) {
  const std::size_t inputs = bank.config.inputs;
  const std::size_t most = bank.spectra(bank.span() - 1 + bank.config.max_samples);
  const std::size_t spectrum_bytes =
      inputs * std::max(bank.hop * bank.sample_bytes, bank.channels * bank.value_bytes());
  spectra =
      std::clamp<std::size_t>(tunables.slab_bytes / spectrum_bytes / granule * granule, granule,
                              core::round_up(std::max<std::size_t>(most, 1), granule));
  sample_row_bytes = core::round_up(((spectra - 1) * bank.hop + bank.span()) * bank.sample_bytes,
                                    kStagedRowAlignment);
  result_row = core::round_up(spectra, kStagedRowAlignment / bank.value_bytes());
  sample_bytes = inputs * sample_row_bytes;
  const bool corner_turned = bank.config.output != Output::spectra_float;
  result_bytes =
      inputs * bank.channels * (corner_turned ? result_row : spectra) * bank.value_bytes();
}

Staging::Staging(const Bank& bank, const device::Device& device, const GpuTunables& tunables,
                 std::size_t granule)
    : bank_(bank),
      sizes_(bank, tunables, granule),
      samples_(device.allocate(sizes_.sample_bytes)),
      results_(device.allocate(sizes_.result_bytes)) {}

void Staging::stage_samples(device::Queue& queue, const GpuHistory& history, const Input& input,
                            Slice& slice) const {
  const std::size_t inputs = bank_.config.inputs, bytes = bank_.sample_bytes;
  const std::size_t begin = slice.first * bank_.hop;
  const std::size_t length = (slice.count - 1) * bank_.hop + bank_.span();
  const std::size_t old = std::min(length, history.held() - std::min(begin, history.held()));
  auto* to = samples_.as<std::byte>();
  if (old > 0)
    queue.copy_rows(to, sizes_.sample_row_bytes, history.samples() + begin * bytes,
                    history.row_bytes(), old * bytes, inputs);
  if (length > old)
    queue.copy_rows(
        to + old * bytes, sizes_.sample_row_bytes,
        static_cast<const std::byte*>(input.samples) + (begin + old - history.held()) * bytes,
        input.row_stride_bytes, (length - old) * bytes, inputs);
  slice.samples = to;
  slice.row_bytes = sizes_.sample_row_bytes;
}

void Staging::stage_results(Slice& slice) const {
  slice.out = results_.as<std::byte>();
  if (bank_.config.output == Output::spectra_float) {
    slice.slow_stride = static_cast<std::ptrdiff_t>(sizes_.spectra * bank_.channels);
    slice.fast_stride = static_cast<std::ptrdiff_t>(bank_.channels);
  } else {
    slice.slow_stride = static_cast<std::ptrdiff_t>(bank_.config.inputs * sizes_.result_row);
    slice.fast_stride = static_cast<std::ptrdiff_t>(sizes_.result_row);
  }
}

void Staging::fetch_results(device::Queue& queue, const Slice& slice,
                            const OutputViews& output) const {
  const auto size = static_cast<std::ptrdiff_t>(bank_.value_bytes());
  const std::size_t times = bank_.config.output == Output::spectra_float ? 1 : 2;
  const auto to = output.samples.slice(times, slice.first, slice.count);
  const auto copy = [&](std::size_t first, std::size_t rows) {
    const auto row = static_cast<std::ptrdiff_t>(first);
    queue.copy_strided(static_cast<std::byte*>(to.data()) + row * to.stride(0) * size,
                       to.stride(1) * size, slice.out + row * slice.slow_stride * size,
                       slice.fast_stride * size, to.extent(2) * bank_.value_bytes(), rows);
  };
  const auto inner = static_cast<std::ptrdiff_t>(to.extent(1));
  if (to.stride(0) == to.stride(1) * inner && slice.slow_stride == slice.fast_stride * inner)
    return copy(0, to.extent(0) * to.extent(1));
  for (std::size_t first = 0; first < to.extent(0); ++first) copy(first, to.extent(1));
}

}  // namespace tautline::stages::channelize::gpu
