// Splits the output of a long run into several complete files: when the next file begins, and its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tautline/core/fields.h"
#include "tautline/core/time.h"
#include "tautline/engine/node.h"

namespace tautline::pipeline {

/// core::byte_size(), or 0 for no limit.
core::FieldText<std::size_t> byte_limit();

struct PartLimits {
  double each_s = 0;           ///< of data in a file at most; 0: no limit
  std::size_t each_bytes = 0;  ///< of samples in a file at most; 0: no limit
};
const core::Fields<PartLimits>& fields(const PartLimits&);

/// Of an output without limits there is one file, of the name that was given; with one, files are numbered, and a wish
/// for new files (engine::Run::rotate) is heard, too.
class FileParts {
 public:
  FileParts(std::string path, const PartLimits& limits) : path_(std::move(path)), limits_(limits) {}

  bool several() const { return limits_.each_s > 0 || limits_.each_bytes > 0; }
  /// Throws Error(config) of `field` where a file exists or cannot be written.
  void require_can_be_written(const std::string& field, bool overwrite) const;
  /// Of a run that goes on: the first file has the number behind this one.
  void go_on_after(std::size_t number) { number_ = number; }
  /// Of the file that was begun last.
  std::size_t number() const { return number_; }
  /// Begins a file: its name.
  std::string begin();
  /// Samples of a file at most, for pieces that are cut anywhere: each of so many bytes, one at least.
  std::uint64_t most_samples(const core::Rational& rate_hz, std::size_t sample_bytes) const;
  /// Counts a piece of `samples` at that rate. True: it belongs into another file, which begin() begins. A file has one
  /// piece at least.
  bool over(std::uint64_t samples, const core::Rational& rate_hz, std::uint64_t bytes,
            const engine::Outputs& outputs);
  /// True: no further piece of so much fits into the file, which ends before the next piece comes; begin() begins
  /// another one for that.
  bool end_if_full(std::uint64_t samples, const core::Rational& rate_hz, std::uint64_t bytes);

 private:
  bool full(std::uint64_t samples, const core::Rational& rate_hz, std::uint64_t bytes) const;

  std::string path_;
  PartLimits limits_;
  std::size_t number_ = 0;
  std::uint64_t samples_ = 0, bytes_ = 0, rotations_ = 0;  // of the file at hand
};

}  // namespace tautline::pipeline
