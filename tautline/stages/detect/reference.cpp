// The definition: docs/maths/detect.md step by step, as plain loops over the whole stream.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "tautline/stages/detect/backends.h"
#include "tautline/stages/detect/baseline.h"
#include "tautline/stages/detect/events.h"
#include "tautline/stages/detect/groups.h"

namespace tautline::stages::detect {

namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Sum and number of the usable samples of x[0..n): integers exactly, floats in eight interleaved
// sums.
template <class T>
std::pair<double, double> sum_of(const T* x, std::size_t n) {
  double parts[8] = {}, count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!usable(x[i])) continue;
    parts[std::is_same_v<T, float> ? i % 8 : 0] += static_cast<double>(x[i]);
    count += 1;
  }
  const double even = (parts[0] + parts[4]) + (parts[2] + parts[6]);
  const double odd = (parts[1] + parts[5]) + (parts[3] + parts[7]);
  return {even + odd, count};
}

// The running mean of each segment of the stream. `window` becomes the samples of one mean.
template <class T>
std::vector<double> means_of(const std::vector<T>& x, std::size_t segment, std::uint64_t& window) {
  const std::size_t complete = x.size() / segment;
  if (complete == 0) {
    const auto [sum, count] = sum_of(x.data(), x.size());
    window = x.size();
    return {count == 0 ? 0 : sum / count};
  }
  std::vector<std::pair<double, double>> sums;
  for (std::size_t k = 0; k < complete; ++k)
    sums.push_back(sum_of(x.data() + k * segment, segment));
  const std::size_t length = std::min(complete, kWindowSegments);
  window = length * segment;
  std::vector<double> means;
  for (std::size_t k = 0; k < complete; ++k) {
    const std::size_t wanted = k < kWindowSegments / 2 ? 0 : k - kWindowSegments / 2;
    const std::size_t first = std::min(wanted, complete - length);
    std::vector<double> window_means;
    for (std::size_t s = first; s < first + length; ++s)
      if (sums[s].second > 0) window_means.push_back(sums[s].first / sums[s].second);
    // At the stream's ends, where the segment is not in the middle of the window.
    double rise = 0;
    if (window_means.size() == kWindowSegments)
      rise = (static_cast<double>(k - first) - static_cast<double>(kWindowSegments / 2)) *
             drift_of(std::vector(window_means).data());
    means.push_back(interquartile_mean(window_means.data(), window_means.size()) + rise);
  }
  return means;
}

// y = x - the line through the running means at the middles of the segments, which goes on before the
// first and after the last middle; NaN where x is missing.
template <class T>
std::vector<float> baselined(const std::vector<T>& x, const std::vector<double>& means,
                             std::size_t segment) {
  std::vector<float> y(x.size());
  for (std::size_t t = 0; t < x.size(); ++t) {
    const std::size_t k = t / segment, i = t % segment, last = means.size() - 1;
    // The middles that the line goes through.
    std::size_t to =
        std::clamp<std::size_t>(i < segment / 2 ? k : k + 1, 1, std::max<std::size_t>(last, 1));
    const double rise = last == 0 ? 0 : means[to] - means[to - 1];
    const double mine = k <= last ? means[k] : means[last] + rise;
    const double slope = rise / static_cast<double>(segment);
    const T base = base_of(mine, T{});
    const auto offset = static_cast<float>((mine - static_cast<double>(base)) +
                                           slope * (0.5 - static_cast<double>(segment / 2)));
    const float ramp = static_cast<float>(slope) * static_cast<float>(i);
    y[t] = usable(x[t]) ? static_cast<float>(x[t] - base) - (offset + ramp)
                        : std::numeric_limits<float>::quiet_NaN();
  }
  return y;
}

