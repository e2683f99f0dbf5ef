#include "tautline/pipeline/search/mask_intervals.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

namespace tautline::pipeline {

namespace {

constexpr std::size_t kFirstSamples = 4096;

}  // namespace

MaskIntervals::MaskIntervals(formats::presto::Mask mask, formats::FilterbankReader& reader)
    : mask_(std::move(mask)),
      description_(reader.description()),
      throughout_(description_.channels, 0),
      flags_(description_.channels, 0),
      means_(description_.channels, 0),
      sums_(description_.channels, 0) {
  // Zapped channels count upwards in frequency.
  formats::presto::Mask whole = mask_;
  whole.zapped_intervals.clear();
  whole.interval_channels.assign(std::max<std::size_t>(1, mask_.intervals), {});
  throughout_ = whole.channel_flags(0, description_);
  for (std::size_t c = 0; c < throughout_.size(); ++c)
    if (throughout_[c] != 0) ignored_.push_back(c);

  std::vector<std::byte> bytes(kFirstSamples * description_.sample_bytes());
  const std::size_t got = reader.read(0, kFirstSamples, bytes);
  formats::with_samples(description_.delivered, bytes.data(),
                        [&](const auto* spectra) { measure(spectra, got, true); });
  for (std::size_t c = 0; c < means_.size(); ++c)
    means_[c] = counted_ > 0 ? sums_[c] / counted_ : 0;
}

template <class Sample>
void MaskIntervals::measure(const Sample* spectra, std::size_t samples, bool all) {
  const std::size_t channels = description_.channels;
  for (std::size_t t = 0; t < samples; ++t, spectra += channels)
    for (std::size_t c = 0; c < channels; ++c) {
      if constexpr (std::is_same_v<Sample, float>)
        if (!std::isfinite(spectra[c])) continue;
      if (all || flags_[c] == 0) sums_[c] += static_cast<double>(spectra[c]);
    }
  counted_ += static_cast<double>(samples);
}

// Takes over the means of the interval that ends.
void MaskIntervals::begin_interval(std::size_t interval) {
  if (started_ && counted_ > 0)
    for (std::size_t c = 0; c < means_.size(); ++c)
      if (flags_[c] == 0) means_[c] = sums_[c] / counted_;
  std::fill(sums_.begin(), sums_.end(), 0.0);
  counted_ = 0;
  started_ = true;
  interval_ = interval;
  flags_ = mask_.channel_flags(interval, description_);
  any_flagged_ = false;
  for (std::size_t c = 0; c < flags_.size(); ++c)
    any_flagged_ = any_flagged_ || (flags_[c] != 0 && throughout_[c] == 0);
}

template <class Sample>
void MaskIntervals::apply_to(Sample* spectra, std::size_t samples) {
  measure(spectra, samples, false);
  if (!any_flagged_) return;
  const std::size_t channels = description_.channels;
  for (std::size_t c = 0; c < channels; ++c) {
    if (flags_[c] == 0 || throughout_[c] != 0) continue;
    Sample mean;
    if constexpr (std::is_same_v<Sample, float>) {
      mean = static_cast<Sample>(means_[c]);
    } else {
      mean = static_cast<Sample>(std::lround(means_[c]));
    }
    for (std::size_t t = 0; t < samples; ++t) spectra[t * channels + c] = mean;
    masked_ += samples;
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
    formats::with_samples(description_.delivered, from, [&](auto* part) { apply_to(part, count); });
    done += count;
  }
}

}  // namespace tautline::pipeline
