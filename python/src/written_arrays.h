// Arrays of the caller's that results are written to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "bindings.h"
#include "tautline/core/error.h"
#include "tautline/core/sample_view.h"

namespace tautline::python {

/// An array that is written.
using OutputArray = nb::ndarray<>;

template <std::size_t Rank>
core::MutableSampleView<Rank> written_view(const OutputArray& array, const std::string& field,
                                           bool pairs) {
  const auto view = view_of<Rank>(AnyArray(array), field, pairs);
  return {array.data(), view.type(), view.extents(), view.strides()};
}

/// Stages take dense last axes, and rows that do not overlap.
template <std::size_t Rank>
void require_rows(const core::SampleView<Rank>& view, const std::string& field) {
  if (view.size() == 0) return;
  std::ptrdiff_t below = 1;
  for (std::size_t a = Rank; a-- > 0;) {
    const bool fits = a + 1 == Rank ? view.stride(a) == 1 : view.stride(a) >= below;
    if (view.extent(a) > 1 && !fits)
      throw core::Error(
          core::ErrorKind::config, field,
          "a stride of " + std::to_string(view.stride(a)) + " on axis " + std::to_string(a),
          "a dense last axis, and rows in order", "give numpy.ascontiguousarray of it");
    below = std::max(below, view.stride(a) * static_cast<std::ptrdiff_t>(view.extent(a)));
  }
}

/// Throws Error(config) unless an array is one of exactly this type and shape, of dense rows.
template <std::size_t Rank>
void require_room(const core::MutableSampleView<Rank>& out,
                  const core::MutableSampleView<Rank>& wanted, const std::string& field) {
  const auto text = [](const core::MutableSampleView<Rank>& view) {
    std::string shape;
    for (const std::size_t extent : view.extents())
      shape += (shape.empty() ? "" : " x ") + std::to_string(extent);
    return std::string(core::to_string(view.type())) + " of " + shape;
  };
  if (out.type() != wanted.type() || out.extents() != wanted.extents())
    throw core::Error(core::ErrorKind::config, field, text(out), text(wanted));
  require_rows<Rank>(out, field);
}

/// Throws Error(config) where an array that is written has memory of one that is read.
template <std::size_t Read, std::size_t Written>
void require_apart(const core::SampleView<Read>& read,
                   const core::MutableSampleView<Written>& written, const std::string& field) {
  const auto bytes = []<std::size_t Rank>(const core::SampleView<Rank>& view) {
    std::size_t last = 0;
    for (std::size_t a = 0; a < Rank; ++a)
      last += (view.extent(a) - 1) * static_cast<std::size_t>(view.stride(a));
    return (last + 1) * core::bytes_of(view.type());
  };
  if (read.size() == 0 || written.size() == 0) return;
  const auto* const from = static_cast<const std::byte*>(read.data());
  const auto* const to = static_cast<const std::byte*>(written.data());
  if (from < to + bytes(core::SampleView<Written>(written)) && to < from + bytes(read))
    throw core::Error(core::ErrorKind::config, field, "memory of the samples",
                      "an array of its own");
}

}  // namespace tautline::python