// The lower median.
float median_of(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

double sigma_of_block(const std::vector<float>& y, std::size_t first, std::size_t last,
                      core::SampleType type) {
  std::vector<float> values;
  for (std::size_t t = first; t < last; ++t)
    if (!std::isnan(y[t]))
      values.push_back(type == core::SampleType::i32 ? y[t] + spreading()[t % kSpreadingPeriod]
                                                     : y[t]);
  if (values.size() < kFewestForNoise) return 0;
  const float median = median_of(values);
  for (float& v : values) v = std::fabs(v - median);
  return sigma_of(static_cast<double>(median_of(values)), type);
}

// Samples [first, end) in units of sigma / 1,024.
std::vector<std::int64_t> quantised(const std::vector<float>& y, std::size_t first, std::size_t end,
                                    float scale) {
  constexpr float kMost = 1 << 30;
  std::vector<std::int64_t> z;
  for (std::size_t t = first; t < end; ++t) {
    const float v = y[t] * scale;
    z.push_back(std::isnan(v) ? 0
                              : static_cast<std::int64_t>(std::nearbyint(
                                    static_cast<double>(std::clamp(v, -kMost, kMost)))));
  }
  return z;
}

struct Best {
  double snr = 0;
  std::size_t width_index = 0;
};

template <class T>
class Search {
 public:
  Search(const Config& config, const Sizes& sizes, std::size_t trial, const std::vector<T>& x,
         std::uint64_t* over)
      : config_(config),
        sizes_(sizes),
        over_(over),
        events_(trial, length_of(config, trial), config.links) {
    if (x.empty()) return;
    y_ = baselined(x, means_of(x, sizes.segment, window_), sizes.segment);
    scales_ = derive_scales(config, sizes, window_);
    best_.resize(y_.size());
    for (std::size_t first = 0; first < y_.size(); first += sizes.noise) search_block(first);
    collect();
  }

  Events& events() { return events_; }

 private:
  void search_block(std::size_t first) {
    const std::size_t last = std::min(y_.size(), first + sizes_.noise);
    if (first == 0 || 2 * (last - first) >= sizes_.noise)
      sigmas_.push_back(sigma_of_block(y_, first, last, config_.type));
    else
      sigmas_.push_back(sigmas_.back());
    const auto scale = static_cast<float>(kUnitsPerSigma / sigmas_.back());
    if (!(sigmas_.back() > 0) || !std::isfinite(scale)) return;
    const auto z = quantised(y_, first, std::min(y_.size(), last + sizes_.widest()), scale);
    for (std::size_t k = 0; k < sizes_.widths.size(); ++k) search_width(z, first, last - first, k);
  }

  void search_width(const std::vector<std::int64_t>& z, std::size_t first, std::size_t starts,
                    std::size_t k) {
    const std::size_t width = sizes_.widths[k];
    if (scales_.least_sum[k] == kNeverReached || width > z.size()) return;
    std::vector<std::int64_t> sums;
    for (std::size_t i = 0; i < starts && i + width <= z.size(); ++i) {
      std::int64_t sum = 0;
      for (std::size_t j = i; j < i + width; ++j) sum += z[j];
      sums.push_back(sum);
    }
    std::int64_t least = scales_.least_sum[k];
    double per_unit = scales_.snr_per_unit[k];
    if (config_.noise == Noise::width) {
      __extension__ __int128 squares = 0;
      for (const std::int64_t sum : sums) squares += static_cast<__int128_t>(sum) * sum;
      if (squares == 0) return;
      const double rms = std::sqrt(static_cast<double>(squares) / static_cast<double>(sums.size()));
      per_unit = 1 / rms;
      least = static_cast<std::int64_t>(std::ceil(config_.threshold * rms));
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] < least) continue;
      ++over_[k];
      Best& best = best_[first + i + width / 2];
      const double snr = static_cast<double>(sums[i]) * per_unit;
      if (snr > best.snr || (snr == best.snr && k < best.width_index)) best = {snr, k};
    }
  }

  void collect() {
    for (std::size_t t = 0; t < best_.size(); ++t)
      if (best_[t].snr > 0)
        events_.add(t, best_[t].snr, sizes_.widths[best_[t].width_index], best_[t].width_index);
    events_.settle(~std::uint64_t{0});
    if (config_.noise == Noise::width) return;
    RefineScratch scratch;
    events_.refine([&](Events::Event& event) {
      // A boxcar has the noise of the block in which it begins.
      const double sigma = sigmas_[event.detection.first / sizes_.noise];
      refine_peak({y_.data(), 0, y_.size()}, sizes_, sigma, window_, config_.threshold, scratch,
                  event);
    });
  }

  const Config& config_;
  const Sizes& sizes_;
  std::uint64_t* over_;
  Events events_;
  std::uint64_t window_ = 0;
  std::vector<float> y_;
  Scales scales_;
  std::vector<double> sigmas_;
  std::vector<Best> best_;
};

