#include "tautline/stages/autocorrelate/normalise.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "tautline/core/error.h"
#include "tautline/core/threads.h"
#include "tautline/stages/autocorrelate/backends.h"
#include "tautline/stages/autocorrelate/lag_scheme.h"

namespace tautline::stages::autocorrelate {

namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

void require(const core::MutableSampleView<2>& view, const char* name) {
  if (view.data() == nullptr)
    throw core::Error(core::ErrorKind::config, std::string("autocorrelate normalise ") + name,
                      "an empty view", "[pair][lag]", "ask read for it");
}

// Sensors by the thousand would hold up the next block for tens of milliseconds.
void in_pieces_of_pairs(std::size_t pairs, std::size_t lags,
                        const std::function<void(std::size_t first, std::size_t last)>& work) {
  constexpr std::size_t kLeastValues = std::size_t{1} << 13;
  core::in_pieces(pairs, pairs * lags / kLeastValues,
                  [&](std::size_t, std::size_t first, std::size_t last) { work(first, last); });
}

}  // namespace

template <class Value>
double normalise(core::Normalization how, const LagMoments<Value>& moments, long double mean_a,
                 long double mean_b) {
  if (moments.pairs == 0) return kUndefined;
  // long double holds every 64-bit sum exactly.
  const auto s = static_cast<long double>(moments.sum), n = static_cast<long double>(moments.pairs);
  const auto a = static_cast<long double>(moments.direct);
  const auto b = static_cast<long double>(moments.delayed);
  switch (how) {
    case core::Normalization::none:
      return static_cast<double>(s);
    case core::Normalization::symmetric:
      return a * b == 0 ? kUndefined : static_cast<double>((n * s - a * b) / (a * b));
    case core::Normalization::global:
      break;
  }
  const long double means = n * mean_a * mean_b;
  if (means == 0) return kUndefined;
  return static_cast<double>((s - mean_b * a - mean_a * b + means) / means);
}

template double normalise(core::Normalization, const LagMoments<std::int64_t>&, long double,
                          long double);
template double normalise(core::Normalization, const LagMoments<double>&, long double, long double);

namespace {

// The sums of a run as they were read.
template <class Value>
struct OfRun {
  TypedSums<Value> all;

  LagMoments<Value> moments(std::size_t p, std::size_t lag) const {
    return {all.sums(p, lag) - all.lead_in(p, lag), all.monitor_direct(p, lag),
            all.monitor_delayed(p, lag)};
  }
  Value total(std::size_t p, std::size_t signal) const { return all.totals(p, signal); }
};

// What they have grown by.
template <class Value>
struct OfSegment {
  TypedSums<Value> before, later;

  LagMoments<Value> moments(std::size_t p, std::size_t lag) const {
    const Value lead_in = later.lead_in(p, lag) - before.lead_in(p, lag);
    return {later.sums(p, lag) - before.sums(p, lag) - lead_in,
            later.monitor_direct(p, lag) - before.monitor_direct(p, lag),
            later.monitor_delayed(p, lag) - before.monitor_delayed(p, lag)};
  }
  Value total(std::size_t p, std::size_t signal) const {
    return later.totals(p, signal) - before.totals(p, signal);
  }
};

void require_all(const Config& config, core::Normalization how, const Sums& sums) {
  require(sums.sums, "sums");
  require(sums.lead_in, "lead_in");
  require(sums.monitor_direct, "monitor_direct");
  require(sums.monitor_delayed, "monitor_delayed");
  if (how == core::Normalization::global) require(sums.totals, "totals");
  check_sums(config, sums);
}

template <template <class> class Of, class Value>
void normalise_pairs(const Config& config, core::Normalization how, std::uint64_t samples,
                     const Of<Value>& of, std::span<const std::int64_t> counts,
                     const core::View<double, 2>& g) {
  const bool adds = config.coarsening == Coarsening::sum;
  in_pieces_of_pairs(config.pair_count(), g.extent(1), [&](std::size_t first, std::size_t last) {
    for (std::size_t level = 0; level < config.levels; ++level) {
      const LagRange range = lag_range(config, level);
      const long double window = adds ? static_cast<long double>(range.window) : 1;
      for (std::size_t p = first; p < last; ++p) {
        long double mean_a = 0, mean_b = 0;
        if (how == core::Normalization::global && samples > 0) {
          const auto length = static_cast<long double>(samples);
          mean_a = static_cast<long double>(of.total(p, 0)) / length * window;
          mean_b = static_cast<long double>(of.total(p, 1)) / length * window;
        }
        for (std::size_t i = 0; i < range.steps; ++i) {
          const std::size_t lag = range.first_lag + i;
          LagMoments<Value> moments = of.moments(p, lag);
          moments.pairs =
              counts.empty()
                  ? static_cast<std::int64_t>(range.pairs(range.first_steps + i, samples))
                  : counts[lag];
          g(p, lag) = normalise(how, moments, mean_a, mean_b);
        }
      }
    }
  });
}

}  // namespace

