#include "tautline/pipeline/integrator.h"

#include <algorithm>

namespace tautline::pipeline {

namespace {

using core::Axis;

constexpr std::array<Axis, 2> kAxes{Axis::channel, Axis::baseline};

}  // namespace

Integrator::Integrator(std::shared_ptr<const device::Device> device, std::size_t channels,
                       std::size_t inputs, const core::SampleFormat& format,
                       std::size_t max_spectra)
    : channels_(channels),
      inputs_(inputs),
      baselines_(core::baseline_count(inputs)),
      format_(format),
      plan_(stages::correlate::make_plan(
          {.channels = channels, .inputs = inputs, .max_samples = max_spectra, .format = format},
          device)) {}

std::size_t Integrator::bytes() const {
  return channels_ * baselines_ * (sizeof(core::ci64) + sizeof(std::int64_t)) +
         plan_->bytes().host_bytes;
}

void Integrator::add(device::Queue& queue, const SpectraChunk& chunk) {
  if (chunk.spectra == 0) return;
  if (!state_) {
    state_ = plan_->make_state(queue);
    counts_.resize(channels_ * baselines_);
    if (exact())
      integer_sums_.resize(channels_ * baselines_);
    else
      float_sums_.resize(channels_ * baselines_);
  }
  if (spectra_ == 0) first_spectrum_ = chunk.first_spectrum;
  spectra_ += chunk.spectra;
  // One mask serves all channels: its channel stride is zero.
  stages::correlate::Validity validity;
  if (!chunk.valid.empty())
    validity = {chunk.valid.data(),
                {Axis::channel, Axis::input, Axis::word},
                {channels_, inputs_, core::validity_words(chunk.spectra)},
                {0, chunk.valid.stride(0), 1}};
  const stages::correlate::Counts counts(counts_.data(), kAxes, {channels_, baselines_});
  const std::array<std::size_t, 2> extents{channels_, baselines_};
  if (format_ == core::kCi8)
    plan_->execute(queue, *state_, chunk.ci8, validity, {integer_sums_.data(), kAxes, extents},
                   counts);
  else if (format_ == core::kCi4)
    plan_->execute(queue, *state_, chunk.ci4, validity, {integer_sums_.data(), kAxes, extents},
                   counts);
  else if (format_ == core::kCi16)
    plan_->execute(queue, *state_, chunk.ci16, validity, {float_sums_.data(), kAxes, extents},
                   counts);
  else
    plan_->execute(queue, *state_, chunk.cf32, validity, {float_sums_.data(), kAxes, extents},
                   counts);
}

void Integrator::finish(device::Queue& queue, FinishedIntegration& out) {
  out.visibilities.resize(channels_ * baselines_);
  out.counts.resize(channels_ * baselines_);
  queue.parallel_for(channels_, 1, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t c = first; c < last; ++c) {
      const float* gain = gains_.empty() ? nullptr : gains_.data() + c * inputs_;
      for (std::size_t i = 0; i < inputs_; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
          const std::size_t at = c * baselines_ + core::baseline_index(i, j);
          const std::complex<double> sum =
              exact() ? std::complex<double>(static_cast<double>(integer_sums_[at].re),
                                             static_cast<double>(integer_sums_[at].im))
                      : float_sums_[at];
          double scale = counts_[at] > 0 ? 1.0 / static_cast<double>(counts_[at]) : 0.0;
          if (gain != nullptr) scale /= static_cast<double>(gain[i]) * static_cast<double>(gain[j]);
          out.visibilities[at] = std::complex<float>(sum * scale);
          out.counts[at] = counts_[at];
        }
      }
      const auto begin = static_cast<std::ptrdiff_t>(c * baselines_);
      const auto end = begin + static_cast<std::ptrdiff_t>(baselines_);
      std::fill(counts_.begin() + begin, counts_.begin() + end, 0);
      if (exact())
        std::fill(integer_sums_.begin() + begin, integer_sums_.begin() + end, core::ci64{});
      else
        std::fill(float_sums_.begin() + begin, float_sums_.begin() + end, std::complex<double>());
    }
  });
  spectra_ = 0;
}

}  // namespace tautline::pipeline
