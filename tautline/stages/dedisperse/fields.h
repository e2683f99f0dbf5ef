// How the fields of dedispersion are written as text.
#pragma once

#include "tautline/core/field_text.h"
#include "tautline/stages/dedisperse/dedisperse.h"

namespace tautline::stages::dedisperse {

inline core::FieldText<Method> method_text() {
  return core::choice<Method>({{to_string(Method::automatic), Method::automatic},
                               {to_string(Method::exact), Method::exact},
                               {to_string(Method::shared), Method::shared},
                               {to_string(Method::subband), Method::subband}});
}

}  // namespace tautline::stages::dedisperse
