#include "tautline/stages/detect/groups.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace tautline::stages::detect {

namespace {

bool by_trial_and_time(const Detection& a, const Detection& b) {
  return std::pair(a.trial, a.first_time) < std::pair(b.trial, b.first_time);
}

bool brighter(const Detection& a, const Detection& b) {
  return a.snr > b.snr || (a.snr == b.snr && by_trial_and_time(a, b));
}

const Detection& middle_of(const std::vector<Detection>& members, const Detection& best) {
  const auto counts = [&](const Detection& d) {
    return d.snr > best.snr - kEqualSigmas && d.first < best.first + best.width &&
           best.first < d.first + d.width;
  };
  // Integer sums do not depend on the order of the members.
  std::int64_t weight = 0, moment = 0;
  const auto weight_of = [&](const Detection& d) {
    return static_cast<std::int64_t>((d.snr - (best.snr - kEqualSigmas)) * 1024);
  };
  for (const Detection& d : members) {
    if (!counts(d)) continue;
    weight += weight_of(d);
    moment += weight_of(d) * static_cast<std::int64_t>(d.trial);
  }
  // |trial - moment / weight| x weight
  const auto distance = [&](const Detection& d) {
    return std::abs(static_cast<std::int64_t>(d.trial) * weight - moment);
  };
  const Detection* middle = &best;
  for (const Detection& d : members)
    if (counts(d) && (distance(d) < distance(*middle) ||
                      (distance(d) == distance(*middle) && brighter(d, *middle))))
      middle = &d;
  return *middle;
}

}  // namespace

Pulse pulse_of(const std::vector<Detection>& members) {
  const Detection* best = &members.front();
  Pulse pulse;
  pulse.begin = best->first;
  pulse.end = best->first + best->width;
  pulse.first_trial = pulse.last_trial = best->trial;
  for (const Detection& d : members) {
    if (brighter(d, *best)) best = &d;
    pulse.begin = std::min(pulse.begin, d.first);
    pulse.end = std::max(pulse.end, d.first + d.width);
    pulse.first_trial = std::min(pulse.first_trial, d.trial);
    pulse.last_trial = std::max(pulse.last_trial, d.trial);
  }
  const Detection& middle = middle_of(members, *best);
  pulse.snr = middle.snr;
  pulse.trial = middle.trial;
  pulse.first = middle.first;
  pulse.width = middle.width;
  pulse.members = members.size();
  return pulse;
}

namespace {

bool reaches(const Detection& d, std::size_t trials_away, const Links& links,
             const Links::Elsewhere& elsewhere) {
  if (!elsewhere.any) return false;
  if (trials_away <= links.dm_trials) return true;
  if (d.length == 0 || elsewhere.longest == 0) return false;
  const std::uint64_t reach = d.width / 2;
  return d.length <= elsewhere.longest + reach && elsewhere.shortest <= d.length + reach;
}

}  // namespace

bool reaches_elsewhere(const Detection& d, const Links& links, std::size_t trials) {
  const std::size_t of_beam = links.beam_trials == 0 ? trials : links.beam_trials;
  const std::size_t trial = d.trial % of_beam;
  return reaches(d, trial + 1, links, links.before) ||
         reaches(d, of_beam - trial, links, links.behind);
}

void give_group(const std::vector<Detection>& group, const Links& links, std::size_t trials,
                std::vector<Pulse>& pulses) {
  const bool alone = std::none_of(group.begin(), group.end(), [&](const Detection& d) {
    return reaches_elsewhere(d, links, trials);
  });
  if (alone) {
    pulses.push_back(pulse_of(group));
  } else {
    for (const Detection& d : group) pulses.push_back(separate_pulse(d));
  }
}

Pulse separate_pulse(const Detection& d) {
  Pulse pulse;
  pulse.separate = true;
  pulse.snr = d.snr;
  pulse.trial = pulse.first_trial = pulse.last_trial = d.trial;
  pulse.first = d.first;
  pulse.width = d.width;
  pulse.begin = d.first_time;
  pulse.end = d.last_time + 1;
  return pulse;
}

Detection detection_of(const Pulse& separate, std::uint64_t length) {
  return {separate.trial, separate.begin, separate.end - 1, separate.snr, separate.first,
          separate.width, length};
}

