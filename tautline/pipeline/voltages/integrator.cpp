#include "tautline/pipeline/voltages/integrator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/pipeline/device_memory.h"

namespace tautline::pipeline {

namespace {

core::SampleView<3> channels_of(const core::SampleView<3>& all, const ChannelRange& range) {
  return all.extent(0) == range.count ? all : all.slice(0, range.first, range.count);
}

// Most bytes of a group: long groups are added to the sums in memory less often, and a GPU needs much work a call.
constexpr std::size_t kGroup_bytes = std::size_t{16} << 20;
constexpr std::size_t kGroupOnGpu_bytes = std::size_t{256} << 20;
constexpr std::size_t kShortestGroup = 8, kLongestGroup = 1024, kLongestGroupOnGpu = 8192;

// The mask of inputs from `first` on. One mask for all channels has a channel stride of zero.
stages::correlate::Validity by_channel(const core::ValidityView& valid, std::size_t inputs,
                                       std::size_t first, std::size_t count, std::size_t spectra,
                                       std::size_t channels) {
  const std::ptrdiff_t row = valid.stride(0);
  const bool together = valid.extent(0) == inputs;
  return {valid.data() + static_cast<std::ptrdiff_t>(first) * row,
          {channels, count, core::validity_words(spectra)},
          {together ? 0 : static_cast<std::ptrdiff_t>(inputs) * row, row, 1}};
}

}  // namespace

std::uint64_t spectra_of_integration(double integration_s, const core::Rational& rate_hz,
                                     std::size_t hop_samples) {
  const double spectrum_s = static_cast<double>(hop_samples) / rate_hz.value();
  const double spectra = integration_s * rate_hz.value() / static_cast<double>(hop_samples);
  constexpr double kMostSpectra = 1e15;  // this number of spectra is exact in a double
  if (!(spectra >= 0.5 && spectra < kMostSpectra))
    throw core::Error(core::ErrorKind::config, "integration_s",
                      fmt::format("{:.10g} s", integration_s),
                      spectra < 0.5 ? fmt::format("at least one spectrum ({:.6g} s)", spectrum_s)
                                    : fmt::format("at most {:.3g} s ({:g} spectra)",
                                                  kMostSpectra * spectrum_s, kMostSpectra));
  return static_cast<std::uint64_t>(std::llround(spectra));
}

// Depends on nothing that the block size changes.
std::size_t spectra_of_group(std::size_t bytes_per_spectrum, bool gpu) {
  return std::clamp(std::bit_floor((gpu ? kGroupOnGpu_bytes : kGroup_bytes) / bytes_per_spectrum),
                    kShortestGroup, gpu ? kLongestGroupOnGpu : kLongestGroup);
}

Integrator::Integrator(std::shared_ptr<const device::Device> device, ChannelRange channels,
                       std::size_t stream_channels, const InputGroups& groups,
                       const core::SampleFormat& format, std::size_t max_spectra)
    : device_(std::move(device)),
      channels_(channels),
      groups_(groups),
      inputs_(groups.inputs),
      format_(format),
      group_spectra_(exact() ? 0
                             : spectra_of_group(stream_channels * inputs_ * sample_bytes(),
                                                device_->compiles())) {
  const stages::correlate::Config config{.channels = channels.count,
                                         .inputs = groups.size,
                                         .max_samples = exact() ? max_spectra : group_spectra_,
                                         .format = format,
                                         // A state defers the sums of one group.
                                         .defer_sums = groups.count() == 1};
  plan_ = of_stage("correlate", [&] { return stages::correlate::make_plan(config, device_); });
}

device::MemoryUse Integrator::bytes() const {
  device::MemoryUse use = plan_->bytes();
  use.host_bytes += inputs_ * core::validity_words(group_spectra_) * sizeof(std::uint64_t);
  (device_->compiles() ? use.device_bytes : use.host_bytes) +=
      channels_.count * inputs_ * group_spectra_ * sample_bytes();
  return use;
}

void Integrator::allocate(device::Queue& queue) {
  state_ = plan_->make_state(queue);
  if (exact()) return;
  group_ = device_->allocate(channels_.count * inputs_ * group_spectra_ * sample_bytes());
  group_valid_ = core::ValidityMask(inputs_, group_spectra_);
}

void Integrator::make_ready(device::Queue& queue) {
  if (!state_) of_stage("correlate", [&] { allocate(queue); });
}

void Integrator::begin(const core::MutableSampleView<2>& sums,
                       const stages::correlate::Counts& counts) {
  sums_ = sums;
  counts_ = counts;
  begins_ = true;
}

// Called with the group's first input, sums and counts.
template <class Call>
void Integrator::for_each_group(const Call& call) {
  const bool begins = std::exchange(begins_, false);
  for (std::size_t g = 0; g < groups_.count(); ++g) {
    if (begins) state_->begin();
    const std::size_t first_row = g * channels_.count;
    call(groups_.first(g), sums_.slice(0, first_row, channels_.count),
         counts_.slice(0, first_row, channels_.count));
  }
}

// No rows of `valid`: all are valid.
void Integrator::execute(device::Queue& queue, const core::SampleView<3>& samples,
                         const core::ValidityView& valid) {
  for_each_group([&](std::size_t first, const auto& sums, const auto& counts) {
    plan_->execute(queue, *state_, samples.slice(1, first, groups_.size),
                   valid.empty() ? stages::correlate::Validity()
                                 : by_channel(valid, inputs_, first, groups_.size,
                                              samples.extent(2), channels_.count),
                   sums, counts);
  });
}

void Integrator::add(device::Queue& queue, const SpectraChunk& chunk, bool last) {
  if (chunk.spectra == 0) return;
  const core::SampleView<3> samples = channels_of(chunk.samples, channels_);
  core::ValidityView valid = chunk.valid;
  if (valid.extent(0) > inputs_)  // of these channels
    valid = valid.slice(0, channels_.first * inputs_, channels_.count * inputs_);
  if (!exact()) return add_in_groups(queue, samples, valid, last);
  execute(queue, samples, valid);
}

// Expands masks of all channels to masks by channel.
void Integrator::divide_group_validity() {
  core::ValidityMask divided(channels_.count * inputs_, group_spectra_);
  for (std::size_t row = 0; row < divided.rows(); ++row)
    core::copy_bits(group_valid_.row(row % inputs_), 0, waiting_, divided.row(row), 0);
  group_valid_ = std::move(divided);
}

core::MutableSampleView<3> Integrator::group() const {
  return {group_.data(), core::sample_type(format_), {channels_.count, inputs_, group_spectra_}};
}

// Appends to the waiting spectra. The rows of `part` are dense.
void Integrator::copy_to_group(device::Queue& queue, const core::SampleView<3>& part) const {
  const auto places = group().slice(2, waiting_, part.extent(2));
  const std::size_t bytes = sample_bytes();
  const auto copy = [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t c = first; c < last; ++c)
      queue.copy_rows(places.slice(0, c, 1).data(), group_spectra_ * bytes,
                      part.slice(0, c, 1).data(), static_cast<std::size_t>(part.stride(1)) * bytes,
                      part.extent(2) * bytes, inputs_);
  };
  if (device_->compiles())
    copy(0, channels_.count, 0);
  else
    queue.parallel_for(channels_.count, 1, copy);
}

