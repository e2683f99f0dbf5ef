#include "tautline/formats/vdif/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace tautline::formats::vdif {

namespace {

// Enough to meet every thread of a recording and to see which frame comes first.
constexpr std::size_t kFramesToKnowThreads = 4096;

constexpr std::int64_t kMaxFramesPerSecond = std::int64_t{1} << 24;

std::vector<Header> first_headers(const InputFile& file, const Header& common) {
  FrameScanner scanner(file, common, nullptr);
  std::vector<Header> headers;
  while (headers.size() < kFramesToKnowThreads) {
    const auto frame = scanner.next();
    if (!frame) break;
    headers.push_back(frame->header);
  }
  return headers;
}

using Time = std::pair<std::int64_t, std::uint32_t>;  // second and frame number

// Whether a thread with few frames exists: a frame whose thread number is damaged lies where a frame of a thread in
// `sure` is missing.
bool stands_beside(const std::set<Time>& times,
                   const std::map<std::uint32_t, std::set<Time>>& of_thread,
                   const std::vector<std::uint32_t>& sure) {
  return std::all_of(times.begin(), times.end(), [&](const Time& time) {
    return std::all_of(sure.begin(), sure.end(),
                       [&](std::uint32_t key) { return of_thread.at(key).contains(time); });
  });
}

// Single headers are not trusted: a thread needs many frames with its number.
std::vector<std::uint32_t> find_threads(const InputFile& file, const std::vector<Header>& headers) {
  std::map<std::uint32_t, std::set<Time>> of_thread;
  std::set<Time> all;
  std::size_t most = 0;
  for (const Header& h : headers) {
    auto& times = of_thread[h.key()];
    times.emplace(h.seconds_since_2000(), h.frame);
    all.emplace(h.seconds_since_2000(), h.frame);
    most = std::max(most, times.size());
  }
  if (2 * most < all.size())
    throw format_error(file.path(), "thread and station at byte 12",
                       fmt::format("{} different ones in {} frames of {} different times",
                                   of_thread.size(), headers.size(), all.size()),
                       "threads with a frame at most times",
                       "the headers are damaged, or this is no VDIF file");
  std::vector<std::uint32_t> sure, threads;
  for (const auto& [key, times] : of_thread)
    if (2 * times.size() > most) sure.push_back(key);
  for (const auto& [key, times] : of_thread)
    if (2 * times.size() > most ||
        (4 * times.size() >= most && stands_beside(times, of_thread, sure)))
      threads.push_back(key);
  return threads;
}

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
constexpr std::size_t kFewestSeconds = 2, kMostSeconds = 8;

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

/// The frames of a long file around the ends of its first seconds, found by halving: a second of 16 Gb/s has 250,000
/// frames, whose headers would be as many reads.
class EndsOfSeconds {
 public:
  EndsOfSeconds(const InputFile& file, const Header& common)
      : scanner_(file, common, nullptr),
        in_order_(file.in_order()),
        frame_bytes_(common.frame_bytes),
        frames_(file.size() / common.frame_bytes) {}

  // None: in a stream, a short file, or where the frames are not in the order of time, every header has to be read.
  std::optional<FrameNumbers> numbers(std::int64_t frames_per_second) {
    if (in_order_ || frames_ < 16 * kFramesToKnowThreads) return std::nullopt;
    FrameNumbers found;
    for (std::uint64_t k = 0; k < kHalf; ++k)
      if (const auto header = header_of(k)) found.add(*header, frames_per_second);
    // Frames of the second before may come late.
    for (std::uint64_t at = kHalf, k = 0; at < frames_ && k < kMostSeconds; at += kHalf, ++k) {
      if (k >= kFewestSeconds && found.certain()) break;
      const auto header = header_of(at);
      if (!header) return std::nullopt;
      at = end_of(header->seconds_since_2000(), at);
      if (!look_around(at, header->seconds_since_2000(), frames_per_second, found))
        return std::nullopt;
    }
    return found;
  }

