#include "tautline/pipeline/search/inject_node.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <type_traits>

#include "tautline/core/dispersion.h"
#include "tautline/core/error.h"

namespace tautline::pipeline {

namespace {

// Of a Gaussian, in standard deviations: beyond lies 5e-5 of it.
constexpr double kPulseReach = 4;

// The Gaussian's mean over sample t, its peak 1.
double gaussian_share(double t, double middle, double sigma) {
  const double scale = 1 / (sigma * std::numbers::sqrt2);
  return sigma * std::sqrt(std::numbers::pi / 2) *
         (std::erf((t + 1 - middle) * scale) - std::erf((t - middle) * scale));
}

// The same of a Gaussian whose middle goes from smear / 2 before `middle` to smear / 2 behind it.
double smeared_share(double t, double middle, double sigma, double smear) {
  constexpr double kNarrow = 1e-3;  // of sigma: the difference of integrals would lose digits
  if (smear < kNarrow * sigma) return gaussian_share(t, middle, sigma);
  // The integral of the normal distribution function.
  const auto integral = [&](double x) {
    const double z = x / (sigma * std::numbers::sqrt2);
    return x * std::erfc(-z) / 2 + sigma * std::exp(-z * z) / std::sqrt(2 * std::numbers::pi);
  };
  const double from = t - middle, half = smear / 2;
  return sigma * std::sqrt(2 * std::numbers::pi) / smear *
         (integral(from + 1 + half) - integral(from + half) - integral(from + 1 - half) +
          integral(from - half));
}

// In [0, 1), of a sample and a channel.
double dither(std::uint64_t seed, std::uint64_t sample, std::size_t channel) {
  std::uint64_t z = (sample * 0x9E3779B97F4A7C15ull) ^ (channel * 0xD1342543DE82EF95ull) ^ seed;
  z = (z ^ (z >> 32)) * 0xD6E8FEB86659FD93ull;
  z = (z ^ (z >> 32)) * 0xD6E8FEB86659FD93ull;
  return static_cast<double>((z ^ (z >> 32)) >> 11) * 0x1p-53;
}

}  // namespace

InjectNode::InjectNode(const InjectionConfig& config, double dm_constant)
    : config_(config), dm_constant_(dm_constant) {}

std::vector<engine::Stream> InjectNode::open(std::span<const engine::Stream> inputs) {
  engine::Stream output = inputs.front();
  filterbank_ = output.detail<FilterbankStream>();
  const formats::FilterbankDescription& description = filterbank_.description();
  if (filterbank_.beams.size() > 1)
    throw core::Error(core::ErrorKind::config, "inject",
                      std::to_string(filterbank_.beams.size()) + " beams", "one",
                      "inject into beams one by one");
  if (description.time_series)
    throw core::Error(core::ErrorKind::config, "inject", "a series that is dedispersed already",
                      "a filterbank");
  const double rate_hz = description.rate_hz.value();
  require_injected_spacing(config_, 1 / rate_hz);
  window_samples_ = injection_noise_samples(1 / rate_hz);
  max_value_ = description.largest_value();
  used_.assign(description.channels, 1);
  for (const std::size_t c : filterbank_.left_out.front()) used_[c] = 0;
  filterbank_.injected = pulses_;
  output.details = filterbank_;
  output.device = nullptr;
  output.lent = false;
  return {output};
}

void InjectNode::begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) {
  counting_ = filterbank_.turn_of(first.segment).pass == 0;
  grid_first_ = grid_sample_of(filterbank_, first);
  position_ = 0;
  active_.clear();
  noise_ = 0;
  const double every = config_.every_s * filterbank_.description().rate_hz.value();
  next_ = static_cast<std::uint64_t>(static_cast<double>(grid_first_) / every);
  window_ = {};
}

void InjectNode::end_segment(std::size_t, engine::Outputs&) {
  active_.clear();
}

double InjectNode::delay_of(double dm, double mhz) const {
  const formats::FilterbankDescription& description = filterbank_.description();
  return core::dispersion_delay_s(dm, mhz, description.highest_mhz(), dm_constant_) *
         description.rate_hz.value();
}

// Channels that are wider than their frequency, as in a table of a few, are taken as a line.
std::vector<InjectNode::Delays> InjectNode::delays_of(double dm) const {
  const formats::FilterbankDescription& description = filterbank_.description();
  const double half_mhz = std::fabs(description.foff_mhz) / 2;
  std::vector<Delays> delays;
  for (const double mhz : description.channel_mhz) {
    const double edge_mhz = half_mhz < mhz ? half_mhz : 0;
    delays.push_back(
        {delay_of(dm, mhz), delay_of(dm, mhz + edge_mhz), delay_of(dm, mhz - edge_mhz)});
  }
  return delays;
}

// The noise of the sum over channels, of a window before pulses were added.
void InjectNode::measure(std::span<const std::byte> spectra) {
  const formats::FilterbankDescription& description = filterbank_.description();
  if (window_.mean.empty())
    window_ = {std::vector<double>(used_.size(), 0), std::vector<double>(used_.size(), 0)};
  const ChannelMoments moments =
      measure_moments(spectra, description.delivered, description.channels);
  const auto times = static_cast<double>(spectra.size() / description.sample_bytes());
  for (std::size_t c = 0; c < used_.size(); ++c) {
    window_.mean[c] += times * moments.mean[c];
    window_.deviation[c] +=
        times * (moments.deviation[c] * moments.deviation[c] + moments.mean[c] * moments.mean[c]);
  }
  if ((position_ + spectra.size() / description.sample_bytes()) % window_samples_ != 0) return;
  const auto all = static_cast<double>(window_samples_);
  double variance = 0;
  for (std::size_t c = 0; c < used_.size(); ++c) {
    const double mean = window_.mean[c] / all;
    if (used_[c] != 0) variance += std::max(0.0, window_.deviation[c] / all - mean * mean);
  }
  noise_ = std::sqrt(variance);
  window_ = {};
}

