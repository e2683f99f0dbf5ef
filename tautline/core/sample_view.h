// Views whose sample type is known only at run time: plans take and give them. Kernels and tests
// use View<T, Rank>, which converts to these.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include "tautline/core/error.h"
#include "tautline/core/sample_type.h"
#include "tautline/core/view.h"

namespace tautline::core {

/// Strided axes, slowest first, over memory of the host or a device that the view does not own.
/// Strides count elements. A default view is empty; the stage's table of buffers defines the
/// meaning of an empty view.
template <std::size_t Rank, class Pointer>
class BasicSampleView {
 public:
  using Extents = std::array<std::size_t, Rank>;
  using Strides = std::array<std::ptrdiff_t, Rank>;
  static constexpr bool kMutable = std::is_same_v<Pointer, void*>;

  BasicSampleView() = default;
  /// Dense, last axis fastest.
  BasicSampleView(Pointer data, SampleType type, Extents extents)
      : BasicSampleView(data, type, extents, View<char, Rank>(nullptr, extents).strides()) {}
  template <class T>
  requires(!kMutable || !std::is_const_v<T>) BasicSampleView(T* data, Extents extents)
      : BasicSampleView(data, sample_type_of<std::remove_const_t<T>>, extents) {}
  BasicSampleView(Pointer data, SampleType type, Extents extents, Strides strides)
      : data_(data), type_(type), extents_(extents), strides_(strides) {}
  /// A view of T; of const T where the view is read-only.
  template <class T>
  requires(!kMutable || !std::is_const_v<T>)
      BasicSampleView(const View<T, Rank>& view)  // NOLINT(google-explicit-constructor)
      : BasicSampleView(view.data(), sample_type_of<std::remove_const_t<T>>, view.extents(),
                        view.strides()) {}
  /// A mutable view converts to a read-only one.
  template <class Other>
  requires(!kMutable && std::is_same_v<Other, void*>) BasicSampleView(
      const BasicSampleView<Rank, Other>& other)  // NOLINT(google-explicit-constructor)
      : BasicSampleView(other.data(), other.type(), other.extents(), other.strides()) {}

  Pointer data() const { return data_; }
  SampleType type() const { return type_; }
  const Extents& extents() const { return extents_; }
  const Strides& strides() const { return strides_; }
  std::size_t extent(std::size_t axis) const { return extents_[axis]; }
  std::ptrdiff_t stride(std::size_t axis) const { return strides_[axis]; }
  std::size_t size() const {
    std::size_t n = 1;
    for (const std::size_t e : extents_) n *= e;
    return n;
  }
  bool empty() const { return data_ == nullptr || size() == 0; }

  /// The typed view. An empty view converts to an empty view of any type. Throws Error(config) that names `field`
  /// where T is not the view's type.
  template <class T>
  View<T, Rank> as(std::string_view field = "samples") const {
    static_assert(kMutable || std::is_const_v<T>, "a view for reading: as<const T>()");
    constexpr SampleType wanted = sample_type_of<std::remove_const_t<T>>;
    if (data_ != nullptr && type_ != wanted) refuse(field, std::string(to_string(wanted)));
    return {static_cast<T*>(data_), extents_, strides_};
  }

  /// The part [first, first + count) of one axis.
  BasicSampleView slice(std::size_t axis, std::size_t first, std::size_t count) const {
    using Byte = std::conditional_t<kMutable, std::byte, const std::byte>;
    BasicSampleView part = *this;
    part.data_ = static_cast<Byte*>(data_) +
                 static_cast<std::ptrdiff_t>(first * bytes_of(type_)) * strides_[axis];
    part.extents_[axis] = count;
    return part;
  }

  [[noreturn]] void refuse(std::string_view field, std::string limit) const {
    throw Error(ErrorKind::config, std::string(field), std::string(to_string(type_)),
                std::move(limit));
  }

 private:
  Pointer data_ = nullptr;
  SampleType type_ = SampleType::i8;
  Extents extents_{};
  Strides strides_{};
};

template <std::size_t Rank>
using SampleView = BasicSampleView<Rank, const void*>;
template <std::size_t Rank>
using MutableSampleView = BasicSampleView<Rank, void*>;

/// Calls body(typed view) with the one of Types that `view` holds, and returns its result: plans go
/// from a run-time type to the code for that type by this function. Throws Error(config) that names
/// `field` and lists Types for another type.
template <class First, class... Types, std::size_t Rank, class Pointer, class Body>
decltype(auto) with_type(const BasicSampleView<Rank, Pointer>& view, std::string_view field,
                         Body&& body) {
  using T = std::conditional_t<std::is_same_v<Pointer, void*>, First, const First>;
  if constexpr (sizeof...(Types) == 0) {
    return body(view.template as<T>(field));
  } else {
    if (view.type() == sample_type_of<First>) return body(view.template as<T>(field));
    if (((view.type() != sample_type_of<Types>)&&...)) {
      std::string limit(to_string(sample_type_of<First>));
      ((limit += ' ', limit += to_string(sample_type_of<Types>)), ...);
      view.refuse(field, "one of " + limit);
    }
    return with_type<Types...>(view, field, std::forward<Body>(body));
  }
}

}  // namespace tautline::core