 private:
  static constexpr std::uint64_t kHalf = kFramesToKnowThreads / 2;

  std::optional<Header> header_of(std::uint64_t frame) const {
    return scanner_.header_at(frame * frame_bytes_);
  }
  // The first frame behind frame `from`, of this second, that is of another one, or the number of frames.
  std::uint64_t end_of(std::int64_t second, std::uint64_t from) const {
    const auto inside = [&](std::uint64_t frame) {
      const auto header = header_of(frame);
      return header && header->seconds_since_2000() == second;
    };
    std::uint64_t low = from, step = 1;
    while (low + step < frames_ && inside(low + step)) {
      low += step;
      step *= 2;
    }
    std::uint64_t high = std::min(frames_, low + step);
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      (inside(middle) ? low : high) = middle;
    }
    return high;
  }
  // Whether the second indeed ends at this frame, where late frames have had time to come: a damaged header ends none.
  bool look_around(std::uint64_t frame, std::int64_t second, std::int64_t frames_per_second,
                   FrameNumbers& found) {
    const std::uint64_t low = frame - std::min(frame, kHalf),
                        high = std::min(frames_, frame + kHalf);
    std::uint64_t before = 0, after = 0;
    found.jump();
    for (std::uint64_t k = low; k < high; ++k) {
      const auto header = header_of(k);
      if (!header) continue;
      found.add(*header, frames_per_second);
      before += header->seconds_since_2000() == second ? 1 : 0;
      after += header->seconds_since_2000() == second + 1 ? 1 : 0;
    }
    return 4 * before > 3 * (frame - low) && 4 * after >= 3 * (high - frame);
  }

  FrameScanner scanner_;
  bool in_order_;
  std::uint64_t frame_bytes_, frames_;
};

FrameNumbers look_at_numbers(const InputFile& file, const Header& common,
                             std::int64_t frames_per_second) {
  if (const auto found = EndsOfSeconds(file, common).numbers(frames_per_second)) return *found;
  FrameScanner scanner(file, common, nullptr);
  FrameNumbers found;
  std::size_t enough = 0;  // frames still to look at, once counting down
  while (const auto frame = scanner.next()) {
    const std::int64_t second = frame->header.seconds_since_2000();
    found.add(frame->header, frames_per_second);
    // Two seconds that have ended and agree are enough, when late frames have had time to come.
    if (enough > 0 && --enough == 0 && (found.certain() || found.seconds.size() > kMostSeconds))
      break;
    if (enough == 0 && found.seconds.contains(second - 1) && found.seconds.contains(second - 2))
      enough = kFramesToKnowThreads;
    // Single frames with damaged seconds are forgotten.
    if (found.seconds.size() > 4096) found.forget_first_second();
  }
  return found;
}

