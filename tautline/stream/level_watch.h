// Looks at a part of a stream's voltages, for inputs that the recorder clipped and for steps of an input's power
// (docs/design/levels.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tautline/core/time.h"
#include "tautline/core/voltage.h"
#include "tautline/stream/recorded_level.h"
#include "tautline/stream/voltage_step.h"

namespace tautline::stream {

/// Looks at runs of 64 times, evenly spread over the stream: at all of a short one, at one time in 256 at least. What
/// it finds does not depend on the blocks.
class LevelWatch {
 public:
  /// `total`: times of the stream; 0: not known. Samples of one bit have no level, and are not looked at.
  LevelWatch(const core::VoltageDescription& description, std::uint64_t total);

  /// Blocks in order of time, with all of their invalid samples, which do not count. `segment`: its number; steps are
  /// looked for inside each, since other data are missing between two.
  void look(const core::RawBlock& block, std::uint64_t segment, const core::Instant& segment_start);

  RecordedLevels levels() const;
  /// Of the blocks so far. VoltageStep::sample counts delivered times.
  std::vector<VoltageStep> steps() const;

 private:
  static constexpr std::size_t kRun = 64;  // times; of a word of validity
  /// Times of a run that a block has.
  struct Part {
    std::size_t first = 0, times = 0;
    bool ends = false;  // the run
  };
  struct Power {
    double sum = 0;
    std::uint64_t samples = 0;
    void add(const Power& other) {
      sum += other.sum;
      samples += other.samples;
    }
  };
  /// What a thread found in a block; the first one's is added to what came before.
  struct Looked {
    std::vector<Power> powers;          // [part][input] of their runs
    std::vector<double> squares;        // [input]
    std::vector<RecordedLevel> levels;  // [input]
  };
  struct Segment {
    std::uint64_t number = 0, first = 0;  // of delivered times
    core::Instant start;
    std::uint64_t times = 0;
    std::size_t runs = 0, runs_of_piece = 1;  // of the last piece so far; of each piece
    std::vector<std::vector<float>> pieces;   // [input] mean powers
  };

  void find_parts(std::size_t times);
  void find_valid(const core::RawBlock& block);
  void look_at_parts(const core::RawBlock& block);
  /// At some of the channels that are looked at.
  void look_at_channels(const core::RawBlock& block, std::size_t part, std::size_t first,
                        std::size_t end, Looked& looked) const;
  template <class Component>
  void look_at(const core::RawBlock& block, std::size_t number, std::size_t begin, std::size_t end,
               const Component& component, Looked& looked) const;
  void look_at_floats(const core::RawBlock& block, std::size_t number, Looked& looked) const;
  /// [input]; null: all are valid.
  const std::uint64_t* valid_of(std::size_t part) const {
    return valid_.empty() ? nullptr : &valid_[part * inputs_.size()];
  }
  void end_run();
  void begin_segment(std::uint64_t number, const core::Instant& start);
  void add_steps(std::vector<VoltageStep>& steps) const;

  core::VoltageDescription description_;
  std::size_t channel_step_ = 1, most_pieces_ = 0;
  std::uint64_t every_ = 1;  // of so many runs one is looked at
  std::vector<RecordedLevel> inputs_;
  std::vector<double> squares_;  // [input] of all components looked at
  std::uint64_t looked_at_ = 0;  // times
  std::uint64_t times_ = 0;
  std::optional<Segment> segment_;
  std::vector<Power> of_run_, of_piece_;  // [input] so far
  std::vector<VoltageStep> steps_;        // of the segments before
  std::vector<Part> parts_;               // of a block
  std::vector<Looked> looked_;            // of each thread
  std::vector<std::uint64_t> valid_;      // [part][input]; empty: all valid
};

}  // namespace tautline::stream
