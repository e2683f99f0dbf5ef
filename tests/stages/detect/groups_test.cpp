// Groups of detections against the definition: a test of every pair, for any settings, lengths and blocks.
#include "tautline/stages/detect/groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tautline/core/byte_archive.h"
#include "tests/stages/detect/support.h"

namespace tautline::stages::detect {
namespace {

struct GroupsCase {
  Links links;
  std::size_t beams = 1, of_beam = 1, widest = 1;
  std::uint64_t samples = 1;
  std::vector<std::uint64_t> lengths;
  std::vector<Detection> detections;

  std::size_t trials() const { return beams * of_beam; }
};

class Random {
 public:
  std::size_t below(std::size_t n) { return random_() % n; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  std::mt19937_64& generator() { return random_; }

 private:
  std::mt19937_64 random_ = tests::generator();
};

Links some_links(Random& random) {
  constexpr std::size_t kMost = ~std::size_t{0};
  Links links;
  links.time_samples = random.one_of<std::size_t>({0, 1, 3, 3, 10, 1000, kMost / 4});
  links.dm_trials = random.one_of<std::size_t>({0, 1, 2, 8, 50, kMost});
  links.width_octaves = random.one_of<std::size_t>({0, 1, 2, 3, 3, 6, 16, 62});
  for (Links::Elsewhere* elsewhere : {&links.before, &links.behind})
    if (random.below(6) == 0) *elsewhere = {true, random.below(9000), 9000 + random.below(9000)};
  return links;
}

// Falling ones as after dedispersion, any, or none; some of them not known.
std::vector<std::uint64_t> some_lengths(const GroupsCase& problem, Random& random) {
  std::vector<std::uint64_t> lengths;
  if (random.below(5) == 0) return lengths;
  const bool fall = random.below(4) > 0, are_known = random.below(2) == 0;
  const auto step = random.one_of<std::size_t>({1, 2, 6, 40});
  for (std::size_t b = 0; b < problem.beams; ++b) {
    std::uint64_t length = 9000 + random.below(9000);
    for (std::size_t t = 0; t < problem.of_beam; ++t) {
      length = fall ? length - random.below(std::min<std::uint64_t>(step, length))
                    : 9000 + random.below(500);
      lengths.push_back(are_known || random.below(7) > 0 ? length : 0);
    }
  }
  return lengths;
}

// S/N of few values, many ties in time, and widths that are powers of two or any.
Detection some_detection(const GroupsCase& problem, Random& random) {
  Detection d;
  d.trial = random.below(problem.trials());
  d.length = problem.lengths.empty() ? 0 : problem.lengths[d.trial];
  d.width = 1 + random.below(1 + random.below(problem.widest));
  if (random.below(3) == 0) d.width = std::min(problem.widest, std::size_t{1} << random.below(12));
  d.first_time = problem.widest + random.below(problem.samples);
  d.last_time = d.first_time + random.below(random.one_of<std::size_t>({1, 4, 100, 1000}));
  d.first = d.first_time + random.below(d.last_time - d.first_time + 1) - d.width / 2;
  d.snr = 6 + static_cast<double>(random.below(random.one_of<std::size_t>({2, 100, 4000}))) / 50;
  if (random.below(100) == 0) d.snr = 1e17;
  return d;
}

GroupsCase some_problem(Random& random) {
  GroupsCase problem;
  problem.links = some_links(random);
  problem.beams = random.one_of<std::size_t>({1, 1, 1, 2, 3});
  problem.of_beam = 1 + random.below(random.one_of<std::size_t>({1, 5, 20, 60, 400}));
  if (problem.beams > 1 || random.below(2)) problem.links.beam_trials = problem.of_beam;
  problem.widest = random.one_of<std::size_t>({1, 2, 5, 40, 300, 3000});
  problem.samples = random.one_of<std::uint64_t>({20, 200, 2000, 20000});
  problem.lengths = some_lengths(problem, random);
  const std::size_t count = random.below(random.one_of<std::size_t>({3, 30, 120, 500}));
  std::set<std::pair<std::size_t, std::uint64_t>> begins;  // two events of a trial begin apart
  for (std::size_t n = 0; n < count; ++n) {
    const Detection d = some_detection(problem, random);
    if (begins.insert({d.trial, d.first_time}).second) problem.detections.push_back(d);
  }
  return problem;
}

std::vector<Pulse> sorted(std::vector<Pulse> pulses) {
  const auto key = [](const Pulse& p) {
    return std::tuple(p.first, p.trial, p.width, p.begin, p.end, p.snr, p.members, p.first_trial,
                      p.last_trial);
  };
  std::sort(pulses.begin(), pulses.end(),
            [&](const Pulse& a, const Pulse& b) { return key(a) < key(b); });
  return pulses;
}

std::vector<Pulse> by_definition(const GroupsCase& problem) {
  std::vector<Detection> left = problem.detections;
  std::vector<Pulse> pulses;
  while (!left.empty()) {
    std::vector<Detection> members{left.back()};
    left.pop_back();
    for (std::size_t m = 0; m < members.size(); ++m) {
      const auto apart = std::partition(left.begin(), left.end(), [&](const Detection& d) {
        return !friends(members[m], d, problem.links);
      });
      members.insert(members.end(), apart, left.end());
      left.erase(apart, left.end());
    }
    give_group(members, problem.links, problem.trials(), pulses);
  }
  return sorted(std::move(pulses));
}

// Saves what is open, and goes on with a new object.
void save_and_load(const GroupsCase& problem, Groups& groups) {
  std::vector<std::byte> bytes;
  core::ByteWriter writer([&](std::span<const std::byte> some) {
    bytes.insert(bytes.end(), some.begin(), some.end());
  });
  groups.exchange(writer);
  groups = Groups(problem.links, problem.widest, problem.trials(), problem.lengths);
  core::ByteReader reader(bytes, "groups");
  groups.exchange(reader);
  reader.finish();
}

// Detections come before the horizon passes their beginning, some of them much earlier.
std::vector<Pulse> in_blocks(const GroupsCase& problem, Random& random) {
  Groups groups(problem.links, problem.widest, problem.trials(), problem.lengths);
  std::vector<Detection> left = problem.detections;
  std::shuffle(left.begin(), left.end(), random.generator());
  const std::size_t blocks = random.one_of<std::size_t>({1, 2, 7, 50});
  const std::uint64_t end = problem.widest + problem.samples;
  std::vector<Pulse> pulses;
  for (std::size_t b = 1; b <= blocks; ++b) {
    const std::uint64_t horizon =
        b == blocks ? ~std::uint64_t{0} : random.below(end) / blocks + end * (b - 1) / blocks;
    const auto later = std::partition(left.begin(), left.end(), [&](const Detection& d) {
      return d.first_time < horizon || random.below(9) == 0;
    });
    groups.add({left.begin(), later});
    left.erase(left.begin(), later);
    groups.settle(horizon, pulses);
    if (random.below(4) == 0) save_and_load(problem, groups);
  }
  return sorted(std::move(pulses));
}

TEST(Groups, AreThoseOfEveryPairWhateverTheBlocks) {
  Random random;
  std::size_t of_several = 0;
  for (int n = 0; n < (small() ? 300 : 3000); ++n) {
    const GroupsCase problem = some_problem(random);
    const std::vector<Pulse> expected = by_definition(problem);
    ASSERT_EQ(expected, in_blocks(problem, random))
        << "problem " << n << ": " << problem.detections.size() << " detections in "
        << problem.beams << " beams of " << problem.of_beam << " trials, links "
        << problem.links.time_samples << " " << problem.links.dm_trials << " "
        << problem.links.width_octaves;
    of_several += static_cast<std::size_t>(std::count_if(
        expected.begin(), expected.end(), [](const Pulse& p) { return p.members > 1; }));
  }
  EXPECT_GT(of_several, 100u);
}

// So many detections in so many samples of 200 trials.
GroupsCase busy_stream(const Links& links, std::size_t count, std::uint64_t samples,
                       Random& random) {
  GroupsCase problem;
  problem.links = links;
  problem.of_beam = 200;
  problem.widest = 64;
  problem.samples = samples;
  for (std::size_t t = 0; t < problem.of_beam; ++t) problem.lengths.push_back(50000 - 7 * t);
  std::set<std::pair<std::size_t, std::uint64_t>> begins;
  while (problem.detections.size() < count) {
    const Detection d = some_detection(problem, random);
    if (begins.insert({d.trial, d.first_time}).second) problem.detections.push_back(d);
  }
  return problem;
}

// Parts of the work, and members that a pulse does not need, are left out: with many detections in one group.
TEST(Groups, AreThoseOfEveryPairWithManyDetections) {
  Random random;
  for (int n = 0; n < (small() ? 1 : 4); ++n) {
    const GroupsCase problem = busy_stream({}, 12'000, std::uint64_t{1500} << 2 * n, random);
    ASSERT_EQ(by_definition(problem), in_blocks(problem, random)) << n;
  }
}

// In blocks of 500 samples, as a search finds them.
double steps_of_a_detection(GroupsCase problem) {
  std::vector<Detection>& all = problem.detections;
  std::sort(all.begin(), all.end(),
            [](const Detection& a, const Detection& b) { return a.first_time < b.first_time; });
  Groups groups(problem.links, problem.widest, problem.trials(), problem.lengths);
  std::vector<Pulse> pulses;
  for (auto next = all.cbegin(); next != all.cend();) {
    const std::uint64_t horizon = next->first_time + 500;
    const auto end =
        std::find_if(next, all.cend(), [&](const Detection& d) { return d.first_time >= horizon; });
    groups.add({next, end});
    groups.settle(horizon, pulses);
    next = end;
  }
  groups.settle(~std::uint64_t{0}, pulses);
  std::size_t members = 0;
  for (const Pulse& pulse : pulses) members += pulse.members;
  EXPECT_EQ(members, all.size());
  return static_cast<double>(groups.steps()) / static_cast<double>(all.size());
}

// Work that grew with the square of the detections would be eight times as much for each of them.
TEST(Groups, TakeWorkInProportionToTheDetections) {
  Random random;
  const std::size_t few = 5'000, many = 8 * few;
  const std::uint64_t samples = 2'000;
  for (const Links& links :
       {Links{}, Links{.time_samples = 1000, .dm_trials = 200, .width_octaves = 62}}) {
    const double once = steps_of_a_detection(busy_stream(links, few, samples, random));
    const double longer = steps_of_a_detection(busy_stream(links, many, 8 * samples, random));
    const double denser = steps_of_a_detection(busy_stream(links, many, samples, random));
    std::cout << "steps of a detection: " << once
              << ", of eight times as many in eight times the time " << longer
              << ", in the same time " << denser << '\n';
    EXPECT_LT(longer, 2 * once);
    EXPECT_LT(denser, 2 * once);
  }
}

}  // namespace
}  // namespace tautline::stages::detect
