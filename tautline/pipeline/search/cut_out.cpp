#include "tautline/pipeline/search/cut_out.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "tautline/pipeline/search/resize_channels.h"

namespace tautline::pipeline {

namespace {

using formats::FilterbankDescription;
using formats::candidates::YourCandidate;
using formats::cutout_hdf5::kSide;

constexpr double kConstantOfYour = 4148808.0;  // ms MHz^2 per pc cm^-3

// Seconds by which frequency `mhz` is earlier than `reference_mhz`, rounded as `your` has it.
double delay_of_your(double dm, double reference_mhz, double mhz) {
  return kConstantOfYour * dm * (1 / (reference_mhz * reference_mhz) - 1 / (mhz * mhz)) / 1000;
}

std::size_t width_of(const YourCandidate& candidate) {
  return std::size_t{1} << candidate.width_octaves;
}

// Of the sorted half of values; those of an even number have two in the middle.
template <class Value>
Value middle_value(std::vector<Value> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// The samples of a chunk, [channel][time].
class Samples {
 public:
  Samples(std::size_t channels, std::size_t times)
      : times_(times), values_(channels * times), channels_(channels) {}

  std::size_t times() const { return times_; }
  std::size_t channels() const { return channels_; }
  const float* row(std::size_t channel) const { return values_.data() + channel * times_; }

  /// What the segment has of samples from `first` on, as the reader counts; the rest is the medians. `reading`: held
  /// while the reader is used.
  void read(formats::FilterbankReader& reader, const formats::DataSegment& segment,
            std::int64_t first, std::mutex& reading) {
    const auto begin = static_cast<std::int64_t>(segment.first_sample);
    const auto end = begin + static_cast<std::int64_t>(segment.samples);
    const std::int64_t from = std::max(first, begin);
    const std::int64_t to = std::min(first + static_cast<std::int64_t>(times_), end);
    constexpr std::int64_t kAtOnce = 1024;
    std::vector<std::byte> bytes(kAtOnce * reader.description().sample_bytes());
    for (std::int64_t at = from; at < to;) {
      const auto wanted = static_cast<std::size_t>(std::min(kAtOnce, to - at));
      std::size_t got = 0;
      {
        const std::scoped_lock alone(reading);
        got = reader.read(static_cast<std::uint64_t>(at), wanted, bytes);
      }
      if (got == 0) break;
      put(reader.description().delivered, bytes.data(), got, static_cast<std::size_t>(at - first));
      at += static_cast<std::int64_t>(got);
    }
    const bool whole = reader.description().delivered != formats::Delivered::f32;
    const auto a = static_cast<std::size_t>(std::max<std::int64_t>(0, from - first));
    const auto b = static_cast<std::size_t>(std::max<std::int64_t>(0, to - first));
    if (!whole) replace_not_finite(a, b);
    fill(a, b, whole);
  }

  void clear(std::size_t channel) {
    std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(channel * times_), times_, 0.0f);
  }

 private:
  // A few channels at a time, whose rows stay in the caches.
  void put(formats::Delivered type, const std::byte* bytes, std::size_t n, std::size_t at) {
    constexpr std::size_t kCutRows = 32;
    formats::with_samples(type, bytes, [&](const auto* from) {
      for (std::size_t first = 0; first < channels_; first += kCutRows)
        for (std::size_t t = 0; t < n; ++t)
          for (std::size_t c = first; c < std::min(first + kCutRows, channels_); ++c)
            values_[c * times_ + at + t] = static_cast<float>(from[t * channels_ + c]);
    });
  }
  // Samples that are not finite are their channel's median, as those that the data do not have: sums would carry them on.
  void replace_not_finite(std::size_t from, std::size_t to) {
    const auto not_finite = [](float x) { return !std::isfinite(x); };
    for (std::size_t c = 0; c < channels_ && from < to; ++c) {
      const std::span<float> row(values_.data() + c * times_ + from, to - from);
      if (std::ranges::none_of(row, not_finite)) continue;
      std::vector<float> finite;
      std::ranges::remove_copy_if(row, std::back_inserter(finite), not_finite);
      std::ranges::replace_if(row, not_finite, middle_value(std::move(finite)));
    }
  }
  // `whole`: integers, whose medians `your` cuts to such.
  void fill(std::size_t from, std::size_t to, bool whole) {
    if (from == 0 && to == times_) return;
    for (std::size_t c = 0; c < channels_; ++c) {
      float* const row = values_.data() + c * times_;
      const float median = middle_value(std::vector<float>(row + from, row + to));
      const float value = whole ? std::trunc(median) : median;
      std::fill(row, row + from, value);
      std::fill(row + to, row + times_, value);
    }
  }

  std::size_t times_;
  std::vector<float> values_;
  std::size_t channels_;
};

// The middle of a row as kSide means of `factor` samples. A chunk is long enough for all of them.
struct Window {
  std::size_t factor, first;

