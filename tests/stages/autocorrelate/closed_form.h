// The chain as first published, with each window's sum from prefix sums in one step: fast enough
// for 10 groups of 32 and large arrays.
//
//   out[bins g + x] = sum over n = w, 2w, ... of W_n W_(n - L),  W_t = y[t - w + 1] + ... + y[t]
//   with w = 2^g, L = bins (w - 1) + x w and n counted from 1
#pragma once

#include "tests/stages/autocorrelate/support.h"

namespace tautline::stages::autocorrelate::tests {

/// One sensor's series.
class ClosedForm {
 public:
  template <class Count>
  ClosedForm(const std::vector<Count>& data, std::size_t sensors, std::size_t sensor) : before_{0} {
    for (std::size_t i = sensor; i < data.size(); i += sensors)
      before_.push_back(before_.back() + static_cast<std::int64_t>(data[i]));
  }

  /// The stage's outputs at one lag.
  struct LagSums {
    std::int64_t sum = 0, lead_in = 0, direct = 0, delayed = 0, count = 0;
    friend bool operator==(const LagSums&, const LagSums&) = default;
  };

  LagSums at(std::int64_t bins, std::int64_t group, std::int64_t x) const {
    const std::int64_t w = std::int64_t{1} << group, lag = bins * (w - 1) + x * w;
    const auto samples = static_cast<std::int64_t>(before_.size()) - 1;
    LagSums out;
    for (std::int64_t n = w; n <= samples; n += w) {
      const std::int64_t later = window(n, w), earlier = window(n - lag, w);
      out.sum += later * earlier;
      if (n - lag < w) {  // it reaches before the first sample
        out.lead_in += later * earlier;
        continue;
      }
      out.direct += earlier;
      out.delayed += later;
      ++out.count;
    }
    return out;
  }

 private:
  std::int64_t window(std::int64_t t, std::int64_t w) const {
    return t <= 0 ? 0
                  : before_[static_cast<std::size_t>(t)] -
                        before_[static_cast<std::size_t>(std::max<std::int64_t>(t - w, 0))];
  }

  std::vector<std::int64_t> before_;  ///< the sum of the first samples
};

/// Compares every sensor at the levels whose delayed windows do not start at block boundaries, and
/// some sensors at all levels. The other levels have most of the products; shorter runs test them.
template <class Count>
void expect_closed_form(const Config& config, const Result<std::int64_t>& got,
                        const std::vector<Count>& data, const std::string& where) {
  constexpr std::size_t kEvery = 97;
  const auto lags = lags_of(config);
  for (std::size_t s = 0; s < config.sensors; ++s) {
    const ClosedForm expected(data, config.sensors, s);
    for (std::size_t l = 0; l < lags.size(); ++l) {
      const bool beside = config.bins % (std::size_t{1} << lags[l].level) != 0;
      if (!beside && s % kEvery != 0 && s + 1 < config.sensors) continue;
      const std::size_t i = s * lags.size() + l;
      const ClosedForm::LagSums found{got.sums[i], got.lead_in[i], got.direct[i], got.delayed[i],
                                      got.counts[l]};
      ASSERT_EQ(found, expected.at(static_cast<std::int64_t>(config.bins),
                                   static_cast<std::int64_t>(lags[l].level),
                                   static_cast<std::int64_t>(lags[l].steps)))
          << "sensor " << s << ", level " << lags[l].level << ", k " << lags[l].steps << "; "
          << where;
    }
  }
}

}  // namespace tautline::stages::autocorrelate::tests
