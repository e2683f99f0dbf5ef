#include "tautline/pipeline/voltages/power_sums.h"

#include <algorithm>
#include <complex>
#include <mutex>
#include <type_traits>
#include <utility>

namespace tautline::pipeline {

namespace {

// The mean is exponential over about so many samples, so that it follows the level.
constexpr std::uint64_t kSamplesOfMean = 4096;
// A thread takes so many channels: fewer where those of a spectrum lie apart, so that two threads share 256 of them.
constexpr std::size_t kChannelsOfRow = 512, kChannelsApart = 128;

std::complex<double> value_of(const std::complex<float>& x) {
  return x;
}
std::complex<double> value_of(const core::cf16& x) {
  return {core::to_float(x.re), core::to_float(x.im)};
}
template <class T>
std::complex<double> value_of(const core::Complex<T>& x) {
  return {static_cast<double>(x.re), static_cast<double>(x.im)};
}

}  // namespace

// The validity of all polarisations of the antenna whose first row this is.
bool PowerSums::is_valid(const core::ValidityView& valid, std::size_t row,
                         std::size_t spectrum) const {
  if (valid.empty()) return true;
  for (std::size_t p = 0; p < polarisations_; ++p)
    if ((valid(row + p, spectrum / 64) >> (spectrum % 64) & 1) == 0) return false;
  return true;
}

// `input`: the first of its antenna. The loop over channels is innermost: additions to one channel wait for each other.
template <class View>
void PowerSums::add_power(const View& spectra, std::size_t input, std::size_t spectrum,
                          const Channels& channels) {
  const auto add = [&](const auto* x, auto stride, double* sums, double sign) {
    for (std::size_t c = channels.first; c < channels.end; ++c)
      sums[c] += sign * std::norm(value_of(x[static_cast<std::ptrdiff_t>(c) * stride]));
  };
  for (std::size_t p = 0; p < polarisations_; ++p) {
    const auto* const x = &spectra(input + p, spectrum, 0);
    for (std::size_t product = 0; product < std::min<std::size_t>(products_, 2); ++product) {
      const double sign = product == 1 && p == 1 ? -1 : 1;
      double* const sums = sums_.data() + product * channels_;
      if (spectra.stride(2) == 1)
        add(x, std::integral_constant<std::ptrdiff_t, 1>(), sums, sign);
      else
        add(x, spectra.stride(2), sums, sign);
    }
  }
  if (products_ != 4) return;
  for (std::size_t c = channels.first; c < channels.end; ++c) {
    const std::complex<double> cross = value_of(spectra(input, spectrum, c)) *
                                       std::conj(value_of(spectra(input + 1, spectrum, c)));
    sums_[2 * channels_ + c] += 2 * cross.real();
    sums_[3 * channels_ + c] -= 2 * cross.imag();
  }
}

template <class View>
void PowerSums::add_channels(const View& spectra, std::size_t count,
                             const core::ValidityView& valid, const Channels& channels,
                             std::span<float> samples, WithoutData without,
                             std::vector<EmptyValue>& empty) {
  const std::size_t inputs = antennas_ * polarisations_;
  const std::size_t first_row =
      !valid.empty() && valid.extent(0) > inputs ? channels.first * inputs : 0;
  std::uint64_t filled = filled_, counted = 0;
  std::size_t sample = 0;
  const auto add_counted = [&] {
    for (std::size_t c = channels.first; c < channels.end; ++c) valid_[c] += counted;
    counted = 0;
  };
  for (std::size_t s = 0; s < count; ++s) {
    for (std::size_t input = 0; input < inputs; input += polarisations_) {
      if (!is_valid(valid, first_row + input, s)) continue;
      ++counted;
      add_power(spectra, input, s, channels);
    }
    if (++filled < integrate_) continue;
    add_counted();
    take(channels, sample++, samples, without, empty);
    filled = 0;
  }
  add_counted();
}

// Each channel's sums are in the order of time, whatever thread adds them.
std::vector<PowerSums::EmptyValue> PowerSums::add(const SpectraChunk& chunk,
                                                  std::span<float> samples, WithoutData without,
                                                  device::Queue* host_queue) {
  std::vector<EmptyValue> empty;
  std::mutex empty_mutex;
  core::with_type<std::complex<float>, core::ci8, core::ci16, core::cf16>(
      chunk.samples, "spectra", [&](const auto& spectra) {
        const bool by_channel =
            !chunk.valid.empty() && chunk.valid.extent(0) > antennas_ * polarisations_;
        const std::size_t step = by_channel               ? 1
                                 : spectra.stride(2) == 1 ? kChannelsOfRow
                                                          : kChannelsApart;
        const auto add_steps = [&](std::size_t first, std::size_t end, std::size_t) {
          std::vector<EmptyValue> found;
          for (std::size_t k = first; k < end; ++k)
            add_channels(spectra, chunk.spectra, chunk.valid,
                         {k * step, std::min((k + 1) * step, channels_)}, samples, without, found);
          const std::lock_guard lock(empty_mutex);
          empty.insert(empty.end(), found.begin(), found.end());
        };
        const std::size_t steps = (channels_ + step - 1) / step;
        if (host_queue != nullptr)
          host_queue->parallel_for(steps, 1, add_steps);
        else
          add_steps(0, steps, 0);
      });
  filled_ = (filled_ + chunk.spectra) % integrate_;
  std::sort(empty.begin(), empty.end(), [](const EmptyValue& a, const EmptyValue& b) {
    return std::pair(a.sample, a.channel) < std::pair(b.sample, b.channel);
  });
  return empty;
}

void PowerSums::take(const Channels& channels, std::size_t sample, std::span<float> samples,
                     WithoutData without, std::vector<EmptyValue>& empty) {
  for (std::size_t c = channels.first; c < channels.end; ++c) {
    const double scale = valid_[c] > 0 ? 1.0 / static_cast<double>(valid_[c]) : 0.0;
    const std::size_t place = channels_ - 1 - c;
    if (valid_[c] > 0)
      mean_samples_[c] = std::min(mean_samples_[c] + 1, kSamplesOfMean);
    else
      empty.push_back({sample, place});
    for (std::size_t product = 0; product < products_; ++product) {
      const std::size_t k = product * channels_ + c;
      const double power = sums_[k] * scale;
      if (valid_[c] > 0) means_[k] += (power - means_[k]) / static_cast<double>(mean_samples_[c]);
      const bool fill = valid_[c] == 0 && without == WithoutData::mean;
      samples[(sample * products_ + product) * channels_ + place] =
          static_cast<float>(fill ? means_[k] : power);
      sums_[k] = 0;
    }
    valid_[c] = 0;
  }
}

void PowerSums::reset() {
  std::fill(sums_.begin(), sums_.end(), 0);
  std::fill(valid_.begin(), valid_.end(), 0);
  filled_ = 0;
}

}  // namespace tautline::pipeline