// Powers of two MHz and of two times 0.1 MHz, as recorders have them, in rising order.
std::vector<std::int64_t> usual_rates() {
  constexpr std::int64_t kHighest = 4'096'000'000;
  std::vector<std::int64_t> rates;
  for (const std::int64_t lowest : {100'000, 1'000'000})
    for (std::int64_t rate = lowest; rate <= kHighest; rate *= 2) rates.push_back(rate);
  std::ranges::sort(rates);
  return rates;
}

// Rates that have a frame of each number below `frames`.
std::string rates_allowed(std::int64_t frames, std::int64_t samples) {
  constexpr std::size_t kNamed = 6;
  std::string rates;
  std::size_t named = 0;
  for (const std::int64_t rate : usual_rates()) {
    if (named == kNamed) break;
    if (rate % samples != 0 || rate / samples < frames) continue;
    rates += fmt::format("{}{}", rates.empty() ? "" : ", ", rate);
    ++named;
  }
  return fmt::format("{} samples a frame, {} frames or more a second: {} Hz or more{}", samples,
                     frames, frames * samples, rates.empty() ? "" : ", such as " + rates);
}

core::Rational choose_rate(const InputFile& file, const Header& common,
                           const core::Rational& told_rate) {
  if (told_rate.numerator > 0) return told_rate;
  if (common.extended_version == 3 && common.rate_hz > 0) return {common.rate_hz, 1};
  const auto samples =
      static_cast<std::int64_t>(Packing(common).samples_in(common.payload_bytes()));
  const FrameNumbers numbers = look_at_numbers(file, common, kMaxFramesPerSecond);
  if (const auto frames = numbers.per_second()) return {*frames * samples, 1};
  if (common.rate_hz > 0) return {common.rate_hz, 1};
  const bool kept = file.in_order() && file.size() == ForwardBytes::kUnknownSize;
  throw core::Error(
      core::ErrorKind::config, file.path() + ": sample rate",
      "not in the headers, and no second ends in " +
          (kept ? fmt::format("the first {} MiB, which can be kept (`memory_bytes`)",
                              file.reach() >> 20)
                : std::string("the file")),
      "a known rate",
      fmt::format("give it (`rate_hz`); {}", rates_allowed(numbers.least(), samples)));
}

// A rate that was given, or is in the headers, against the frames' numbers. Frames of numbers that the rate does not
// have would be dropped; where the last numbers of every second are missing, frames may have been lost: a remark.
std::string compare_rate(const InputFile& file, const FrameNumbers& numbers, std::int64_t samples,
                         std::int64_t frames_per_second, bool told) {
  constexpr std::size_t kDamaged = 64;  // one number in so many may be
  const std::optional<std::int64_t> counted = numbers.per_second();
  const auto given = fmt::format("{} Hz {}, {} frames a second", frames_per_second * samples,
                                 told ? "as given" : "in the headers", frames_per_second);
  if (kDamaged * numbers.beyond() > numbers.frames &&
      counted.value_or(numbers.least()) > frames_per_second)
    throw format_error(
        file.path(), "sample rate", given,
        counted.value_or(0) > frames_per_second
            ? fmt::format("{} Hz: frames of {} samples have numbers up to {} in a second",
                          *counted * samples, samples, *counted - 1)
            : rates_allowed(numbers.least(), samples),
        told ? "give the true sample rate of each channel (`rate_hz`), or none"
             : "give the true sample rate of each channel (`rate_hz`)");
  if (!counted || *counted >= frames_per_second) return {};
  return fmt::format(
      "`rate_hz`: {}, though frame numbers end with {} in a second, as at {} Hz; the others count "
      "as lost",
      given, *counted - 1, *counted * samples);
}

// The first of `sorted`, from `from` on, that is no damage: one frame or two before a gap are, where more than twice as
// many frames stand in as long a time behind the gap.
std::vector<std::int64_t>::const_iterator first_of_many(
    const std::vector<std::int64_t>& sorted, std::vector<std::int64_t>::const_iterator from) {
  constexpr std::ptrdiff_t kMostDamaged = 2;
  for (;;) {
    const auto gap = std::adjacent_find(from, sorted.end(),
                                        [](std::int64_t a, std::int64_t b) { return b > a + 1; });
    if (gap == sorted.end()) return from;
    const auto behind = gap + 1;
    const auto end = std::lower_bound(behind, sorted.end(), 2 * *behind - *from);
    const std::ptrdiff_t before = behind - from;
    if (before > kMostDamaged || end - behind <= 2 * before) return from;
    from = behind;
  }
}

// Which frames have neighbours in the file of nearly the same time, as those of a scan have: damaged times stand alone.
std::vector<bool> beside_neighbours(const std::vector<std::int64_t>& positions) {
  constexpr std::size_t kNeighbours = 16;
  const std::size_t count = std::min(positions.size(), kNeighbours + 1);
  std::vector<bool> beside(positions.size());
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const std::size_t first = std::min(k - std::min(k, kNeighbours / 2), positions.size() - count);
    std::size_t near = 0;
    for (std::size_t n = first; n < first + count; ++n)
      near += n != k && std::abs(positions[n] - positions[k]) < kReorderFrames ? 1 : 0;
    beside[k] = 2 * near > count - 1;
  }
  return beside;
}

// The times of the first scan, and of those behind it, in ascending order.
std::vector<std::int64_t> times_of_scans(const std::vector<std::int64_t>& positions) {
  const std::vector<bool> beside = beside_neighbours(positions);
  const auto first = std::find(beside.begin(), beside.end(), true);
  std::vector<std::int64_t> sorted;
  if (first != beside.end()) {
    const std::int64_t from =
        positions[static_cast<std::size_t>(first - beside.begin())] - kReorderFrames;
    for (std::size_t k = 0; k < positions.size(); ++k)
      if (beside[k] && positions[k] >= from) sorted.push_back(positions[k]);
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  // No neighbours agree: times far from the middle one are damage.
  sorted = positions;
  std::sort(sorted.begin(), sorted.end());
  const std::int64_t least =
      sorted[sorted.size() / 2] - static_cast<std::int64_t>(positions.size()) - kReorderFrames;
  sorted.erase(sorted.begin(), std::lower_bound(sorted.begin(), sorted.end(), least));
  return sorted;
}

// Position 0: the earliest of the first frames, leaving out times that stand alone.
void find_origin(const std::vector<Header>& headers, Timeline& timeline) {
  std::vector<std::int64_t> positions;
  for (const Header& h : headers)
    if (h.frame < timeline.frames_per_second) positions.push_back(timeline.position_of(h));
  if (positions.empty()) return;
  const std::vector<std::int64_t> sorted = times_of_scans(positions);
  const auto earliest = first_of_many(sorted, sorted.begin());
  const std::int64_t absolute =
      *earliest + timeline.origin_second * timeline.frames_per_second + timeline.origin_frame;
  timeline.origin_second = absolute / timeline.frames_per_second;
  timeline.origin_frame = absolute % timeline.frames_per_second;
}

}  // namespace

std::optional<std::size_t> Timeline::input_of(const Header& header) const {
  const auto found = std::lower_bound(threads.begin(), threads.end(), header.key());
  if (found == threads.end() || *found != header.key()) return std::nullopt;
  return static_cast<std::size_t>(found - threads.begin());
}

Timeline find_timeline(const InputFile& file, const Header& common,
                       const core::Rational& told_rate) {
  const auto samples =
      static_cast<std::int64_t>(Packing(common).samples_in(common.payload_bytes()));
  Timeline timeline;
  timeline.rate_hz = choose_rate(file, common, told_rate);
  const std::int64_t per_second = timeline.rate_hz.numerator / timeline.rate_hz.denominator;
  if (timeline.rate_hz.denominator != 1 || per_second % samples != 0)
    throw format_error(
        file.path(), "sample rate",
        fmt::format("{}/{} Hz", timeline.rate_hz.numerator, timeline.rate_hz.denominator),
        fmt::format("whole frames of {} samples in a second", samples),
        "give the sample rate of each channel (`rate_hz`)");
  timeline.frames_per_second = per_second / samples;
  if (timeline.frames_per_second > kMaxFramesPerSecond)
    throw format_error(file.path(), "sample rate", fmt::format("{} Hz", per_second),
                       fmt::format("at most {} frames of {} samples in a second, the frame number "
                                   "has 24 bits",
                                   kMaxFramesPerSecond, samples),
                       "give the sample rate of each channel (`rate_hz`)");
  const std::vector<Header> headers = first_headers(file, common);
  if (told_rate.numerator > 0) {
    timeline.other_rate =
        compare_rate(file, look_at_numbers(file, common, timeline.frames_per_second), samples,
                     timeline.frames_per_second, true);
  } else if (timeline.rate_hz == core::Rational{common.rate_hz, 1}) {
    FrameNumbers numbers;
    for (const Header& h : headers) numbers.add(h, timeline.frames_per_second);
    compare_rate(file, numbers, samples, timeline.frames_per_second, false);
  }
  timeline.threads = find_threads(file, headers);
  find_origin(headers, timeline);
  timeline.limit = (std::int64_t{1} << 62) / samples;
  return timeline;
}

}  // namespace tautline::formats::vdif
