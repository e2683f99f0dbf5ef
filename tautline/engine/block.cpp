#include "tautline/engine/block.h"

#include <algorithm>

namespace tautline::engine {

std::size_t ArrayType::time_axis() const {
  return static_cast<std::size_t>(std::find(axes.begin(), axes.end(), "time") - axes.begin());
}

std::size_t Stream::block_bytes() const {
  std::size_t bytes = 0;
  for (const ArrayType& array : arrays) bytes += (array.bytes() + 63) / 64 * 64;
  return lent ? 0 : bytes;
}

void Block::lend(std::size_t array, const void* data, const std::size_t* extents,
                 const std::ptrdiff_t* strides, std::shared_ptr<const void> owner) {
  Array& lent = arrays.at(array);
  lent.data = const_cast<void*>(data);  // readers get const blocks
  std::copy_n(extents, lent.rank, lent.extents.begin());
  std::copy_n(strides, lent.rank, lent.strides.begin());
  owners_.push_back(std::move(owner));
}

const Array& Block::checked(std::size_t array, std::size_t rank) const {
  if (array >= arrays.size() || arrays[array].rank != rank)
    throw core::Error(core::ErrorKind::config, "block", std::to_string(arrays.size()) + " arrays",
                      "array " + std::to_string(array) + " of " + std::to_string(rank) + " axes");
  return arrays[array];
}

}  // namespace tautline::engine
