// Checks of configs and shapes that all backends share.
#pragma once

#include <complex>
#include <cstddef>
#include <type_traits>

#include "tautline/stages/correlate/correlate.h"

namespace tautline::stages::correlate {

/// Throws Error(config) naming the field that is out of range.
void check_config(const Config& config);

/// The shapes of execute()'s arguments, without their types.
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

/// Throws Error(config) that says that the samples' type is not the plan's.
[[noreturn]] void throw_wrong_type(const Config& config, const char* given);

template <class Sample>
core::SampleFormat format_of() {
  if constexpr (std::is_same_v<Sample, core::ci4>) return core::kCi4;
  if constexpr (std::is_same_v<Sample, core::ci8>) return core::kCi8;
  if constexpr (std::is_same_v<Sample, core::ci16>) return core::kCi16;
  if constexpr (std::is_same_v<Sample, core::cf16>) return core::kCf16;
  if constexpr (std::is_same_v<Sample, std::complex<float>>) return core::kCf32;
}

/// Checks the arguments of execute(): the samples' type, then the shapes.
template <class Sample, class Visibilities>
void check_call(const Config& config, const Samples<Sample>& samples, const Validity& validity,
                const Visibilities& visibilities, const Counts& counts) {
  const core::SampleFormat format = format_of<Sample>();
  if (format != config.format) throw_wrong_type(config, core::to_string(format).c_str());
  check_shapes(config, {samples.extents(), validity.data() == nullptr, validity.extents(),
                        validity.stride(2), visibilities.extents(), counts.extents()});
}

/// Clears buffers in host memory.
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

}  // namespace tautline::stages::correlate
