// What every backend of the stage checks, and the errors it throws: not part of the interface.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "tautline/stages/autocorrelate/autocorrelate.h"

namespace tautline::stages::autocorrelate {

void check_config(const Config& config);

/// Throws when `samples` are not of the plan's type, too many, or of another number of sensors.
void check_samples(const Config& config, CountType type, const std::array<std::size_t, 2>& extents);

/// Throws when an output view that is not empty has another shape, or integers are asked of a plan
/// for floats and the other way round.
template <class Value>
void check_sums(const Config& config, const Sums<Value>& out);

/// A sum could reach 2^63.
[[noreturn]] void throw_overflow(std::uint64_t samples);

template <class Count>
constexpr CountType type_of() {
  if constexpr (sizeof(Count) == 1) return CountType::u8;
  if constexpr (sizeof(Count) == 2) return CountType::u16;
  return static_cast<Count>(0.5) == Count{} ? CountType::u32 : CountType::f32;
}

std::shared_ptr<const Plan> make_reference_plan(const Config& config);

}  // namespace tautline::stages::autocorrelate
