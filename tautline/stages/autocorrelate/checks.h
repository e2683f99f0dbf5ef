// Checks and errors shared by the stage's backends: not part of the interface.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::stages::autocorrelate {

void check_config(const Config& config);

/// Throws on another type, too many samples, or another number of sensors.
void check_samples(const Config& config, CountType type, const std::array<std::size_t, 2>& extents);

/// Throws when a view that is not empty has the wrong shape, and when Value is not the type of the
/// plan's sums.
template <class Value>
void check_sums(const Config& config, const Sums<Value>& out);

/// Throws because a sum could reach 2^63 within `samples` samples.
[[noreturn]] void throw_overflow(std::uint64_t samples);

template <class Count>
constexpr CountType type_of() {
  if constexpr (sizeof(Count) == 1) return CountType::u8;
  if constexpr (sizeof(Count) == 2) return CountType::u16;
  return static_cast<Count>(0.5) == Count{} ? CountType::u32 : CountType::f32;
}

std::shared_ptr<const Plan> make_reference_plan(const Config& config);

}  // namespace tautline::stages::autocorrelate
