// The invalid samples of a file that is written, for the record beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace tautline::pipeline {

/// Spans of inputs (core::InvalidSpan::kAllInputs: of all), which come in the order of time for each input. Bounded: a
/// long recording with losses would fill the memory.
class InvalidSpans {
 public:
  /// A span that continues the input's last one is added to it.
  void add(std::size_t input, std::uint64_t first, std::uint64_t samples);
  /// Sets `invalid`, and `invalid_left_out` where there were too many spans.
  void write_to(nlohmann::ordered_json& record) const;

 private:
  struct Span {
    std::size_t input;
    std::uint64_t first, samples;
  };
  std::vector<Span> spans_;
  std::map<std::size_t, std::size_t> last_;  // input -> place of its last span
  std::uint64_t left_out_ = 0;               // spans beyond the most that are kept
};

}  // namespace tautline::pipeline
