#include "tautline/pipeline/search/candidate_pictures.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "tautline/core/dispersion.h"

namespace tautline::pipeline {

namespace {

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kChunkSamples = 4096;

// Sums of the samples of each channel in bins that follow the candidate's own sweep, with bins to
// spare on either side for other DMs.
class Bins {
 public:
  Bins(std::size_t channels, std::size_t bins, std::size_t spare)
      : spare_(spare),
        length_(bins + 2 * spare),
        sums_(channels * length_),
        counts_(sums_.size()) {}

  std::size_t length() const { return length_; }
  void add(std::size_t channel, std::int64_t bin, float value) {
    const std::int64_t at = bin + static_cast<std::int64_t>(spare_);
    if (at < 0 || at >= static_cast<std::int64_t>(length_) || !std::isfinite(value)) return;
    const std::size_t place = channel * length_ + static_cast<std::size_t>(at);
    sums_[place] += value;
    counts_[place] += 1;
  }
  /// Means, less the channel's, over its deviation; NaN where nothing was read or nothing changes.
  void normalise() {
    for (std::size_t first = 0; first < sums_.size(); first += length_) {
      double sum = 0, squares = 0, n = 0;
      for (std::size_t k = first; k < first + length_; ++k) {
        if (counts_[k] == 0) continue;
        sums_[k] /= counts_[k];
        sum += static_cast<double>(sums_[k]);
        squares += static_cast<double>(sums_[k]) * static_cast<double>(sums_[k]);
        n += 1;
      }
      const double mean = n > 0 ? sum / n : 0;
      const double deviation = n > 0 ? std::sqrt(std::max(0.0, squares / n - mean * mean)) : 0;
      for (std::size_t k = first; k < first + length_; ++k)
        sums_[k] = counts_[k] > 0 && deviation > 1e-6 * std::fabs(mean)
                       ? static_cast<float>((static_cast<double>(sums_[k]) - mean) / deviation)
                       : kNothing;
    }
  }
  float at(std::size_t channel, std::int64_t bin) const {
    const std::int64_t at = bin + static_cast<std::int64_t>(spare_);
    if (at < 0 || at >= static_cast<std::int64_t>(length_)) return kNothing;
    return sums_[channel * length_ + static_cast<std::size_t>(at)];
  }

 private:
  std::size_t spare_, length_;
  std::vector<float> sums_, counts_;
};

struct Geometry {
  std::int64_t first = 0;  ///< sample of the reader at which bin 0 begins, at f_ref
  std::int64_t bin = 1;    ///< samples
  std::vector<std::int64_t> delays;
};

// Times of a filterbank as the search saw them: [time][channel], NaN where a mask leaves out.
class CleanSpectra {
 public:
  CleanSpectra(const formats::FilterbankDescription& description, const std::vector<bool>& used,
               std::uint64_t first_grid_sample, const PictureConfig& config)
      : description_(description),
        used_(used),
        first_grid_sample_(first_grid_sample),
        config_(config) {}

  /// `first` as the reader counts.
  const std::vector<float>& of(const std::byte* bytes, std::int64_t first, std::size_t samples) {
    const std::size_t channels = used_.size();
    values_.resize(samples * channels);
    formats::with_samples(description_.delivered, bytes, [&](const auto* spectra) {
      std::transform(spectra, spectra + values_.size(), values_.begin(),
                     [](auto value) { return static_cast<float>(value); });
    });
    for (std::size_t t = 0; t < samples; ++t) {
      float* spectrum = values_.data() + t * channels;
      if (config_.mask != nullptr)
        mask(spectrum, static_cast<std::uint64_t>(first) + t + first_grid_sample_);
      mask_window(spectrum, static_cast<std::uint64_t>(first) + t + first_grid_sample_);
      if (config_.zero_dm) subtract_mean(spectrum);
    }
    return values_;
  }

