// The memory for all outputs of an autocorrelator's state: sums, monitors, totals and counts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "tautline/stages/autocorrelate/autocorrelate.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"

namespace tautline::pipeline {

/// Values are int64, or double for float counts.
class StageSums {
 public:
  explicit StageSums(const stages::autocorrelate::Config& config)
      : type_(config.sums_type()),
        pairs_(config.pair_count()),
        counts_(stages::autocorrelate::lag_count(config)) {
    resize(4 * each() + 2 * pairs_);
  }

  /// Reads the state's sums; waits for the device.
  void read(const stages::autocorrelate::Plan& plan, device::Queue& queue,
            const stages::autocorrelate::State& state) {
    plan.read(queue, state, views());
    queue.synchronise();
  }

  /// Without lead_in after drop_lead_in().
  stages::autocorrelate::Sums views() {
    const std::size_t lags = counts_.size();
    stages::autocorrelate::Sums all{view(0, lags),       {},
                                    view(each(), lags),  view(2 * each(), lags),
                                    view(3 * each(), 2), counts_};
    if (whole()) all.lead_in = view(3 * each() + 2 * pairs_, lags);
    return all;
  }
  std::vector<std::int64_t>& counts() { return counts_; }

  /// Becomes the growth from these sums to `later`.
  void subtract_from(const StageSums& later) {
    change(later, [](auto& value, auto other) { value = other - value; });
  }
  void add(const StageSums& more) {
    change(more, [](auto& value, auto other) { value += other; });
  }
  /// The same for sums of which none is negative; false where one reaches 2^63.
  bool add_below_limit(const StageSums& more) {
    std::uint64_t any = 0;
    change(more, [&](auto& value, auto other) {
      if constexpr (std::is_floating_point_v<decltype(other)>) {
        value += other;
      } else {
        const std::uint64_t sum =
            static_cast<std::uint64_t>(value) + static_cast<std::uint64_t>(other);
        any |= sum;
        value = static_cast<std::int64_t>(sum);
      }
    });
    return any >> 63 == 0;
  }
  void copy_to(const stages::autocorrelate::Sums& out) {
    const auto copy = [](const core::MutableSampleView<2>& from,
                         const core::MutableSampleView<2>& to) {
      std::memcpy(to.data(), from.data(), from.extent(0) * from.extent(1) * sizeof(double));
    };
    const auto all = views();
    copy(all.sums, out.sums);
    copy(all.lead_in, out.lead_in);
    copy(all.monitor_direct, out.monitor_direct);
    copy(all.monitor_delayed, out.monitor_delayed);
    copy(all.totals, out.totals);
    std::copy(counts_.begin(), counts_.end(), out.counts.begin());
  }
  /// Subtracts the lead-in from the sums.
  void drop_lead_in() {
    const std::size_t rest = 3 * each() + 2 * pairs_;
    for (std::size_t i = 0; i < each(); ++i) {
      if (!integers_.empty()) integers_[i] -= integers_[rest + i];
      if (!floats_.empty()) floats_[i] -= floats_[rest + i];
    }
    resize(rest);
    integers_.shrink_to_fit();
    floats_.shrink_to_fit();
  }

  /// Passes every array to archive(vector), which writes or reads it.
  template <class Archive>
  void exchange(Archive& archive) {
    archive(integers_);
    archive(floats_);
    archive(counts_);
  }
  /// Whether all sizes are equal.
  bool fits(const StageSums& other) const {
    return integers_.size() == other.integers_.size() && floats_.size() == other.floats_.size() &&
           counts_.size() == other.counts_.size();
  }

 private:
  std::size_t each() const { return pairs_ * counts_.size(); }
  bool whole() const { return integers_.size() + floats_.size() > 3 * each() + 2 * pairs_; }
  void resize(std::size_t values) {
    type_ == core::SampleType::f64 ? floats_.resize(values) : integers_.resize(values);
  }
  core::MutableSampleView<2> view(std::size_t first, std::size_t columns) {
    if (type_ == core::SampleType::f64)
      return core::View<double, 2>(floats_.data() + first, {pairs_, columns});
    return core::View<std::int64_t, 2>(integers_.data() + first, {pairs_, columns});
  }
  template <class Change>
  void change(const StageSums& other, const Change& change) {
    const auto all = [&](auto& to, const auto& from) {
      for (std::size_t i = 0; i < to.size(); ++i) change(to[i], from[i]);
    };
    all(integers_, other.integers_);
    all(floats_, other.floats_);
    all(counts_, other.counts_);
  }

  core::SampleType type_;
  std::size_t pairs_;
  // One of the two is used: [sums, monitor_direct, monitor_delayed][pair][lag], totals[pair][2] and
  // lead_in[pair][lag].
  std::vector<std::int64_t> integers_;
  std::vector<double> floats_;
  std::vector<std::int64_t> counts_;  // [lag]
};

}  // namespace tautline::pipeline
