// Series with pulses, runs of detect over them in calls of random lengths, and comparisons.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "tautline/stages/detect/case_run.h"
#include "tests/support/seed.h"

namespace tautline::stages::detect {

// Sanitizers make the reference's plain loops slow.
inline bool small() {
  return std::getenv("TAUTLINE_SMALL") != nullptr;
}

using Integers = core::View<const std::int32_t, 2>;
using Floats = core::View<const float, 2>;

template <class T>
using Rows = std::vector<std::vector<T>>;

struct Found {
  std::vector<Pulse> pulses;
  std::vector<std::uint64_t> over;
  Counters counters;
  std::string backend;
};

// A config for samples of a millisecond.
inline Config config_for(double max_width_s, double threshold) {
  Config config;
  config.sample_time_s = 1e-3;
  config.max_width_s = max_width_s;
  config.threshold = threshold;
  return config;
}

// Appends the pulses that are complete since the last call.
inline void collect(State& state, std::vector<Pulse>& pulses) {
  for (const Pulse& pulse : state.take()) pulses.push_back(pulse);
}

inline std::vector<Pulse> in_order(std::vector<Pulse> pulses) {
  std::sort(pulses.begin(), pulses.end(), [](const Pulse& a, const Pulse& b) {
    return std::tuple(a.first, a.trial, a.width) < std::tuple(b.first, b.trial, b.width);
  });
  return pulses;
}

// Fits the config to `rows` in calls of up to `step` samples.
template <class T>
Config fit(Config config, const Rows<T>& rows, std::size_t step) {
  config.trials = rows.size();
  config.max_samples = std::max<std::size_t>(1, step);
  config.type = core::sample_type_of<T>;
  return config;
}

// Saves the state and loads it, into itself or into a new one.
inline void save_and_load(CaseRun& calls, const std::shared_ptr<const Plan>& plan,
                          std::mt19937_64& random) {
  const std::vector<std::byte> saved = calls.state().save();
  if (random() % 2) {
    calls.state().reset();
  } else {
    calls.use(nullptr);
    calls.use(plan);
  }
  calls.state().load(saved);
}

// Ends the stream, whose pulses so far `found` has.
inline Found end(CaseRun& calls, Found found = {}) {
  calls.end_stream();
  collect(calls.state(), found.pulses);
  found.pulses = in_order(std::move(found.pulses));
  found.over = calls.state().over_threshold();
  found.counters = calls.state().counters();
  found.backend = calls.plan()->backend();
  return found;
}

// Runs `rows` through a plan in calls of random lengths up to max_samples. With `cut` the state has had another stream
// before, and is saved and loaded after every call.
template <class T>
Found run(const std::shared_ptr<const Plan>& plan,
          const std::shared_ptr<const device::Device>& device, const Rows<T>& rows,
          std::mt19937_64& random, bool cut = false) {
  const std::size_t step = plan->config().max_samples, samples = rows[0].size();
  CaseRun calls(device);
  calls.use(plan);
  Found found;
  if (cut) {
    std::vector<T> other(rows.size() * step);
    for (T& x : other) x = static_cast<T>(random() % 1000);
    for (int call = 0; call < 3; ++call)
      calls.give(core::View<const T, 2>(other.data(), {rows.size(), step}));
    calls.state().reset();
  }
  for (std::size_t first = 0; first < samples;) {
    const std::size_t n = std::min(samples - first, 1 + random() % step);
    // Rows further apart than they are long, with poison between them.
    const std::size_t stride = n + 3;
    std::vector<T> block(stride * rows.size(), static_cast<T>(987654321));
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::copy_n(rows[r].begin() + static_cast<std::ptrdiff_t>(first), n,
                  block.begin() + static_cast<std::ptrdiff_t>(r * stride));
    calls.give(core::View<const T, 2>(block.data(), {rows.size(), n},
                                      {static_cast<std::ptrdiff_t>(stride), 1}));
    if (random() % 2) collect(calls.state(), found.pulses);
    if (cut) save_and_load(calls, plan, random);
    first += n;
  }
  return end(calls, std::move(found));
}

template <class T>
Found run(const std::string& device, const Config& config, const Rows<T>& rows, std::size_t step,
          std::mt19937_64& random, std::size_t threads = 2, bool cut = false) {
  const auto opened = device::open(device::parse_selection(device), {.threads = threads});
  return run(make_plan(fit(config, rows, step), opened), opened, rows, random, cut);
}

// Noise with a drift and some pulses, which all trials have. The first pulse is so bright that no
// list is empty by chance.
template <class T>
Rows<T> noise_rows(std::size_t trials, std::size_t samples, double sigma, std::size_t pulses,
                   std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, sigma);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<AddedPulse> truth;
  for (std::size_t p = 0; p < pulses; ++p)
    truth.push_back({uniform(random) * static_cast<double>(samples), 1 + 20 * uniform(random),
                     5 + (p % 3 == 0 ? 60 : 6) * uniform(random)});
  if (pulses > 0) {
    truth[0].time = (0.25 + 0.5 * uniform(random)) * static_cast<double>(samples);
    truth[0].snr = 50;
  }
  Rows<T> rows;
  for (std::size_t r = 0; r < trials; ++r) {
    std::vector<double> series(samples);
    for (std::size_t t = 0; t < samples; ++t)
      series[t] = 1000 + sigma * 0.5 * std::sin(static_cast<double>(t) * 1e-4) + normal(random);
    for (const AddedPulse& pulse : truth) {
      AddedPulse here = pulse;
      here.snr /= 1 + std::fabs(static_cast<double>(r) - static_cast<double>(trials) / 2);
      add_pulse(series, here, sigma);
    }
    rows.emplace_back();
    for (const double x : series)
      rows.back().push_back(std::is_same_v<T, float> ? static_cast<T>(x)
                                                     : static_cast<T>(std::lround(x)));
  }
  return rows;
}

inline void expect_same(const Found& a, const Found& b, const std::string& what) {
  ASSERT_EQ(a.pulses.size(), b.pulses.size()) << what;
  for (std::size_t i = 0; i < a.pulses.size(); ++i) {
    const Pulse &p = a.pulses[i], &q = b.pulses[i];
    EXPECT_TRUE(p == q) << what << ": pulse " << i << ": trial " << p.trial << "/" << q.trial
                        << " first " << p.first << "/" << q.first << " width " << p.width << "/"
                        << q.width << " S/N " << p.snr << "/" << q.snr << " members " << p.members
                        << "/" << q.members << " span " << p.begin << "-" << p.end << "/" << q.begin
                        << "-" << q.end;
  }
  EXPECT_EQ(a.over, b.over) << what;
  EXPECT_EQ(a.counters.samples, b.counters.samples) << what;
  EXPECT_EQ(a.counters.searched, b.counters.searched) << what;
  EXPECT_EQ(a.counters.missing, b.counters.missing) << what;
  EXPECT_EQ(a.counters.detections, b.counters.detections) << what;
}

}  // namespace tautline::stages::detect