void Integrator::add_in_groups(device::Queue& queue, const core::SampleView<3>& samples,
                               const core::ValidityView& valid, bool last) {
  const std::size_t spectra = samples.extent(2);
  if (valid.extent(0) > group_valid_.rows()) divide_group_validity();
  for (std::size_t first = 0; first < spectra;) {
    const std::size_t count = std::min(group_spectra_ - waiting_, spectra - first);
    masked_ = masked_ || !valid.empty();
    for (std::size_t row = 0; row < group_valid_.rows(); ++row) {
      if (valid.empty())
        core::set_range(group_valid_.row(row), waiting_, count, true);
      else
        core::copy_bits(valid.row(row % valid.extent(0)), first, count, group_valid_.row(row),
                        waiting_);
    }
    const auto part = samples.slice(2, first, count);
    first += count;
    const bool whole = count == group_spectra_ || (last && waiting_ == 0 && first == spectra);
    if (whole) {
      add_floats(queue, part);
      continue;
    }
    copy_to_group(queue, part);
    waiting_ += count;
    if (waiting_ < group_spectra_) continue;
    waiting_ = 0;
    add_floats(queue, group());
  }
}

// Adds the next group, or its part that has come, with group_valid_.
void Integrator::add_floats(device::Queue& queue, const core::SampleView<3>& samples) {
  execute(queue, samples,
          std::exchange(masked_, false) ? group_valid_.view() : core::ValidityView());
}

void Integrator::add_rest(device::Queue& queue) {
  const std::size_t count = std::exchange(waiting_, 0);
  if (count > 0) add_floats(queue, group().slice(2, 0, count));
}

void Integrator::finish(device::Queue& queue) {
  add_rest(queue);
  for_each_group([&](std::size_t, const auto& sums, const auto& counts) {
    plan_->flush(queue, *state_, sums, counts);
  });
}

}  // namespace tautline::pipeline