  Window(std::size_t samples, std::size_t width)
      : factor(std::max<std::size_t>(1, width / 2)),
        first(((samples + factor - 1) / factor / 2 - kSide / 2) * factor) {}
};

// Sums over any stretch of a channel's row as differences of two running sums, which cost the same for every width.
class RunningSums {
 public:
  explicit RunningSums(std::size_t times) : times_(times), sums_(2 * times + 1) {}

  /// The row is followed by itself, since `your` rolls rows. Sums are of samples less the first one: those of
  /// a row that does not change are zeros exactly, and a large mean costs no digits.
  void take(const float* row) {
    level_ = static_cast<double>(row[0]);
    for (std::size_t t = 0; t < times_; ++t)
      sums_[t + 1] = sums_[t] + (static_cast<double>(row[t]) - level_);
    for (std::size_t t = 1; t <= times_; ++t) sums_[times_ + t] = sums_[times_] + sums_[t];
  }
  /// What was taken off each sample.
  double level() const { return level_; }

  /// Calls put(k, sum) for the kSide stretches of the window of the row rolled by `delay`; one that is delayed by all
  /// of the row stays, as in `your`.
  template <class Put>
  void of_window(const Window& window, std::int64_t delay, const Put& put) const {
    const auto times = static_cast<std::int64_t>(times_);
    if (delay >= times || delay <= -times) delay = 0;
    const double* at =
        sums_.data() + (static_cast<std::int64_t>(window.first) - delay + 2 * times) % times;
    double before = *at;
    for (std::size_t k = 0; k < kSide; ++k) {
      at += window.factor;
      put(k, *at - before);
      before = *at;
    }
  }

 private:
  std::size_t times_;
  std::vector<double> sums_;
  double level_ = 0;
};

// Less the median, in standard deviations. Sums of channels are doubles up to here: the scatter of wide means can be
// small beside the rounding of single precision.
template <class Value>
std::vector<float> normalised(const std::vector<Value>& values) {
  const auto median = static_cast<double>(middle_value(values));
  double sum = 0, squares = 0;
  for (const Value v : values) {
    const double x = static_cast<double>(v) - median;
    sum += x;
    squares += x * x;
  }
  const auto n = static_cast<double>(values.size());
  const double deviation = std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)));
  std::vector<float> result(values.size(), 0);
  if (deviation > 0)
    std::ranges::transform(values, result.begin(), [&](Value v) {
      return static_cast<float>((static_cast<double>(v) - median) / deviation);
    });
  return result;
}

// Sums of channels; those of DM and time lack what is the same in all of them.
struct CutoutSums {
  std::vector<float> frequency_time;  // [time][channel], means
  std::vector<double> dm_time;        // [dm][time]
};

