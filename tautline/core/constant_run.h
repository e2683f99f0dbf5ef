// Finds stretches of a series in which no value changes: padding, lost packets, a receiver that stopped. Filterbanks,
// voltages and counts share this one rule (docs/design/empty.md).
#pragma once

#include <cstddef>
#include <optional>

namespace tautline::core {

/// Items of a series that are equal, byte for byte: [first, end).
struct ConstantRun {
  std::size_t first = 0, end = 0;
  std::size_t repeats() const { return end - first - 1; }
};

/// The number of equal samples in a row that counts as empty: noise of `bits` bits (32: floats)
/// repeats a value so often with a probability below 1e-9 in an hour of `samples_per_s` samples, of
/// all inputs or channels together. Noise may repeat its last value with a probability of up to 0.9
/// for one bit, 0.8 for two, 0.7 to eight and 0.5 for more.
std::size_t repeats_of_nothing(int bits, double samples_per_s);

/// That probability: the highest with which a sample of noise of so many bits equals the one before it.
double chance_of_a_repeat(int bits);

/// The logarithm of the chance, of each of so many samples a second, of what happens once in 1e9 hours.
double log_chance_of_nothing(double samples_per_s);

/// The longest run around item `k` of [from, count); equal(a, b) compares two items.
template <class Equal>
ConstantRun run_around(const Equal& equal, std::size_t count, std::size_t k, std::size_t from) {
  ConstantRun run{k, k + 1};
  while (run.first > from && equal(run.first - 1, k)) --run.first;
  while (run.end < count && equal(run.end, k)) ++run.end;
  return run;
}

/// Runs of `repeats` or more are found by comparing one item in so many, from item 0 on.
inline std::size_t probe_step(std::size_t repeats) {
  return (repeats + 1) / 2;  // a run of `repeats` holds two neighbouring probes
}

/// The first run, not before item `from`, that has `repeats` (1 or more) items or more, or reaches
/// the end, even with the last item alone: whether such a run is long enough depends on later
/// items. Looks at one item in probe_step(repeats) where neighbouring ones differ. None where there
/// are no items. equal(a, b) compares two items, around(k) is the longest run around item k of
/// [from, count); next(k) is the first probe from k on that may equal the probe after it.
template <class Equal, class Around, class Next>
std::optional<ConstantRun> find_constant_run(const Equal& equal, const Around& around,
                                             const Next& next, std::size_t count,
                                             std::size_t repeats, std::size_t from) {
  if (count <= from) return std::nullopt;
  const std::size_t step = probe_step(repeats);
  std::size_t known = from;  // the end of the last examined run
  for (std::size_t k = next((from + step - 1) / step * step); k + step < count;
       k = next(k + step)) {
    if (k + step < known || !equal(k, k + step)) continue;
    const ConstantRun run = around(k);
    known = run.end;
    if (run.repeats() >= repeats || run.end == count) return run;
  }
  return around(count - 1);
}
/// The same, with every probe examined.
template <class Equal, class Around>
std::optional<ConstantRun> find_constant_run(const Equal& equal, const Around& around,
                                             std::size_t count, std::size_t repeats,
                                             std::size_t from) {
  const auto every = [](std::size_t k) { return k; };
  return find_constant_run(equal, around, every, count, repeats, from);
}

}  // namespace tautline::core
