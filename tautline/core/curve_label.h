// The name of a correlation curve: of its signal, or of both.
#pragma once

#include <cstddef>
#include <string>

#include "tautline/core/correlation_curve.h"

namespace tautline::core {

/// "detector 0", or "detector 0 x detector 1" of a cross-correlation; may be empty.
inline std::string label_of(const CurveSignal& first, const CurveSignal& second, bool cross) {
  return cross && !second.label.empty() ? first.label + " x " + second.label : first.label;
}

inline std::string label_of(const CorrelationCurve& curve) {
  return label_of(curve.first, curve.second, curve.cross);
}

/// Of one curve of many; empty where the set has no signals.
inline std::string label_of(const CorrelationCurves& curves, std::size_t index) {
  if (index >= curves.first.size()) return {};
  return label_of(curves.first[index],
                  index < curves.second.size() ? curves.second[index] : CurveSignal{},
                  curves.cross);
}

}  // namespace tautline::core
