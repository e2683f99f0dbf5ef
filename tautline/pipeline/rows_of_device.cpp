#include "tautline/pipeline/rows_of_device.h"

#include <cstddef>

namespace tautline::pipeline {

formats::CopyRows rows_of_device(const std::shared_ptr<const device::Device>& device) {
  if (!device || !device->compiles()) return {};
  // Copied one by one: they may be further apart than a driver takes rows.
  constexpr std::size_t kLongRow_bytes = std::size_t{1} << 16;
  return [device, queue = std::shared_ptr<device::Queue>(device->make_queue())](
             std::byte* to, std::size_t stride, const std::byte* from, std::ptrdiff_t from_stride,
             std::size_t row_bytes, std::size_t rows) {
    if (row_bytes == stride && from_stride == static_cast<std::ptrdiff_t>(row_bytes)) {
      queue->copy(to, from, row_bytes * rows);
    } else if (row_bytes < kLongRow_bytes) {
      queue->copy_strided(to, static_cast<std::ptrdiff_t>(stride), from, from_stride, row_bytes,
                          rows);
    } else {
      for (std::size_t r = 0; r < rows; ++r)
        queue->copy(to + r * stride, from + static_cast<std::ptrdiff_t>(r) * from_stride,
                    row_bytes);
    }
    queue->synchronise();
  };
}

}  // namespace tautline::pipeline
