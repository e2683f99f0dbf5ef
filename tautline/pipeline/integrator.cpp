#include "tautline/pipeline/integrator.h"

#include <algorithm>

namespace tautline::pipeline {

namespace {

using core::Axis;

constexpr std::array<Axis, 2> kAxes{Axis::channel, Axis::baseline};
constexpr std::size_t kSumBytes = 16;  // of a ci64 or a complex<double>
static_assert(sizeof(core::ci64) == kSumBytes && sizeof(std::complex<double>) == kSumBytes);

template <class T>
core::View<const T, 3> channels_of(const core::View<const T, 3>& all, const ChannelRange& range) {
  return all.data() == nullptr ? all : all.slice(0, range.first, range.count);
}

}  // namespace

Integrator::Integrator(std::shared_ptr<const device::Device> device, ChannelRange channels,
                       std::size_t inputs, const core::SampleFormat& format,
                       std::size_t max_spectra)
    : device_(std::move(device)),
      channels_(channels),
      inputs_(inputs),
      baselines_(core::baseline_count(inputs)),
      format_(format),
      plan_(stages::correlate::make_plan({.channels = channels.count,
                                          .inputs = inputs,
                                          .max_samples = max_spectra,
                                          .format = format},
                                         device_)) {}

device::MemoryUse Integrator::bytes(std::size_t integrations) const {
  const std::size_t own = sums() * (kSumBytes + sizeof(std::int64_t));
  const std::size_t means = sums() * (sizeof(std::complex<float>) + sizeof(std::int64_t));
  device::MemoryUse use = plan_->bytes();
  use.host_bytes += integrations * means;
  if (device_->compiles()) {
    use.device_bytes += own;
    use.host_bytes += integrations * own;
  } else {
    use.host_bytes += own;
  }
  return use;
}

void Integrator::prepare(FinishedIntegration& out, std::size_t channels, std::size_t part) const {
  out.visibilities.resize(channels * baselines_);
  out.counts.resize(channels * baselines_);
  if (!device_->compiles()) return;
  if (out.in_transit.size() <= part) out.in_transit.resize(part + 1);
  out.in_transit[part] = {device_->allocate_pinned(sums() * kSumBytes),
                          device_->allocate_pinned(sums() * sizeof(std::int64_t)),
                          device_->make_event()};
}

void Integrator::add(device::Queue& queue, const SpectraChunk& chunk) {
  if (chunk.spectra == 0) return;
  if (!state_) {
    state_ = plan_->make_state(queue);
    sums_ = device_->allocate(sums() * kSumBytes);
    counts_ = device_->allocate(sums() * sizeof(std::int64_t));
    queue.fill(sums_.data(), 0, sums_.bytes());
    queue.fill(counts_.data(), 0, counts_.bytes());
  }
  if (spectra_ == 0) first_spectrum_ = chunk.first_spectrum;
  spectra_ += chunk.spectra;
  // One mask serves all channels: its channel stride is zero.
  stages::correlate::Validity validity;
  if (!chunk.valid.empty())
    validity = {chunk.valid.data(),
                {Axis::channel, Axis::input, Axis::word},
                {channels_.count, inputs_, core::validity_words(chunk.spectra)},
                {0, chunk.valid.stride(0), 1}};
  const std::array<std::size_t, 2> extents{channels_.count, baselines_};
  const stages::correlate::Counts counts(counts_.as<std::int64_t>(), kAxes, extents);
  const stages::correlate::IntegerVisibilities integers(sums_.as<core::ci64>(), kAxes, extents);
  const stages::correlate::FloatVisibilities floats(sums_.as<std::complex<double>>(), kAxes, extents);
  if (format_ == core::kCi8)
    plan_->execute(queue, *state_, channels_of(chunk.ci8, channels_), validity, integers, counts);
  else if (format_ == core::kCi4)
    plan_->execute(queue, *state_, channels_of(chunk.ci4, channels_), validity, integers, counts);
  else if (format_ == core::kCi16)
    plan_->execute(queue, *state_, channels_of(chunk.ci16, channels_), validity, floats, counts);
  else
    plan_->execute(queue, *state_, channels_of(chunk.cf32, channels_), validity, floats, counts);
}

void Integrator::finish(device::Queue& queue, FinishedIntegration& out, std::size_t part) {
  spectra_ = 0;
  if (device_->compiles()) {
    SumsInTransit& transit = out.in_transit[part];
    queue.copy(transit.sums.data(), sums_.data(), sums_.bytes());
    queue.copy(transit.counts.data(), counts_.data(), counts_.bytes());
    queue.record(*transit.arrived);
  } else {
    complete(queue, out, part);
  }
  queue.fill(sums_.data(), 0, sums_.bytes());
  queue.fill(counts_.data(), 0, counts_.bytes());
}

void Integrator::complete(device::Queue& host_queue, FinishedIntegration& out,
                          std::size_t part) const {
  const bool transit = device_->compiles();
  if (transit) out.in_transit[part].arrived->synchronise();
  const device::Buffer& sums = transit ? out.in_transit[part].sums : sums_;
  const auto* counts = (transit ? out.in_transit[part].counts : counts_).as<std::int64_t>();
  host_queue.parallel_for(channels_.count, 1, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t c = first; c < last; ++c) {
      const std::size_t channel = channels_.first + c;
      const float* gain = gains_.empty() ? nullptr : gains_.data() + channel * inputs_;
      for (std::size_t i = 0; i < inputs_; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
          const std::size_t at = c * baselines_ + core::baseline_index(i, j);
          const core::ci64 integer = exact() ? sums.as<core::ci64>()[at] : core::ci64{};
          const std::complex<double> sum =
              exact() ? std::complex<double>(static_cast<double>(integer.re),
                                             static_cast<double>(integer.im))
                      : sums.as<std::complex<double>>()[at];
          double scale = counts[at] > 0 ? 1.0 / static_cast<double>(counts[at]) : 0.0;
          if (gain != nullptr) scale /= static_cast<double>(gain[i]) * static_cast<double>(gain[j]);
          const std::size_t to = channel * baselines_ + core::baseline_index(i, j);
          out.visibilities[to] = std::complex<float>(sum * scale);
          out.counts[to] = counts[at];
        }
      }
    }
  });
}

}  // namespace tautline::pipeline
