#include "tautline/stages/channelize/gpu/history.h"

#include "tautline/core/integers.h"

namespace tautline::stages::channelize::gpu {

namespace {

constexpr std::size_t kHistoryRowAlignment = 256;

std::size_t padded_row(const Bank& bank) {
  return core::round_up(bank.span() * bank.sample_bytes, kHistoryRowAlignment);
}

}  // namespace

GpuHistory::GpuHistory(const Bank& bank, const device::Device& device)
    : inputs_(bank.config.inputs),
      sample_bytes_(bank.sample_bytes),
      row_bytes_(padded_row(bank)),
      mask_(bank) {
  for (device::Buffer& buffer : buffers_) buffer = device.allocate(inputs_ * row_bytes_);
}

std::size_t GpuHistory::device_bytes(const Bank& bank) {
  return 2 * bank.config.inputs * padded_row(bank);
}

void GpuHistory::advance(device::Queue& queue, const Input& input,
                         const core::ValidityView& validity, std::size_t spectra) {
  const Leftover left = mask_.leftover(input.count, spectra);
  if (left.old_first > 0) {
    const std::byte* from = samples() + left.old_first * sample_bytes_;
    current_ = 1 - current_;
    queue.copy_rows(buffers_[current_].data(), row_bytes_, from, row_bytes_,
                    left.old * sample_bytes_, inputs_);
  }
  if (left.fresh > 0)
    queue.copy_rows(buffers_[current_].as<std::byte>() + left.old * sample_bytes_, row_bytes_,
                    static_cast<const std::byte*>(input.samples) + left.fresh_first * sample_bytes_,
                    input.row_stride_bytes, left.fresh * sample_bytes_, inputs_);
  mask_.advance(validity, input.count, spectra);
}

std::vector<std::byte> GpuHistory::save(device::Queue& queue) const {
  const std::size_t bytes = held() * sample_bytes_;
  std::vector<std::byte> rows(inputs_ * bytes);
  if (bytes > 0) queue.copy_rows(rows.data(), bytes, samples(), row_bytes_, bytes, inputs_);
  queue.synchronise();
  return mask_.save([&](std::size_t row) { return rows.data() + row * bytes; });
}

void GpuHistory::load(device::Queue& queue, std::span<const std::byte> saved) {
  mask_.load(saved, [&](std::size_t row, const std::byte* samples) {
    queue.copy(buffers_[current_].as<std::byte>() + row * row_bytes_, samples,
               held() * sample_bytes_);
  });
  queue.synchronise();
}

}  // namespace tautline::stages::channelize::gpu