 private:
  void mask(float* spectrum, std::uint64_t at) {
    const std::size_t interval = config_.mask->interval_of(at);
    if (flags_.empty() || interval != interval_)
      flags_ = config_.mask->channel_flags(interval, description_);
    interval_ = interval;
    for (std::size_t c = 0; c < flags_.size(); ++c)
      if (flags_[c] != 0) spectrum[c] = kNothing;
  }
  void mask_window(float* spectrum, std::uint64_t at) const {
    const auto behind = std::upper_bound(
        config_.windows.begin(), config_.windows.end(), at,
        [](std::uint64_t sample, const MaskedWindow& one) { return sample < one.first_sample; });
    if (behind == config_.windows.begin()) return;
    const MaskedWindow& window = *std::prev(behind);
    if (at - window.first_sample >= window.samples) return;
    for (const std::uint32_t c : window.channels) spectrum[c] = kNothing;
  }
  void subtract_mean(float* spectrum) const {
    double sum = 0, count = 0;
    for (std::size_t c = 0; c < used_.size(); ++c) {
      if (!used_[c] || !std::isfinite(spectrum[c])) continue;
      sum += static_cast<double>(spectrum[c]);
      count += 1;
    }
    const auto mean = static_cast<float>(count > 0 ? sum / count : 0);
    for (std::size_t c = 0; c < used_.size(); ++c) spectrum[c] -= mean;
  }

  const formats::FilterbankDescription& description_;
  const std::vector<bool>& used_;
  std::uint64_t first_grid_sample_;
  const PictureConfig& config_;
  std::vector<float> values_;
  std::vector<std::uint8_t> flags_;  // of an interval
  std::size_t interval_ = 0;
};

void add_chunk(const std::vector<float>& spectra, std::int64_t first, std::size_t samples,
               const Geometry& geometry, const std::vector<bool>& used, std::size_t spare,
               Bins& bins) {
  const std::size_t channels = used.size();
  const std::int64_t reach = static_cast<std::int64_t>(bins.length() - spare) * geometry.bin;
  const std::int64_t before = static_cast<std::int64_t>(spare) * geometry.bin;
  for (std::size_t c = 0; c < channels; ++c) {
    if (!used[c]) continue;
    const std::int64_t origin = geometry.first + geometry.delays[c];
    const std::int64_t from = std::max(first, origin - before);
    const std::int64_t to = std::min(first + static_cast<std::int64_t>(samples), origin + reach);
    for (std::int64_t t = from; t < to; ++t) {
      // Division that rounds down.
      const std::int64_t after = t - origin + before;
      bins.add(c, after / geometry.bin - static_cast<std::int64_t>(spare),
               spectra[static_cast<std::size_t>(t - first) * channels + c]);
    }
  }
}

void read_bins(formats::FilterbankReader& reader, const SampleRange& range,
               const Geometry& geometry, const std::vector<bool>& used, CleanSpectra& clean,
               std::size_t spare, Bins& bins) {
  const auto sweep = *std::max_element(geometry.delays.begin(), geometry.delays.end());
  const auto range_first = static_cast<std::int64_t>(range.first);
  const auto range_end = static_cast<std::int64_t>(range.first + range.count);
  const std::int64_t before = static_cast<std::int64_t>(spare) * geometry.bin;
  std::int64_t at = std::max(range_first, geometry.first - before);
  const std::int64_t end = std::min(
      range_end, geometry.first + sweep + static_cast<std::int64_t>(bins.length()) * geometry.bin);
  std::vector<std::byte> bytes(kChunkSamples * reader.description().sample_bytes());
  while (at < end) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(kChunkSamples, end - at));
    const std::size_t got = reader.read(static_cast<std::uint64_t>(at), wanted, bytes);
    if (got == 0) break;
    add_chunk(clean.of(bytes.data(), at, got), at, got, geometry, used, spare, bins);
    at += static_cast<std::int64_t>(got);
  }
}

