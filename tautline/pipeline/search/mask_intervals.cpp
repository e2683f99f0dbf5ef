#include "tautline/pipeline/search/mask_intervals.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

namespace tautline::pipeline {

namespace {

constexpr std::size_t kFirstSamples = kMeanSamples;

}  // namespace

MaskIntervals::MaskIntervals(formats::presto::Mask mask, MissingTimes times,
                             formats::FilterbankReader& reader)
    : mask_(std::move(mask)),
      times_(times),
      description_(reader.description()),
      throughout_(description_.channels, 0),
      flags_(description_.channels, 0),
      means_(description_.channels, 0),
      sums_(description_.channels, 0),
      noise_of_(description_, {}, times) {
  // Zapped channels count upwards in frequency.
  formats::presto::Mask whole = mask_;
  whole.zapped_intervals.clear();
  whole.interval_channels.assign(std::max<std::size_t>(1, mask_.intervals), {});
  throughout_ = whole.channel_flags(0, description_);
  for (std::size_t c = 0; c < throughout_.size(); ++c)
    if (throughout_[c] != 0) ignored_.push_back(c);
  least_ = throughout_.size();
  for (std::size_t k = 0; k < std::max<std::size_t>(1, mask_.intervals); ++k)
    least_ = std::min(least_, flagged_in(k).size());

  std::vector<std::byte> bytes(kFirstSamples * description_.sample_bytes());
  const std::size_t got = reader.read(0, kFirstSamples, bytes);
  formats::with_samples(description_.delivered, bytes.data(),
                        [&](const auto* spectra) { measure(spectra, got, true); });
  keep(std::span(bytes).first(got * description_.sample_bytes()));
  take_over(true);
}

template <class Sample>
void MaskIntervals::measure(const Sample* spectra, std::size_t samples, bool all) {
  const std::size_t channels = description_.channels;
  for (std::size_t t = 0; t < samples; ++t, spectra += channels)
    for (std::size_t c = 0; c < channels; ++c) {
      if constexpr (std::is_same_v<Sample, float>)
        if (!std::isfinite(spectra[c])) continue;
      if (!all && flags_[c] != 0) continue;
      sums_[c] += static_cast<double>(spectra[c]);
    }
  counted_ += static_cast<double>(samples);
}

// The first samples of an interval, from which noise is drawn.
void MaskIntervals::keep(std::span<const std::byte> spectra) {
  if (times_ == MissingTimes::mean) return;
  const std::size_t most = kMeanSamples * description_.sample_bytes() - kept_.size();
  kept_.insert(kept_.end(), spectra.begin(),
               spectra.begin() + static_cast<std::ptrdiff_t>(std::min(most, spectra.size())));
}

// What was measured, of all channels or of those without flags.
void MaskIntervals::take_over(bool all) {
  if (times_ == MissingTimes::noise) noise_of_.take(kept_);
  for (std::size_t c = 0; c < means_.size() && counted_ > 0; ++c) {
    if (!all && flags_[c] != 0) continue;
    means_[c] = sums_[c] / counted_;
    if (times_ == MissingTimes::noise) noise_of_.measure(c);
  }
  std::fill(sums_.begin(), sums_.end(), 0.0);
  kept_.clear();
  counted_ = 0;
}

// Beside the channels that are masked throughout.
std::vector<std::size_t> MaskIntervals::flagged_in(std::size_t interval) const {
  const std::vector<std::uint8_t> flags = mask_.channel_flags(interval, description_);
  std::vector<std::size_t> flagged;
  for (std::size_t c = 0; c < flags.size(); ++c)
    if (flags[c] != 0 && throughout_[c] == 0) flagged.push_back(c);
  return flagged;
}

void MaskIntervals::begin_interval(std::size_t interval) {
  if (started_) take_over(false);
  started_ = true;
  interval_ = interval;
  flags_ = mask_.channel_flags(interval, description_);
  flagged_ = flagged_in(interval);
  with_means_ = noise_of_.put_means_first(flagged_, least_, flags_.size() - ignored_.size());
}

template <class Sample>
void MaskIntervals::apply_to(Sample* spectra, std::uint64_t first_sample, std::size_t samples) {
  measure(spectra, samples, false);
  const std::size_t channels = description_.channels;
  keep(std::as_bytes(std::span(spectra, samples * channels)));
  masked_ += flagged_.size() * samples;
  for (std::size_t k = 0; k < flagged_.size(); ++k) {
    const std::size_t c = flagged_[k];
    if (k >= with_means_) {
      noise_of_.draw(reinterpret_cast<std::byte*>(spectra), c, 0, samples, first_sample);
      continue;
    }
    const Sample mean =
        static_cast<Sample>(std::is_same_v<Sample, float> ? means_[c] : std::round(means_[c]));
    for (std::size_t t = 0; t < samples; ++t) spectra[t * channels + c] = mean;
  }
}

void MaskIntervals::apply(std::span<std::byte> spectra, std::uint64_t first_sample,
                          std::size_t samples) {
  for (std::size_t done = 0; done < samples;) {
    const std::uint64_t at = first_sample + done;
    const std::size_t interval = mask_.interval_of(at);
    if (!started_ || interval != interval_) begin_interval(interval);
    // To the interval's end; the last one has none.
    std::size_t count = samples - done;
    const std::uint64_t end =
        (interval + 1) * static_cast<std::uint64_t>(mask_.samples_per_interval);
    if (interval + 1 < mask_.intervals && end - at < count)
      count = static_cast<std::size_t>(end - at);
    std::byte* from = spectra.data() + done * description_.sample_bytes();
    formats::with_samples(description_.delivered, from,
                          [&](auto* part) { apply_to(part, at, count); });
    done += count;
  }
}

}  // namespace tautline::pipeline
