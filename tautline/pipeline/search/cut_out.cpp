#include "tautline/pipeline/search/cut_out.h"

#include <algorithm>
#include <cmath>

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

  /// What the segment has of samples from `first` on, as the reader counts; the rest is the medians.
  void read(formats::FilterbankReader& reader, const formats::DataSegment& segment,
            std::int64_t first) {
    const auto begin = static_cast<std::int64_t>(segment.first_sample);
    const auto end = begin + static_cast<std::int64_t>(segment.samples);
    const std::int64_t from = std::max(first, begin);
    const std::int64_t to = std::min(first + static_cast<std::int64_t>(times_), end);
    constexpr std::int64_t kAtOnce = 1024;
    std::vector<std::byte> bytes(kAtOnce * reader.description().sample_bytes());
    for (std::int64_t at = from; at < to;) {
      const auto wanted = static_cast<std::size_t>(std::min(kAtOnce, to - at));
      const std::size_t got = reader.read(static_cast<std::uint64_t>(at), wanted, bytes);
      if (got == 0) break;
      put(reader.description().delivered, bytes.data(), got, static_cast<std::size_t>(at - first));
      at += static_cast<std::int64_t>(got);
    }
    const bool whole = reader.description().delivered != formats::Delivered::f32;
    fill(static_cast<std::size_t>(std::max<std::int64_t>(0, from - first)),
         static_cast<std::size_t>(std::max<std::int64_t>(0, to - first)), whole);
  }

  void clear(std::size_t channel) {
    std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(channel * times_), times_, 0.0f);
  }

  /// Adds times [first, first + n) of a channel that is rolled by `delay`, as `your` rolls it: one that is delayed by
  /// all of the chunk stays.
  void add_rolled(std::size_t channel, std::int64_t delay, std::size_t first, std::size_t n,
                  double* to) const {
    const auto times = static_cast<std::int64_t>(times_);
    if (delay >= times || delay <= -times) delay = 0;
    const float* const row = values_.data() + channel * times_;
    auto at =
        static_cast<std::size_t>((static_cast<std::int64_t>(first) - delay + 2 * times) % times);
    for (std::size_t done = 0; done < n;) {
      const std::size_t run = std::min(n - done, times_ - at);
      for (std::size_t k = 0; k < run; ++k) to[done + k] += static_cast<double>(row[at + k]);
      done += run;
      at = 0;
    }
  }

 private:
  void put(formats::Delivered type, const std::byte* bytes, std::size_t n, std::size_t at) {
    formats::with_samples(type, bytes, [&](const auto* from) {
      for (std::size_t t = 0; t < n; ++t)
        for (std::size_t c = 0; c < channels_; ++c)
          values_[c * times_ + at + t] = static_cast<float>(from[t * channels_ + c]);
    });
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

// The middle of a row in kSide means of `factor` samples; beyond the row is its median.
struct Window {
  std::size_t factor, first, end, times;

  Window(std::size_t samples, std::size_t width)
      : factor(std::max<std::size_t>(1, width / 2)), times(samples) {
    const std::size_t means = (samples + factor - 1) / factor;
    first = (means / 2 - kSide / 2) * factor;
    end = first + kSide * factor;
    first_needed_ = end > times ? 0 : first;
  }
  // All of it where the median is needed.
  std::size_t first_needed() const { return first_needed_; }
  std::size_t needed() const { return std::min(end, times) - first_needed_; }

  /// `row`: of the times needed.
  template <class Value>
  void means(std::vector<double> row, Value* to, std::size_t stride) const {
    if (end > times) row.resize(end, middle_value(row));
    for (std::size_t k = 0; k < kSide; ++k) {
      double sum = 0;
      for (std::size_t i = 0; i < factor; ++i) sum += row[first - first_needed_ + k * factor + i];
      to[k * stride] = static_cast<Value>(sum / static_cast<double>(factor));
    }
  }

 private:
  std::size_t first_needed_ = 0;
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

// The source of both arrays.
struct Source {
  const Samples& samples;
  const FilterbankDescription& description;
  const Window& window;
  device::Queue& host;

  std::int64_t delay(double dm, std::size_t channel) const {
    const auto& mhz = description.channel_mhz;
    return static_cast<std::int64_t>(
        std::nearbyint(delay_of_your(dm, mhz.front(), mhz[channel]) / description.tsamp_s));
  }
};

std::vector<float> frequency_time(const Source& from, double dm) {
  const std::size_t channels = from.samples.channels(), needed = from.window.needed();
  std::vector<float> means(kSide * channels);
  from.host.parallel_for(channels, 1, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t c = first; c < last; ++c) {
      std::vector<double> row(needed);
      from.samples.add_rolled(c, from.delay(dm, c), from.window.first_needed(), needed, row.data());
      from.window.means(std::move(row), means.data() + c, channels);
    }
  });
  return resize_channels(means, channels, kSide);
}

std::vector<double> dm_time(const Source& from, double dm) {
  const std::size_t needed = from.window.needed();
  const double step = 2 * dm / static_cast<double>(kSide - 1);
  std::vector<double> means(kSide * kSide);
  from.host.parallel_for(kSide, 1, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t k = first; k < last; ++k) {
      const double offset = k + 1 == kSide ? dm : static_cast<double>(k) * step - dm;
      std::vector<double> row(needed);
      for (std::size_t c = 0; c < from.samples.channels(); ++c)
        from.samples.add_rolled(c, from.delay(dm + offset, c), from.window.first_needed(), needed,
                                row.data());
      from.window.means(std::move(row), means.data() + k * kSide, 1);
    }
  });
  return means;
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
  return sizeof(float) * description.channels * (chunk.samples + 3 * kSide);
}

formats::cutout_hdf5::Cutout cut_out(formats::FilterbankReader& reader,
                                     const YourCandidate& candidate, std::uint64_t sample,
                                     std::uint64_t first_grid_sample,
                                     const std::vector<std::size_t>& left_out,
                                     device::Queue& host) {
  const FilterbankDescription& description = reader.description();
  const CutoutChunk chunk = chunk_of(candidate, description);
  formats::cutout_hdf5::Cutout cutout;
  cutout.candidate = candidate;
  Samples samples(description.channels, chunk.samples);
  samples.read(reader, segment_of(reader, sample - first_grid_sample),
               chunk.first - static_cast<std::int64_t>(first_grid_sample));
  if (!left_out.empty()) cutout.left_out.resize(description.channels, false);
  for (const std::size_t c : left_out) {
    samples.clear(c);
    cutout.left_out[c] = true;
  }
  const Window window(chunk.samples, width_of(candidate));
  const Source source{samples, description, window, host};
  cutout.frequency_time = normalised(frequency_time(source, candidate.dm));
  cutout.dm_time = normalised(dm_time(source, candidate.dm));
  return cutout;
}

}  // namespace tautline::pipeline