// The standard deviation about the median: a pulse in a few bins hardly moves it.
void find_sigma(const float* values, std::size_t n, float& median, float& sigma) {
  std::vector<float> sorted;
  for (std::size_t i = 0; i < n; ++i)
    if (std::isfinite(values[i])) sorted.push_back(values[i]);
  median = sigma = 0;
  if (sorted.empty()) return;
  std::sort(sorted.begin(), sorted.end());
  median = sorted[sorted.size() / 2];
  for (float& v : sorted) v = std::fabs(v - median);
  std::sort(sorted.begin(), sorted.end());
  sigma = 1.4826f * sorted[sorted.size() / 2];
}

// All rows in units of the noise of the candidate's own, which is the profile.
void scale_to_row(std::size_t row, CandidatePictures& pictures) {
  const std::size_t own = row * pictures.bins;
  float median = 0, sigma = 0;
  find_sigma(pictures.dm_time.data() + own, pictures.bins, median, sigma);
  for (float& value : pictures.dm_time) value = sigma > 0 ? (value - median) / sigma : kNothing;
  const auto from = pictures.dm_time.begin() + static_cast<std::ptrdiff_t>(own);
  pictures.profile.assign(from, from + static_cast<std::ptrdiff_t>(pictures.bins));
}

// Of series of several trials, a channel each: the trials about the candidate's own are the rows, itself the one
// sub-band.
CandidatePictures with_trials(const Bins& bins, const formats::FilterbankDescription& description,
                              const core::Candidate& candidate, const PictureConfig& config,
                              CandidatePictures pictures) {
  const std::vector<double> dms = description.dms_with(config.dm_constant);
  pictures.dm_rows = std::min(config.dm_rows, dms.size());
  const std::size_t first =
      std::min(candidate.dm_index - std::min(candidate.dm_index, pictures.dm_rows / 2),
               dms.size() - pictures.dm_rows);
  pictures.low_dm = dms[first];
  pictures.high_dm = dms[first + pictures.dm_rows - 1];
  for (std::size_t row = 0; row < pictures.dm_rows; ++row)
    for (std::size_t k = 0; k < config.bins; ++k)
      pictures.dm_time.push_back(bins.at(first + row, static_cast<std::int64_t>(k)));
  scale_to_row(candidate.dm_index - first, pictures);
  pictures.sub_bands = 1;
  pictures.low_mhz = description.fch1_mhz - 0.5;
  pictures.high_mhz = description.fch1_mhz + 0.5;
  pictures.frequency_time = pictures.profile;
  return pictures;
}

Geometry geometry_of(const formats::FilterbankDescription& description,
                     const core::Candidate& candidate, std::uint64_t first_grid_sample,
                     const PictureConfig& config) {
  Geometry geometry;
  geometry.bin = std::max<std::int64_t>(1, static_cast<std::int64_t>(candidate.width_samples) / 4);
  geometry.first = static_cast<std::int64_t>(candidate.sample - first_grid_sample) -
                   static_cast<std::int64_t>(config.bins / 2) * geometry.bin;
  for (const double f : description.channel_mhz)
    geometry.delays.push_back(
        core::dispersion_delay_samples(candidate.dm, f, description.highest_mhz(),
                                       1 / description.rate_hz.value(), config.dm_constant));
  return geometry;
}

// Rows of DMs from `reach` below the candidate's to as much above it: sums over channels, which are shown in units of
// their own noise, so no channel count enters.
void add_dm_rows(const Bins& bins, const formats::FilterbankDescription& description,
                 const std::vector<bool>& used, double reach, double dm_constant,
                 CandidatePictures& pictures) {
  const double f_ref = description.highest_mhz();
  for (std::size_t row = 0; row < pictures.dm_rows; ++row) {
    const double part =
        pictures.dm_rows > 1
            ? 2 * static_cast<double>(row) / static_cast<double>(pictures.dm_rows - 1) - 1
            : 0;
    std::vector<std::int64_t> shifts;
    for (const double mhz : description.channel_mhz)
      shifts.push_back(std::llround(
          core::dispersion_delay_s(part * reach, mhz, f_ref, dm_constant) / pictures.bin_s));
    for (std::size_t k = 0; k < pictures.bins; ++k) {
      float sum = 0;
      bool any = false;
      for (std::size_t c = 0; c < used.size(); ++c) {
        const float value = bins.at(c, static_cast<std::int64_t>(k) + shifts[c]);
        if (!used[c] || !std::isfinite(value)) continue;
        sum += value;
        any = true;
      }
      pictures.dm_time.push_back(any ? sum : kNothing);
    }
  }
}

