// How many frames a second of a VDIF file has, by the numbers of its frames.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "tautline/formats/input_file.h"
#include "tautline/formats/vdif/header.h"

namespace tautline::formats::vdif {

/// Frames that are enough to meet every thread of a recording and to see which frame comes first.
inline constexpr std::size_t kFramesToKnowThreads = 4096;

/// The largest frame numbers of one second, each with its frames.
struct Largest {
  static constexpr std::size_t kKept = 256;
  static constexpr std::int64_t kNear = 16;
  std::map<std::int64_t, std::size_t> numbers = {};

  void add(std::int64_t frame) {
    ++numbers[frame];
    if (numbers.size() > kKept) numbers.erase(numbers.begin());
  }
  // Numbers with few others shortly below them are damage; where all have few, the one with most is believed.
  std::int64_t believed() const {
    const std::size_t enough = std::min<std::size_t>(8, numbers.size() / 2);
    std::int64_t best = numbers.empty() ? -1 : numbers.begin()->first;
    std::size_t most = 0;
    for (auto one = numbers.rbegin(); one != numbers.rend(); ++one) {
      const auto below = static_cast<std::size_t>(
          std::distance(numbers.lower_bound(one->first - kNear), numbers.find(one->first)));
      if (below > 0 && below >= enough) return one->first;
      if (below > most) {
        most = below;
        best = one->first;
      }
    }
    return best;
  }
};

// Seconds to look at for the rate: more than the fewest where these tell different ones.
inline constexpr std::size_t kFewestSeconds = 2, kMostSeconds = 8;

/// The last frames of one thread in the file, the latest one first.
class LastFrames {
 public:
  void add(std::int64_t second, std::int64_t frame) {
    frames_.push_front({second, frame});
    if (frames_.size() > kKept) frames_.pop_back();
  }
  // Whether such a frame continues the frames before it.
  bool continued_by(std::int64_t second, std::int64_t frame) const {
    constexpr std::size_t kLookedAt = 4, kEnough = 2;
    std::size_t same_second = 0, continued = 0;
    for (std::size_t k = 0; k < std::min(kLookedAt, frames_.size()); ++k) {
      if (frames_[k].first != second) continue;
      ++same_second;
      continued += frames_[k].second + static_cast<std::int64_t>(k) + 1 == frame ? 1 : 0;
    }
    return continued > 0 && continued >= std::min(kEnough, same_second);
  }
  // Whether there is one in this second, and whether it is the one before such a frame.
  std::pair<bool, bool> step_to(std::int64_t second, std::int64_t frame) const {
    if (frames_.empty() || frames_.front().first != second) return {false, false};
    return {true, frames_.front().second + 1 == frame};
  }
  bool contain(std::int64_t second, std::int64_t frame) const {
    return std::ranges::find(frames_, std::pair{second, frame}) != frames_.end();
  }
  // Frames in the second before such a frame, as its last frames and their distances in the file tell.
  void vote(std::int64_t second, std::int64_t frame,
            std::map<std::int64_t, std::size_t>& votes) const {
    for (std::size_t k = 0; k < frames_.size(); ++k) {
      const std::int64_t count = frames_[k].second + static_cast<std::int64_t>(k) + 1 - frame;
      if (frames_[k].first + 1 == second && count > 0) ++votes[count];
    }
  }

 private:
  static constexpr std::size_t kKept = 16;
  std::deque<std::pair<std::int64_t, std::int64_t>> frames_;  // second and frame number
};

/// The frame numbers of the first seconds.
struct FrameNumbers {
  std::map<std::int64_t, Largest> seconds;
  std::size_t frames = 0;

