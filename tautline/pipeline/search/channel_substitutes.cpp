#include "tautline/pipeline/search/channel_substitutes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "tautline/core/random_bits.h"
#include "tautline/pipeline/search/empty_rule.h"

namespace tautline::pipeline {

namespace {

// The samples of a channel in less than a quarter of a piece do not take the place of more from an earlier one.
constexpr std::size_t kEnough = 4;
// From one channel to the next, in samples: a power of two would put columns into the same lines of a cache.
constexpr std::size_t kColumn = kMeanSamples + 64;

template <class Sample>
void transpose(const Sample* spectra, std::size_t times, std::size_t channels, Sample* columns) {
  constexpr std::size_t kTile = 64 / sizeof(Sample);  // a line of the cache
  for (std::size_t first = 0; first < channels; first += kTile) {
    const std::size_t last = std::min(channels, first + kTile);
    for (std::size_t t = 0; t < times; ++t)
      for (std::size_t c = first; c < last; ++c)
        columns[c * kColumn + t] = spectra[t * channels + c];
  }
}

}  // namespace

ChannelSubstitutes::ChannelSubstitutes(const formats::FilterbankDescription& description,
                                       std::span<const std::size_t> left_out, MissingTimes times)
    : description_(description),
      times_(times),
      spectra_repeats_(
          empty_repeats_of_spectra(description, channels_counting(description, left_out.size()))),
      channel_repeats_(empty_repeats_of_channel(description)),
      together_{Together{{description, left_out, common_rule(description, left_out.size())}, {}},
                Together{{description, left_out, wide_rule(description, left_out.size())}, {}}},
      zeros_(description, left_out),
      lost_(lost_spectrum(description, channels_counting(description, left_out.size()))),
      means_(description.sample_bytes()),
      valued_(description.channels, 0),
      counts_(description.channels, 0),
      seen_(description.channels, 0),
      drawn_from_(times == MissingTimes::noise ? description.channels : 0) {}

std::size_t ChannelSubstitutes::read(formats::FilterbankReader& reader, std::uint64_t first,
                                     std::uint64_t count) {
  if (first_ == first) return samples_;
  first_ = first;
  const std::size_t sample_bytes = description_.sample_bytes();
  std::vector<std::byte> spectra(static_cast<std::size_t>(count) * sample_bytes);
  const std::size_t got = reader.read_across(first, static_cast<std::size_t>(count), spectra);
  take(std::span(spectra).first(got * sample_bytes), first);
  return got;
}

void ChannelSubstitutes::take(std::span<const std::byte> spectra, std::uint64_t position) {
  ++piece_;
  const std::size_t sample_bytes = description_.sample_bytes();
  samples_ = spectra.size() / sample_bytes;
  const auto repeats = [&](std::size_t t) {
    const std::byte* spectrum = spectra.data() + t * sample_bytes;
    return std::memcmp(spectrum, spectrum - sample_bytes, sample_bytes) == 0;
  };
  empty_.assign(samples_, 0);
  for (std::size_t t = 0, end = 0; t < samples_; t = end) {
    for (end = t + 1; end < samples_ && repeats(end);) ++end;
    const bool lost = !lost_.empty() && std::memcmp(spectra.data() + t * sample_bytes, lost_.data(),
                                                    sample_bytes) == 0;
    if (lost || end - t > spectra_repeats_)
      std::fill_n(empty_.data() + t, end - t, std::uint8_t{1});
  }
  const SpectraInTwoPlaces all{spectra.data(), samples_, nullptr, sample_bytes};
  for (auto& [rule, windows] : together_) {
    windows.clear();
    if (rule.repeats() == 0) continue;
    for (std::size_t k = rule.next_window(0, position); k + rule.repeats() < samples_;
         k += rule.every())
      if (rule.stop_at(all, k)) windows.push_back(k);
  }
  find_zeros(spectra, position);
  if (times_ == MissingTimes::noise) find_unusual(spectra);
  columns_.resize(kColumn * sample_bytes);
  formats::with_samples(description_.delivered, columns_.data(), [&](auto* columns) {
    using Sample = std::remove_pointer_t<decltype(columns)>;
    transpose(reinterpret_cast<const Sample*>(spectra.data()), samples_, description_.channels,
              columns);
  });
}

void ChannelSubstitutes::find_zeros(std::span<const std::byte> spectra, std::uint64_t position) {
  zero_windows_.clear();
  zero_begins_.clear();
  if (!zeros_.used()) return;
  const std::size_t bytes = description_.sample_bytes();
  const ZeroStops::Spectra at = [&](std::ptrdiff_t t) {
    const bool there = t >= 0 && static_cast<std::size_t>(t) < samples_;
    return there ? spectra.data() + static_cast<std::size_t>(t) * bytes : nullptr;
  };
  for (std::size_t k = 0; k < samples_; ++k) {
    const std::size_t zeros = zeros_.count(spectra.data() + k * bytes);
    const auto t = static_cast<std::ptrdiff_t>(k);
    if ((position + k) % ZeroStops::kEvery == 0 && zeros >= zeros_.least_of_stop() &&
        zeros_.stop_at(at, t))
      zero_windows_.push_back(k);
    if (zeros >= zeros_.least_of_begin() && zeros_.begins_at(at, t)) zero_begins_.push_back(k);
  }
}

// Whether equal samples of a channel are zeros in which others are zero, too.
template <class Sample>
bool ChannelSubstitutes::holds_zeros(Sample value, std::size_t from, std::size_t end) const {
  if (zero_windows_.empty() && zero_begins_.empty()) return false;
  if (value != static_cast<Sample>(std::is_floating_point_v<Sample> ? 0 : description_.zero_level))
    return false;
  if (std::ranges::binary_search(zero_begins_, from)) return true;
  const auto window = std::ranges::lower_bound(zero_windows_, from);
  return window != zero_windows_.end() && *window + 1 < end;
}

// Whether other channels do not change either in equal samples of one.
bool ChannelSubstitutes::holds_window(std::size_t from, std::size_t end) const {
  return std::ranges::any_of(together_, [&](const Together& one) {
    const auto window = std::ranges::lower_bound(one.windows, from);
    return window != one.windows.end() && *window + one.rule.repeats() < end;
  });
}

template <class Call>
auto ChannelSubstitutes::with_column(std::size_t channel, const Call& call) {
  return formats::with_samples(description_.delivered, columns_.data(), [&](auto* columns) {
    using Sample = std::remove_pointer_t<decltype(columns)>;
    return call(reinterpret_cast<const Sample*>(columns) + channel * kColumn);
  });
}

// Sums over channels that are more than 5 robust standard deviations from their median.
void ChannelSubstitutes::find_unusual(std::span<const std::byte> spectra) {
  constexpr double kMost = 5 * 1.4826;
  std::vector<double> sums(samples_, 0);
  formats::with_samples(description_.delivered, spectra.data(), [&](const auto* samples) {
    for (double& sum : sums) {
      for (std::size_t c = 0; c < description_.channels; ++c) {
        const auto value = static_cast<double>(samples[c]);
        sum += std::isfinite(value) ? value : 0;
      }
      samples += description_.channels;
    }
  });
  unusual_.assign(samples_, 0);
  if (samples_ == 0) return;
  std::vector<double> sorted = sums;
  const auto median = [&] {
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  };
  const double centre = median();
  for (double& sum : sorted) sum = std::fabs(sum - centre);
  const double most = kMost * median();
  for (std::size_t t = 0; t < samples_; ++t)
    unusual_[t] = most > 0 && std::fabs(sums[t] - centre) > most ? 1 : 0;
}

// Of a channel of the piece, but for those that hold nothing.
template <class Sample>
ChannelSubstitutes::Kept<Sample> ChannelSubstitutes::samples_of(const Sample* column) const {
  std::size_t common = channel_repeats_;
  for (const Together& one : together_)
    if (one.rule.repeats() > 0) common = std::min(common, one.rule.repeats());
  Kept<Sample> kept{std::vector<Sample>(samples_), std::vector<std::uint16_t>(samples_)};
  std::size_t count = 0;
  for (std::size_t t = 0, end = 0; t < samples_; t = end) {
    for (end = t + 1; end < samples_ && empty_[end] == empty_[t] && column[end] == column[t];)
      ++end;
    const bool edge = t == 0 || end == samples_;
    if (edge || empty_[t] != 0 || holds_zeros(column[t], t, end)) continue;
    if (end - t > common && (end - t > channel_repeats_ || holds_window(t, end))) continue;
    if constexpr (std::is_floating_point_v<Sample>)
      if (!std::isfinite(column[t])) continue;
    for (std::size_t k = t; k < end; ++k, ++count) {
      kept.samples[count] = column[t];
      kept.times[count] = static_cast<std::uint16_t>(k);
    }
  }
  kept.samples.resize(count);
  kept.times.resize(count);
  return kept;
}

// A channel that holds nothing keeps its value, where other channels change: then nothing steps where it goes on.
template <class Sample>
void ChannelSubstitutes::repeat_value(const Sample* column, std::size_t channel) {
  for (std::size_t t = 0; t < samples_ && valued_[channel] == 0; ++t) {
    if (!std::isfinite(static_cast<double>(column[t]))) continue;
    reinterpret_cast<Sample*>(means_.data())[channel] = column[t];
    valued_[channel] = empty_[t] == 0 ? 1 : 0;
  }
}

template <class Sample>
void ChannelSubstitutes::measure_as(const Sample* column, std::size_t channel) {
  using Sum = std::conditional_t<std::is_floating_point_v<Sample>, double, std::uint64_t>;
  const Kept<Sample> all = samples_of(column);
  const std::vector<Sample>& kept = all.samples;
  if (kept.empty()) return repeat_value(column, channel);
  if (kEnough * kept.size() < samples_ && kept.size() <= counts_[channel]) return;
  counts_[channel] = kept.size();
  valued_[channel] = 1;
  const double mean = static_cast<double>(std::accumulate(kept.begin(), kept.end(), Sum{})) /
                      static_cast<double>(kept.size());
  auto& to = reinterpret_cast<Sample*>(means_.data())[channel];
  if constexpr (std::is_same_v<Sample, float>)
    to = static_cast<float>(mean);
  else
    to = static_cast<Sample>(std::lround(mean));
  if (times_ == MissingTimes::noise) keep_to_draw(all, channel);
}

// At their times; times that are left out have the kept samples again, one after the other.
template <class Sample>
void ChannelSubstitutes::keep_to_draw(const Kept<Sample>& kept, std::size_t channel) {
  std::vector<std::uint8_t> given(samples_, 0);
  std::vector<Sample> usual, drawn(samples_);
  for (std::size_t k = 0; k < kept.samples.size(); ++k) {
    if (unusual_[kept.times[k]] != 0) continue;
    usual.push_back(kept.samples[k]);
    drawn[kept.times[k]] = kept.samples[k];
    given[kept.times[k]] = 1;
  }
  if (usual.empty()) usual = kept.samples;
  for (std::size_t t = 0, next = 0; t < samples_; ++t)
    if (given[t] == 0) drawn[t] = usual[next++ % usual.size()];
  const auto* bytes = reinterpret_cast<const std::byte*>(drawn.data());
  drawn_from_[channel].assign(bytes, bytes + drawn.size() * sizeof(Sample));
}

bool ChannelSubstitutes::measure(std::size_t channel) {
  if (seen_[channel] != piece_) {
    seen_[channel] = piece_;
    with_column(channel, [&](const auto* column) { measure_as(column, channel); });
  }
  return counts_[channel] > 0 && kEnough * counts_[channel] >= samples_;
}

bool ChannelSubstitutes::has_samples(std::size_t channel) {
  return with_column(channel,
                     [&](const auto* column) { return !samples_of(column).samples.empty(); });
}

void ChannelSubstitutes::forget(std::size_t channel) {
  counts_[channel] = 0;
  seen_[channel] = 0;
}

void ChannelSubstitutes::measure_all() {
  for (std::size_t c = 0; c < description_.channels; ++c) measure(c);
}

std::size_t ChannelSubstitutes::put_means_first(std::vector<std::size_t>& missing,
                                                std::size_t least, std::size_t counting) const {
  if (times_ == MissingTimes::mean) return missing.size();
  const auto noise =
      std::ranges::stable_partition(missing, [&](std::size_t c) { return !has_noise(c); });
  const std::size_t means =
      std::max(missing.size() - noise.size(), std::min(least, missing.size()));
  return kShareWithMeans * (missing.size() - means) > counting ? means : missing.size();
}

void ChannelSubstitutes::draw(std::byte* spectra, std::size_t channel, std::size_t from,
                              std::size_t to, std::uint64_t position) const {
  const std::size_t channels = description_.channels;
  formats::with_samples(description_.delivered, spectra, [&](auto* samples) {
    using Sample = std::remove_pointer_t<decltype(samples)>;
    const auto* kept = reinterpret_cast<const Sample*>(drawn_from_[channel].data());
    const std::size_t count = drawn_from_[channel].size() / sizeof(Sample);
    const Sample mean = reinterpret_cast<const Sample*>(means_.data())[channel];
    for (std::size_t t = from; t < to; ++t) {
      const std::uint64_t bits = core::random_bits(position + t) >> 32;
      samples[t * channels + channel] = count > 0 ? kept[bits * count >> 32] : mean;
    }
  });
}

}  // namespace tautline::pipeline
