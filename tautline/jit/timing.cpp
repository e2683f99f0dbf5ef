#include "tautline/jit/timing.h"

#include <algorithm>
#include <cmath>

namespace tautline::jit {

namespace {

// Marks on a queue resolve about a microsecond: a thousandth of this time.
constexpr double kLeastSampleSeconds = 1e-3;
constexpr std::size_t kMostRunsInARow = 1000;
constexpr std::size_t kSamples = 7, kFewestSamples = 3;
constexpr double kEnoughSeconds = 0.5;

}  // namespace

Timing summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const std::size_t count = samples.size();
  const double middle = samples[count / 2];
  const double median = count % 2 == 1 ? middle : (samples[count / 2 - 1] + middle) / 2;
  const double quartiles = samples[count * 3 / 4] - samples[count / 4];
  return {median, median > 0 ? quartiles / median : 0, count};
}

Timing time_runs(const std::function<double(std::size_t times)>& run, double hurry_over_s) {
  const double first = run(1);
  if (hurry_over_s > 0 && first > hurry_over_s) return summarise({first, run(1)});
  const double wanted = first > 0 ? std::ceil(kLeastSampleSeconds / first) : 1;
  const auto times =
      static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(kMostRunsInARow)));
  std::vector<double> samples;
  double total = 0;
  while (samples.size() < kFewestSamples || (samples.size() < kSamples && total < kEnoughSeconds)) {
    const double seconds = run(times);
    total += seconds;
    samples.push_back(seconds / static_cast<double>(times));
  }
  return summarise(std::move(samples));
}

}  // namespace tautline::jit
