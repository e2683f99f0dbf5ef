#include "tautline/stages/detect/groups.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace tautline::stages::detect {

namespace {

// Disjoint sets of the numbers below n.
class Sets {
 public:
  explicit Sets(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

bool by_trial_and_time(const Detection& a, const Detection& b) {
  return std::pair(a.trial, a.first_time) < std::pair(b.trial, b.first_time);
}

// Whether a pulse of `width` looks alike in both trials: their lengths differ as their longest
// delays do.
bool alike(const Detection& a, const Detection& b, std::uint64_t width) {
  if (a.length == 0 || b.length == 0) return false;
  return (a.length < b.length ? b.length - a.length : a.length - b.length) <= width / 2;
}

bool of_one_beam(const Detection& a, const Detection& b, const Links& links) {
  return links.beam_trials == 0 || a.trial / links.beam_trials == b.trial / links.beam_trials;
}

}  // namespace

bool friends(const Detection& a, const Detection& b, const Links& links) {
  const std::size_t trials = a.trial < b.trial ? b.trial - a.trial : a.trial - b.trial;
  const std::uint64_t narrow = std::min(a.width, b.width), wide = std::max(a.width, b.width);
  if (!of_one_beam(a, b, links)) return false;
  if (trials > links.dm_trials && !alike(a, b, narrow)) return false;
  if (wide >> links.width_octaves > narrow ||
      (wide >> links.width_octaves == narrow && narrow << links.width_octaves != wide))
    return false;
  const std::uint64_t gap = a.last_time < b.first_time   ? b.first_time - a.last_time
                            : b.last_time < a.first_time ? a.first_time - b.last_time
                                                         : 0;
  return gap <= links.time_samples + narrow / 2;
}

namespace {

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

void Groups::settle(std::uint64_t horizon, std::vector<Pulse>& pulses) {
  if (open_.empty()) return;
  if (!links_.join) {
    for (const Detection& detection : open_) pulses.push_back(separate_pulse(detection));
    open_.clear();
    return;
  }
  std::sort(open_.begin(), open_.end(), by_trial_and_time);
  const std::size_t n = open_.size();
  Sets sets(n);
  // Events of one trial do not overlap, so they are sorted by their ends, too. For each later
  // trial, a cursor advances to the first event that does not end too early.
  std::vector<std::size_t> trial_begin{0};
  for (std::size_t i = 1; i < n; ++i)
    if (open_[i].trial != open_[i - 1].trial) trial_begin.push_back(i);
  trial_begin.push_back(n);
  const std::uint64_t reach = links_.time_samples + widest_ / 2;
  for (std::size_t a = 0; a + 1 < trial_begin.size(); ++a)
    for (std::size_t b = a; b + 1 < trial_begin.size(); ++b) {
      const Detection &one = open_[trial_begin[a]], &other = open_[trial_begin[b]];
      if (!of_one_beam(one, other, links_) ||
          (other.trial - one.trial > links_.dm_trials && !alike(one, other, widest_)))
        break;
      std::size_t cursor = trial_begin[b];
      for (std::size_t i = trial_begin[a]; i < trial_begin[a + 1]; ++i) {
        while (cursor < trial_begin[b + 1] && open_[cursor].last_time + reach < open_[i].first_time)
          ++cursor;
        for (std::size_t j = cursor;
             j < trial_begin[b + 1] && open_[j].first_time <= open_[i].last_time + reach; ++j)
          if (friends(open_[i], open_[j], links_)) sets.join(i, j);
      }
    }
  // Groups that later detections could join stay open.
  std::vector<std::uint64_t> latest(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t& last = latest[sets.find(i)];
    last = std::max(last, open_[i].last_time);
  }
  std::vector<std::vector<Detection>> groups;
  std::vector<std::size_t> group_of(n, n);
  std::vector<Detection> waiting;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t set = sets.find(i);
    if (latest[set] + reach >= horizon) {
      waiting.push_back(open_[i]);
      continue;
    }
    if (group_of[set] == n) {
      group_of[set] = groups.size();
      groups.emplace_back();
    }
    groups[group_of[set]].push_back(open_[i]);
  }
  for (const std::vector<Detection>& group : groups) give_group(group, links_, trials_, pulses);
  open_ = std::move(waiting);
}

}  // namespace tautline::stages::detect
