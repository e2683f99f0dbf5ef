// Strided views over memory that they do not own. The table of buffers in a stage's header names
// the axes of each view, slowest first.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

namespace tautline::core {

/// A non-owning view of Rank axes; strides are counted in elements and may be zero (one row shared
/// by all, as a validity mask that serves every channel) or larger than the axis below needs.
template <class T, std::size_t Rank>
class View {
 public:
  using Extents = std::array<std::size_t, Rank>;
  using Strides = std::array<std::ptrdiff_t, Rank>;

  View() = default;

  /// Dense, last axis fastest.
  View(T* data, Extents extents) : data_(data), extents_(extents) {
    std::ptrdiff_t stride = 1;
    for (std::size_t a = Rank; a-- > 0;) {
      strides_[a] = stride;
      stride *= static_cast<std::ptrdiff_t>(extents[a]);
    }
  }

  View(T* data, Extents extents, Strides strides)
      : data_(data), extents_(extents), strides_(strides) {}

  /// A view of T converts to a view of const T.
  template <class U>
  requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
      View(const View<U, Rank>& other)  // NOLINT(google-explicit-constructor)
      : data_(other.data()), extents_(other.extents()), strides_(other.strides()) {}

  T* data() const { return data_; }
  bool empty() const { return data_ == nullptr || size() == 0; }
  const Extents& extents() const { return extents_; }
  const Strides& strides() const { return strides_; }
  std::size_t extent(std::size_t axis) const { return extents_[axis]; }
  std::ptrdiff_t stride(std::size_t axis) const { return strides_[axis]; }

  std::size_t size() const {
    std::size_t n = 1;
    for (std::size_t e : extents_) n *= e;
    return n;
  }

  /// True when the elements are contiguous, last axis fastest.
  bool dense() const {
    std::ptrdiff_t stride = 1;
    for (std::size_t a = Rank; a-- > 0;) {
      if (extents_[a] > 1 && strides_[a] != stride) return false;
      stride *= static_cast<std::ptrdiff_t>(extents_[a]);
    }
    return true;
  }

  template <class... Index>
  requires(sizeof...(Index) == Rank) T& operator()(Index... index) const {
    const std::array<std::ptrdiff_t, Rank> i{static_cast<std::ptrdiff_t>(index)...};
    std::ptrdiff_t offset = 0;
    for (std::size_t a = 0; a < Rank; ++a) offset += i[a] * strides_[a];
    return data_[offset];
  }

  /// The pointer to the first element of row (leading indices given, last axis at zero).
  template <class... Index>
  requires(sizeof...(Index) + 1 == Rank) T* row(Index... index) const {
    return &(*this)(index..., 0);
  }

  /// The part [first, first + count) of one axis.
  View slice(std::size_t axis, std::size_t first, std::size_t count) const {
    View part = *this;
    part.data_ = data_ + static_cast<std::ptrdiff_t>(first) * strides_[axis];
    part.extents_[axis] = count;
    return part;
  }

 private:
  T* data_ = nullptr;
  Extents extents_{};
  Strides strides_{};
};

}  // namespace tautline::core
