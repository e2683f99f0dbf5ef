#include "tautline/pipeline/integrator.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tautline::pipeline {

namespace {

using core::Axis;

constexpr std::array<Axis, 2> kAxes{Axis::channel, Axis::baseline};

// A group is as long as fits these bytes: long ones are added to the sums in memory less often.
constexpr std::size_t kGroup_bytes = std::size_t{16} << 20;
constexpr std::size_t kShortestGroup = 8, kLongestGroup = 1024;

// Depends on nothing that changes how a stream is cut.
std::size_t group_spectra(std::size_t bytes_per_spectrum) {
  return std::clamp(std::bit_floor(kGroup_bytes / bytes_per_spectrum), kShortestGroup,
                    kLongestGroup);
}

// One mask serves all channels: its channel stride is zero.
stages::correlate::Validity of_all_channels(const core::ValidityView& valid, std::size_t spectra,
                                            std::size_t channels) {
  return {valid.data(),
          {Axis::channel, Axis::input, Axis::word},
          {channels, valid.extent(0), core::validity_words(spectra)},
          {0, valid.stride(0), 1}};
}

}  // namespace

Integrator::Integrator(std::shared_ptr<const device::Device> device, std::size_t channels,
                       std::size_t inputs, const core::SampleFormat& format,
                       std::size_t max_spectra)
    : channels_(channels),
      inputs_(inputs),
      baselines_(core::baseline_count(inputs)),
      format_(format),
      group_spectra_(exact() ? 0 : group_spectra(channels * inputs * sample_bytes())) {
  plan_ = stages::correlate::make_plan({.channels = channels,
                                        .inputs = inputs,
                                        .max_samples = exact() ? max_spectra : group_spectra_,
                                        .format = format},
                                       std::move(device));
}

std::size_t Integrator::bytes() const {
  return channels_ * baselines_ * (sizeof(core::ci64) + sizeof(std::int64_t)) +
         plan_->bytes().host_bytes + channels_ * inputs_ * group_spectra_ * sample_bytes() +
         inputs_ * core::validity_words(group_spectra_) * sizeof(std::uint64_t);
}

void Integrator::add(device::Queue& queue, const SpectraChunk& chunk) {
  if (chunk.spectra == 0) return;
  if (!state_) {
    state_ = plan_->make_state(queue);
    counts_.resize(channels_ * baselines_);
    if (exact()) {
      integer_sums_.resize(channels_ * baselines_);
    } else {
      float_sums_.resize(channels_ * baselines_);
      group_ = device::Buffer(channels_ * inputs_ * group_spectra_ * sample_bytes());
      group_valid_ = core::ValidityMask(inputs_, group_spectra_);
    }
  }
  if (spectra_ == 0) first_spectrum_ = chunk.first_spectrum;
  spectra_ += chunk.spectra;
  if (format_ == core::kCi16) return add_in_groups(queue, chunk.ci16, chunk.valid);
  if (!exact()) return add_in_groups(queue, chunk.cf32, chunk.valid);
  const stages::correlate::Validity validity =
      chunk.valid.empty() ? stages::correlate::Validity()
                          : of_all_channels(chunk.valid, chunk.spectra, channels_);
  const stages::correlate::IntegerVisibilities sums(integer_sums_.data(), kAxes,
                                                    {channels_, baselines_});
  const stages::correlate::Counts counts(counts_.data(), kAxes, {channels_, baselines_});
  if (format_ == core::kCi8)
    plan_->execute(queue, *state_, chunk.ci8, validity, sums, counts);
  else
    plan_->execute(queue, *state_, chunk.ci4, validity, sums, counts);
}

template <class Sample>
core::View<Sample, 3> Integrator::group() const {
  return {group_.as<Sample>(),
          {Axis::channel, Axis::input, Axis::time},
          {channels_, inputs_, group_spectra_}};
}

template <class Sample>
void Integrator::add_in_groups(device::Queue& queue, const core::View<const Sample, 3>& samples,
                               const core::ValidityView& valid) {
  const std::size_t spectra = samples.extent(2);
  for (std::size_t first = 0; first < spectra;) {
    const std::size_t count = std::min(group_spectra_ - waiting_, spectra - first);
    masked_ = masked_ || !valid.empty();
    for (std::size_t i = 0; i < inputs_; ++i) {
      if (valid.empty())
        core::set_range(group_valid_.row(i), waiting_, count, true);
      else
        core::copy_bits(valid.row(i), first, count, group_valid_.row(i), waiting_);
    }
    const auto part = samples.slice(2, first, count);
    first += count;
    if (count == group_spectra_) {
      add_floats(queue, part);
      continue;
    }
    const auto places = group<Sample>().slice(2, waiting_, count);
    queue.parallel_for(channels_, 1, [&](std::size_t c, std::size_t last, std::size_t) {
      for (; c < last; ++c)
        for (std::size_t i = 0; i < inputs_; ++i) {
          if (part.stride(2) == 1)
            std::copy_n(part.row(c, i), count, places.row(c, i));
          else
            for (std::size_t t = 0; t < count; ++t) places(c, i, t) = part(c, i, t);
        }
    });
    waiting_ += count;
    if (waiting_ < group_spectra_) continue;
    waiting_ = 0;
    add_floats<Sample>(queue, group<Sample>());
  }
}

// The next group, or what there is of it, with group_valid_.
template <class Sample>
void Integrator::add_floats(device::Queue& queue, const core::View<const Sample, 3>& samples) {
  const bool masked = std::exchange(masked_, false);
  plan_->execute(queue, *state_, samples,
                 masked ? of_all_channels(group_valid_.view(), samples.extent(2), channels_)
                        : stages::correlate::Validity(),
                 {float_sums_.data(), kAxes, {channels_, baselines_}},
                 {counts_.data(), kAxes, {channels_, baselines_}});
}

void Integrator::add_rest(device::Queue& queue) {
  const std::size_t count = std::exchange(waiting_, 0);
  if (count == 0) return;
  if (format_ == core::kCi16)
    add_floats<core::ci16>(queue, group<core::ci16>().slice(2, 0, count));
  else
    add_floats<std::complex<float>>(queue, group<std::complex<float>>().slice(2, 0, count));
}

void Integrator::finish(device::Queue& queue, FinishedIntegration& out) {
  add_rest(queue);
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
