// Checks that every backend makes before it computes.
#pragma once

#include <cstddef>

#include "tautline/stages/correlate/correlate.h"

namespace tautline::stages::correlate {

/// Throws Error(config) naming the field that is out of range.
void check_config(const Config& config);

/// What execute is given, without its types.
struct Shapes {
  core::View<const std::uint64_t, 3>::Extents samples;
  bool no_validity;
  core::View<const std::uint64_t, 3>::Extents validity;
  std::ptrdiff_t word_stride;
  core::View<std::int64_t, 2>::Extents visibilities;
  core::View<std::int64_t, 2>::Extents counts;
};

/// Throws Error(config) when the shapes contradict the config or one another.
void check_shapes(const Config& config, const Shapes& shapes);

template <class Sample, class Visibilities>
void check_shapes(const Config& config, const Samples<Sample>& samples, const Validity& validity,
                  const Visibilities& visibilities, const Counts& counts) {
  check_shapes(config, {samples.extents(), validity.data() == nullptr, validity.extents(),
                        validity.stride(2), visibilities.extents(), counts.extents()});
}

/// Zeros, in buffers of the host.
template <class Visibilities>
void clear_on_host(device::Queue& queue, const Visibilities& visibilities, const Counts& counts) {
  const auto clear = [&](const auto& view) {
    queue.parallel_for(view.extent(0), 1, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t c = first; c < last; ++c)
        for (std::size_t b = 0; b < view.extent(1); ++b) view(c, b) = {};
    });
  };
  clear(visibilities);
  clear(counts);
}

/// Throws Error(config): the samples' type is not the plan's.
[[noreturn]] void throw_wrong_type(const Config& config, const char* given);

}  // namespace tautline::stages::correlate
