// The error of a call that has to throw one.
#pragma once

#include <gtest/gtest.h>

#include "tautline/core/error.h"

namespace tautline::tests {

/// Where the call throws no error of the library: a failure, and an error that says so.
template <class Call>
core::Error error_of(const Call& call) {
  try {
    call();
  } catch (const core::Error& error) {
    return error;
  }
  const core::Error none(core::ErrorKind::unsupported, "nothing was thrown", "", "");
  ADD_FAILURE() << none.what();
  return none;
}

}  // namespace tautline::tests