  void add(const Header& header, std::int64_t frames_per_second) {
    const std::int64_t second = header.seconds_since_2000(), frame = header.frame;
    seconds[second].add(frame);
    ++frames;
    const bool is_beyond = frame >= frames_per_second;
    beyond_ += is_beyond ? 1 : 0;
    if (last_.size() > kMostThreads) last_.clear();  // of damaged headers
    LastFrames& last = last_[header.key()];
    if (last.contain(second, frame)) return;
    if (last.continued_by(second, frame)) {
      ++in_place_;
      beyond_in_place_ += is_beyond ? 1 : 0;
      largest_in_place_ = std::max(largest_in_place_, frame);
    }
    const auto [has_step, is_step] = last.step_to(second, frame);
    all_steps_ += has_step ? 1 : 0;
    steps_ += is_step ? 1 : 0;
    std::map<std::int64_t, std::size_t> votes;
    last.vote(second, frame, votes);
    for (const auto& [count, pairs] : votes) votes_[second - 1][count] += pairs;
    last.add(second, frame);
  }
  /// The next frame does not follow the last one in the file.
  void jump() { last_.clear(); }
  void forget_first_second() {
    votes_.erase(seconds.begin()->first);
    seconds.erase(seconds.begin());
  }
  // Frames of a number that a rate does not have. Where most frames follow each other, others are damaged.
  std::size_t beyond() const { return in_order() ? beyond_in_place_ : beyond_; }
  // A second has so many frames at least.
  std::int64_t least() const {
    if (in_order()) return largest_in_place_ + 1;
    std::int64_t most = -1, of_single_frames = -1;
    for (const auto& [second, largest] : seconds)
      (largest.numbers.size() > 1 ? most : of_single_frames) =
          std::max(largest.numbers.size() > 1 ? most : of_single_frames, largest.believed());
    return (most >= 0 ? most : of_single_frames) + 1;
  }
  // Frames in a second, from the largest frame numbers of seconds that another follows: the largest that several of them
  // agree about, since a wrong bit makes numbers that follow a second's last one, and loss takes last ones.
  std::optional<std::int64_t> per_second() const {
    const auto counts = counts_of_seconds();
    if (counts.empty()) return std::nullopt;
    std::size_t ended = 0;
    for (const auto& [count, times] : counts) ended += times;
    const std::size_t several = std::max<std::size_t>(2, ended / 4);
    for (auto one = counts.rbegin(); one != counts.rend(); ++one)
      if (one->second >= several) return with_seen(one->first);
    // Two headers with a wrong second may seem to be one that has ended.
    const std::int64_t largest = with_seen(counts.rbegin()->first);
    if (ended == 1 && least() > largest + 1) return std::nullopt;
    return largest;
  }
  // Whether two seconds end with the largest number of all.
  bool certain() const {
    const auto counts = counts_of_seconds();
    return !counts.empty() && counts.rbegin()->second >= 2;
  }

 private:
  static constexpr std::size_t kMostThreads = 4096;
  // How many pairs of frames on both sides of a second's end tell each count of frames.
  using Votes = std::map<std::int64_t, std::size_t>;

  bool in_order() const { return 2 * in_place_ > frames; }
  // Only where two frames of three follow the one before: late frames move the others.
  bool votes_are_good() const { return 3 * steps_ > 2 * all_steps_; }
  // The count that a third of the pairs tell, and more than tell another one; or 0.
  static std::int64_t voted(const Votes& votes) {
    std::size_t all = 0;
    std::pair<std::size_t, std::int64_t> most{0, 0};
    for (const auto& [count, pairs] : votes) {
      all += pairs;
      most = std::max(most, {pairs, count});
    }
    return 3 * most.first > all ? most.second : 0;
  }
  // Frames of a number in the seconds that have ended.
  std::size_t seen(std::int64_t number) const {
    std::size_t result = 0;
    for (const auto& [second, votes] : votes_) {
      const auto of_second = seconds.find(second);
      if (of_second == seconds.end()) continue;
      const auto found = of_second->second.numbers.find(number);
      if (found != of_second->second.numbers.end()) result += found->second;
    }
    return result;
  }
  // Loss where seconds begin makes them seem shorter: numbers that most of them have are counted, too.
  std::int64_t with_seen(std::int64_t count) const {
    if (!votes_are_good()) return count;
    constexpr std::int64_t kBefore = 8;
    for (;; ++count) {
      std::size_t before = 0;
      for (std::int64_t k = 1; k <= kBefore; ++k) before = std::max(before, seen(count - k));
      if (seen(count) == 0 || 2 * seen(count) <= before) return count;
    }
  }
  // How many seconds that have ended tell each count of frames.
  std::map<std::int64_t, std::size_t> counts_of_seconds() const {
    std::map<std::int64_t, std::size_t> by_votes;
    for (const auto& [second, votes] : votes_)
      if (const std::int64_t count = voted(votes); count > 0) ++by_votes[count];
    if (votes_are_good() && !by_votes.empty()) return by_votes;
    const bool single = std::all_of(seconds.begin(), seconds.end(),
                                    [](const auto& one) { return one.second.numbers.size() == 1; });
    std::map<std::int64_t, std::size_t> counts;
    for (const auto& [second, largest] : seconds)
      if (seconds.contains(second + 1) && (single || largest.numbers.size() > 1))
        ++counts[largest.believed() + 1];
    return counts;
  }

  std::map<std::uint32_t, LastFrames> last_;  // by thread
  std::map<std::int64_t, Votes> votes_;       // by second
  std::size_t beyond_ = 0, in_place_ = 0, beyond_in_place_ = 0, steps_ = 0, all_steps_ = 0;
  std::int64_t largest_in_place_ = -1;
};

/// Of the frames of a file: those around the ends of its first seconds where it is long, else all of them.
FrameNumbers look_at_numbers(const InputFile& file, const Header& common,
                             std::int64_t frames_per_second);

}  // namespace tautline::formats::vdif
