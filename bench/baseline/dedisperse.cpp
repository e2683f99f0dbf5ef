#include "bench/baseline/dedisperse.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "tautline/core/dispersion.h"

namespace tautline::bench {

PlainDedisperser::PlainDedisperser(const stages::dedisperse::Config& config, std::size_t threads)
    : channels_(config.frequencies_mhz.size()),
      trials_(config.dms.size()),
      times_(config.max_samples),
      row_(0),
      threads_(threads) {
  const double reference =
      *std::max_element(config.frequencies_mhz.begin(), config.frequencies_mhz.end());
  std::uint32_t largest = 0;
  for (const double dm : config.dms)
    for (const double f : config.frequencies_mhz) {
      delays_.push_back(static_cast<std::uint32_t>(
          core::dispersion_delay_samples(dm, f, reference, config.sample_time_s)));
      largest = std::max(largest, delays_.back());
    }
  row_ = times_ + largest;
  rows_.resize(channels_ * row_);
  for (auto& sample : rows_) sample = static_cast<std::uint8_t>(std::rand());
  sums_.resize(trials_ * times_);
}

namespace {

// Sums one trial. The compiler vectorises the inner loop.
void sum_trial(const std::uint8_t* rows, std::size_t row, const std::uint32_t* delays,
               std::size_t channels, std::size_t times, std::int32_t* sums) {
  std::fill(sums, sums + times, 0);
  for (std::size_t c = 0; c < channels; ++c) {
    const std::uint8_t* from = rows + c * row + delays[c];
    for (std::size_t t = 0; t < times; ++t) sums[t] += from[t];
  }
}

}  // namespace

std::size_t PlainDedisperser::run() {
  std::vector<std::jthread> threads;
  for (std::size_t w = 0; w < threads_; ++w)
    threads.emplace_back([this, w] {
      for (std::size_t i = w * trials_ / threads_; i < (w + 1) * trials_ / threads_; ++i)
        sum_trial(rows_.data(), row_, delays_.data() + i * channels_, channels_, times_,
                  sums_.data() + i * times_);
    });
  threads.clear();
  return times_;
}

}  // namespace tautline::bench
