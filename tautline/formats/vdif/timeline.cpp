#include "tautline/formats/vdif/timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tautline/formats/vdif/frame_numbers.h"
#include "tautline/formats/vdif/frame_scanner.h"

namespace tautline::formats::vdif {

namespace {

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

// Rates that have a frame of each number below `frames`, at most kNamed: a power of two times one of the lowest rates.
std::vector<std::int64_t> allowed_rates(const std::vector<std::int64_t>& lowest_hz,
                                        std::int64_t frames, std::int64_t samples) {
  constexpr std::size_t kNamed = 6;
  constexpr std::int64_t kHighest_hz = 4'096'000'000;
  std::vector<std::int64_t> rates;
  for (const std::int64_t lowest : lowest_hz)
    for (std::int64_t rate = lowest; rate <= kHighest_hz; rate *= 2)
      if (rate % samples == 0 && rate / samples >= frames) rates.push_back(rate);
  std::ranges::sort(rates);
  if (rates.size() > kNamed) rates.resize(kNamed);
  return rates;
}

// First the rates of most recorders.
std::string rates_allowed(std::int64_t frames, std::int64_t samples) {
  std::vector<std::string> named;
  const auto name = [&](const std::vector<std::int64_t>& rates, const char* kind) {
    if (!rates.empty()) named.push_back(fmt::format("{} ({})", fmt::join(rates, ", "), kind));
  };
  name(allowed_rates({1'000'000}, frames, samples), "powers of two MHz, as most recorders have");
  // 0.1, 10 and 100 MHz, halved to the least whole numbers of Hz.
  name(allowed_rates({3'125, 78'125, 390'625}, frames, samples),
       "powers of two times 0.1, 10 or 100 MHz");
  return fmt::format("{} samples a frame, {} frames or more a second: {} Hz or more{}{}", samples,
                     frames, frames * samples, named.empty() ? "" : ", such as ",
                     fmt::join(named, ", or "));
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