CutoutSums sum_channels(const Samples& samples, const FilterbankDescription& description, double dm,
                        const Window& window) {
  const auto& mhz = description.channel_mhz;
  const double step = 2 * dm / static_cast<double>(kSide - 1);
  const auto factor = static_cast<double>(window.factor);
  CutoutSums all{std::vector<float>(kSide * samples.channels()),
                 std::vector<double>(kSide * kSide)};
  RunningSums sums(samples.times());
  for (std::size_t c = 0; c < samples.channels(); ++c) {
    const auto delay = [&](double of_dm) {
      return static_cast<std::int64_t>(
          std::nearbyint(delay_of_your(of_dm, mhz.front(), mhz[c]) / description.tsamp_s));
    };
    sums.take(samples.row(c));
    sums.of_window(window, delay(dm), [&](std::size_t k, double sum) {
      all.frequency_time[k * samples.channels() + c] =
          static_cast<float>((sum + factor * sums.level()) / factor);
    });
    for (std::size_t d = 0; d < kSide; ++d) {
      const double offset = d + 1 == kSide ? dm : static_cast<double>(d) * step - dm;
      double* const to = all.dm_time.data() + d * kSide;
      sums.of_window(window, delay(dm + offset), [to](std::size_t k, double sum) { to[k] += sum; });
    }
  }
  for (double& sum : all.dm_time) sum /= factor;
  return all;
}

const formats::DataSegment& segment_of(const formats::FilterbankReader& reader,
                                       std::uint64_t sample) {
  for (const formats::DataSegment& segment : reader.segments())
    if (sample < segment.first_sample + segment.samples) return segment;
  return reader.segments().back();
}

}  // namespace

CutoutChunk chunk_of(const YourCandidate& candidate, const FilterbankDescription& description) {
  const double tsamp = description.tsamp_s;
  const auto width = static_cast<std::int64_t>(width_of(candidate));
  const double reach =
      delay_of_your(candidate.dm, description.lowest_mhz(), description.highest_mhz());
  const double margin = static_cast<double>(width) * tsamp;
  const double start = candidate.time_s - reach - margin, stop = candidate.time_s + reach + margin;
  const auto samples = static_cast<std::int64_t>((stop - start) / tsamp);
  constexpr auto kLeast = static_cast<std::int64_t>(kSide);
  std::int64_t wanted = samples;
  if (width > 2 && wanted / (width / 2) < kLeast) wanted = kLeast * width / 2;
  wanted = std::max(wanted, kLeast);
  return {static_cast<std::int64_t>(start / tsamp) - (wanted - samples) / 2,
          static_cast<std::size_t>(wanted)};
}

std::size_t cutout_bytes(const CutoutChunk& chunk, const FilterbankDescription& description) {
  return sizeof(float) * description.channels * (chunk.samples + 3 * kSide) +
         sizeof(double) * (2 * chunk.samples + 2 * kSide * kSide);
}

formats::cutout_hdf5::Cutout cut_out(formats::FilterbankReader& reader,
                                     const YourCandidate& candidate, std::uint64_t sample,
                                     std::uint64_t first_grid_sample,
                                     const std::vector<std::size_t>& left_out,
                                     std::mutex& reading) {
  const FilterbankDescription& description = reader.description();
  const CutoutChunk chunk = chunk_of(candidate, description);
  formats::cutout_hdf5::Cutout cutout;
  cutout.candidate = candidate;
  Samples samples(description.channels, chunk.samples);
  samples.read(reader, segment_of(reader, sample - first_grid_sample),
               chunk.first - static_cast<std::int64_t>(first_grid_sample), reading);
  if (!left_out.empty()) cutout.left_out.resize(description.channels, false);
  for (const std::size_t c : left_out) {
    samples.clear(c);
    cutout.left_out[c] = true;
  }
  const CutoutSums sums =
      sum_channels(samples, description, candidate.dm, {chunk.samples, width_of(candidate)});
  cutout.frequency_time =
      normalised(resize_channels(sums.frequency_time, description.channels, kSide));
  cutout.dm_time = normalised(sums.dm_time);
  return cutout;
}

}  // namespace tautline::pipeline
