// A problem of a stage: sizes by name.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tautline/core/sample_format.h"

namespace tautline::pipeline {

/// Sizes by name; those not named have the stage's defaults.
using Problem = std::map<std::string, std::size_t>;

/// A named problem of the source documents or of an instrument.
struct NamedProblem {
  std::string name;
  Problem sizes;
  std::string description;
};

/// A whole number at the start of `text`, taken off it; none where there is none.
std::optional<std::size_t> take_number(std::string_view& text);

/// "channels=1024,taps=16": every size, in order of name.
std::string describe(const Problem& problem);

/// `defaults` with the sizes that `asked` names in their place. Throws Error(config) when it names
/// one that `defaults` has not.
Problem complete(const std::string& stage, Problem defaults, const Problem& asked);

/// The format that a problem's size `bits` stands for: 4, 8 and 16 are integers, 32 is float, and
/// 16 with `half` too. Throws Error(config).
core::SampleFormat complex_format(const std::string& stage, std::size_t bits, std::size_t half = 0);

}  // namespace tautline::pipeline
