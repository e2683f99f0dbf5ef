#include "tautline/engine/transfer.h"

namespace tautline::engine {

namespace {

const std::shared_ptr<const device::Device>& either(
    const std::shared_ptr<const device::Device>& a,
    const std::shared_ptr<const device::Device>& b) {
  return a ? a : b;
}

// Number of elements of [axis, rank) that are contiguous in both.
bool dense(const Array& a, const Array& b, std::size_t axis) {
  std::ptrdiff_t stride = 1;
  for (std::size_t k = a.rank; k-- > axis;) {
    if (a.extents[k] > 1 && (a.strides[k] != stride || b.strides[k] != stride)) return false;
    stride *= static_cast<std::ptrdiff_t>(a.extents[k]);
  }
  return true;
}

// The part of the arrays from `axis` on, which begins at the two addresses.
void copy(device::Queue& queue, const Array& to, const Array& from, std::size_t axis,
          std::byte* to_data, const std::byte* from_data) {
  const std::size_t bytes = core::bytes_of(from.type);
  if (dense(to, from, axis)) {
    std::size_t count = bytes;
    for (std::size_t k = axis; k < from.rank; ++k) count *= from.extents[k];
    return queue.copy(to_data, from_data, count);
  }
  const auto to_stride = static_cast<std::size_t>(to.strides[axis]) * bytes;
  const auto from_stride = static_cast<std::size_t>(from.strides[axis]) * bytes;
  if (dense(to, from, axis + 1)) {
    std::size_t row = bytes;
    for (std::size_t k = axis + 1; k < from.rank; ++k) row *= from.extents[k];
    return queue.copy_rows(to_data, to_stride, from_data, from_stride, row, from.extents[axis]);
  }
  for (std::size_t k = 0; k < from.extents[axis]; ++k)
    copy(queue, to, from, axis + 1, to_data + k * to_stride, from_data + k * from_stride);
}

// Merges adjoining axes that are contiguous in both, so that there are few rows to copy.
void join_axes(Array& to, Array& from) {
  for (std::size_t a = from.rank; a-- > 1;) {
    const auto joined = [&](const Array& array) {
      return array.strides[a - 1] ==
             array.strides[a] * static_cast<std::ptrdiff_t>(from.extents[a]);
    };
    if (!joined(to) || !joined(from)) continue;
    for (Array* array : {&to, &from}) {
      array->extents[a - 1] *= array->extents[a];
      array->strides[a - 1] = array->strides[a];
      for (std::size_t k = a; k + 1 < array->rank; ++k) {
        array->extents[k] = array->extents[k + 1];
        array->strides[k] = array->strides[k + 1];
      }
      --array->rank;
    }
  }
}

void copy(device::Queue& queue, Array to, Array from) {
  join_axes(to, from);
  copy(queue, to, from, 0, static_cast<std::byte*>(to.data),
       static_cast<const std::byte*>(from.data));
}

}  // namespace

std::vector<Stream> Transfer::open(std::span<const Stream> inputs) {
  stream_ = inputs[0];
  from_ = stream_.device;
  stream_.device = to_;
  stream_.lent = false;
  stream_.open_blocks = 1;
  return {stream_};
}

// It reads from the memory of its input, with the queue of the device that is not the host.
Needs Transfer::needs(std::size_t, const Stream&) const {
  return {.device = from_, .kept_blocks = most_on_their_way_};
}

void Transfer::start(Outputs&) {
  for (std::size_t k = 0; k < most_on_their_way_ + 1; ++k)
    events_.push_back(either(to_, from_)->make_event());
}

void Transfer::process(std::size_t, const Block& block, Outputs& outputs) {
  Block& out = outputs.begin(0, block);
  device::Queue& queue = outputs.queue(either(to_, from_));
  for (std::size_t k = 0; k < block.arrays.size(); ++k) {
    out.arrays[k].extents = block.arrays[k].extents;
    copy(queue, out.arrays[k], block.arrays[k]);
  }
  out.valid = block.valid;
  out.payload = block.payload;
  if (on_their_way_.size() == most_on_their_way_) wait_for_oldest(outputs);
  OnItsWay copy{outputs.keep(block), std::move(events_.back())};
  events_.pop_back();
  queue.record(*copy.done);
  on_their_way_.push_back(std::move(copy));
  outputs.commit(0);
}

void Transfer::wait_for_oldest(Outputs& outputs) {
  outputs.wait(*on_their_way_.front().done);
  events_.push_back(std::move(on_their_way_.front().done));
  on_their_way_.pop_front();
}

void Transfer::finish(Outputs& outputs) {
  while (!on_their_way_.empty()) wait_for_oldest(outputs);
}

}  // namespace tautline::engine