// Channels from the highest frequency down, in sub-bands of as many each as possible.
void add_sub_bands(const Bins& bins, const formats::FilterbankDescription& description,
                   const std::vector<bool>& used, CandidatePictures& pictures) {
  const std::size_t channels = used.size();
  std::vector<std::size_t> order(channels);
  for (std::size_t c = 0; c < channels; ++c) order[c] = c;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return description.channel_mhz[a] > description.channel_mhz[b];
  });
  for (std::size_t s = 0; s < pictures.sub_bands; ++s) {
    const std::size_t from = s * channels / pictures.sub_bands;
    const std::size_t to = (s + 1) * channels / pictures.sub_bands;
    for (std::size_t k = 0; k < pictures.bins; ++k) {
      float sum = 0, count = 0;
      for (std::size_t i = from; i < to; ++i) {
        const float value =
            used[order[i]] ? bins.at(order[i], static_cast<std::int64_t>(k)) : kNothing;
        if (!std::isfinite(value)) continue;
        sum += value;
        count += 1;
      }
      pictures.frequency_time.push_back(count > 0 ? sum / std::sqrt(count) : kNothing);
    }
  }
}

}  // namespace

CandidatePictures draw_candidate(formats::FilterbankReader& reader, const SampleRange& range,
                                 const core::Candidate& candidate, std::uint64_t first_grid_sample,
                                 const PictureConfig& config) {
  const formats::FilterbankDescription& description = reader.description();
  const double f_ref = description.highest_mhz();
  const std::size_t channels = description.channels;
  std::vector<bool> used(channels, true);
  for (const std::size_t c : config.ignored_channels) used[c] = false;

  const Geometry geometry = geometry_of(description, candidate, first_grid_sample, config);
  CandidatePictures pictures;
  pictures.bins = config.bins;
  pictures.bin_s = static_cast<double>(geometry.bin) * (1 / description.rate_hz.value());
  pictures.first_s = -static_cast<double>(config.bins / 2) * pictures.bin_s;
  const double half_channel =
      channels > 1 ? (f_ref - description.lowest_mhz()) / static_cast<double>(channels - 1) / 2
                   : 0.5;
  pictures.low_mhz = description.lowest_mhz() - half_channel;
  pictures.high_mhz = f_ref + half_channel;
  // So much DM that the band's ends part by a third of the picture.
  const double sweep_per_dm =
      core::dispersion_delay_s(1, description.lowest_mhz(), f_ref, config.dm_constant);
  const std::size_t spare = config.bins / 3;
  pictures.dm_rows = sweep_per_dm > 0 ? config.dm_rows : 1;
  const double reach =
      sweep_per_dm > 0 ? static_cast<double>(spare) * pictures.bin_s / sweep_per_dm : 0;
  pictures.low_dm = candidate.dm - reach;
  pictures.high_dm = candidate.dm + reach;

  Bins bins(channels, config.bins, spare);
  CleanSpectra clean(description, used, first_grid_sample, config);
  read_bins(reader, range, geometry, used, clean, spare, bins);
  bins.normalise();
  if (!description.trial_dms.empty())
    return with_trials(bins, description, candidate, config, pictures);

  add_dm_rows(bins, description, used, reach, config.dm_constant, pictures);
  scale_to_row(pictures.dm_rows / 2, pictures);
  pictures.sub_bands = std::min(config.sub_bands, channels);
  add_sub_bands(bins, description, used, pictures);
  return pictures;
}

}  // namespace tautline::pipeline