void InjectNode::begin_pulse(const InjectedPulse& pulse) {
  const double rate_hz = filterbank_.description().rate_hz.value();
  Active active;
  active.middle = pulse.time_s * rate_hz - static_cast<double>(grid_first_);
  active.sigma = pulse.width_s * kSigmaPerWidth * rate_hz;
  active.delays = delays_of(pulse.dm);
  // The series as dedispersion aligns it, by whole samples.
  double longest = 0, smear = 0;
  for (const Delays& delays : active.delays) {
    longest = std::max(longest, delays.end);
    smear = std::max(smear, delays.smear());
  }
  const double reach = kPulseReach * active.sigma + 2 + smear;
  std::vector<double> series(static_cast<std::size_t>(2 * reach) + 2, 0);
  const double begin = std::floor(active.middle - reach);
  for (std::size_t c = 0; c < used_.size(); ++c) {
    if (used_[c] == 0) continue;
    const Delays& delays = active.delays[c];
    const double middle = active.middle + delays.middle() - std::nearbyint(delays.centre);
    for (std::size_t k = 0; k < series.size(); ++k)
      series[k] +=
          smeared_share(begin + static_cast<double>(k), middle, active.sigma, delays.smear());
  }
  double energy = 0;
  for (const double value : series) energy += value * value;
  // Sums over windows may differ in their last digits with the blocks: floats do not.
  active.amplitude = static_cast<float>(pulse.snr * noise_ / std::sqrt(energy));
  active.end = active.middle + longest + kPulseReach * active.sigma + 2;
  if (counting_) active.number = pulses_->add(pulse);
  active_.push_back(std::move(active));
}

// The pulses whose first sample is before `until`. A pulse that begins before the noise is known is left out.
void InjectNode::begin_pulses(std::uint64_t until) {
  const formats::FilterbankDescription& description = filterbank_.description();
  const double rate_hz = description.rate_hz.value();
  const double highest_mhz = description.highest_mhz() + std::fabs(description.foff_mhz) / 2;
  for (;; ++next_) {
    const InjectedPulse pulse = injected_pulse(config_, next_);
    const double first = pulse.time_s * rate_hz - static_cast<double>(grid_first_) +
                         delay_of(pulse.dm, highest_mhz) -
                         kPulseReach * pulse.width_s * kSigmaPerWidth * rate_hz - 2;
    if (first >= static_cast<double>(until)) return;
    if (noise_ > 0 && first >= static_cast<double>(position_)) begin_pulse(pulse);
  }
}

template <class Sample>
void InjectNode::add(Sample* samples, std::uint64_t first, std::size_t count) {
  const std::size_t channels = used_.size();
  for (const Active& pulse : active_) {
    for (std::size_t c = 0; c < channels; ++c) {
      if (used_[c] == 0) continue;
      const double smear = pulse.delays[c].smear();
      const double reach = kPulseReach * pulse.sigma + 2 + smear / 2;
      const double middle = pulse.middle + pulse.delays[c].middle() - static_cast<double>(first);
      const double low = std::max(0.0, std::floor(middle - reach)),
                   high = std::min(static_cast<double>(count), std::ceil(middle + reach));
      for (double t = low; t < high; ++t) {
        Sample& sample = samples[static_cast<std::size_t>(t) * channels + c];
        const double added = pulse.amplitude * smeared_share(t, middle, pulse.sigma, smear);
        if constexpr (std::is_same_v<Sample, float>) {
          sample = static_cast<float>(sample + added);
        } else {
          const std::uint64_t at = grid_first_ + first + static_cast<std::uint64_t>(t);
          const double value = std::floor(sample + added + dither(config_.seed, at, c));
          if (value > max_value_ && counting_) ++clipped_;
          sample = static_cast<Sample>(std::min(value, max_value_));
        }
      }
    }
  }
}

void InjectNode::process(std::size_t, const engine::Block& block, engine::Outputs& outputs) {
  const formats::FilterbankDescription& description = filterbank_.description();
  const std::size_t sample_bytes = description.sample_bytes();
  const std::span from(static_cast<const std::byte*>(block.arrays.front().data),
                       block.samples * sample_bytes);
  engine::Block& out = outputs.begin(0, block);
  out.set_extent(0, 0, block.samples);
  auto* const to = static_cast<std::byte*>(out.arrays.front().data);
  std::memcpy(to, from.data(), from.size());
  for (std::size_t done = 0; done < block.samples;) {
    const std::size_t count = std::min<std::size_t>(
        block.samples - done,
        window_samples_ - static_cast<std::size_t>(position_ % window_samples_));
    begin_pulses(position_ + count);
    std::byte* const piece = to + done * sample_bytes;
    formats::with_samples(description.delivered, piece,
                          [&](auto* samples) { add(samples, position_, count); });
    measure(from.subspan(done * sample_bytes, count * sample_bytes));
    position_ += count;
    done += count;
    std::erase_if(active_, [&](const Active& pulse) {
      const bool over = pulse.end <= static_cast<double>(position_);
      if (over && counting_) pulses_->set_whole(pulse.number);
      return over;
    });
  }
  outputs.commit();
}

engine::Counters InjectNode::counters() const {
  return {{"injected", pulses_->all().size()}, {"clipped", clipped_}};
}

}  // namespace tautline::pipeline