// Groups detections by a test of every pair.
void group_all(const std::vector<Detection>& detections, const Config& config,
               std::vector<Pulse>& pulses) {
  const Links& links = config.links;
  if (!links.join) {
    for (const Detection& detection : detections) pulses.push_back(separate_pulse(detection));
    return;
  }
  std::vector<bool> done(detections.size(), false);
  for (std::size_t i = 0; i < detections.size(); ++i) {
    if (done[i]) continue;
    done[i] = true;
    std::vector<Detection> members{detections[i]};
    for (std::size_t m = 0; m < members.size(); ++m)
      for (std::size_t j = 0; j < detections.size(); ++j) {
        if (done[j] || !friends(members[m], detections[j], links)) continue;
        done[j] = true;
        members.push_back(detections[j]);
      }
    give_group(members, links, config.trials, pulses);
  }
}

template <class T>
class ReferenceState final : public BaseState {
 public:
  explicit ReferenceState(std::shared_ptr<const Setting> setting)
      : BaseState(*setting, "reference"),
        setting_(std::move(setting)),
        kept_(setting_->config.trials),
        lengths_(setting_->config.lengths) {}

 private:
  void search(device::Queue&, const core::SampleView<2>& given) override {
    const auto series = given.as<const T>("series");
    for (std::size_t trial = 0; trial < kept_.size(); ++trial)
      for (std::size_t t = 0; t < series.extent(1); ++t) {
        if (!lengths_.empty() && kept_[trial].size() >= lengths_[trial]) break;
        kept_[trial].push_back(series(trial, t));
        if (!usable(series(trial, t))) ++counters_.missing;
      }
  }
  void search_rest(device::Queue&) override {
    std::vector<Detection> detections;
    for (std::size_t trial = 0; trial < kept_.size(); ++trial) {
      counters_.searched = std::max<std::uint64_t>(counters_.searched, kept_[trial].size());
      Search<T> of_trial(setting_->config, setting_->sizes, trial, kept_[trial],
                         over_.data() + trial * setting_->sizes.widths.size());
      of_trial.events().take(detections);
    }
    counters_.detections = detections.size();
    group_all(detections, setting_->config, pulses_);
  }
  void set_lengths(device::Queue&, std::span<const std::uint64_t> lengths) override {
    lengths_.assign(lengths.begin(), lengths.end());
  }
  void clear() override {
    kept_.assign(kept_.size(), {});
    lengths_ = setting_->config.lengths;
  }
  void exchange(core::ByteWriter& archive) override {
    for (auto& series : kept_) archive(series);
  }
  void exchange(core::ByteReader& archive) override {
    for (auto& series : kept_) archive(series);
  }

  std::shared_ptr<const Setting> setting_;
  std::vector<std::vector<T>> kept_;
  std::vector<std::uint64_t> lengths_;
};

}  // namespace

std::shared_ptr<const Plan> make_reference_plan(const Config& config) {
  const auto setting = std::make_shared<const Setting>(config);
  // Its memory grows with the stream.
  return std::make_shared<BackendPlan>(
      setting, "reference", device::MemoryUse{},
      [setting](device::Queue&) -> std::unique_ptr<BaseState> {
        if (setting->config.type == core::SampleType::f32)
          return std::make_unique<ReferenceState<float>>(setting);
        return std::make_unique<ReferenceState<std::int32_t>>(setting);
      });
}

}  // namespace tautline::stages::detect