namespace {

// Detections that are grouped at once, at least.
constexpr std::size_t kPart = 8192;

bool any_elsewhere(const Links& links) {
  return links.before.any || links.behind.any;
}

// Sorts numbers below 2^bits, and what belongs to them, digit by digit.
template <class Numbered>
void sort_by_digits(std::vector<Numbered>& values, std::vector<Numbered>& other, int bits) {
  constexpr int kDigit = 11;
  other.resize(values.size());
  for (int shift = 0; shift < bits; shift += kDigit) {
    const auto digit = [&](const Numbered& v) { return v.number >> shift & ((1 << kDigit) - 1); };
    std::array<std::size_t, (1 << kDigit) + 1> place{};
    for (const Numbered& v : values) ++place[digit(v) + 1];
    std::partial_sum(place.begin(), place.end(), place.begin());
    for (const Numbered& v : values) other[place[digit(v)]++] = v;
    std::swap(values, other);
  }
}

}  // namespace

OpenGroup::OpenGroup(const Detection& first) : best_(first), kept_{first} {
  span_.begin = first.first;
  span_.end = first.first + first.width;
  span_.first_trial = span_.last_trial = first.trial;
}

void OpenGroup::widen(const Pulse& span) {
  span_.members += span.members;
  span_.begin = std::min(span_.begin, span.begin);
  span_.end = std::max(span_.end, span.end);
  span_.first_trial = std::min(span_.first_trial, span.first_trial);
  span_.last_trial = std::max(span_.last_trial, span.last_trial);
}

bool OpenGroup::is_weak(const Detection& d) const {
  return d.snr <= best_.snr - kEqualSigmas && d.snr < best_.snr;
}

void OpenGroup::keep(const Detection& d, bool all) {
  if (!all && is_weak(d)) return;
  if (kept_.size() == kept_.capacity() && !all && kept_.size() >= kFew) {
    std::erase_if(kept_, [&](const Detection& k) { return is_weak(k); });
    if (kept_.size() > kept_.capacity() / 2) kept_.reserve(2 * kept_.capacity());
  }
  kept_.push_back(d);
}

void OpenGroup::add(const Detection& d, bool all) {
  ++span_.members;
  span_.begin = std::min(span_.begin, d.first);
  span_.end = std::max(span_.end, d.first + d.width);
  span_.first_trial = std::min(span_.first_trial, d.trial);
  span_.last_trial = std::max(span_.last_trial, d.trial);
  if (brighter(d, best_)) best_ = d;
  keep(d, all);
}

void OpenGroup::add(OpenGroup&& other, bool all) {
  widen(other.span_);
  if (brighter(other.best_, best_)) best_ = other.best_;
  if (other.kept_.size() > kept_.size()) std::swap(kept_, other.kept_);
  for (const Detection& d : other.kept_) keep(d, all);
}

void OpenGroup::drop_before(std::uint64_t floor) {
  std::erase_if(kept_, [&](const Detection& d) {
    return is_weak(d) || (d.first + d.width <= floor && d.first + d.width <= best_.first) ||
           (d.first + d.width <= floor && best_.first + best_.width <= d.first);
  });
  most_ = std::max(kFew, 2 * kept_.size());
}

void OpenGroup::give(const Links& links, std::size_t trials, std::vector<Pulse>& pulses) const {
  give_group(kept_, links, trials, pulses);
  if (any_elsewhere(links)) return;  // then all members are kept
  Pulse& pulse = pulses.back();
  pulse.members = span_.members;
  pulse.begin = span_.begin;
  pulse.end = span_.end;
  pulse.first_trial = span_.first_trial;
  pulse.last_trial = span_.last_trial;
}

Groups::Groups(const Links& links, std::size_t widest, std::size_t trials,
               std::vector<std::uint64_t> lengths)
    : links_(links),
      widest_(widest),
      trials_(trials),
      lengths_(std::move(lengths)),
      beams_(links.beam_trials == 0 ? 1 : trials / links.beam_trials),
      live_(links) {}

void Groups::settle(std::uint64_t horizon, std::vector<Pulse>& pulses) {
  if (!links_.join) {
    for (const Detection& detection : waiting_) pulses.push_back(separate_pulse(detection));
    waiting_.clear();
    return;
  }
  take_begun(horizon);
  auto next = begun_.cbegin();
  for (std::size_t b = 0; b < beams_.size(); ++b) {
    Beam& beam = beams_[b];
    const auto end = std::find_if(next, begun_.cend(), [&](const Detection& d) {
      return d.trial >= (b + 1) * beam_trials();
    });
    do {
      // At least as many as are live, since each part begins with those; no more than that, so that
      // work memory stays in the cache.
      const std::size_t most = std::max({kPart, beam.live.size(), beam.groups.size()});
      const auto last =
          next + std::min<std::ptrdiff_t>(end - next, static_cast<std::ptrdiff_t>(most));
      if (next != last) join(beam, b * beam_trials(), {next, last});
      close(beam, last == end ? horizon : last->first_time, pulses);
      next = last;
    } while (next != end);
  }
}