void normalise(const Config& config, core::Normalization how, std::uint64_t samples,
               const Sums& sums, const core::View<double, 2>& g) {
  require_all(config, how, sums);
  with_sums(config.sums_type(), sums, [&]<class Value>(const TypedSums<Value>& typed) {
    normalise_pairs(config, how, samples, OfRun<Value>{typed}, sums.counts, g);
  });
}

void normalise_growth(const Config& config, core::Normalization how, std::uint64_t samples,
                      const Sums& before, const Sums& later, std::span<const std::int64_t> counts,
                      const core::View<double, 2>& g) {
  require_all(config, how, before);
  require_all(config, how, later);
  with_sums(config.sums_type(), later, [&]<class Value>(const TypedSums<Value>& typed) {
    normalise_pairs(config, how, samples, OfSegment<Value>{TypedSums<Value>(before), typed}, counts,
                    g);
  });
}

// Welford's weighted running mean and sum of squared deviations. NaN of a lag without pairs propagates.
void SegmentScatter::add(std::span<const double> g, std::span<const std::int64_t> counts) {
  ++segments_;
  const std::size_t lags = counts.size();
  in_pieces_of_pairs(mean_.size() / lags, lags, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first * lags; i < last * lags; ++i) {
      const auto weight = static_cast<double>(counts[i % lags]);
      if (weight > 0 && std::isnan(g[i])) continue;
      ++used_[i];
      weight_[i] += weight;
      const double before = g[i] - mean_[i];
      mean_[i] += weight > 0 ? before * weight / weight_[i] : kUndefined;
      squares_[i] += weight * before * (g[i] - mean_[i]);
    }
  });
}

std::vector<double> SegmentScatter::standard_error() const {
  std::vector<double> errors(squares_.size(), kUndefined);
  for (std::size_t i = 0; i < errors.size(); ++i)
    if (used_[i] >= 2 && 2 * std::size_t{used_[i]} >= segments_)
      errors[i] = std::sqrt(squares_[i] / (static_cast<double>(used_[i] - 1) * weight_[i]));
  return errors;
}

void Detrender::add(const Sums& segment) {
  const std::size_t lags = segment.counts.size();
  with_sums(segment.sums.type(), segment, [&](const auto& typed) {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const std::size_t p = i / lags, lag = i % lags;
      if (segment.counts[lag] == 0) continue;
      sums_[i] += static_cast<long double>(typed.sums(p, lag) - typed.lead_in(p, lag));
      expected_[i] += static_cast<long double>(typed.monitor_direct(p, lag)) *
                      static_cast<long double>(typed.monitor_delayed(p, lag)) /
                      static_cast<long double>(segment.counts[lag]);
    }
  });
}

std::vector<double> Detrender::g() const {
  std::vector<double> g(sums_.size(), kUndefined);
  for (std::size_t i = 0; i < g.size(); ++i)
    if (expected_[i] != 0) g[i] = static_cast<double>((sums_[i] - expected_[i]) / expected_[i]);
  return g;
}

}  // namespace tautline::stages::autocorrelate
