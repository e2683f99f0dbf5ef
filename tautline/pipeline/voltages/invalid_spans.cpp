#include "tautline/pipeline/voltages/invalid_spans.h"

#include <nlohmann/json.hpp>

#include "tautline/core/voltage.h"

namespace tautline::pipeline {

void InvalidSpans::add(std::size_t input, std::uint64_t first, std::uint64_t samples) {
  constexpr std::size_t kMostSpans = 1'000'000;
  if (const auto last = last_.find(input); last != last_.end()) {
    Span& span = spans_[last->second];
    if (span.first + span.samples == first) {
      span.samples += samples;
      return;
    }
  }
  if (spans_.size() == kMostSpans) {
    ++left_out_;
    return;
  }
  last_[input] = spans_.size();
  spans_.push_back({input, first, samples});
}

void InvalidSpans::write_to(nlohmann::ordered_json& record) const {
  auto& invalid = record["invalid"] = nlohmann::ordered_json::array();
  for (const Span& span : spans_) {
    nlohmann::ordered_json input;
    if (span.input != core::InvalidSpan::kAllInputs) input = span.input;
    invalid.push_back({{"input", input}, {"first_sample", span.first}, {"samples", span.samples}});
  }
  if (left_out_ > 0) record["invalid_left_out"] = left_out_;
}

}  // namespace tautline::pipeline