// Moves the waiting detections that begin before `horizon` to begun_, by beam and time.
void Groups::take_begun(std::uint64_t horizon) {
  begun_.clear();
  order_.clear();
  steps_ += waiting_.size();
  std::uint64_t earliest = horizon, latest = 0;
  for (const Detection& d : waiting_) {
    if (d.first_time >= horizon) continue;
    earliest = std::min(earliest, d.first_time);
    latest = std::max(latest, d.first_time);
  }
  if (latest < earliest) return;
  const auto bits = static_cast<int>(std::bit_width(latest - earliest));
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const Detection& d = waiting_[i];
    if (d.first_time < horizon)
      order_.push_back({(d.trial / beam_trials()) << bits | (d.first_time - earliest),
                        static_cast<std::uint32_t>(i)});
  }
  sort_by_digits(order_, sorted_, bits + static_cast<int>(std::bit_width(beams_.size())));
  begun_.reserve(order_.size());
  for (const Begin& begin : order_) begun_.push_back(waiting_[begin.index]);
  std::erase_if(waiting_, [&](const Detection& d) { return d.first_time < horizon; });
}

// Adds detections to the groups of a beam, and to what is live there.
void Groups::join(Beam& beam, std::size_t first_trial, std::span<const Detection> begun) {
  const std::size_t before = beam.groups.size();
  steps_ += before + begun.size() + beam.live.size();
  sets_.reset(before + begun.size());
  live_.begin(beam_trials(), lengths_.empty()
                                 ? std::span<const std::uint64_t>()
                                 : std::span(lengths_).subspan(first_trial, beam_trials()));
  for (const LiveDetection& earlier : beam.live) live_.restore(earlier, sets_);
  for (std::size_t i = 0; i < begun.size(); ++i) {
    Detection d = begun[i];
    d.trial -= first_trial;
    live_.add(d, static_cast<std::uint32_t>(before + i), sets_);
  }
  beam.live.clear();
  live_.drain(beam.live);

  // The smallest number of a set stands for it: the first of its groups or, where it has none, of
  // its detections.
  const bool all = any_elsewhere(links_);
  places_.resize(before + begun.size());
  std::uint32_t count = 0;
  for (std::uint32_t n = 0; n < places_.size(); ++n) {
    const std::uint32_t set = sets_.find(n);
    if (set == n) places_[n] = count++;
    if (n < before) {
      OpenGroup& group = beam.groups[n];
      if (set != n)
        beam.groups[places_[set]].add(std::move(group), all);
      else if (places_[n] != n)
        beam.groups[places_[n]] = std::move(group);
      if (n + 1 == before) beam.groups.resize(count);
    } else if (set != n) {
      beam.groups[places_[set]].add(begun[n - before], all);
    } else {
      beam.groups.emplace_back(begun[n - before]);
    }
  }
  for (LiveDetection& live : beam.live) live.group = places_[sets_.find(live.group)];
}

// Gives the groups in which nothing is live, as seen from detections that begin at `now` or later.
void Groups::close(Beam& beam, std::uint64_t now, std::vector<Pulse>& pulses) {
  steps_ += beam.groups.size() + beam.live.size();
  std::erase_if(beam.live, [&](const LiveDetection& d) { return !live_.is_live(d, now); });
  std::vector<OpenGroup>& groups = beam.groups;
  constexpr std::uint32_t kComplete = ~std::uint32_t{0};
  places_.assign(groups.size(), kComplete);
  for (const LiveDetection& d : beam.live) places_[d.group] = 0;
  // Where the boxcars begin that may become a group's brightest: those to come begin at most two
  // of the widest before their detections, and those of other groups may be the earliest, `first`,
  // or for that group itself `second`.
  std::uint64_t first = now - std::min<std::uint64_t>(now, 2 * widest_), second = first;
  std::size_t earliest = groups.size(), count = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (places_[g] == kComplete) {
      groups[g].give(links_, trials_, pulses);
      continue;
    }
    const std::uint64_t begin = groups[g].best().first;
    if (begin < first) {
      second = std::exchange(first, begin);
      earliest = count;
    } else {
      second = std::min(second, begin);
    }
    places_[g] = static_cast<std::uint32_t>(count);
    if (count != g) groups[count] = std::move(groups[g]);
    ++count;
  }
  groups.resize(count);
  for (LiveDetection& d : beam.live) d.group = places_[d.group];
  if (any_elsewhere(links_)) return;
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (groups[g].has_grown()) groups[g].drop_before(g == earliest ? second : first);
}

}  // namespace tautline::stages::detect
